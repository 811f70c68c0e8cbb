"""A worker of a native algorithm: a share of the work, a device that computes, and peers.

Every worker sees the whole graph, mapped or shared, and takes a share of its vertices, edges or sources. On cores a
worker is a team: all threads of this process, or the ranks of a node, which run every kernel together in memory that
all of them see. A GPU is a worker of its own. So an algorithm is one function `work(worker)` on every target; its
kernels are beside it in cpu.py and cuda.py, behind the same few calls.
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
    """A team of cores as a device; `compiled`: the seconds of one-time work: compiling, sorting rows.

    `check` is called while kernels run; it raises when the work has to end.
    """

    kind = "cpu"

    def __init__(self, team: Team, check: Callable[[], None] | None = None) -> None:
        self.team, self.check, self.compiled = team, check, 0.0

    @property
    def workers(self) -> int:
        """The number of cores."""
        return self.team.workers

    @property
    def leads(self) -> bool:
        """Whether this process does what must be done once for the team."""
        return self.team.leads

    def launch(
        self, kernel: Any, chunks: int | None, *arguments: Any, task: trace.Task | None = None,
        watch: Callable[[Array], None] | None = None, visits: int | None = None,
    ) -> None:  # fmt: skip
        """Run a kernel on all cores, or on as many as there are chunks; `watch` sees its control words now and then.

        `visits`: how many arcs and vertices the kernel visits, if known: few make a brief launch. If chunks is None,
        they also determine how many cores are worth waking.
        """
        if chunks is None:
            assert visits is not None
            chunks = visits // SERIAL_VISITS
        self._compile(kernel, arguments)
        brief = visits is not None and visits <= BRIEF_VISITS and self.check is None
        self.team.launch(kernel, max(1, chunks), *arguments, task=task, glance=self._glance(watch), brief=int(brief))

    def _compile(self, kernel: Any, arguments: Sequence[Any]) -> None:
        """Compile the kernel: one process of the team compiles, the others find it in the cache."""
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
        """A result array as it is returned to the caller, after all cores have written their share."""
        self.team.together()
        return self.team.result(array)

    def host(self, size: int, dtype: DTypeLike) -> Array:
        """Scratch memory that the team shares, contents undefined."""
        return self.team.lent(size, dtype)

    def small(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Array:
        """A few zeros that the team shares: counters, boards."""
        return self.team.small(shape, dtype)

    def barrier(self) -> Array:
        """The barrier at which the team meets within kernels."""
        return self.team.barrier()

    def together(self) -> None:
        """Wait until every process of the team is here."""
        self.team.together()

    def publish(self, values: Any, there: Array) -> None:
        """Write values into memory that the team shares, for all to see."""
        self.team.together()
        if self.leads:
            there[:] = values
        self.team.together()


class Worker:
    """One worker of a native algorithm.

    rank, size: its number, and the number of workers; device: its cores, or the memory of its GPU; peers: the devices'
    kinds, "cpu" or "cuda", in worker order; shares: how much of the work each takes.
    """

    def __init__(
        self, graph: Graph, device: Cores | Room, transport: Transport | None = None, rank: int = 0,
        speakers: Sequence[int] = (0,), weights: Sequence[float] = (1.0,), peers: Sequence[str] = ("cpu",),
    ) -> None:  # fmt: skip
        """`speakers`: the rank of the transport that communicates for each worker; `weights`: relative speeds."""
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
        """The range of this worker's share of so much work: from, to before."""
        return (0, total) if self.size == 1 else self.shares.mine(total)

    def share_of_rows(self) -> tuple[int, int]:
        """The range of vertices whose rows this worker takes, for its share of all arcs: from, to before."""
        cuts = self.row_cuts
        return int(cuts[self.rank]), int(cuts[self.rank + 1])

    @cached_property
    def row_cuts(self) -> Array:
        """Where the rows of each worker begin, and where the last one's end: int64[size + 1]."""
        cuts = np.searchsorted(self.graph.out.offsets, np.array(self.shares.cuts(self.graph.arcs), np.uint64))
        cuts[-1] = self.graph.vertices
        return cuts

    @cached_property
    def rows(self) -> tuple[Adjacency, Adjacency]:
        """Out-edges and in-edges with sorted rows: parallel edges are next to each other."""
        begun = time.perf_counter()
        sorted_pair = sorted_rows(self.graph)
        self.device.compiled += time.perf_counter() - begun
        return sorted_pair

    # --- communication between workers: collective, with the same result for all

    def sum(self, values: Array) -> Array:
        """The sum of the values of all workers."""
        if self.size == 1 or self.transport is None:
            return values
        return self.transport.reduce(values if self.speaks else np.zeros_like(values), "sum")

    def least(self, values: Array) -> Array:
        """The element-wise minimum of the values of all workers."""
        if self.size == 1 or self.transport is None:
            return values
        return self.transport.reduce(values, "min")  # ranks of a node have equal values

    def gather(self, values: Array) -> Array:
        """The values of all workers, concatenated."""
        if self.size == 1 or self.transport is None:
            return values
        pieces = self.transport.gather(values if self.speaks else values[:0])
        return np.concatenate([pieces[rank] for rank in self.speakers])

    def broadcast(self, values: Array, root: int = 0) -> Array:
        """The values of one worker, for all; the others pass an array of the same shape and dtype."""
        if self.transport is None:
            return values
        return self.transport.broadcast(values, self.speakers[root])

    def merge(self, give: Callable[[], Array], absorb: Callable[[Array], None]) -> Array:
        """Merge up a binomial tree: each worker absorbs what others give; then all get the result of the first.

        All workers give arrays of one size: the tree carries 2 (size - 1) of them, in 2 log2(size) steps.
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
        """All-to-all: `pieces[k]` goes to worker k; returns what every worker sent to this one, in worker order.

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
        """Share what the communicating rank received with all ranks of the team."""
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
        """The number of nodes that the workers are on."""
        return 1 if self.transport is None else self.transport.nodes

    @property
    def sent(self) -> int:
        """Bytes that this process has sent to other nodes so far."""
        return 0 if self.transport is None else self.transport.sent.bytes

    def superstep(self, number: int) -> None:
        """Record the current superstep, for error messages."""
        if self.transport is not None:
            self.transport.superstep = number

    @contextmanager
    def task(self, name: str, total: int, unit: str) -> Iterator[trace.Task]:
        """Report progress; the first worker does it for all."""
        quiet = self.rank > 0 or not self.speaks
        with nullcontext(_Silent(name, total, unit)) if quiet else trace.task(name, total, unit) as task:
            yield task


class _Silent(trace.Task):
    """A task without listeners."""

    def at(self, done: int) -> None:
        """Record that `done` units are done."""
        self.done = done


def sorted_rows(graph: Graph) -> tuple[Adjacency, Adjacency]:
    """Out-edges and in-edges with sorted rows; the graph's own unless it was built unsorted.

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
