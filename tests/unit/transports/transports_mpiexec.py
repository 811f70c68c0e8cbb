"""Starts ranks of MPI as the launcher does, with a time limit, and sees that nothing is left of them."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from arcflux.transports import launch

RANKS = str(Path(__file__).with_name("transports_ranks.py"))
SHARED = Path("/dev/shm")
# Where a Python with mpi4py and MPICH is; the wheels of two MPIs do not fit into one environment.
MPICH = os.environ.get("ARCFLUX_TEST_MPICH", "")

needs_mpi = pytest.mark.skipif(
    not (Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec")),
    reason="mpiexec is not installed",
)
needs_mpich = pytest.mark.skipif(
    not MPICH, reason="ARCFLUX_TEST_MPICH does not name the folder of a Python with the packages mpich and mpi4py"
)


def of_mpich(monkeypatch):
    """Have the launcher start the ranks with MPICH, on the Python beside it."""
    monkeypatch.setenv("ARCFLUX_MPIEXEC", f"{MPICH}/mpiexec")
    monkeypatch.setattr(sys, "executable", f"{MPICH}/python")


def processes_with(mark):
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append((folder.name, (folder / "cmdline").read_text().replace("\0", " ")))
    return found


def shared_memory():
    """The names of memory that processes share on this machine; other programs have folders there."""
    return [path for path in SHARED.iterdir() if path.is_file()]


def in_use(path):
    """Whether a process still maps the file: other jobs of MPI may run on this machine."""
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and str(path) in (folder / "maps").read_text():
                return True
    return False


def started(arguments, *, workers=4, seconds=200, own=False, hang=20, **environment):
    """The exit code, what was printed, and what was said, of ranks that have all ended.

    `own`: memory that MPICH shares while it starts may be left, since no rank of ours was there to remove it. `hang`:
    seconds until a rank is said to hang; few where one does, else many, since others may keep the cores busy.
    """
    mark = uuid.uuid4().hex
    line, base = launch.command(workers, arguments)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    env = {**base, "PYTHONPATH": paths, "ARCFLUX_TEST_MARK": mark, "ARCFLUX_HANG_SECONDS": str(hang), **environment}
    at = line.index(sys.executable)
    if "-x" in line:
        line[at:at] = ["-x", "ARCFLUX_TEST_MARK", "-x", "PYTHONPATH", "-x", "ARCFLUX_HANG_SECONDS"]
    with nothing_left(mark, own):
        return ended(line, env, mark, seconds)


def ended(line, env, mark, seconds):
    """The exit code, what was printed, and what was said; if it takes too long, where each rank was."""
    process = subprocess.Popen(
        line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        for signal_number in (signal.SIGUSR2, signal.SIGKILL):  # ranks of the tests say where they are on the first
            for pid, command in processes_with(mark):
                if signal_number == signal.SIGKILL or command.startswith(sys.executable):
                    with suppress(OSError):
                        os.kill(int(pid), signal_number)
            time.sleep(3)
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"not over after {seconds} s\n{out}\n{err}")
    return process.returncode, out, err


@contextmanager
def nothing_left(mark, own=False):
    """See that no process whose environment has the mark, and no shared memory, is left when the block has ended."""
    before = set(shared_memory())
    try:
        yield
        end = time.monotonic() + 60  # a process that was killed goes when the cores have time for it
        while (left := processes_with(mark)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left
        for path in shared_memory() if own else []:
            if path not in before and path.name.startswith(("mpich_shm_", "sm_segment.")) and not in_use(path):
                path.unlink(missing_ok=True)
        # Another job's memory is there before it is mapped, and when its ranks were killed; then its launcher takes it.
        while (new := [path for path in shared_memory() if path not in before and not in_use(path)]) and (
            time.monotonic() < end
        ):
            time.sleep(0.1)
        assert not new
    finally:
        for pid, _ in processes_with(mark):
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)


def launched(line, *, seconds=150, during=None, **environment):
    """The exit code, what was printed and what was said by a process that starts ranks by itself.

    `during(process, mark)` is called while it runs.
    """
    mark = uuid.uuid4().hex
    env = {**os.environ, "ARCFLUX_TEST_MARK": mark, "ARCFLUX_HANG_SECONDS": "3", **environment}
    with nothing_left(mark):
        process = subprocess.Popen(
            line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if during is not None:
            during(process, mark)
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            process.kill()
    return process.returncode, out, err
