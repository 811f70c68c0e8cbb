"""Graphs drawn at random, by a seed: families, sizes and edge factors that no calibration has seen.

A draw is a family and the numbers that make a graph of it, so that it can be kept as JSON and built again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af

__all__ = ["FAMILIES", "build", "draws", "name_of"]

Draw = dict[str, Any]
Array = NDArray[Any]
_SMALLEST, _LARGEST = 11.0, 20.0  # powers of two of vertices
_MOST_EDGES = 6e6


def draws(seed: int, count: int, largest: float = _LARGEST) -> list[Draw]:
    """So many graphs, families in turn."""
    chance = np.random.default_rng(seed)
    names = list(FAMILIES)
    return [_draw(chance, names[k % len(names)], largest) for k in range(count)]


def _draw(chance: np.random.Generator, family: str, largest: float) -> Draw:
    while True:
        drawn: Draw = {
            "family": family, "bits": round(chance.uniform(_SMALLEST, largest), 2),
            "factor": round(2.0 ** chance.uniform(1.0, 5.0), 1), "mix": round(float(chance.random()), 3),
            "seed": int(chance.integers(1 << 30)),
        }  # fmt: skip
        if 2.0 ** drawn["bits"] * drawn["factor"] <= _MOST_EDGES:
            return drawn


def build(drawn: Draw, *, weights: bool = False) -> af.Graph:
    """The graph of a draw."""
    made = FAMILIES[drawn["family"]](drawn)
    if isinstance(made, str):
        return af.load(f"{made},weights=1-255" if weights else made)
    source, target, vertices = made
    options: dict[str, Any] = {}
    if weights:
        chance = np.random.default_rng(drawn["seed"] + 1)
        options["columns"] = {"weight": chance.integers(1, 256, len(source)).astype(np.float64)}
    return af.Graph.from_edges(
        source, target, vertices=vertices, directed=False, deduplicate="first", drop_self_loops=True, **options
    )


def name_of(drawn: Draw) -> str:
    """A draw in a few words."""
    return f"{drawn['family']} 2^{drawn['bits']} x{drawn['factor']}"


def _size(drawn: Draw) -> int:
    return round(2.0 ** drawn["bits"])


def _kron(drawn: Draw) -> str:
    return f"kron:{int(drawn['bits'])},ef={max(2, round(drawn['factor']))},seed={drawn['seed']}"


def _urand(drawn: Draw) -> str:
    n = _size(drawn)
    return f"urand:n={n},m={round(n * drawn['factor'])},seed={drawn['seed']}"


def _grid(drawn: Draw) -> str:
    rows = round(math.sqrt(_size(drawn)) * 2.0 ** (drawn["mix"] - 0.5))
    return f"grid:{rows}x{_size(drawn) // rows}"


def _small_world(drawn: Draw) -> str:
    k = max(2, 2 * round(drawn["factor"]))
    return f"ws:{_size(drawn)},k={k},p={10 ** (-2.0 + 1.7 * drawn['mix']):.3f},seed={drawn['seed']}"


def _local_power_law(drawn: Draw) -> tuple[Array, Array, int]:
    """Degrees by a power law, neighbours near in number: distances by a power law, too."""
    n, chance = _size(drawn), np.random.default_rng(drawn["seed"])
    degrees = np.minimum(chance.pareto(1.2 + drawn["mix"], n) + 0.5, n / 8)
    degrees = np.ceil(degrees * drawn["factor"] / degrees.mean()).astype(np.int64)
    source = np.repeat(np.arange(n), degrees)
    apart = np.minimum(np.ceil(4 * (chance.pareto(0.8, len(source)) + 1)), n - 1).astype(np.int64)
    return source, (source + np.where(chance.random(len(source)) < 0.5, apart, -apart)) % n, n


def _dense_blocks(drawn: Draw) -> tuple[Array, Array, int]:
    """Groups of neighbours in number, each joined to many of its own, and a few edges to anywhere."""
    n, chance = _size(drawn), np.random.default_rng(drawn["seed"])
    size = max(8, round(drawn["factor"] * (2 + 6 * drawn["mix"])))
    source = np.repeat(np.arange(n), max(2, round(drawn["factor"])))
    target = np.minimum(source - source % size + chance.integers(0, size, len(source)), n - 1)
    far = chance.random(len(source)) < 0.02
    return source, np.where(far, chance.integers(0, n, len(source)), target), n


def _roads(drawn: Draw) -> tuple[Array, Array, int]:
    """A grid with holes: a part of its edges is missing, and every other one has its vertices in random order."""
    side, chance = math.isqrt(_size(drawn)), np.random.default_rng(drawn["seed"])
    number = np.arange(side * side).reshape(side, side)
    source = np.concatenate((number[:, :-1].ravel(), number[:-1].ravel()))
    target = np.concatenate((number[:, 1:].ravel(), number[1:].ravel()))
    stay = chance.random(len(source)) < 0.7 + 0.25 * drawn["mix"]
    source, target = source[stay], target[stay]
    if drawn["seed"] % 2:
        order = chance.permutation(side * side)
        source, target = order[source], order[target]
    return source, target, side * side


FAMILIES: dict[str, Callable[[Draw], Any]] = {
    "kron": _kron, "urand": _urand, "grid": _grid, "small world": _small_world,
    "local power law": _local_power_law, "dense blocks": _dense_blocks, "roads": _roads,
}  # fmt: skip
