"""The assignment problem on sparse rows, by an auction on one core.

D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", 1988. Rows without
a column bid for the one that is worth most to them, its value less its price; the price rises to what the second best
leaves, and epsilon more. An entry that is not stored is worth 0 in every column, so that the cheapest column represents
all of them: it is in a tree of minima. Epsilon begins large and decreases, prices stay (epsilon scaling).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.pool import STOP

__all__ = ["auction"]


@inner
def _lift(tree: Any, prices: Any, leaves: Any, column: Any) -> None:
    """The price of a column has changed: tree[1] is the cheapest column, tree[k] that below node k; -1 for none."""
    node = (leaves + column) >> 1
    while node >= 1:
        one, other = tree[2 * node], tree[2 * node + 1]
        tree[node] = one if other < 0 or (one >= 0 and prices[one] <= prices[other]) else other
        node >>= 1


@inner
def _cheapest_but(tree: Any, prices: Any, leaves: Any, column: Any) -> Any:
    """The price of the cheapest column but one; infinite when there is no other."""
    node, least = leaves + column, np.inf
    while node > 1:
        other = tree[node ^ 1]
        if other >= 0:
            least = min(least, prices[other])
        node >>= 1
    return least


@kernel
def auction(
    worker: Any, workers: Any, control: Any, offsets: Any, columns: Any, values: Any, epsilons: Any, prices: Any,
    tree: Any, owner: Any, mate: Any, waiting: Any,
) -> None:  # fmt: skip
    """mate[i]: the column of row i, so that the sum of values is largest, but for n times the last epsilon.

    prices: float64[n] are 0; tree: int64[2 * leaves], leaves a power of two; owner, mate, waiting: int64[n].
    """
    if worker != 0:
        return
    n, leaves = np.int64(mate.size), np.int64(tree.size) // 2
    for k in range(epsilons.size):
        epsilon = epsilons[k]
        for j in range(leaves):
            tree[leaves + j] = j if j < n else -1
        for node in range(leaves - 1, 0, -1):
            one, other = tree[2 * node], tree[2 * node + 1]
            tree[node] = one if other < 0 or (one >= 0 and prices[one] <= prices[other]) else other
        for i in range(n):
            owner[i], mate[i], waiting[i] = -1, -1, n - 1 - i
        many = np.int64(n)
        while many > 0 and not control[STOP]:
            many = many - np.int64(1)
            i = waiting[many]
            cheapest = tree[1]
            best, most, second = cheapest, -prices[cheapest], -np.inf
            listed = False
            for at in range(offsets[i], offsets[i + 1]):
                j = columns[at]
                worth = values[at] - prices[j]
                if j == cheapest:
                    listed = True
                if j == best:
                    most = max(most, worth)
                elif worth > most:
                    second = max(second, most)
                    best, most = j, worth
                else:
                    second = max(second, worth)
            if best == cheapest or listed:
                second = max(second, -_cheapest_but(tree, prices, leaves, cheapest))
            rise = epsilon if second == -np.inf else most - second + epsilon
            prices[best] += rise
            _lift(tree, prices, leaves, best)
            if owner[best] >= 0:
                mate[owner[best]] = -1
                waiting[many] = owner[best]
                many += 1
            owner[best], mate[i] = i, best
