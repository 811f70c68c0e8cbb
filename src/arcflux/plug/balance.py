"""Load balance: shares by the cost per triplet of each daemon (Lemma 2), idle daemons for nodes (Lemma 3).

T_j = c_j d_j: a node, or a daemon, takes c_j seconds for each of its d_j triplets; 1 / c_j is its capacity. The paper's
T_j also has s T_call for its s blocks, which is omitted, as it does not depend on d_j: with blocks of the best size it
is small, and the measured c_j includes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError

__all__ = ["allocate", "capacities", "choose_split", "shares", "slowest"]

Array = NDArray[Any]


def shares(costs: Sequence[float], total: int) -> Array:
    """Lemma 2: bounds of the shares of `total` triplets, in proportion to 1 / c_j; int64[len(costs) + 1].

    Examples
    --------
    >>> shares([1.0, 3.0], 100).tolist()
    [0, 75, 100]
    """
    if not len(costs) or not all(0 < cost < np.inf for cost in costs):
        raise UsageError(f"costs are {list(costs)!r}", expected="seconds a triplet, above 0, of one daemon or more")
    capacity = 1.0 / np.asarray(costs, np.float64)
    return np.concatenate([[0], np.rint(np.cumsum(capacity) / capacity.sum() * total)]).astype(np.int64)


def slowest(costs: Sequence[float], loads: Sequence[float]) -> float:
    """Equation 5: the seconds of the slowest node.

    Examples
    --------
    >>> slowest([1.0, 3.0], [75, 25])
    75.0
    """
    return float(np.max(np.asarray(costs) * np.asarray(loads)))


def choose_split(costs: Sequence[float], splits: Sequence[Sequence[float]]) -> int:
    """Case 1: which of several partitionings, each the loads of all nodes, finishes first.

    Examples
    --------
    >>> choose_split([1.0, 3.0], [[50, 50], [70, 30], [90, 10]])
    1
    """
    return int(np.argmin([slowest(costs, loads) for loads in splits]))


def capacities(loads: Sequence[float], most: float) -> Array:
    """Lemma 3: the capacity 1 / c_j that each node needs, if the most loaded one has `most` (f).

    Examples
    --------
    >>> capacities([100, 50, 25], most=8.0).tolist()
    [8.0, 4.0, 2.0]
    """
    triplets = np.asarray(loads, np.float64)
    if not len(triplets) or (triplets < 0).any() or triplets.max() <= 0:
        raise UsageError(f"loads are {list(loads)!r}", expected="triplets of each node, of one at least above 0")
    needed: Array = most * triplets / triplets.max()
    return needed


def allocate(loads: Sequence[float], idle: Sequence[float]) -> list[list[int]]:
    """Case 2: which of the idle daemons, by their capacities 1 / c, each node gets, so that all finish together.

    The largest goes to the node that would finish last, then the next; each node gets at least one, if there are
    enough. That is Lemma 3 with discrete capacities.

    Examples
    --------
    >>> allocate([300, 100], [1.0, 1.0, 1.0, 1.0])
    [[0, 2, 3], [1]]
    """
    assigned: list[list[int]] = [[] for _ in loads]
    capacity = [0.0] * len(assigned)
    for daemon in sorted(range(len(idle)), key=lambda k: -idle[k]):
        finish_times = [
            load / have if have else (np.inf if load else -1.0) for load, have in zip(loads, capacity, strict=True)
        ]
        empty = [k for k, have in enumerate(capacity) if not have and loads[k]]
        node = max(empty, key=lambda k: loads[k]) if empty else int(np.argmax(finish_times))
        assigned[node].append(daemon)
        capacity[node] += idle[daemon]
    return [sorted(one) for one in assigned]
