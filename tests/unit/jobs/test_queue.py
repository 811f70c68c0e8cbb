"""The queue: every accepted job has one final state, whoever is killed when, and users are served fairly."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from pathlib import Path

import pytest

from arcflux.errors import ArcfluxError, StoreError, UsageError
from arcflux.jobs.queue import ConflictError, FullError, Queue


def _submit(queue, user="ada", task="bfs", **options):
    return queue.submit(user, "g", task, {"source": 1}, **options)[0]["id"]


def test_a_job_goes_its_way_once(tmp_path):
    queue = Queue(tmp_path / "queue")
    ident = _submit(queue)
    assert queue.find(ident)["parameters"] == {"source": 1}
    assert queue.claim()["id"] == ident
    assert queue.claim() is None
    assert queue.finish(ident, "done", rows=3, seconds=1.0, converged=True)
    assert not queue.finish(ident, "done", rows=4)  # there is one result
    assert (queue.find(ident)["rows"], queue.find(ident)["converged"]) == (3, True)
    assert queue.counts() == {"done": 1}
    assert (tmp_path / "queue").stat().st_mode & 0o077 == 0


def test_a_lost_server_loses_no_job_and_cannot_finish_what_another_runs(tmp_path):
    first = Queue(tmp_path / "queue", attempts=2)
    running, queued = _submit(first), _submit(first)
    first.claim()
    second = Queue(tmp_path / "queue", attempts=2)
    assert second.recover() == [running]
    assert {second.claim()["id"], second.claim()["id"]} == {running, queued}
    assert not first.finish(running, "done", rows=1)
    assert second.finish(running, "done", rows=2)
    third = Queue(tmp_path / "queue", attempts=2)
    third.recover()
    assert third.find(queued)["state"] == "queued"  # begun once: once more
    third.claim()
    Queue(tmp_path / "queue", attempts=2).recover()
    assert third.find(queued)["state"] == "failed"
    assert "lost 2 times" in third.find(queued)["error"]


def test_the_same_key_is_the_same_job_of_one_user(tmp_path):
    queue = Queue(tmp_path / "queue")
    first = _submit(queue, key="k")
    assert _submit(queue, key="k") == first
    assert _submit(queue, user="bob", key="k") != first
    with pytest.raises(ConflictError):
        _submit(queue, task="pagerank", key="k")


def test_the_queue_is_bounded_as_a_whole_and_for_each_user(tmp_path):
    queue = Queue(tmp_path / "queue", bound=3, bound_of_user=2)
    _submit(queue), _submit(queue, key="again")
    with pytest.raises(FullError, match="2 of them yours"):
        _submit(queue)
    assert _submit(queue, key="again")  # which was accepted before
    _submit(queue, user="bob")
    with pytest.raises(FullError, match="3 jobs are queued"):
        _submit(queue, user="eve")


def test_users_are_served_in_turns_and_priorities_are_among_ones_own(tmp_path):
    queue = Queue(tmp_path / "queue")
    many = [_submit(queue) for _ in range(4)]
    urgent = _submit(queue, priority=5)
    bobs = _submit(queue, user="bob")
    assert queue.claim()["id"] == urgent
    assert queue.claim()["id"] == bobs  # ada has one that runs
    queue.finish(urgent, "done", seconds=10.0)
    queue.finish(bobs, "done", seconds=1.0)
    later = _submit(queue, user="bob")
    assert queue.claim()["id"] == later  # served less
    assert queue.claim()["id"] == many[0]


def test_cancel_and_expiry(tmp_path):
    queue = Queue(tmp_path / "queue")
    first, second = _submit(queue), _submit(queue)
    assert queue.cancel(first) == "cancelled"
    assert queue.claim()["id"] == second
    assert queue.cancel(second) == "running"
    assert queue.find(second)["cancel"]
    assert queue.cancel("nothing") is None
    queue.finish(second, "done", rows=1)
    assert queue.expire(3600, 3600) == []
    assert queue.expire(-1, 3600) == [second]
    assert queue.find(second)["kept"] is False
    queue.expire(-1, -1)
    assert queue.find(second) is None


def test_a_job_that_was_cancelled_when_its_server_was_lost_stays_cancelled(tmp_path):
    queue = Queue(tmp_path / "queue")
    ident = _submit(queue)
    queue.claim()
    queue.cancel(ident)
    assert Queue(tmp_path / "queue").recover() == [ident]
    assert queue.find(ident)["state"] == "cancelled"


def test_a_queue_of_another_format_is_refused(tmp_path):
    queue = Queue(tmp_path / "queue")
    queue._connection.execute("PRAGMA user_version = 99")
    queue.close()
    with pytest.raises(UsageError, match="format 99"):
        Queue(tmp_path / "queue")


def _spoiled(path: Path, how: str) -> None:
    if how == "noise":
        path.write_bytes(bytes(range(256)) * 20)
    elif how == "noise with a head":
        path.write_bytes(b"SQLite format 3\0" + bytes(range(255, -1, -1)) * 20)
    elif how == "a folder":
        path.mkdir()
    elif how == "a pipe":
        os.mkfifo(path)
    else:
        if how != "other tables":
            queue = Queue(path)
            queue.submit("ada", "g", "pagerank", {"alpha": 0.5})
            queue.close()
        with contextlib.closing(sqlite3.connect(path)) as db:
            said = {"no JSON": "UPDATE jobs SET parameters = '{'", "other tables": "CREATE TABLE jobs (x)",
                    "deep JSON": f"UPDATE jobs SET options = '{'[' * 100_000}'"}[how]  # fmt: skip
            db.execute(said)
            db.commit()


@pytest.mark.parametrize(
    "how", ["noise", "noise with a head", "a folder", "a pipe", "other tables", "no JSON", "deep JSON"]
)
def test_a_file_that_is_no_queue_is_named(how: str, tmp_path: Path) -> None:
    _spoiled(tmp_path / "queue.sqlite", how)
    with pytest.raises(StoreError, match=r"queue\.sqlite: the queue cannot be"):
        Queue(tmp_path / "queue.sqlite").newest()


@pytest.mark.parametrize("seed", range(30))
def test_flipped_bits_of_a_queue_are_an_error_of_ours_or_nothing(seed: int, tmp_path: Path) -> None:
    draw, path = random.Random(seed), tmp_path / "queue.sqlite"
    queue = Queue(path)
    for k in range(3):
        queue.submit("ada", "g", "pagerank", {"alpha": k / 4})
    queue.close()
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 5, 50])):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    with contextlib.suppress(ArcfluxError):
        queue = Queue(path)
        queue.recover()
        queue.newest()
        queue.counts()
        queue.submit("bob", "g", "bfs", {})
        if job := queue.claim():
            queue.finish(job["id"], "done")
        queue.expire(0, 0)


@pytest.mark.parametrize(
    "said",
    [
        "CREATE TRIGGER t AFTER UPDATE ON jobs BEGIN UPDATE jobs SET state = 'queued'; END",
        "DROP TABLE served; CREATE VIEW served AS SELECT user, 1 AS seconds FROM jobs",
        "ALTER TABLE jobs DROP COLUMN error",
        "ALTER TABLE jobs RENAME COLUMN kept TO taken",
        "CREATE TABLE others (x)",
    ],
)
def test_a_file_that_is_more_or_less_than_a_queue_is_refused(tmp_path, said):
    queue = Queue(tmp_path / "queue")
    _submit(queue)
    queue.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "queue")) as db:
        db.executescript(said)
    with pytest.raises(StoreError, match="other tables than a queue"):
        Queue(tmp_path / "queue")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("parameters", b"\xff\xfe"),
        ("parameters", "{"),
        ("parameters", "[1]"),
        ("parameters", '{"source": ' + "9" * 5000 + "}"),
        ("options", "3"),
        ("options", "[" * 100_000),
        ("id", None),
        ("id", b"1-ab"),
        ("priority", "first"),
        ("submitted", "yesterday"),
    ],
    ids=str,
)
def test_a_row_that_cannot_be_read_holds_up_no_other(tmp_path, column, value):
    """It was the next one for ever."""
    queue = Queue(tmp_path / "queue")
    _submit(queue, user="ada")
    good = _submit(queue, user="bob")
    queue._connection.execute(f"UPDATE jobs SET {column} = ? WHERE user = 'ada'", (value,))
    assert queue.claim()["id"] == good
    assert queue.claim() is None
    assert queue.counts() == {"failed": 1, "running": 1}
    assert queue.finish(good, "done", rows=1)
