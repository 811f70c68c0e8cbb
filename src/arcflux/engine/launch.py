"""Where a native algorithm runs, by its options, and its launch there; every algorithm uses it.

The threads of this process, or the ranks of one node, are one worker; each of several nodes is a worker; so is each
GPU, and the cores beside GPUs. Each worker sees the whole graph, so `parts` only sets how many cores take part, and
`partition` is checked but has no effect: only vertex programs use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np

from arcflux.devices import CPU, Device
from arcflux.engine.advice import chosen_threads, kept
from arcflux.engine.shares import weight
from arcflux.engine.spread import SHARED, USUAL, WHERE, Spread, on_ranks
from arcflux.engine.team import Ranks
from arcflux.engine.worker import Cores, Worker
from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.partition import check_split
from arcflux.partition.parts import Parts
from arcflux.result import Result
from arcflux.spmd.interrupt import within_time
from arcflux.spmd.team import Team
from arcflux.transports.base import Transport, nodes_by_size

if TYPE_CHECKING:
    from arcflux.gpu.room import Room

__all__ = ["Launched", "Where", "launch", "launch_on_parts", "launch_shared"]

Answer = TypeVar("Answer")
Finished = TypeVar("Finished", bound=Result)
Work = Callable[[Worker], Answer]


@dataclass(frozen=True)
class Where:
    """Where a native algorithm runs: the options of :func:`arcflux.run` that say so, checked, and the devices.

    wanted: whether it runs elsewhere than on the threads of this process.
    """

    spread: Spread
    threads: int | None
    wanted: bool

    @classmethod
    def of(cls, graph: Graph, options: Mapping[str, Any]) -> Where:
        """Where these options say; collective if there are ranks."""
        unknown = next((name for name in options if name not in WHERE), None)
        if unknown is not None:
            raise UsageError(
                f"a native algorithm does not take {unknown}",
                expected=f"options that say where it runs: {', '.join(WHERE)}",
                remedy=did_you_mean(unknown, WHERE, "leave it out"),
            )
        spread_options = {name: options[name] for name in WHERE[1:-1] if name in options}
        threads, devices = options.get("threads"), options.get("devices")
        spread = Spread(**spread_options).checked()
        spread = spread if devices is None else spread.on(devices, threads)
        where = cls(spread, threads, spread.wanted)
        if spread.devices is None:
            where._check_parts(graph)
        else:
            where._check_devices(spread.devices)
        return where

    def _check_parts(self, graph: Graph) -> None:
        spread = self.spread
        if not self.wanted:
            if spread.partition not in USUAL or spread.ranks_per_node is not None:
                option = "ranks_per_node" if spread.ranks_per_node is not None else "partition"
                raise UsageError(f"{option} is given, and parts is not", expected="how many parts", remedy="parts=4")
            return
        if self.threads not in (None, 1):
            raise UsageError(
                f"threads is {self.threads!r}, and there are parts: each is the work of one thread",
                expected="either of them", remedy="leave threads= out, and take more parts",
            )  # fmt: skip
        if isinstance(spread.parts, Parts):
            if spread.partition not in USUAL:
                raise UsageError(
                    f"partition is {spread.partition!r}, and the parts are made already", remedy="leave partition= out"
                )
            if spread.parts.graph is not graph and not spread.parts.graph.equals(graph):
                raise UsageError("the parts are those of another graph", expected="parts of the graph that is run on")
        else:
            check_split(1 if spread.parts is None else spread.parts, _split_of(spread))
        ranks = spread.ranks()
        if ranks is not None and (k := _count(spread, ranks.size)) != ranks.size:
            raise UsageError(
                f"there are {k} parts and {ranks.size} ranks", expected="as many parts as ranks",
                remedy=f"mpiexec -n {k}, or --workers {k}",
            )  # fmt: skip

    def _check_devices(self, devices: Sequence[Device]) -> None:
        spread = self.spread
        if any(device.kind == "virtual" for device in devices) or all(device.kind == "cpu" for device in devices):
            raise UsageError(
                f"devices are {', '.join(device.name for device in devices)}, and this is no vertex program",
                expected="GPUs, or GPUs and cores, or cores alone",
                remedy="devices='cuda' or 'cpu+cuda', or leave devices= out",
            )
        if (ranks := spread.ranks()) is not None and ranks.size != len(devices):
            message = f"there are {ranks.size} ranks and {len(devices)} devices"
            raise UsageError(message, expected="one for each rank", remedy="devices='cuda'")
        if (k := _count(spread, len(devices))) != len(devices):
            raise UsageError(f"there are {k} parts and {len(devices)} devices", expected="one for each part")
        if (partitioner := _split_of(spread)) not in (*USUAL, "duplicate"):
            raise UsageError(
                f"partition is {partitioner!r}, and each device has the whole graph", expected="'duplicate'",
                remedy="leave it out",
            )  # fmt: skip


def _count(spread: Spread, otherwise: int) -> int:
    """The number of parts that the options ask for."""
    return spread.parts.k if isinstance(spread.parts, Parts) else otherwise if spread.parts is None else spread.parts


def _split_of(spread: Spread) -> str:
    how = spread.parts.how if isinstance(spread.parts, Parts) else spread.partition
    return "ranges" if how == "auto" else how


@dataclass(frozen=True)
class Launched(Generic[Answer]):
    """What a launch returned: the answer of the first worker, seconds of work, and seconds of one-time work.

    exchange, where and notes: as in a :class:`~arcflux.result.Result`.
    """

    answer: Answer
    seconds: float
    compile_seconds: float
    plan: Any = None
    exchange: str = ""
    where: str = ""
    notes: tuple[str, ...] = ()

    def finish(self, result: Finished) -> Finished:
        """The result with its plan and where it ran; the measurement is recorded for later plans."""
        if self.where:
            result = replace(result, exchange=self.exchange, where=self.where, notes=self.notes)
        return cast("Finished", kept(self.plan, result.graph, result))


def launch(
    graph: Graph, options: Mapping[str, Any], work: Work[Answer], advised: str | None = None
) -> Launched[Answer]:  # fmt: skip
    """Run ``work(worker)`` on the workers that the options ask for.

    `advised`: the planner's name of the algorithm, by which it chooses the number of threads if that is left open;
    without a name, every core is used.

    Examples
    --------
    >>> import arcflux as af
    >>> graph = af.load("path:5")
    >>> launch(graph, {"parts": 3, "ranks_per_node": 1}, lambda worker: worker.gather(np.array([worker.rank]))).answer
    array([0, 1, 2])
    """
    where = Where.of(graph, options)
    if where.spread.devices is not None:
        return _on_devices(graph, where.spread, where.spread.devices, work)
    if where.wanted:
        done, how = _on_nodes(graph, where.spread, work), _split_of(where.spread)
        if how not in (*USUAL, "duplicate"):
            done = replace(done, notes=(f"parts by {how} have no effect: every worker sees the whole graph",))
        return done
    threads, plan = (where.threads, None) if advised is None else chosen_threads(advised, graph, where.threads)
    return _alone(graph, Team(threads), work, plan)


def launch_shared(
    name: str, graph: Graph, options: Mapping[str, Any], work: Work[Answer], *, spreads: bool = False
) -> Launched[Answer] | None:  # fmt: skip
    """Run ``work(worker)`` where all cores share one memory; None where the vertex program must run instead.

    That is the case on GPUs, on several nodes (unless the work `spreads` over workers), and with options that only
    programs have. `timeout` ends the work with an error.
    """
    if options.get("devices") is not None or not options.keys() <= {*WHERE, "timeout"}:
        return None
    where = {key: value for key, value in options.items() if key != "timeout"}
    spread = Where.of(graph, where).spread
    if spread.wanted and not spreads:
        ranks = spread.ranks()
        if ranks is None and spread.transport not in (None, "local"):
            return None
        nodes = nodes_by_size(_count(spread, 1), spread.ranks_per_node)[-1] + 1 if ranks is None else ranks.nodes
        if nodes > 1:
            return None
    with within_time(name, options.get("timeout")):
        return launch(graph, where, work)


def _alone(graph: Graph, team: Team, work: Work[Answer], plan: Any = None) -> Launched[Answer]:
    """One worker: all threads of this process, or parts that share its memory."""
    begun, cores = time.perf_counter(), Cores(team)
    answer = work(Worker(graph, cores))
    team.end()
    return Launched(answer, time.perf_counter() - begun - cores.compiled, cores.compiled, plan)


def _on_nodes(graph: Graph, spread: Spread, work: Work[Answer]) -> Launched[Answer]:
    """A worker for each node: the ranks of this MPI job, or threads that simulate nodes."""
    ranks = spread.ranks()
    if ranks is None:
        node_of = nodes_by_size(_count(spread, 1), spread.ranks_per_node)
        sizes = np.bincount(node_of).tolist()
        if len(sizes) == 1:
            shared = f"{sizes[0]} workers on shared memory"
            return replace(_alone(graph, Team(sizes[0]), work), exchange=SHARED, where=shared)
        every = range(len(sizes))
        return spread.start(
            len(sizes), lambda own: _on_node(graph, own, Team(sizes[own.rank]), sizes, every, work), ranks_per_node=1
        )[0]
    team = Ranks.of(ranks)
    team.at(-1)
    sizes = [len(mates) for mates in ranks.members]
    return _on_node(graph, ranks, team, sizes, ranks.leaders, work)


def _on_node(
    graph: Graph, transport: Transport, team: Team, sizes: Sequence[int], speakers: Sequence[int], work: Work[Answer]
) -> Launched[Answer]:  # fmt: skip
    begun, cores = time.perf_counter(), Cores(team, transport.check)
    peers = ["cpu"] * len(sizes)
    answer = work(Worker(graph, cores, transport, transport.node, speakers, sizes, peers))
    team.end()
    done = Launched(answer, time.perf_counter() - begun - cores.compiled, cores.compiled)
    if len(sizes) == 1:
        return replace(done, exchange=SHARED, where=f"{sizes[0]} ranks on shared memory")
    return replace(done, where=f"{sum(sizes)} parts on {len(sizes)} nodes")


@contextmanager
def _opened(device: Device, check: Callable[[], None]) -> Iterator[Cores | Room]:
    """Open a device to work on; its memory is released at the end."""
    if device.kind == "cpu":
        with device.active():
            yield Cores(Team(device.threads), check)
    else:
        from arcflux.gpu.room import working

        with working(device, check) as room:
            yield room


def _on_devices(graph: Graph, spread: Spread, devices: Sequence[Device], work: Work[Answer]) -> Launched[Answer]:
    """A worker for each GPU, and one for the cores beside them."""

    def rank(transport: Transport) -> Launched[Answer]:
        device, begun = devices[transport.rank], time.perf_counter()
        weights = np.concatenate(transport.gather(np.array([weight(device)]))).tolist()
        place = transport.rank, range(transport.size), weights, [device.kind for device in devices]
        with _opened(device, transport.check) as opened:
            answer = work(Worker(graph, opened, transport, *place))
        return Launched(answer, time.perf_counter() - begun - opened.compiled, opened.compiled)

    ranks = spread.ranks()
    return rank(ranks) if ranks is not None else spread.start(len(devices), rank)[0]


def launch_on_parts(spread: Spread, graph: Graph, work: Callable[[Worker, Parts], Answer]) -> Answer:
    """Run ``work(worker, parts)`` on a worker for every part: a rank with one core, or with a GPU."""

    def rank(transport: Transport, parts: Parts) -> Answer:
        device = CPU(1) if spread.devices is None else spread.devices[transport.rank]
        kinds = [] if spread.devices is None else [device.kind for device in spread.devices]
        with _opened(device, transport.check) as opened:
            every = range(transport.size)
            return work(Worker(graph, opened, transport, transport.rank, every, [1.0] * len(every), kinds), parts)

    return on_ranks(spread, graph, rank)
