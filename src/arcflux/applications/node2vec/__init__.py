"""node2vec and DeepWalk: embeddings of vertices by skip-gram on random walks."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux import config
from arcflux.applications.graphsage import Embedding
from arcflux.applications.random_walks import random_walks
from arcflux.checks import maybe, real, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["deepwalk", "node2vec", "skip_gram"]

Array = NDArray[Any]

# Entries of the table of negatives, per vertex and at most.
_EACH, _MOST = 8, 1 << 24
# A kernel looks for Ctrl-C between walks, not between the negatives of a pair.
_MOST_NEGATIVE = 1000
_RULES = {
    "dimensions": wholes(1), "walk_length": wholes(2), "walks_per_vertex": wholes(1), "window": wholes(1),
    "negative": wholes(0), "epochs": wholes(1), "learning_rate": real, "weight": maybe(text), "seed": any_seed,
}  # fmt: skip


@graph_call(**_RULES, p=real, q=real)
def node2vec(
    graph: Graph,
    dimensions: int = 128,
    *,
    p: float = 1.0,
    q: float = 1.0,
    walk_length: int = 80,
    walks_per_vertex: int = 10,
    window: int = 10,
    negative: int = 5,
    epochs: int = 1,
    learning_rate: float = 0.025,
    weight: str | None = "weight",
    seed: int = 0,
    **where: Any,
) -> Embedding:
    """Embeddings by which vertices that walks visit together are near each other (Grover, Leskovec 2016).

    Walks are those of :func:`random_walks` with p and q. Then, for every vertex of a walk and those around it, within a
    distance that is drawn from 1 to `window`, the product of the vertex's vector and the other's context vector is made
    larger, and smaller for `negative` vertices drawn by visits to the power of 3/4 (skip-gram with negative sampling).

    Parameters
    ----------
    dimensions
        How long vectors are.
    walk_length, walks_per_vertex, weight
        As in :func:`random_walks`; a vertex from which no edge leads stays where its vector began.
    epochs, learning_rate
        How often the walks are gone through, in an order that is drawn anew, and the rate at the start; it falls to a
        ten-thousandth of that.
    seed
        Of walks, vectors and draws. With ``threads=1`` the same seed gives the same bits. Several threads share vectors
        without waiting for each other, and results differ slightly; walks are the same in any case.
    **where
        `threads`; or `parts`, `transport`, `ranks_per_node`: several nodes train on shares of the walks, and take the
        mean of their vectors after each epoch.

    Returns
    -------
    Embedding
        The field `embedding`: float32[vertices, dimensions].

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("worlds:4x25")
    >>> af.node2vec(g, 16, walk_length=20, walks_per_vertex=2, threads=1)["embedding"].shape
    (100, 16)
    """
    if not 0 < learning_rate < np.inf:
        raise UsageError(f"learning_rate is {learning_rate!r}", expected="a number above 0", remedy="0.025 is usual")
    if negative > _MOST_NEGATIVE:
        raise UsageError(f"negative is {negative}", expected=f"at most {_MOST_NEGATIVE}", remedy="5 to 20 are usual")
    walks = random_walks(
        graph, walk_length=walk_length, walks_per_vertex=walks_per_vertex, p=p, q=q, weight=weight, seed=seed, **where
    )
    rows = walks.numbers_of_walks
    given = dimensions, window, negative, epochs, learning_rate, seed % 2**64
    done = launch(graph, where, lambda worker: skip_gram(worker, rows, *given))
    vectors = done.answer
    made = Embedding(
        "node2vec", graph, {"embedding": vectors}, [], bool(np.isfinite(vectors).all()), walks.seconds + done.seconds,
        walks.compile_seconds + done.compile_seconds, traffic=dict(walks.traffic),
    )  # fmt: skip
    if not made.converged and config.is_first_rank():
        warnings.warn(f"the vectors grow without end: learning_rate={learning_rate:g} is too large", stacklevel=2)
    return replace(
        done.finish(made), validator=lambda found: af.validate.embedding(graph, found["embedding"], unit=False)
    )


@graph_call(**_RULES)
def deepwalk(
    graph: Graph, dimensions: int = 128, *, walk_length: int = 80, walks_per_vertex: int = 10, window: int = 10,
    negative: int = 5, epochs: int = 1, learning_rate: float = 0.025, weight: str | None = None, seed: int = 0,
    **where: Any,
) -> Embedding:  # fmt: skip
    """Embeddings by uniform random walks (Perozzi, Al-Rfou, Skiena 2014): :func:`node2vec` with p = q = 1, unweighted.

    The paper trains by a hierarchical softmax; here it is negative sampling. The parameters are those of
    :func:`node2vec`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.deepwalk(af.load("cycle:9"), 4, walk_length=5, threads=1)["embedding"].shape
    (9, 4)
    """
    found = node2vec(
        graph, dimensions, walk_length=walk_length, walks_per_vertex=walks_per_vertex, window=window,
        negative=negative, epochs=epochs, learning_rate=learning_rate, weight=weight, seed=seed, **where,
    )  # fmt: skip
    return replace(found, name="deepwalk")


def skip_gram(
    worker: Worker, walks: Array, dimensions: int, window: int, negative: int, epochs: int, rate: float, seed: int
) -> Array:
    """The vectors of all vertices, trained on walks of vertex numbers, -1 behind an end."""
    kernels, cores, vertices = worker.kernels(__name__), worker.cores, worker.graph.vertices
    vectors = cores.host(vertices * dimensions, np.float32).reshape(vertices, dimensions)
    contexts = cores.small((vertices, dimensions), np.float32)
    cores.launch(kernels.draw_vectors, 1 + vertices // 1024, np.uint64(seed), vectors)
    first, last = worker.share(len(walks))
    noise, losses = _noise(walks, vertices), cores.small((cores.workers, 8), np.float64)
    changes = cores.small((cores.workers, max(16, dimensions)), np.float32)
    with worker.task("skip-gram", epochs, "epochs") as task:
        for epoch in range(epochs):
            order = np.random.default_rng([seed % 2**63, epoch]).permutation(len(walks))
            cores.launch(
                kernels.train, 1 + (last - first) // 64, walks, order, np.uint64(epoch), np.uint64(first),
                np.uint64(last), float(epochs * len(walks)), window, negative, rate, 1e-4 * rate, np.uint64(seed),
                noise, vectors, contexts, changes, losses,
            )  # fmt: skip
            cores.together()
            if worker.size > 1:
                for some in (vectors, contexts):
                    mean = worker.sum(some.reshape(-1).copy()).reshape(some.shape) / np.float32(worker.size)
                    cores.publish(mean, some)
            task.at(epoch + 1)
    return vectors.copy()


def _noise(walks: Array, vertices: int) -> Array:
    """Vertices in proportion to their visits to the power of 3/4."""
    there = walks.reshape(-1)
    visits = np.bincount(there[there >= 0], minlength=vertices).astype(np.float64) ** 0.75
    size = max(1, min(_EACH * vertices, _MOST))
    bounds = np.cumsum(visits) / max(visits.sum(), 1e-300)
    return np.minimum(np.searchsorted(bounds, (np.arange(size) + 0.5) / size), max(0, vertices - 1))
