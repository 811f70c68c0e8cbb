"""Where a run is executed: on which parts and ranks, with which model of exchange; and the run itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.compile.lower import Lowered
from arcflux.config import rank_and_size
from arcflux.engine.loop import Options, stopping
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.team import Team

if TYPE_CHECKING:
    from arcflux.devices import Device
    from arcflux.partition.parts import Parts
    from arcflux.transports.base import Transport

__all__ = ["SHARED", "USUAL", "WHERE", "Spread", "on_ranks", "pressed_anywhere", "run_spread", "spread_out"]

Array = NDArray[Any]
Answer = TypeVar("Answer")

# The exchange of workers that share one memory: nothing is sent.
SHARED = "shared"
# The options of :func:`arcflux.run` that say where a native algorithm runs.
WHERE = ("threads", "parts", "partition", "transport", "ranks_per_node", "devices")
# Partition options that do not choose a split.
USUAL = ("auto", "ranges")


@dataclass(frozen=True)
class Spread:
    """The options of a run that say where it runs; see :func:`arcflux.run`.

    `network`: bytes a second between its nodes, if they were measured.
    """

    parts: int | Parts | None = None
    partition: str = "auto"
    exchange: str = "auto"
    transport: str | None = None
    ranks_per_node: int | None = None
    devices: Sequence[Device] | None = None
    rebalance: str = "auto"
    network: float | None = None

    def checked(self) -> Spread:
        """The same options, checked."""
        if self.partition not in USUAL:
            from arcflux.partition import check_split

            check_split(1, self.partition)
        if self.exchange != "auto":
            from arcflux.engine.exchange.model import EXCHANGES

            _refuse_unless("exchange", self.exchange, EXCHANGES)
        if self.ranks_per_node is not None:
            from arcflux.transports.base import nodes_by_size

            nodes_by_size(1, self.ranks_per_node)
        if self.transport is not None:
            from arcflux.transports.registry import check_transport

            check_transport(self.transport)
        if self.rebalance != "auto":
            from arcflux.engine.balance.plan import HOW

            _refuse_unless("rebalance", self.rebalance, HOW)
        return self

    def on(self, devices: str | Sequence[Device] | None, threads: int | None) -> Spread:
        """The same on these devices, or on those of a name such as "cuda:0-3"; collective if there are ranks."""
        if isinstance(devices, str):
            from arcflux.devices import named

            devices = named(devices, self.ranks(), threads)
        elif devices is not None and self.ranks() is None:
            _check_apart(devices)
        return replace(self, devices=devices)

    @property
    def wanted(self) -> bool:
        """Whether the run uses parts: the options ask for it, or this process is one of several ranks."""
        any_given = any(option is not None for option in (self.parts, self.transport, self.devices))
        return any_given or self.ranks() is not None

    @property
    def idle(self) -> str:
        """A note of options for parts that have no effect because the run has no parts; "" if there are none."""
        is_set = {
            f"partition={self.partition!r}": self.partition not in USUAL,
            f"exchange={self.exchange!r}": self.exchange != "auto",
            f"rebalance={self.rebalance!r}": self.rebalance not in ("auto", "off"),
            f"ranks_per_node={self.ranks_per_node}": self.ranks_per_node is not None,
        }
        names = " and ".join(name for name, active in is_set.items() if active)
        return f"there are no parts: no effect of {names}" if names and not self.wanted else ""

    def ranks(self) -> Transport | None:
        """The ranks of this process's job; None if it is alone, or the options ask for one process."""
        transport: Transport | None = None
        if self.transport in (None, "mpi", "tcp") and rank_and_size() is not None:
            from arcflux.transports.launch import current

            transport = current(ranks_per_node=self.ranks_per_node)
        if transport is None and self.transport == "mpi":
            raise UsageError(
                "transport is 'mpi', and this process was not started by mpiexec", expected="a process of an MPI job",
                remedy="mpiexec -n 4 python ..., or arcflux run ... --workers 4",
            )  # fmt: skip
        return transport

    def start(self, size: int, work: Callable[[Transport], Answer], **options: Any) -> list[Answer]:
        """Run ``work(transport)`` on ranks of the chosen transport: threads of this process by default."""
        from arcflux.transports.registry import starter

        return starter(self.transport or "local")(size, work, **options)

    def shares_all(self, nodes: int, parts: Parts) -> bool:
        """Whether workers may take chunks of the whole graph as they become free.

        On one node they share all memory, so no split has to be fixed, unless devices differ or an exchange is asked
        for.
        """
        usual = self.devices is None and self.exchange in ("auto", SHARED) and self.transport in (None, "local", "mpi")
        return nodes == 1 and usual and parts.placement == "target"

    def split(self, graph: Graph, ranks: int | None) -> Parts:
        """The parts of a graph: those given, or as many as there are ranks."""
        from arcflux.partition import partition
        from arcflux.partition.parts import Parts

        if isinstance(self.parts, Parts):
            parts = self.parts
            if parts.graph is not graph and not parts.graph.equals(graph):
                raise UsageError("the parts are those of another graph", expected="parts of the graph that is run on")
        else:
            count = self.parts if self.parts is not None else ranks or len(self.devices or [0])
            how = "ranges" if self.partition == "auto" else self.partition
            key = ("parts", count, how)
            if key not in graph.kept:
                graph.kept[key] = partition(graph, count, how)
                if (rank_and_size() or (0, 1))[0] == 0:  # only the first rank reports it
                    for said in graph.kept[key].notes:
                        trace.note(f"parts by {how}: {said}")
            parts = graph.kept[key]
        if ranks is not None and parts.k != ranks:
            raise UsageError(
                f"there are {parts.k} parts and {ranks} ranks", expected="as many parts as ranks",
                remedy=f"mpiexec -n {parts.k}, or --workers {parts.k}",
            )  # fmt: skip
        if self.devices is not None and len(self.devices) != parts.k:
            raise UsageError(
                f"there are {parts.k} parts and {len(self.devices)} devices", expected="one for each part",
                remedy="leave parts= out, and every device gets one",
            )  # fmt: skip
        return parts


def _refuse_unless(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"{name} is {value!r}", expected=" or ".join(map(repr, known)))


def on_ranks(spread: Spread, graph: Graph, work: Callable[[Transport, Parts], Answer], *, ends: bool = False) -> Answer:
    """The value of ``work(transport, parts)`` on the ranks of this process's job, or on threads as ranks.

    A cancelled token ends it, unless it `ends` by itself.
    """
    ranks = spread.ranks()
    if ranks is not None:
        return work(ranks, spread.split(graph, ranks.size))
    parts = spread.split(graph, None)
    answers: list[Answer] = spread.start(
        parts.k, lambda own: work(own, parts), ranks_per_node=spread.ranks_per_node, ends=ends
    )
    return answers[0]


def run_spread(lowered: Lowered, graph: Graph, values: Mapping[str, Array], options: Options, spread: Spread) -> Result:
    """Run on parts: on the ranks of this process's job, or on threads of this process."""
    from arcflux.engine.exchange.model import Model
    from arcflux.engine.exchange.own_nodes import with_own_nodes
    from arcflux.engine.parts import PartRun, Setting
    from arcflux.engine.together import run_together

    if lowered.mails and not spread.wanted:
        spread = replace(spread, parts=1, transport="local")
    by_supersteps = any(device.kind == "cuda" for device in spread.devices or ())
    if lowered.ordered and (options.direction == "pull" or by_supersteps):
        lowered = lowered.unordered()

    def work(transport: Transport, parts: Parts, over: Callable[[], bool]) -> Result:
        model = Model.choose("auto" if spread.exchange == SHARED else spread.exchange, lowered, parts)
        if spread.devices is None:
            setting = Setting(model, options, over, None, spread.rebalance, spread.network)
            return PartRun(lowered, graph, values, setting, transport).run()
        if model.name != "readers":
            transport = with_own_nodes(transport, [device.kind == "cuda" for device in spread.devices])
        device = spread.devices[transport.rank]
        own = replace(options, threads=device.threads)
        setting = Setting(model, own, over, spread.devices, spread.rebalance, spread.network)
        with device.active():
            return PartRun(lowered, graph, values, setting, transport).run()

    def together(options: Options, team: Team) -> Result:
        return run_together(lowered, graph, values, options, team)

    shares = None if lowered.mails else together
    return spread_out(spread, graph, options, shares, work, by_threads_alone=lowered.ordered)


def spread_out(
    spread: Spread,
    graph: Graph,
    options: Options,
    together: Callable[[Options, Team], Result] | None,
    work: Callable[[Transport, Parts, Callable[[], bool]], Result],
    *,
    by_threads_alone: bool = False,
) -> Result:
    """The result of `together` on a team that shares the whole graph, if there is one, else of `work` on every part.

    `together` is None where there is no kernel of many supersteps; then even ranks that share memory exchange.

    `by_threads_alone`: only threads can run `together`, not ranks.
    """
    ranks = spread.ranks()
    parts = spread.split(graph, None if ranks is None else ranks.size)
    if together is None:
        pass
    elif ranks is None:
        one_node = spread.ranks_per_node is None or spread.ranks_per_node >= parts.k
        if spread.shares_all(1 if one_node else 2, parts):
            team = Team(parts.k * options.threads)
            result = together(replace(options, threads=team.workers), team)
            return _on_shared_memory(result, f"{team.workers} workers", parts)
    elif spread.shares_all(ranks.nodes, parts) and not by_threads_alone:
        from arcflux.engine.team import Ranks

        with ranks.limited(options.timeout):
            result = together(options, Ranks.of(ranks))
        return _on_shared_memory(result, f"{ranks.size} ranks", parts)
    limited = nullcontext() if ranks is None else ranks.limited(options.timeout)
    with stopping(options, lambda pressed: pressed_anywhere(ranks, pressed)) as over, limited:
        return on_ranks(spread, graph, lambda transport, parts: work(transport, parts, over), ends=True)


def _check_apart(devices: Sequence[Device]) -> None:
    """Refuse a device that is used for two parts: threads would take and release each other's memory."""
    own = [device for device in devices if getattr(device, "memory", None) is not None]
    twice = next((device for place, device in enumerate(own) if any(device is one for one in own[:place])), None)
    if twice is not None:
        raise UsageError(
            f"{twice.name} has a memory of its own and is given twice", expected="a device for each part",
            remedy="several parts on a GPU: [af.devices.Cuda(0, memory=4 << 30), af.devices.Cuda(0, memory=4 << 30)]",
        )  # fmt: skip


def pressed_anywhere(ranks: Transport | None, pressed: bool) -> bool:
    """Whether Ctrl-C was pressed on any rank."""
    return pressed if ranks is None else bool(ranks.reduce(np.array([pressed], np.uint8), "max")[0])


def _on_shared_memory(result: Result, workers: str, parts: Parts) -> Result:
    """The result of workers that share the whole graph, with a note of how they ran."""
    notes = (
        () if parts.how in USUAL else (f"parts by {parts.how} have no effect: workers take chunks of the whole graph",)
    )
    return replace(result, exchange=SHARED, where=f"{workers} on shared memory", notes=notes)
