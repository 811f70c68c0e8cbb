"""The persistent queue of the service: a SQLite file (WAL), in which every accepted job gets one final state.

A job is accepted when its row is committed. A server claims rows for its *epoch*; after it was killed, the next server
finds rows of earlier epochs: they are queued again, or marked as failed if they were begun too often. A result counts
when its row is committed in the epoch that ran it, so no job has two. The next job is that of the user with the fewest
running jobs, then the least served; among that user's jobs the one with the highest priority, then the oldest.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from arcflux.errors import ArcfluxError, StoreError, UsageError

__all__ = ["ConflictError", "FullError", "Queue"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, user TEXT NOT NULL, key TEXT, graph TEXT NOT NULL, task TEXT NOT NULL,
    parameters TEXT NOT NULL, options TEXT NOT NULL, priority INTEGER NOT NULL, state TEXT NOT NULL,
    cancel INTEGER NOT NULL, epoch TEXT, attempts INTEGER NOT NULL, submitted REAL NOT NULL, started REAL,
    finished REAL, seconds REAL, supersteps INTEGER,
    converged INTEGER, rows INTEGER, error TEXT, kept INTEGER NOT NULL, UNIQUE (user, key));
CREATE INDEX IF NOT EXISTS by_state ON jobs (state, user, priority);
CREATE UNIQUE INDEX IF NOT EXISTS by_number ON jobs (number);
CREATE TABLE IF NOT EXISTS served (user TEXT PRIMARY KEY, seconds REAL NOT NULL);
"""
_NEXT = """
SELECT j.rowid FROM jobs j LEFT JOIN served s ON s.user = j.user
LEFT JOIN (SELECT user, COUNT(*) AS running FROM jobs WHERE state = 'running' GROUP BY user) r ON r.user = j.user
WHERE j.state = 'queued'
ORDER BY COALESCE(r.running, 0), COALESCE(s.seconds, 0), j.priority DESC, j.number LIMIT 1
"""
_FORMAT = 1
_ALL_OF_IT = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
# The types of a row's text and number columns; SQLite stores any value in any column.
_TEXT = ("id", "user", "graph", "task", "parameters", "options", "state")
_TEXT_OR_NONE = ("key", "epoch", "error")
_WHOLE = ("number", "priority", "cancel", "attempts", "kept")
_NUMBER_OR_NONE = ("submitted", "started", "finished", "seconds", "supersteps", "converged", "rows")
# Seconds after which a user's past service counts half: a user who was away is not ahead forever.
_HALF_LIFE = 600.0


class FullError(ArcfluxError):
    """The queue accepts no more jobs for now."""


class ConflictError(ArcfluxError):
    """A key of submission was used before, for another job."""


class Queue:
    """Jobs in a file. Calls may come from any thread."""

    def __init__(self, path: Path, *, bound: int = 1000, bound_of_user: int = 500, attempts: int = 3) -> None:
        self.path, self.bound, self.bound_of_user, self.attempts = path, bound, bound_of_user, attempts
        self.epoch = secrets.token_hex(8)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600)
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            os.close(descriptor)
        except OSError as error:
            raise StoreError(f"the queue cannot be opened: {error.strerror}", path=path) from error
        if not regular:
            raise StoreError("the queue cannot be opened: it is no file", path=path)
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30.0)
        self._connection.row_factory = sqlite3.Row
        self._lock = threading.RLock()
        with self._reading():
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            if (damage := self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(damage)
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise UsageError(f"{path} is a queue of format {version}", expected=f"format {_FORMAT}")
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.executescript(_SCHEMA)
            if self._connection.execute(_ALL_OF_IT).fetchall() != _schema():
                raise sqlite3.DatabaseError("it has other tables than a queue, or triggers")
            self._connection.execute(f"PRAGMA user_version = {_FORMAT}")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Lock out other threads; an error of SQLite, or of the file's contents, names the file."""
        with self._lock:
            try:
                yield
            except ArcfluxError:
                raise
            except (sqlite3.Error, ValueError, RecursionError) as error:
                raise StoreError(
                    f"the queue cannot be read or written: {error}", path=self.path,
                    remedy="free the disk if it is full; a damaged file can be moved away, and its jobs are lost then",
                ) from error  # fmt: skip

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing."""
        with self._reading():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # after a full disk, SQLite has rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    # --- calls of users

    def submit(
        self, user: str, graph: str, task: str, parameters: Mapping[str, Any], *, priority: int = 0,
        options: Mapping[str, Any] | None = None, key: str | None = None,
    ) -> tuple[dict[str, Any], bool]:  # fmt: skip
        """Accept a job; returns it, and whether it is new: the same key of the same user returns the same job again."""
        stored = json.dumps(dict(parameters), sort_keys=True), json.dumps(dict(options or {}), sort_keys=True)
        with self._changing() as db:
            if key is not None and (row := self._of_key(db, user, key)) is not None:
                if (row["graph"], row["task"], row["parameters"], row["options"], row["priority"]) != (
                    graph, task, *stored, priority,
                ):  # fmt: skip
                    raise ConflictError(f"the key {key!r} was used for another job", remedy="a new key for each job")
                return _job(row), False
            self._refuse_full(db, user)
            number = db.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM jobs").fetchone()[0]
            ident = f"{number}-{secrets.token_hex(6)}"
            db.execute(
                "INSERT INTO jobs (id, number, user, key, graph, task, parameters, options, priority, state, cancel,"
                " attempts, submitted, kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?, 0)",
                (ident, number, user, key, graph, task, *stored, priority, time.time()),
            )
            row = db.execute("SELECT * FROM jobs WHERE id = ?", (ident,)).fetchone()
        return _job(row), True

    def _of_key(self, db: sqlite3.Connection, user: str, key: str) -> Any:
        return db.execute("SELECT * FROM jobs WHERE user = ? AND key = ?", (user, key)).fetchone()

    def _refuse_full(self, db: sqlite3.Connection, user: str) -> None:
        whole = db.execute("SELECT COUNT(*) FROM jobs WHERE state = 'queued'").fetchone()[0]
        own = db.execute("SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND user = ?", (user,)).fetchone()[0]
        if whole >= self.bound or own >= self.bound_of_user:
            raise FullError(
                f"{whole} jobs are queued, {own} of them yours",
                expected=f"fewer than {self.bound}, and than {self.bound_of_user} of one user", remedy="try later",
            )  # fmt: skip

    def find(self, ident: str) -> dict[str, Any] | None:
        """A job by its id."""
        with self._reading():
            row = self._connection.execute("SELECT * FROM jobs WHERE id = ?", (ident,)).fetchone()
            return None if row is None else _job(row)

    def newest(
        self, *, user: str | None = None, state: str | None = None, limit: int = 100, before: int | None = None
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Jobs, the newest first."""
        clauses = {"user = ?": user, "state = ?": state, "number < ?": before}
        chosen = {clause: value for clause, value in clauses.items() if value is not None}
        where = f"WHERE {' AND '.join(chosen)}" if chosen else ""
        with self._reading():
            rows = self._connection.execute(
                f"SELECT * FROM jobs {where} ORDER BY number DESC LIMIT ?", (*chosen.values(), limit)
            ).fetchall()
            return [_job(row) for row in rows]

    def cancel(self, ident: str) -> str | None:
        """Cancel a job: at once if it is queued, else by its server; its state, None if there is no such job."""
        with self._changing() as db:
            db.execute(
                "UPDATE jobs SET state = 'cancelled', finished = ?, error = 'the job was cancelled'"
                " WHERE id = ? AND state = 'queued'",
                (time.time(), ident),
            )
            db.execute("UPDATE jobs SET cancel = 1 WHERE id = ? AND state = 'running'", (ident,))
            row = db.execute("SELECT state FROM jobs WHERE id = ?", (ident,)).fetchone()
        return None if row is None else str(row["state"])

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        with self._reading():
            return dict(self._connection.execute("SELECT state, COUNT(*) FROM jobs GROUP BY state").fetchall())

    # --- calls of a server

    def recover(self) -> list[str]:
        """Jobs that an earlier server was running: queued again, or failed if they were begun too often."""
        with self._changing() as db:
            mine = "state = 'running' AND epoch <> ?"
            idents = [row["id"] for row in db.execute(f"SELECT id FROM jobs WHERE {mine}", (self.epoch,))]
            problem = f"the server was lost {self.attempts} times while it ran the job"
            db.execute(
                f"UPDATE jobs SET state = 'cancelled', finished = ?, error = 'the job was cancelled'"
                f" WHERE {mine} AND cancel = 1",
                (time.time(), self.epoch),
            )
            db.execute(
                f"UPDATE jobs SET state = 'failed', finished = ?, error = ? WHERE {mine} AND attempts >= ?",
                (time.time(), problem, self.epoch, self.attempts),
            )
            db.execute(f"UPDATE jobs SET state = 'queued', epoch = NULL WHERE {mine}", (self.epoch,))
        return idents

    def claim(self) -> dict[str, Any] | None:
        """Take the next job to run; None if nothing is queued. A row that cannot be read becomes a failed job."""
        while True:
            with self._changing() as db:
                row = db.execute(_NEXT).fetchone()
                if row is None:
                    return None
                number, find = row["rowid"], "SELECT * FROM jobs WHERE rowid = ?"
                with suppress(ValueError, RecursionError):
                    _job(db.execute(find, (number,)).fetchone())
                    db.execute(
                        "UPDATE jobs SET state = 'running', epoch = ?, attempts = attempts + 1, started = ?"
                        " WHERE rowid = ?",
                        (self.epoch, time.time(), number),
                    )
                    return _job(db.execute(find, (number,)).fetchone())
                db.execute(
                    "UPDATE jobs SET state = 'failed', finished = ?, error = ? WHERE rowid = ?",
                    (time.time(), "what the queue has of the job cannot be read", number),
                )

    def finish(self, ident: str, state: str, **said: Any) -> bool:
        """End a job of this epoch; returns whether that counts: once, and only by the server that runs it."""
        said = {"error": None, "seconds": 0.0, "supersteps": None, "converged": None, "rows": None, **said}
        kept = int(said["rows"] is not None)
        with self._changing() as db:
            changed = db.execute(
                "UPDATE jobs SET state = ?, finished = ?, error = ?, seconds = ?, supersteps = ?, converged = ?,"
                " rows = ?, kept = ? WHERE id = ? AND state = 'running' AND epoch = ?",
                (state, time.time(), said["error"], said["seconds"], said["supersteps"], said["converged"],
                 said["rows"], kept, ident, self.epoch),
            ).rowcount  # fmt: skip
            if changed:
                user = db.execute("SELECT user FROM jobs WHERE id = ?", (ident,)).fetchone()["user"]
                db.execute(
                    "INSERT INTO served VALUES (?, ?)"
                    " ON CONFLICT (user) DO UPDATE SET seconds = seconds + excluded.seconds",
                    (user, float(said["seconds"])),
                )
        return bool(changed)

    def forget_service(self, seconds: float) -> None:
        """Some time has passed: past service of users counts less."""
        with self._changing() as db:
            db.execute("UPDATE served SET seconds = seconds * ?", (0.5 ** (seconds / _HALF_LIFE),))

    def expire(self, results: float, rows: float) -> list[str]:
        """The jobs whose results, older than `results` seconds, are dropped; rows older than `rows` are deleted."""
        now = time.time()
        with self._changing() as db:
            old = "kept = 1 AND finished < ?"
            idents = [row["id"] for row in db.execute(f"SELECT id FROM jobs WHERE {old}", (now - results,))]
            db.execute(f"UPDATE jobs SET kept = 0 WHERE {old}", (now - results,))
            db.execute(
                "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND kept = 0 AND finished < ?",
                (now - rows,),
            )
        return idents


def _schema() -> list[Any]:
    """The whole schema of a queue."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.row_factory = sqlite3.Row
        db.executescript(_SCHEMA)
        return db.execute(_ALL_OF_IT).fetchall()


def _job(row: sqlite3.Row) -> dict[str, Any]:
    """A row as a job; a ValueError if it has other contents than were written."""
    job = dict(row)
    right = {str: _TEXT, (str, type(None)): _TEXT_OR_NONE, int: _WHOLE, (int, float, type(None)): _NUMBER_OR_NONE}
    for kind, names in right.items():
        for name in names:
            if not isinstance(job[name], kind):  # type: ignore[arg-type]
                raise ValueError(f"{name} of a job is {job[name]!r:.50}")
    job["parameters"], job["options"] = json.loads(job["parameters"]), json.loads(job["options"])
    if not isinstance(job["parameters"], dict) or not isinstance(job["options"], dict):
        raise ValueError("parameters or options of a job are no object")
    job["converged"] = None if job["converged"] is None else bool(job["converged"])
    job["kept"], job["cancel"] = bool(job["kept"]), bool(job["cancel"])
    return job
