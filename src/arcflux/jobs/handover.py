"""Jobs that want more than one process: handed to MPI here, or to Slurm where there is one, as ``arcflux run``.

Both run the same command line, which writes its result as Parquet and its facts as JSON. With Slurm (``sbatch`` on the
path) the command is a batch job of so many tasks; else it is ``arcflux run --workers``.
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

from arcflux.errors import ArcfluxError, CancelledError, RankError, UsageError

__all__ = ["Handover", "MpiRun", "SlurmRun", "command_of", "hand_over"]

_GLANCE = 0.1
_SLURM_GLANCE = float(os.environ.get("ARCFLUX_SLURM_SECONDS", "1"))
_FAILED = ("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")


def command_of(row: Mapping[str, Any], graph: Path, out: Path) -> list[str]:
    """The arguments of ``arcflux`` that run a job and write its result; nothing in it is read by a shell."""
    if row["task"][:1].isupper():
        raise UsageError(
            f"{row['task']} is a program of this server", expected="an algorithm, for more than one worker",
            remedy="submit it without workers",
        )  # fmt: skip
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


class Handover:
    """A job that other processes run; :meth:`watch` waits for its end in a thread of its own."""

    def __init__(self, folder: Path, ident: str, ended: Callable[[Any], None]) -> None:
        self.out, self.log = folder / f"{ident}.parquet", folder / f"{ident}.json"
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._cancelled, self._ended, self._begun = threading.Event(), ended, time.monotonic()

    def cancel(self) -> None:
        """End it soon."""
        self._cancelled.set()

    def watch(self) -> None:
        """Wait for the end, or bring it about."""
        try:
            self._wait()
            if self._cancelled.is_set():
                raise CancelledError("the job was cancelled")
        except (ArcfluxError, OSError, subprocess.SubprocessError) as error:
            self.error = error
        self.seconds = time.monotonic() - self._begun
        try:
            self._ended(self)
        finally:
            for file in (self.out, self.log):
                file.unlink(missing_ok=True)

    def _wait(self) -> None:
        raise NotImplementedError

    def table(self) -> Any:
        """The result."""
        from pyarrow import parquet

        return parquet.read_table(self.out)

    def facts(self) -> dict[str, Any]:
        """What the command said about its run."""
        said = json.loads(self.log.read_text())
        return {"supersteps": said.get("supersteps"), "converged": said.get("converged")}

    def _reason(self, code: Any) -> str:
        try:
            return str(json.loads(self.log.read_text())["error"]["what"])
        except (OSError, ValueError, KeyError, TypeError):
            return f"the processes ended with {code}"


class MpiRun(Handover):
    """``arcflux run --workers``: MPI on this machine, or wherever its launcher goes."""

    def __init__(self, command: Sequence[str], workers: int, *given: Any) -> None:
        super().__init__(*given)
        self.command = [sys.executable, "-m", "arcflux", *command, "--workers", str(workers)]

    def _wait(self) -> None:
        with open(self.log, "wb") as log:
            process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            while process.poll() is None:
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
    row: Mapping[str, Any], graph: Path, folder: Path, ended: Callable[[Handover], None], start: bool = True
) -> Handover:  # fmt: skip
    """Have other processes run a job: Slurm's if there is ``sbatch``, else MPI's."""
    given = folder, row["id"], ended
    command = command_of(row, graph, folder / f"{row['id']}.parquet")
    kind = SlurmRun if shutil.which("sbatch") else MpiRun
    found = kind(command, row["options"]["workers"], *given)
    if start:
        threading.Thread(target=found.watch, name="arcflux-handover", daemon=True).start()
    return found
