"""Graphs of many kinds for the benchmarks, undirected, with weights from 1 to 255: ``family("road:18")``.

Each has about 2**scale vertices. They differ in what decides about speed: how degrees are spread, whether neighbours
are near in number, how many supersteps a search takes, whether triangles abound. None is tuned for by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af

__all__ = ["FAMILIES", "family", "is_family"]

Array = NDArray[np.int64]
Random = np.random.Generator
# How many edges a vertex brings along where the family leaves it open.
_DEGREE = 8


def _power_law_degrees(n: int, random: Random) -> Array:
    """Degrees whose tail falls as d**-2.8, of about 8 in the mean, none above an eighth of all vertices."""
    return np.minimum((random.pareto(1.8, n) + 1) * _DEGREE * 0.8 / 1.8, max(1, n // 8)).astype(np.int64)


def small_world(n: int, random: Random) -> tuple[Array, Array]:
    """A ring of 16 nearest neighbours, a tenth of the edges moved anywhere."""
    source = np.repeat(np.arange(n), _DEGREE)
    target = (source + np.tile(np.arange(1, _DEGREE + 1), n)) % n
    moved = random.random(len(source)) < 0.1
    target[moved] = random.integers(n, size=int(moved.sum()))
    return source, target


def power_law(n: int, random: Random) -> tuple[Array, Array]:
    """Power-law degrees, ends matched at random."""
    source = np.repeat(np.arange(n), _power_law_degrees(n, random))
    return source, random.permutation(source)


def local_power_law(n: int, random: Random) -> tuple[Array, Array]:
    """Power-law degrees, and neighbours near in number: their distance has a heavy tail from 8 on."""
    source = np.repeat(np.arange(n), _power_law_degrees(n, random))
    away = np.minimum(random.pareto(1.0, len(source)) * 8 + 1, n // 4 + 1).astype(np.int64)
    return source, (source + away * random.choice([-1, 1], len(source))) % n


def road(n: int, random: Random) -> tuple[Array, Array]:
    """A grid that lacks 28 % of its edges, row by row."""
    rows = 1 << (n.bit_length() - 1) // 2
    number = np.arange(rows * (n // rows)).reshape(rows, -1)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    there = random.random(len(source)) > 0.28
    return source[there], target[there]


def shuffled_road(n: int, random: Random) -> tuple[Array, Array]:
    """The same with vertices in random order."""
    source, target = road(n, random)
    places = random.permutation(n)
    return places[source], places[target]


def web(n: int, random: Random) -> tuple[Array, Array]:
    """Sites of 2 to 2,000 pages: links within a site favour its first pages, a tenth lead to popular ones anywhere."""
    sizes = np.minimum(2 + random.pareto(0.9, n // 2) * 8, 2000).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    last = int(np.searchsorted(starts, n)) - 1
    site = np.repeat(np.arange(last + 1), np.diff(np.append(starts[: last + 1], n)))
    source = np.repeat(np.arange(n), _power_law_degrees(n, random))
    begin, size = starts[site[source]], np.minimum(sizes[site[source]], n - starts[site[source]])
    target = begin + (size * random.random(len(source)) ** 3).astype(np.int64)
    away = random.random(len(source)) < 0.1
    target[away] = (n * random.random(int(away.sum())) ** 4).astype(np.int64)
    return source, target


def blocks(n: int, random: Random) -> tuple[Array, Array]:
    """Communities of 64 with neighbours within, and a fiftieth of the edges anywhere."""
    source = np.repeat(np.arange(n), _DEGREE)
    target = np.minimum(source // 64 * 64 + random.integers(64, size=len(source)), n - 1)
    away = random.random(len(source)) < 0.02
    target[away] = random.integers(n, size=int(away.sum()))
    return source, target


def ratings(n: int, random: Random) -> tuple[Array, Array]:
    """Users and a sixteenth as many items, of which a few are rated by many: bipartite, without triangles."""
    items = max(1, n // 17)
    source = np.repeat(np.arange(items, n), _DEGREE)
    return source, (items * random.random(len(source)) ** 3).astype(np.int64)


def tree(n: int, random: Random) -> tuple[Array, Array]:
    """Every vertex hangs under a random earlier one."""
    child = np.arange(1, n)
    return child, (child * random.random(n - 1)).astype(np.int64)


def long_path(n: int, random: Random) -> tuple[Array, Array]:
    """A ring of all vertices: a search takes n / 2 supersteps of two vertices each."""
    return np.arange(n), (np.arange(n) + 1) % n


def stars(n: int, random: Random) -> tuple[Array, Array]:
    """Hubs with 255 leaves each, hub linked to hub."""
    leaf = np.arange(n)
    hub = leaf // 256 * 256
    before = np.maximum(hub - 256, 0)
    return leaf, np.where(leaf == hub, before, hub)


def mesh(n: int, random: Random) -> tuple[Array, Array]:
    """A mesh of three dimensions with vertices in random order."""
    side = int(n ** (1 / 3) + 1e-6)
    number = random.permutation(n)[: side**3].reshape(side, side, side)
    source = np.concatenate([number[1:].ravel(), number[:, 1:].ravel(), number[:, :, 1:].ravel()])
    return source, np.concatenate([number[:-1].ravel(), number[:, :-1].ravel(), number[:, :, :-1].ravel()])


def attachment(n: int, random: Random) -> tuple[Array, Array]:
    """Every vertex hangs itself to the ends of 8 edges before it: preferential attachment."""
    source = np.repeat(np.arange(n), _DEGREE)
    # End 2k of all is the source of edge k, end 2k + 1 its target, which is an end before it, and so on.
    picked = (random.random(len(source)) * 2 * np.arange(len(source))).astype(np.int64)
    end = picked.copy()
    while (odd := end % 2 == 1).any():
        end[odd] = picked[end[odd] // 2]
    return source, source[end // 2]


def copying(n: int, random: Random) -> tuple[Array, Array]:
    """A page takes most of its 10 links from one of some thousand pages before it: a web by the copying model."""
    links = 10
    page = np.repeat(np.arange(n), links)
    like = np.maximum(np.arange(n) - 1 - (random.random(n) * 2000).astype(np.int64), 0)
    copied = (random.random(len(page)) < 0.85) & (like[page] > 0)
    place = np.arange(len(page))
    while (more := copied[place]).any():
        place[more] = like[page[place[more]]] * links + place[more] % links
    return page, (page * random.random(len(page))).astype(np.int64)[place]


def cliques(n: int, random: Random) -> tuple[Array, Array]:
    """Groups of 48 that lack a tenth of their edges, and an edge anywhere for one vertex in 16."""
    groups = np.arange(0, n - 47, 48)[:, None]
    one, other = np.triu_indices(48, 1)
    there = random.random((len(groups), len(one))) < 0.9
    far = random.integers(n, size=(2, n // 16))
    return np.concatenate([(groups + one)[there], far[0]]), np.concatenate([(groups + other)[there], far[1]])


def sparse(n: int, random: Random) -> tuple[Array, Array]:
    """Two edges a vertex, anywhere."""
    return random.integers(n, size=2 * n), random.integers(n, size=2 * n)


FAMILIES: dict[str, Callable[[int, Random], tuple[Array, Array]]] = {
    "small-world": small_world,
    "power-law": power_law,
    "local-power-law": local_power_law,
    "road": road,
    "shuffled-road": shuffled_road,
    "web": web,
    "blocks": blocks,
    "ratings": ratings,
    "tree": tree,
    "long-path": long_path,
    "stars": stars,
    "mesh": mesh,
    "attachment": attachment,
    "copying": copying,
    "cliques": cliques,
    "sparse": sparse,
}


def is_family(spec: str) -> bool:
    """Whether a spec such as ``road:18`` names one of these."""
    return spec.partition(":")[0] in FAMILIES


def family(spec: str, seed: int = 1) -> af.Graph:
    """The graph of a spec, ``NAME:SCALE``: simple, undirected, the same for the same seed.

    >>> g = family("stars:9")
    >>> g.vertices, int(g.out_degrees.max()), g.edges
    (512, 256, 511)
    """
    name, _, scale = spec.partition(":")
    n = 1 << int(scale)
    random = np.random.Generator(np.random.Philox(seed))
    source, target = FAMILIES[name](n, random)
    weights: Any = random.integers(1, 256, len(source)).astype(np.int32)
    return af.Graph.from_edges(
        source, target, columns={"weight": weights}, vertices=n, directed=False, drop_self_loops=True,
        deduplicate="first", name=spec,
    )  # fmt: skip
