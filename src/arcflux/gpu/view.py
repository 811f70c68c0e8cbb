"""What GPU code uses of a run on parts: the arrays of a node, the part of a rank, the ranks, and the device.

The engine, a layer above, has the classes; these protocols name the parts of them that are used here.
`engine/node_state.py` and `engine/own_part.py` describe the arrays.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from arcflux.compile.lower import Lowered
from arcflux.gpu.driver import Gpu
from arcflux.gpu.launch import Shapes
from arcflux.graph import Graph
from arcflux.partition.part import Part

__all__ = ["Cores", "EdgesView", "ListsView", "NodeView", "PartView", "PlacedView", "Ranks", "Target", "TotalsView"]

Array = NDArray[Any]


class Ranks(Protocol):
    """The ranks of a run, including this one."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    @property
    def mates(self) -> list[int]:
        """The ranks of this rank's node."""

    def barrier(self) -> None:
        """Wait for all of them."""


class NodeView(Protocol):
    """The arrays of a node, indexed by vertex."""

    lowered: Lowered
    graph: Graph
    fields: dict[str, Array]
    messages: list[Array]
    accumulators: dict[str, Array]
    moves: Array
    pending: Array
    stamp: Array
    residuals: Array
    each: dict[str, Array]
    bits: Array
    queues: Array
    heads: Array
    tally: Array
    counts: Array
    constants: list[Any]
    mirrors: dict[int, Any]

    @property
    def edges(self) -> EdgesView:
        """The fields of edges."""

    @property
    def totals(self) -> TotalsView:
        """The arrays of totals."""

    @property
    def transport(self) -> Any:
        """The ranks, as :class:`Ranks` and as a link between GPUs uses them."""


class TotalsView(Protocol):
    """The arrays of totals, by name: their values, and the partial reductions of threads."""

    values: dict[str, Array]
    sums: dict[str, Array]


class EdgesView(Protocol):
    """The fields of edges by name, and the kernel arguments for edges, which begin with them."""

    arrays: dict[str, Array]
    constants: list[Array]


class ListsView(Protocol):
    """The own vertices to send to each rank, and the vertices to receive from each."""

    tell: dict[int, Array]
    hear: dict[int, Array]


class PartView(Protocol):
    """The part of this rank."""

    part: Part
    whole: bool
    mine: Array
    everywhere: Array
    targets: Array
    reached: Array
    told: Array

    @property
    def lists(self) -> ListsView:
        """Which values go to which rank."""

    @property
    def updated(self) -> Array:
        """All vertices that this rank updates."""


class PlacedView(Protocol):
    """Which rows of in-edges the device holds, and the blocks in which the others are streamed."""

    @property
    def resident(self) -> int:
        """The row before which edges are on the device."""

    @property
    def blocks(self) -> Array:
        """Rows at which blocks begin, and the end of the last."""

    @property
    def streams(self) -> bool:
        """Whether there are streamed blocks."""


class Target(Protocol):
    """A GPU as a device: its memory, as far as a run may use it, and the requested launch shapes."""

    gpu: Gpu
    memory: int | None
    held: int
    shapes: Shapes | None
    load: str

    def hold(self, nbytes: int, what: str) -> None:
        """Reserve some of its memory."""

    def release(self, nbytes: int) -> None:
        """Release it."""


class Cores(Protocol):
    """Runs kernels on cores, for those without a GPU version."""

    compiled: float

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel that gets only these arguments."""
