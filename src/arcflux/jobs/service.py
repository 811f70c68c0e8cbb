"""The service without HTTP: takes jobs from the queue, runs them on graphs that are opened once, stores results."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from arcflux import config, trace
from arcflux.errors import ArcfluxError, CancelledError, StoreError, UsageError
from arcflux.jobs.catalogue import Catalogue, describe
from arcflux.jobs.handover import Handover, hand_over, most_workers
from arcflux.jobs.job import Job
from arcflux.jobs.queue import Queue
from arcflux.jobs.results import Results
from arcflux.jobs.runtime import Jobs

__all__ = ["Service"]

_GLANCE = 0.2
_TIDY = 60.0
# Seconds for the processes of jobs to end, when the service ends.
_PARTING = 15.0
LIMITS = ("deadline", "max_seconds", "max_memory", "max_supersteps")


class Service:
    """Jobs of many users on the graphs of a catalogue, in a folder that outlives the process.

    `keep`: seconds for which results are stored; `bound`: the most queued jobs; `spark`: the Spark master that runs
    jobs on several workers; `workers`: how many they may ask for.
    """

    def __init__(
        self, catalogue: Catalogue, folder: Path, *, threads: int | None = None, memory: int | None = None,
        at_once: int = 4, keep: float = 86400.0, bound: int = 1000, hold: bool = False, spark: str | None = None,
        workers: int | None = None,
    ) -> None:  # fmt: skip
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if reason := config.distrust(folder.stat()):
            raise UsageError(f"{folder}: {reason}", expected="a folder that you alone can write to")
        self._lock_file = open(os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600), "w")  # noqa: SIM115
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock_file.close()
            raise UsageError(
                f"another server uses {folder}", remedy="end it, or name another --state folder"
            ) from error
        self.catalogue, self.folder, self.keep, self.at_once, self.spark = catalogue, folder, keep, at_once, spark
        self.workers = workers or most_workers(spark)
        self.queue = Queue(folder / "queue.sqlite", bound=bound, bound_of_user=max(1, bound // 2))
        self.results = Results(folder / "results")
        self.jobs = Jobs(threads=threads, memory=memory, at_once=at_once)
        self.running: dict[str, Job | Handover | _Opening] = {}
        self.recent: dict[str, Job | dict[str, Any]] = {}  # finished jobs; of those on other processes, what is shown
        self.begun = time.time()
        self.totals = {"done": 0, "failed": 0, "cancelled": 0, "seconds": 0.0, "result_bytes": 0}
        self._wake, self._closed = threading.Event(), False
        self._claiming = threading.Lock()  # so that a claimed job is always among the running ones
        self._tidied = 0.0
        self._unsaid: dict[str, tuple[str, dict[str, Any]]] = {}  # ends of jobs that the queue could not store
        self.recovered = self.queue.recover()
        self.results.tidy({job["id"] for job in self.queue.newest(limit=1 << 30) if job["kept"]})
        self._thread = threading.Thread(target=self._dispatch, name="arcflux-dispatch", daemon=True)
        if not hold:
            self._thread.start()

    # --- calls of users

    def submit(self, user: str, body: Mapping[str, Any], key: str | None = None) -> tuple[dict[str, Any], bool]:
        """Accept a job (`graph`, `task`, `parameters`, `priority`, and limits); returns it, and whether it is new."""
        graph, task, parameters = body["graph"], body["task"], body.get("parameters", {})
        self.catalogue.path(graph)
        self.catalogue.check(task, parameters)
        if body.get("workers", 1) > self.workers:
            raise UsageError(
                f"workers is {body['workers']}", expected=f"at most {self.workers}, of this server",
                remedy="arcflux serve --workers",
            )  # fmt: skip
        options = {name: body[name] for name in (*LIMITS, "workers") if body.get(name) is not None}
        row = self.queue.submit(
            user, graph, task, parameters, priority=body.get("priority", 0), options=options, key=key
        )
        self._wake.set()
        return row

    def cancel(self, ident: str) -> str | None:
        """Cancel a job; returns its state."""
        with self._claiming:
            state, job = self.queue.cancel(ident), self.running.get(ident)
        if job is not None:
            job.cancel()
        return state

    def status(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A job as users see it: its row, and its progress."""
        hidden = ("epoch", "cancel", "key", "number", "kept")
        shown = {name: value for name, value in row.items() if name not in hidden}
        shown["result"] = row["kept"]
        job = self.running.get(row["id"]) or self.recent.get(row["id"])
        if isinstance(job, dict):
            shown |= job
        elif isinstance(job, Job):
            shown["progress"] = vars(job.progress)
            shown["predicted"] = job.predicted
            shown["history"] = [
                {"superstep": one.number, "direction": one.direction, "frontier": one.frontier,
                 "seconds": one.seconds, "edges": one.edges}
                for one in list(job.history)[-128:]
            ]  # fmt: skip
        return shown

    def close(self) -> None:
        """Stop: running jobs are cancelled here and stay accepted, for the next server to run again."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(10.0)
        running = list(self.running.values())
        for job in running:
            job.cancel()
        self.jobs.close(cancel=True)
        for job in running:
            if isinstance(job, Handover):
                job.wait(_PARTING)
        self.queue.close()
        self._lock_file.close()

    # --- the stages of a job

    def _dispatch(self) -> None:
        while not self._closed:
            try:
                self._tidy()
                for ident, (state, said) in list(self._unsaid.items()):
                    self._finish(ident, state, **said)
                while len(self.running) < self.at_once and not self._closed:
                    with self._claiming:
                        if (row := self.queue.claim()) is None:
                            break
                        opening = self.running[row["id"]] = _Opening()
                    self._begin(row, opening)
            except Exception as error:  # a row that cannot be read must not end the service
                trace.note(f"the dispatcher goes on after {describe(error)}")
                time.sleep(_GLANCE)
            self._wake.wait(_GLANCE)
            self._wake.clear()

    def _begin(self, row: dict[str, Any], opening: _Opening) -> None:
        """Start a job; while its graph is being opened, others begin."""
        ident = row["id"]
        with self._failing(ident):
            if row["options"].get("workers", 1) > 1:
                path = self.catalogue.path(row["graph"])
                back = lambda ended: self._handed_back(row, ended)  # noqa: E731
                run = hand_over(row, path, self.folder, back, spark=self.spark)
                self.running[ident] = run
                opening.begin(run)
                run.start()
            elif self.catalogue.is_open(row["graph"]):
                self._run(row, opening)
            else:
                threading.Thread(target=self._run, args=(row, opening), name="arcflux-opening", daemon=True).start()

    def _run(self, row: dict[str, Any], opening: _Opening) -> None:
        ident, options = row["id"], row["options"]
        with self._failing(ident):
            graph = self.catalogue.graph(row["graph"])
            limits = {name: options[name] for name in LIMITS if name in options}
            if "deadline" in limits:  # counted from the submission, also after a restart
                limits["deadline"] = max(1e-3, limits["deadline"] - (time.time() - row["submitted"]))
            job = self.jobs.submit(
                self.catalogue.task(row["task"]), graph=graph, priority=row["priority"],
                ended=lambda job: self._ended(ident, job), **limits, **_numbers(row["parameters"], graph),
            )  # fmt: skip
            opening.begin(job)
            if not job.is_over:
                self.running[ident] = job
                job.predicted = _predicted(job, self.jobs)
            if job.is_over:
                self.running.pop(ident, None)

    @contextmanager
    def _failing(self, ident: str) -> Iterator[None]:
        """An error before a job runs ends the job, unless the service is stopping: then the next server runs it."""
        try:
            yield
        except Exception as error:
            self.running.pop(ident, None)
            if not self._closed:
                self._finish(ident, "failed", error=describe(error))
                self._wake.set()

    def _ended(self, ident: str, job: Job) -> None:
        """A job is over, in its own thread: store its result, then its state."""
        try:
            if self._closed and job.state == "cancelled":
                return  # not by its owner: the next server runs it again
            facts: dict[str, Any] = {"seconds": job.progress.seconds}
            state, error = job.state, job.error
            result = job._result if error is None else None
            if result is not None:
                facts |= {"supersteps": result.supersteps, "converged": result.converged}
                try:
                    facts["rows"] = self.results.keep(ident, result)
                except (ArcfluxError, OSError, MemoryError) as failure:
                    state, error = "failed", failure
            if error is not None:
                facts["error"] = describe(error)
            self._finish(ident, state, **facts)
        finally:
            self._remember(ident, job)
            self.running.pop(ident, None)
            self.jobs.forget(job)
            job._result = None
            self._wake.set()

    def _remember(self, ident: str, job: Job | dict[str, Any]) -> None:
        self.recent[ident] = job
        while len(self.recent) > 200:
            self.recent.pop(next(iter(self.recent)), None)

    def _handed_back(self, row: dict[str, Any], ended: Handover) -> None:
        """A job on several processes is over."""
        ident, state = row["id"], "done"
        facts: dict[str, Any] = {"seconds": ended.seconds}
        try:
            if self._closed:
                return
            if ended.error is None:
                facts |= {"rows": self.results.keep_table(ident, ended.table()), **ended.facts()}
                self._remember(ident, ended.shown())
        except (ArcfluxError, OSError, ValueError, KeyError, TypeError) as failure:
            ended.error = failure
        finally:
            if ended.error is not None and not self._closed:
                state = "cancelled" if isinstance(ended.error, CancelledError) else "failed"
                facts["error"] = describe(ended.error)
            if not self._closed:
                self._finish(ident, state, **facts)
            self.running.pop(ident, None)
            self._wake.set()

    def _finish(self, ident: str, state: str, **said: Any) -> None:
        """Store how a job has ended; the dispatcher tries again while the disk is full."""
        try:
            counts = self.queue.finish(ident, state, **said)
        except StoreError as error:
            if ident not in self._unsaid:
                trace.note(f"the end of job {ident} is written down later: {error}")
            self._unsaid[ident] = state, said
            return
        self._unsaid.pop(ident, None)
        if counts:
            self.totals[state] += 1
            self.totals["seconds"] += said.get("seconds", 0.0)

    def _tidy(self) -> None:
        now = time.monotonic()
        if now - self._tidied < _TIDY:
            return
        self._tidied = now
        self.queue.forget_service(_TIDY)
        for ident in self.queue.expire(self.keep, 10 * self.keep):
            with suppress(OSError):
                self.results.drop(ident)


class _Opening:
    """A placeholder for a job whose graph is being opened: if cancelled then, the job is cancelled when it begins."""

    def __init__(self) -> None:
        self._lock, self._cancelled = threading.Lock(), False
        self._job: Job | Handover | None = None

    def cancel(self) -> None:
        """Cancel the job, now or as soon as it begins."""
        with self._lock:
            self._cancelled, job = True, self._job
        if job is not None:
            job.cancel()

    def begin(self, job: Job | Handover) -> None:
        """The job is among the running ones."""
        with self._lock:
            self._job, cancelled = job, self._cancelled
        if cancelled:
            job.cancel()


def _numbers(parameters: Mapping[str, Any], graph: Any) -> dict[str, Any]:
    """Parameters with ids of the graph's type: keys of JSON objects are text, where ids may be integers."""
    whole = graph.ids.kind != "text"
    return {
        name: {int(key): share for key, share in value.items()} if isinstance(value, dict) and whole else value
        for name, value in parameters.items()
    }


def _predicted(job: Job, jobs: Jobs) -> float | None:
    """The predicted seconds of the job, alone."""
    from arcflux.plan.plans import Placement
    from arcflux.plan.this_machine import choose

    task = jobs.task(job)
    if task is None or not config.uses_planner():
        return None
    with suppress(ArcfluxError, ValueError, KeyError, IndexError, ZeroDivisionError):
        return float(choose(task.work, task.graph, Placement(jobs.threads)).chosen.seconds)
    return None
