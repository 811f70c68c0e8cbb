"""A worker of a native algorithm: a share of the work, a device that computes, and peers.

Every worker sees the whole graph, mapped or shared, and takes a share of its vertices, edges or sources. On cores a
worker is a team: all threads of this process, or the ranks of a node, which run every kernel together in memory that
all of them see. A GPU is a worker of its own. So an algorithm is one function `work(worker)`, whatever runs it; its
kernels stand beside it in cpu.py and cuda.py, behind the same few calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux import trace
from arcflux.engine.shares import Shares
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.graph.core import Adjacency
from arcflux.spmd.pool import BRIEF_VISITS, SERIAL_VISITS
from arcflux.spmd.team import Team

if TYPE_CHECKING:
    from arcflux.gpu.room import Room
    from arcflux.transports.base import Transport

__all__ = ["Cores", "Worker"]

Array = NDArray[Any]
_MERGE_TAG = 11
_SWAP_TAG = 12


class Cores:
    """A team of cores as a device; `compiled` are the seconds of whatever is done once: compiling, sorting rows.

    `check` is called while kernels run, and raises when the work is to end.
    """

    kind = "cpu"

    def __init__(self, team: Team, check: Callable[[], None] | None = None) -> None:
        self.team, self.check, self.compiled = team, check, 0.0

    @property
    def workers(self) -> int:
        """How many cores there are."""
        return self.team.workers

    @property
    def leads(self) -> bool:
        """Whether this process does what one has to do for the team."""
        return self.team.leads

    def launch(
        self, kernel: Any, chunks: int | None, *arguments: Any, task: trace.Task | None = None,
        watch: Callable[[Array], None] | None = None, visits: int | None = None,
    ) -> None:  # fmt: skip
        """Run a kernel on all cores, or on as many as there are chunks; `watch` sees its control now and then.

        `visits`, where it is known, is how many arcs and vertices it looks at: few are a brief launch. With None for
        its chunks, they also say how many cores are worth waking.
        """
        if chunks is None:
            assert visits is not None
            chunks = visits // SERIAL_VISITS
        self._compile(kernel, arguments)
        brief = visits is not None and visits <= BRIEF_VISITS and self.check is None
        self.team.launch(kernel, max(1, chunks), *arguments, task=task, glance=self._glance(watch), brief=int(brief))

    def _compile(self, kernel: Any, arguments: Sequence[Any]) -> None:
        """Have the kernel ready: one process of the team compiles, the others find it in the cache."""
        begun = time.perf_counter()
        if not self.leads:
            self.team.together()
        kernel.ready(0, self.workers, np.zeros(16, np.int64), *arguments)
        if self.leads:
            self.team.together()
        self.compiled += time.perf_counter() - begun

    def _glance(self, watch: Callable[[Array], None] | None) -> Callable[[Array], None] | None:
        check = self.check
        if check is None:
            return watch

        def glance(control: Array) -> None:
            check()
            if watch is not None:
                watch(control)

        return glance

    def kept(self, size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
        """An array of the result, which the team shares; see :meth:`result`."""
        return self.team.kept(size, dtype, zero=zero)

    def result(self, array: Array) -> Array:
        """An array that was kept, as it is handed to the caller, when all cores have written what they have to."""
        self.team.together()
        return self.team.result(array)

    def host(self, size: int, dtype: DTypeLike) -> Array:
        """Scratch memory that the team shares, its contents undefined."""
        return self.team.lent(size, dtype)

    def small(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Array:
        """A few zeros that the team shares: counters, boards."""
        return self.team.small(shape, dtype)

    def barrier(self) -> Array:
        """A barrier for kernels in which the team meets."""
        return self.team.barrier()

    def together(self) -> None:
        """Wait until every process of the team is here."""
        self.team.together()

    def publish(self, values: Any, there: Array) -> None:
        """Write values into memory that the team shares; all see them afterwards."""
        self.team.together()
        if self.leads:
            there[:] = values
        self.team.together()


class Worker:
    """One of the workers of a native algorithm.

    rank, size: its number, and how many there are; device: its cores, or the memory of its GPU; peers: the devices'
    kinds, "cpu" or "cuda", in the workers' order; shares: how much of the work each takes.
    """

    def __init__(
        self, graph: Graph, device: Cores | Room, transport: Transport | None = None, rank: int = 0,
        speakers: Sequence[int] = (0,), weights: Sequence[float] = (1.0,), peers: Sequence[str] = ("cpu",),
    ) -> None:  # fmt: skip
        """`speakers`: the rank of the transport that speaks for each worker; `weights`: how much each can do."""
        self.graph, self.device, self.transport, self.rank = graph, device, transport, rank
        self.speakers, self.peers, self.shares = list(speakers), list(peers), Shares(weights, rank)
        self.size = len(self.speakers)
        self.speaks = transport is None or self.speakers[rank] == transport.rank

    @property
    def cores(self) -> Cores:
        """The device of a worker whose kernels are those of cpu.py."""
        assert isinstance(self.device, Cores)
        return self.device

    @property
    def room(self) -> Room:
        """The device of a worker whose kernels are those of cuda.py."""
        assert not isinstance(self.device, Cores)
        return self.device

    def kernels(self, package: str) -> Any:
        """The module with the kernels of an algorithm's package for this worker's device."""
        module = f"{package}.{self.device.kind}"
        if find_spec(module) is None:
            raise UsageError(
                f"{package.rpartition('.')[2]} has no kernels for a device of kind {self.device.kind!r}",
                expected="cores", remedy="leave devices= out",
            )  # fmt: skip
        return import_module(module)

    def share(self, total: int) -> tuple[int, int]:
        """From where to before where of so much work this worker takes."""
        return (0, total) if self.size == 1 else self.shares.mine(total)

    def share_of_rows(self) -> tuple[int, int]:
        """From which vertex to before which this worker takes rows, so that it has its share of all arcs."""
        cuts = self.row_cuts
        return int(cuts[self.rank]), int(cuts[self.rank + 1])

    @cached_property
    def row_cuts(self) -> Array:
        """Where the rows of each worker begin, and where those of the last one end: int64[size + 1]."""
        cuts = np.searchsorted(self.graph.out.offsets, np.array(self.shares.cuts(self.graph.arcs), np.uint64))
        cuts[-1] = self.graph.vertices
        return cuts

    @cached_property
    def rows(self) -> tuple[Adjacency, Adjacency]:
        """Out-edges and in-edges with the neighbours of each row in order: parallel edges are next to each other."""
        begun = time.perf_counter()
        found = sorted_rows(self.graph)
        self.device.compiled += time.perf_counter() - begun
        return found

    # --- what workers tell each other; collective, and the same for all

    def sum(self, values: Array) -> Array:
        """The sum of what all workers have."""
        if self.size == 1 or self.transport is None:
            return values
        return self.transport.reduce(values if self.speaks else np.zeros_like(values), "sum")

    def least(self, values: Array) -> Array:
        """The smallest of what all workers have, element by element."""
        if self.size == 1 or self.transport is None:
            return values
        return self.transport.reduce(values, "min")  # ranks of a node have the same

    def gather(self, values: Array) -> Array:
        """What all workers have, one after the other."""
        if self.size == 1 or self.transport is None:
            return values
        pieces = self.transport.gather(values if self.speaks else values[:0])
        return np.concatenate([pieces[rank] for rank in self.speakers])

    def broadcast(self, values: Array, root: int = 0) -> Array:
        """What one worker has, for all; the others give an array of the same shape and dtype."""
        if self.transport is None:
            return values
        return self.transport.broadcast(values, self.speakers[root])

    def merge(self, give: Callable[[], Array], absorb: Callable[[Array], None]) -> Array:
        """Up a binomial tree of workers each absorbs what others give; then all get what the first has.

        What is given has the same size on all workers: the tree carries 2 (size - 1) of it, in 2 log2(size) steps.
        """
        mine, reach = give(), 1
        buffer = self.device.host(mine.size, mine.dtype)
        while reach < self.size and not self.rank & reach:
            if self.rank + reach < self.size:
                self._receive(self.rank + reach, buffer)
                absorb(buffer)
            reach *= 2
        if self.rank and self.speaks and self.transport is not None:
            self.transport.post(self.speakers[self.rank - reach], [give()], _MERGE_TAG)
            self.transport.finish()
        return self.broadcast(give())

    def swap(self, pieces: Sequence[Array]) -> list[Array]:
        """What every worker has for this one, in their order, where `pieces[k]` is what this one has for worker k.

        All pieces have one dtype and one dimension; each goes to its receiver only. Collective.
        """
        if self.size == 1 or self.transport is None:
            return list(pieces)
        dtype, transport = pieces[0].dtype, self.transport
        received = [piece[:0] for piece in pieces]
        if self.speaks:
            others = [k for k in range(self.size) if k != self.rank]
            for k in others:
                transport.post(self.speakers[k], [np.ascontiguousarray(pieces[k])], _SWAP_TAG)
            received = [
                pieces[k] if k == self.rank else transport.collect(self.speakers[k], _SWAP_TAG).view(dtype)
                for k in range(self.size)
            ]
            transport.finish()
        return received if self.cores.workers == 1 or self.cores.team.kind == "threads" else self._told(received, dtype)

    def _told(self, pieces: list[Array], dtype: Any) -> list[Array]:
        """What the rank that speaks has received, for all ranks of the team."""
        lengths = self.cores.small(self.size)
        self.cores.publish([len(piece) for piece in pieces], lengths)
        whole = self.cores.host(int(lengths.sum()), dtype)
        self.cores.publish(np.concatenate(pieces) if self.cores.leads else None, whole)
        return np.split(whole, np.cumsum(lengths)[:-1])

    def _receive(self, peer: int, buffer: Array) -> None:
        if self.speaks and self.transport is not None:
            buffer[:] = self.transport.collect(self.speakers[peer], _MERGE_TAG).view(buffer.dtype)

    def check(self) -> None:
        """Raise when another worker has failed."""
        if self.transport is not None:
            self.transport.check()

    @property
    def nodes(self) -> int:
        """On how many nodes the workers are."""
        return 1 if self.transport is None else self.transport.nodes

    @property
    def sent(self) -> int:
        """Bytes that this process has sent to other nodes so far."""
        return 0 if self.transport is None else self.transport.sent.bytes

    def superstep(self, number: int) -> None:
        """Note where the work is, for errors to name."""
        if self.transport is not None:
            self.transport.superstep = number

    @contextmanager
    def task(self, name: str, total: int, unit: str) -> Iterator[trace.Task]:
        """Report progress; the first worker speaks for all."""
        quiet = self.rank > 0 or not self.speaks
        with nullcontext(_Silent(name, total, unit)) if quiet else trace.task(name, total, unit) as task:
            yield task


class _Silent(trace.Task):
    """A task without listeners."""

    def at(self, done: int) -> None:
        """`done` is done by now."""
        self.done = done


def sorted_rows(graph: Graph) -> tuple[Adjacency, Adjacency]:
    """Out-edges and in-edges with the neighbours of each row in order; the graph's own unless it was made unsorted.

    Examples
    --------
    >>> unsorted = Graph.from_edges([0, 0], [2, 1], sort=False)
    >>> sorted_rows(unsorted)[0].neighbours.tolist()
    [1, 2]
    """
    if graph.sorted:
        return graph.out, graph.into
    source, target, _ = graph.edge_numbers()
    again = Graph.from_edges(source, target, vertices=graph.vertices, directed=graph.directed)
    return again.out, again.into
