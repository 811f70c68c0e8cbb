"""Jobs on more than one process: handed to MPI here, to Slurm where it is installed, or to Spark.

MPI and Slurm run the same command line, which writes its result as Parquet and its facts as JSON. With Slurm
(``sbatch`` on the path) the command is a batch job with this many tasks; otherwise it is ``arcflux run --workers``.
Spark runs the plug's barrier stage, in a session of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arcflux import config
from arcflux.errors import ArcfluxError, CancelledError, RankError, UsageError

__all__ = ["WORKERS", "Handover", "MpiRun", "SlurmRun", "SparkRun", "command_of", "hand_over", "most_workers"]

# The most processes that a job may ask for.
WORKERS = 1024

_GLANCE = 0.1
# How many supersteps of a finished job are shown, and which columns.
_SHOWN, _STEP = 128, ("direction", "frontier", "seconds", "edges")
_SLURM_GLANCE = float(os.environ.get("ARCFLUX_SLURM_SECONDS", "1"))
_FAILED = ("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")


def command_of(row: Mapping[str, Any], graph: Path, out: Path) -> list[str]:
    """The arguments of ``arcflux`` that run a job and write its result; no shell interprets them."""
    _refuse_program(row)
    command = ["run", row["task"], str(graph), "--json", "--out", str(out)]
    for name, value in row["parameters"].items():
        if name in ("deterministic", "direction"):
            command += ["--deterministic"] * bool(value) if name == "deterministic" else ["--direction", str(value)]
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        command += ["--set", f"{name}={text}"]
    if (most := row["options"].get("max_supersteps")) is not None:
        command += ["--max-supersteps", str(most)]
    if (seconds := row["options"].get("max_seconds")) is not None:
        command += ["--timeout", str(seconds)]
    return command


def _refuse_program(row: Mapping[str, Any]) -> None:
    if row["task"][:1].isupper():
        raise UsageError(
            f"{row['task']} is a program of this server", expected="an algorithm, for more than one worker",
            remedy="submit it without workers",
        )  # fmt: skip


class Handover:
    """A job that other processes run; :meth:`watch` waits for its end."""

    def __init__(self, folder: Path, ident: str, ended: Callable[[Any], None]) -> None:
        self.out, self.log = folder / f"{ident}.parquet", folder / f"{ident}.json"
        self.error: BaseException | None = None
        self.seconds, self._why = 0.0, "the job was cancelled"
        self._cancelled, self._ended, self._begun = threading.Event(), ended, time.monotonic()
        self._over = threading.Event()

    def cancel(self) -> None:
        """End it soon."""
        self._cancelled.set()

    def start(self) -> None:
        """Run and watch it in its own thread."""
        threading.Thread(target=self.watch, name="arcflux-handover", daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Wait until its processes have ended, or for this many seconds; returns whether they have."""
        return self._over.wait(timeout)

    def watch(self) -> None:
        """Wait for the end, or enforce it."""
        try:
            self._wait()
            if self._cancelled.is_set():
                raise CancelledError(self._why)
        except (ArcfluxError, OSError, subprocess.SubprocessError) as error:
            self.error = error
        self.seconds = time.monotonic() - self._begun
        try:
            self._ended(self)
        finally:
            for file in (self.out, self.log):
                file.unlink(missing_ok=True)
            self._over.set()

    def _wait(self) -> None:
        raise NotImplementedError

    def table(self) -> Any:
        """The result."""
        from pyarrow import parquet

        return parquet.read_table(self.out)

    def facts(self) -> dict[str, Any]:
        """What the command reported about its run."""
        report = self._said()
        return {"supersteps": report.get("supersteps"), "converged": report.get("converged")}

    def shown(self) -> dict[str, Any]:
        """The same for the dashboard: supersteps, and for parts the traffic and the balance."""
        report = self._said()
        steps, spread = report.get("history", []), report.get("spread", {})
        options = {name: spread.get(name) for name in ("parts", "partition", "exchange", "where")}
        parts = [one["part_seconds"] for one in steps if one.get("part_seconds")]
        mean = sum(sum(one) / len(one) for one in parts)
        options["bytes"] = spread.get("bytes", 0) + spread.get("more_bytes", 0)
        options["balance"] = sum(max(one) for one in parts) / mean if mean > 0 else None
        history = [{"superstep": one["number"], **{name: one[name] for name in _STEP}} for one in steps[-_SHOWN:]]
        return {"history": history, "spread": options}

    def _said(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.log.read_text())
        return report

    def _reason(self, code: Any) -> str:
        try:
            return str(json.loads(self.log.read_text())["error"]["what"])
        except (OSError, ValueError, KeyError, TypeError):
            return f"the processes ended with {code}"


class MpiRun(Handover):
    """``arcflux run --workers``: MPI on this machine, or wherever its launcher runs it."""

    def __init__(self, command: Sequence[str], workers: int, *given: Any) -> None:
        super().__init__(*given)
        self.command = [sys.executable, "-m", "arcflux", *command, "--workers", str(workers)]
        self.seconds_at_most: float | None = None  # the command's own limit ends it

    def _is_late(self) -> bool:
        return self.seconds_at_most is not None and time.monotonic() - self._begun > self.seconds_at_most

    def _wait(self) -> None:
        with open(self.log, "wb") as log:
            process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            while process.poll() is None:
                if self._is_late():
                    self._why = f"the job has had the {self.seconds_at_most:g} s that it may take"
                    self._cancelled.set()
                if self._cancelled.wait(_GLANCE):
                    process.terminate()
                    try:
                        process.wait(10.0)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
                    return
        if process.returncode:
            raise RankError(self._reason(process.returncode))


class SparkRun(MpiRun):
    """Tasks of one barrier stage of Spark, in a session with this master; this process starts its driver."""

    def __init__(self, row: Mapping[str, Any], graph: Path, master: str, *given: Any) -> None:
        super().__init__([], row["options"]["workers"], *given)
        _refuse_program(row)
        parameters = dict(row["parameters"])
        if (most := row["options"].get("max_supersteps")) is not None:
            parameters["max_supersteps"] = most
        self.seconds_at_most = row["options"].get("max_seconds")
        job = {"master": master, "graph": str(graph), "task": row["task"], "parameters": parameters,
               "workers": row["options"]["workers"], "out": str(self.out)}  # fmt: skip
        self.command = [sys.executable, "-m", "arcflux.spark.driver", json.dumps(job)]


class SlurmRun(Handover):
    """A batch job of Slurm: ``sbatch``, then ``squeue`` until it is gone, then ``sacct``; ``scancel`` to cancel."""

    def __init__(self, command: Sequence[str], workers: int, *given: Any) -> None:
        super().__init__(*given)
        run = shlex.join(["srun", "--mpi=pmix", sys.executable, "-m", "arcflux", *command])
        options = [f"--ntasks={workers}", "--job-name=arcflux", f"--output={self.log}", "--error=/dev/null"]
        self.command = ["sbatch", "--parsable", *options, f"--wrap={run}"]
        self.number = ""

    def _wait(self) -> None:
        self.number = _told(self.command).partition(";")[0].strip()
        if not self.number.isdecimal():
            raise RankError(f"sbatch said {self.number!r}", expected="the number of a job")
        while True:
            if self._cancelled.wait(_SLURM_GLANCE):
                _told(["scancel", self.number])
                return
            if not _told(["squeue", "--noheader", "--jobs", self.number, "--format=%T"], quiet=True).strip():
                break
        state = _told(["sacct", "-X", "-n", "-P", "-j", self.number, "-o", "State"], quiet=True).strip()
        if state.split(" ")[0].rstrip("+") in _FAILED or not self.out.exists():
            raise RankError(self._reason(f"Slurm's {state or 'UNKNOWN'}"))


def _told(command: Sequence[str], quiet: bool = False) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if done.returncode and not quiet:
        raise RankError(f"{command[0]} failed: {done.stderr.strip()[:300]}")
    return done.stdout if not done.returncode else ""


def hand_over(
    row: Mapping[str, Any], graph: Path, folder: Path, ended: Callable[[Handover], None], *, spark: str | None = None
) -> Handover:  # fmt: skip
    """Prepare a job's run on other processes: Spark's, if its master is given; Slurm's, if there is

    ``sbatch``; else MPI's.
    """
    common = folder, row["id"], ended
    if spark is not None:
        handover: Handover = SparkRun(row, graph, spark, *common)
    else:
        kind = SlurmRun if shutil.which("sbatch") else MpiRun
        handover = kind(command_of(row, graph, folder / f"{row['id']}.parquet"), row["options"]["workers"], *common)
    return handover


def most_workers(spark: str | None = None) -> int:
    """How many processes a job may ask for: many with Spark or Slurm, which place them; here, two for each core."""
    return WORKERS if spark is not None or shutil.which("sbatch") else 2 * config.threads()
