"""What a plan needs to know of a graph: vertices and arcs, the distribution of degrees, the depth of a search.

Where neighbours are independent, the degrees alone give the sizes of Lux's sets, INS and UDS: of k ranges, a vertex
with d out-arcs is read by k (1 - (1 - 1/k)^d). Where neighbours are near, as on a grid, the remote reads are the
`boundary` of each cut. A loaded graph is sampled instead (sample.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import is_integer
from arcflux.errors import UsageError
from arcflux.plan.sketch import SPANS, Sketch

__all__ = ["SHAPES", "Shape", "from_description", "grid", "kronecker", "uniform"]

Array = NDArray[np.float64]
GRAPH500 = 0.57, 0.19, 0.19, 0.05
SHAPES = ("kron", "powerlaw", "uniform", "grid")
# Levels of a search from a random vertex, fitted to 16 searches each of Kronecker graphs of scale 12 to 22.
_LEVELS, _LEVELS_BY_SCALE = 2.13, 0.182


@dataclass(frozen=True)
class Shape:
    """A graph as the models see it: classes of vertices by out-degree, `degrees[i]` for `counts[i]` of them.

    `spread` says that degrees are means of a Poisson distribution. `depth` is how many levels a search has. `boundary`
    is the number of vertices on a cut between two ranges, where neighbours are near; None where they are anywhere.
    `asked` gives (sum of INS, sum of UDS) for k ranges, measured on a loaded graph. `notes` list what was guessed.
    `seen` is its sketch, if one was made, which has more than its degrees.
    """

    name: str
    vertices: int
    arcs: int
    degrees: Array = field(repr=False)
    counts: Array = field(repr=False)
    depth: float
    spread: bool = False
    boundary: int | None = None
    asked: Callable[[int], tuple[int, int]] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    seen: Sketch | None = field(default=None, repr=False)

    @property
    def mean_degree(self) -> float:
        """Arcs per vertex."""
        return self.arcs / max(1, self.vertices)

    @property
    def top(self) -> float:
        """The largest out-degree."""
        return float(self.degrees.max(initial=0.0))

    def wedges(self) -> float:
        """The sum over arcs of the smaller degree of their ends, for random ends: the work of intersecting rows.

        Examples
        --------
        >>> uniform(1000, 8000).wedges()
        64000.0
        """
        order = np.argsort(self.degrees)
        degrees, arcs = self.degrees[order], (self.counts * self.degrees)[order]
        total = float(arcs.sum())
        if total == 0:
            return 0.0
        smaller, others = np.cumsum(arcs * degrees) - arcs * degrees, total - (np.cumsum(arcs) - arcs)
        return float((arcs * (smaller + degrees * others)).sum() / total)

    def squares(self) -> float:
        """The sum of squared degrees: the number of paths of two arcs."""
        return float((self.counts * self.degrees**2).sum())

    def ins(self, k: int) -> float:
        """The sum of |INS| over k ranges: vertices that each reads, its own included (equation 7)."""
        return self._sets(k)[0]

    def uds(self, k: int) -> float:
        """The sum of |UDS| over k ranges that are nodes: vertices that each reads and another owns (equation 9)."""
        return self._sets(k)[1]

    def _sets(self, k: int) -> tuple[float, float]:
        if self.asked is not None:
            return self.asked(k)
        if self.boundary is not None:
            foreign = min(2.0 * self.boundary * (k - 1), self.vertices * (k - 1.0))
            return self.vertices + foreign, foreign
        read = float((self.counts * self._hit(1.0 / k)).sum())
        return k * read, (k - 1) * read

    def _hit(self, share: float) -> Array:
        """The probability that some arc of a vertex ends in a part that has `share` of all."""
        if share >= 1.0:
            return (self.degrees > 0).astype(np.float64)
        hit: Array = -np.expm1(-self.degrees * share if self.spread else self.degrees * math.log1p(-share))
        return hit

    def cold(self, hot: float) -> float:
        """The share of arcs whose source is not among the `hot` vertices with most arcs: cache misses.

        Examples
        --------
        >>> uniform(1000, 8000).cold(250)
        0.75
        """
        order = np.argsort(-self.degrees)
        counts, arcs = self.counts[order], (self.counts * self.degrees)[order]
        total = float(arcs.sum())
        if total == 0:
            return 0.0
        taken = np.clip(hot - (np.cumsum(counts) - counts), 0.0, counts)
        return float(1.0 - (arcs * taken / np.maximum(counts, 1e-300)).sum() / total)

    def hot(self, share: float = 0.8) -> float:
        """How many vertices, those with most arcs first, have such a share of all arcs: what a cache should hold."""
        order = np.argsort(-self.degrees)
        arcs = np.cumsum((self.counts * self.degrees)[order])
        if not len(arcs) or arcs[-1] == 0:
            return 0.0
        return float(np.cumsum(self.counts[order])[np.searchsorted(arcs, share * arcs[-1])])

    def local(self, k: int = 16) -> float:
        """How local neighbours are: 0 when they are anywhere, 1 when ranges read nothing of each other."""
        anywhere = (k - 1) * float((self.counts * self._hit(1.0 / k)).sum())
        return max(0.0, 1.0 - self.uds(k) / anywhere) if anywhere else 0.0

    def sketch(self) -> Sketch:
        """The sketch of the graph: the measured one, or one derived from its degrees."""
        if self.seen is not None:
            return self.seen
        return Sketch(
            self.vertices, self.arcs, self.depth, float((self.counts * self._hit(0.999999)).sum()), self.hot(),
            self._near(), self.top, self.wedges(), self.squares(),
        )  # fmt: skip

    def _near(self) -> tuple[float, ...]:
        """The share of arcs within each span: on a grid half of them lead along a row, elsewhere ends are anywhere."""
        if not self.arcs:
            return (0.0,) * len(SPANS)
        if self.boundary is not None:
            return tuple(0.5 + 0.5 * (self.boundary <= span) for span in SPANS)
        return tuple(1.0 - (1.0 - min(1.0, span / self.vertices)) ** 2 for span in SPANS)

    def high(self, threshold: float) -> tuple[float, float]:
        """How many vertices have more than `threshold` out-arcs, and how many arcs those have."""
        above = self.degrees > threshold
        return float(self.counts[above].sum()), float((self.counts * self.degrees)[above].sum())


def kronecker(
    scale: float, edge_factor: float = 16, *, simple: bool = True, directed: bool = False, name: str = ""
) -> Shape:
    """A Kronecker graph of Graph500, without making it: vertices with j bits set have the same expected degree.

    Examples
    --------
    >>> round(kronecker(20).arcs / 31_405_806, 3)  # of the graph itself
    1.0
    """
    bits = round(scale)
    edges = edge_factor * 2.0**scale
    degrees = np.array(
        [_degree(bits - ones, ones, edges if directed else 2 * edges, simple) for ones in range(bits + 1)]
    )
    counts = np.array([math.comb(bits, ones) * 2.0 ** (scale - bits) for ones in range(bits + 1)])
    depth = _LEVELS + _LEVELS_BY_SCALE * scale
    arcs = round(float((counts * degrees).sum()))
    return Shape(name or f"kron:{bits}", round(2.0**scale), arcs, degrees, counts, depth, spread=True)


def _degree(zeros: int, ones: int, arcs: float, simple: bool) -> float:
    """The expected out-degree of a vertex with the given numbers of bits of each kind, for this many drawn arcs.

    With `simple`, parallel arcs count once: of the cells of its row, those that were hit, without the diagonal.
    """
    a, b, c, d = GRAPH500
    if not simple:
        return arcs * (a + b) ** zeros * (c + d) ** ones
    i, j = np.arange(zeros + 1)[:, None], np.arange(ones + 1)[None, :]  # bits that differ, and bits that stay
    ways = np.array([math.comb(zeros, k) for k in range(zeros + 1)], float)[:, None]
    ways = ways * np.array([math.comb(ones, k) for k in range(ones + 1)], float)[None, :]
    hit = ways * -np.expm1(-arcs * a ** (zeros - i) * b**i * c ** (ones - j) * d**j)
    return float(hit.sum() - hit[0, ones])


def uniform(vertices: int, arcs: int, name: str = "") -> Shape:
    """A graph whose arcs have random ends."""
    degree = arcs / max(1, vertices)
    depth = 1.0 + math.log(max(2, vertices)) / math.log(max(1.5, degree))
    one = np.ones(1)
    return Shape(name or "uniform", vertices, arcs, degree * one, vertices * one, depth, spread=True)


def grid(rows: int, columns: int, name: str = "") -> Shape:
    """A grid of four neighbours, as roads are."""
    vertices, arcs = rows * columns, 2 * (2 * rows * columns - rows - columns)
    one = np.ones(1)
    depth = 0.75 * (rows + columns)
    return Shape(
        name or f"grid:{rows}x{columns}", vertices, arcs, arcs / max(1, vertices) * one, vertices * one, depth,
        boundary=columns,
    )  # fmt: skip


def from_description(vertices: int, arcs: int, shape: str = "powerlaw", name: str = "") -> Shape:
    """A shape from a description: its size, and its distribution of degrees.

    Examples
    --------
    >>> from_description(41_652_230, 1_468_365_182, name="TW").mean_degree
    35.25...
    """
    for what, count, least in (("vertices", vertices, 1), ("arcs", arcs, 0)):
        if isinstance(count, bool) or not is_integer(count) or count < least:
            raise UsageError(f"{what} is {count!r}", expected=f"a whole number, {least} or more")
    if shape not in SHAPES:
        raise UsageError(f"shape is {shape!r}", expected="one of " + ", ".join(SHAPES))
    if shape == "uniform":
        return uniform(vertices, arcs, name)
    if shape == "grid":
        side = math.isqrt(vertices)
        return grid(side, vertices // side, name)
    like = kronecker(math.log2(vertices), arcs / vertices / 2, simple=False, name=name or shape)
    total = float((like.counts * like.degrees).sum())
    degrees = like.degrees * (arcs / total if total else 0.0)
    return replace(like, vertices=int(vertices), arcs=int(arcs), degrees=degrees)


def of_spec(text: str) -> Shape | None:
    """The shape of a generated graph by its spec alone; None for generators that have no formula here."""
    from arcflux.generate.spec import parse

    spec = parse(text)
    given: dict[str, Any] = spec.arguments
    kind = re.sub(r":.*", "", text)
    factor, directed = given.get("edge_factor", 16), bool(given.get("directed", False))
    if kind == "kron":
        simple = bool(given.get("simple", True))
        return kronecker(given["scale"], factor, simple=simple, directed=directed, name=text)
    if kind == "urand":
        vertices = given.get("vertices") or 1 << given["scale"]
        return uniform(vertices, (given.get("edges") or factor * vertices) * (1 if directed else 2), text)
    if kind == "grid":
        return grid(given["rows"], given["columns"], text)
    return None
