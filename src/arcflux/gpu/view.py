"""What GPU code sees of a run on parts: the arrays of a node, the part of a rank, the ranks, and the device.

The engine stands above this room and has the classes; these say by name and type what of them is used here.
`engine/node_state.py` and `engine/own_part.py` say what the arrays hold.
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
    """The ranks of a run, of which this is one."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def mates(self) -> list[int]:
        """Those of this rank's node."""

    def barrier(self) -> None:
        """Wait for all of them."""


class NodeView(Protocol):
    """The arrays of a node, by the numbers of vertices."""

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
        """The ranks, as :class:`Ranks` and as a link between GPUs sees them."""


class TotalsView(Protocol):
    """The arrays of totals, by name: their values, and what threads have reduced."""

    values: dict[str, Array]
    sums: dict[str, Array]


class EdgesView(Protocol):
    """The fields of edges, by name; and what kernels are given of edges, these first."""

    arrays: dict[str, Array]
    constants: list[Array]


class ListsView(Protocol):
    """Which own vertices each rank is told about, and about which of theirs this one hears."""

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
    """Which rows of in-edges the device holds, and in which blocks the others come."""

    @property
    def resident(self) -> int:
        """The row before which edges are with the device."""

    @property
    def blocks(self) -> Array:
        """Rows at which blocks begin, and the end of the last."""

    @property
    def streams(self) -> bool:
        """Whether there are any."""


class Target(Protocol):
    """A GPU as a device: its memory, as far as a run may take it, and what was asked of launches."""

    gpu: Gpu
    memory: int | None
    held: int
    shapes: Shapes | None
    load: str

    def hold(self, nbytes: int, what: str) -> None:
        """Take some of its memory."""

    def release(self, nbytes: int) -> None:
        """Give it back."""


class Cores(Protocol):
    """What runs kernels on cores, for those that have no counterpart on a GPU."""

    compiled: float

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel that only knows what it is given."""
