"""GraphSAGE: embeddings of vertices from the features of sampled neighbourhoods, by two trained layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.graphsage.layers import Asked, work
from arcflux.applications.traffic import told
from arcflux.checks import array, checked, flag, maybe, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.spmd.space import afford
from arcflux.validate import arguments

__all__ = ["Embedding", "graphsage", "random_weights"]

Array = NDArray[Any]
_SOURCES = ("duplicated", "direct", "streamed")
_COMBINE = ("concat", "add")
# Rows that a validator recomputes.
_SAMPLE = 64


@dataclass(frozen=True, repr=False)
class Embedding(af.Result):
    """The result of :func:`graphsage`, :func:`node2vec` and :func:`deepwalk`: the field `embedding`, a row a vertex."""

    traffic: Mapping[str, int] = field(default_factory=dict)

    def highlights(self) -> list[tuple[str, str]]:
        """How large rows are, and their length."""
        rows = self.values["embedding"]
        length = np.linalg.norm(rows, axis=1)
        said = f", of length {length.min():.4g} to {length.max():.4g}" if len(rows) else ""
        return [("rows", f"{len(rows):,} of {rows.shape[1]:,} numbers{said}"), *told(self.traffic)]


@graph_call(
    features=array, weights=None, biases=None, combine=text, children=maybe(wholes(1)), leaves=maybe(wholes(1)),
    share_samples=flag, batch=wholes(1), relu=array, normalise=array, feature_source=text, seed=any_seed,
)  # fmt: skip
def graphsage(
    graph: Graph,
    features: list[float] | None = None,
    weights: list[float] | None = None,
    *,
    biases: list[float] | None = None,
    combine: str = "concat",
    children: int | None = 10,
    leaves: int | None = None,
    share_samples: bool = False,
    batch: int = 65536,
    relu: tuple[bool, bool] = (True, True),
    normalise: tuple[bool, bool] = (True, True),
    feature_source: str = "duplicated",
    seed: int = 0,
    **where: Any,
) -> Embedding:
    """Embeddings by two layers of GraphSAGE with means (Hamilton, Ying, Leskovec 2017, algorithm 2): inference.

    With s the source, c its children and l the leaves of a child, all drawn with replacement along out-edges:

    - child = norm(relu([x_c Wf1 | mean_l(x_l) Wa1])), source = norm(relu([x_s Wf1 | mean_c(x_c) Wa1])),
    - result = norm(relu([source Wf2 | mean_c(child) Wa2])).

    A vertex without neighbours draws itself; a row of zeros stays one.

    Parameters
    ----------
    features
        float[vertices, F], in the order of the graph's ids; float32 inside. Random ones, by `seed`, without it.
    weights
        Wf1, Wa1 (F x h) and Wf2, Wa2: of a vertex itself and of the mean of its neighbours, layer by layer. Without it
        random ones as :func:`random_weights` makes them, of the study's sizes.
    biases
        A vector for each of the two layers; none without it.
    combine
        "concat", as in the paper and the study, or "add", as PyG's and DGL's SAGEConv: then Wf is ``lin_r.weight.T``
        and Wa ``lin_l.weight.T``, with ``biases=[lin_l.bias, ...]``, ``normalise=(False, False)`` and
        ``relu=(True, False)``.
    children, leaves
        How many are drawn; as many leaves as children without it. children=None: all neighbours in both layers, nothing
        is drawn.
    share_samples
        Draw once for each vertex and layer, so that a vertex's first layer is computed once; else leaves are drawn for
        each pair of source and child, in batches of `batch` sources, as the study has it.
    relu, normalise
        Of each layer: whether negative numbers become 0, and rows get length 1.
    feature_source
        How workers get features of others' vertices: "duplicated" (all have all), "direct" (a batch asks the owners),
        "streamed" (owners send products with the weights, once, for all that rows can lead to). Results are the same.
    seed
        Of the samples: the same on any number of workers.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.
        Products of matrices are by NumPy's BLAS, with its own threads.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.graphsage(af.load("cycle:6"), children=None)
    >>> found["embedding"].shape, bool(found.validate())
    ((6, 256), True)
    """
    if combine not in _COMBINE:
        raise arguments.unknown_choice("combine", combine, _COMBINE)
    if feature_source not in _SOURCES:
        raise arguments.unknown_choice("feature_source", feature_source, _SOURCES)
    if children is None and leaves is not None:
        raise UsageError("leaves is given, and children is None", expected="all neighbours, or numbers of both")
    rows = _features(graph, features, seed % 2**64)
    four = _weights(random_weights(rows.shape[1], combine=combine, seed=seed) if weights is None else weights,
                    rows.shape[1], combine)  # fmt: skip
    asked = Asked(
        rows, four, _biases(biases, four, combine), combine == "add", children or 0, leaves or children or 0,
        share_samples, batch, _flags("relu", relu), _flags("normalise", normalise), feature_source, seed % 2**64,
    )  # fmt: skip
    _afford(graph, asked)
    _refuse_overflow(asked, max(1, max(asked.children, asked.leaves) or int(graph.out_degrees.max(initial=1))))
    done = launch(graph, where, lambda worker: work(worker, asked))
    rows, traffic = done.answer
    made = Embedding(
        "graphsage", graph, {"embedding": rows}, [], True, done.seconds, done.compile_seconds, traffic=traffic
    )
    return replace(
        done.finish(made),
        validator=lambda found: af.validate.embedding(
            graph, found["embedding"], unit=asked.normalise[1], sample=_sample(graph, asked)
        ),
    )


def _sample(graph: Graph, asked: Asked) -> tuple[Array, Array]:
    """Some vertices from all of the graph, and their rows by definition."""
    from arcflux.applications.graphsage.by_definition import rows_of

    chosen = np.unique(np.linspace(0, graph.vertices - 1, min(graph.vertices, _SAMPLE)).astype(np.int64))
    wide = asked.weights[2].shape[1] + (0 if asked.add else asked.weights[3].shape[1])
    return chosen, rows_of(graph, asked, chosen).reshape(-1, wide)


@checked(features=wholes(1), hidden=wholes(1), out=wholes(1), combine=text, seed=any_seed)
def random_weights(
    features: int, hidden: int = 128, out: int = 128, combine: str = "concat", seed: int = 0
) -> list[Array]:
    """Random weights for two layers: Wf1, Wa1, Wf2, Wa2, of the sizes of the HIVE study where nothing else is said.

    Examples
    --------
    >>> [some.shape for some in random_weights(64)]
    [(64, 128), (64, 128), (256, 128), (256, 128)]
    """
    random, inner = np.random.default_rng(seed % 2**64), hidden if combine == "add" else 2 * hidden
    shapes = (features, hidden), (features, hidden), (inner, out), (inner, out)
    afford(8 * sum(rows * columns for rows, columns in shapes), "a layer of weights")
    return [(random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]


def _afford(graph: Graph, asked: Asked) -> None:
    """Refuse samples and rows that do not fit the memory."""
    drawn, leaves = asked.children, asked.leaves
    room = graph.vertices * (drawn + leaves) if asked.share else min(asked.batch, graph.vertices) * drawn * (1 + leaves)
    afford(8 * room, f"{room:,} samples at a time", "fewer children and leaves, or a smaller batch")
    wide = asked.weights[2].shape[1] * (1 if asked.add else 2)
    afford(graph.vertices * wide * 4, f"{graph.vertices:,} rows of {wide:,} numbers", "fewer columns of weights")


def _refuse_overflow(asked: Asked, most: int) -> None:
    """Check that sums of this many rows of products, layer by layer, are finite as float32."""
    bound = float(np.abs(asked.features).max(initial=0.0))
    for layer in range(2):
        pair = asked.weights[2 * layer : 2 * layer + 2]
        columns = [float(np.abs(some).sum(0, dtype=np.float64).max()) for some in pair]
        bias = asked.biases[layer]
        row = bound * (sum(columns) if asked.add else max(columns))
        row += 0.0 if bias is None else float(np.abs(bias).max())
        if max(bound, row) * most > float(np.finfo(np.float32).max):
            raise UsageError(
                f"rows of layer {layer + 1} may be as large as {max(bound, row):.2g}, and {most:,} of them are added",
                expected="sums that float32 can hold", remedy="divide the features by a number",
            )  # fmt: skip
        bound = 1.0 if asked.normalise[layer] else row


def _features(graph: Graph, given: Any, seed: int) -> Array:
    if given is None:
        return np.random.default_rng(seed).standard_normal((graph.vertices, 64), np.float32)
    rows = np.asarray(given)
    if rows.ndim != 2 or rows.shape[0] != graph.vertices or not rows.shape[1] or rows.dtype.kind not in "iufb":
        raise UsageError(
            f"features has shape {rows.shape} and holds {rows.dtype}",
            expected=f"numbers of shape ({graph.vertices}, F): a row for each vertex",
        )
    single = _single(rows)
    bad = ~np.isfinite(single).all(axis=1)
    if bad.any():
        v = int(np.argmax(bad))
        raise UsageError(
            f"the features of vertex {arguments.user_id(graph, v)} hold NaN or infinity as float32", expected="numbers"
        )
    return single


def _single(rows: Any) -> Array:
    """As float32; values beyond its range are infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(rows, np.float32)


def _several(given: Any, count: int) -> bool:
    listed = isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim > 0)
    return listed and len(given) == count


def _matrix(name: str, given: Any) -> Array:
    made = np.asarray(array(name, given))
    if made.ndim != 2 or 0 in made.shape or made.dtype.kind not in "iuf" or not np.isfinite(_single(made)).all():
        raise UsageError(
            f"{name} has shape {made.shape} and holds {made.dtype}", expected="a matrix of numbers, finite as float32"
        )
    return _single(made)


def _weights(given: Any, width: int, combine: str) -> tuple[Array, Array, Array, Array]:
    if not _several(given, 4):
        raise UsageError("weights is not four matrices", expected="weights=[Wf1, Wa1, Wf2, Wa2]")
    one, two, three, four = (_matrix(n, w) for n, w in zip(("Wf1", "Wa1", "Wf2", "Wa2"), given, strict=True))
    hidden = one.shape[1] if combine == "add" else one.shape[1] + two.shape[1]
    for name, matrix, rows in (("Wf1", one, width), ("Wa1", two, width), ("Wf2", three, hidden), ("Wa2", four, hidden)):
        if matrix.shape[0] != rows:
            raise UsageError(
                f"{name} has shape {matrix.shape}", expected=f"{rows} rows, as there are columns before it"
            )
    if combine == "add" and (one.shape != two.shape or three.shape != four.shape):
        raise UsageError("weights that are added have other shapes", expected="Wf1 like Wa1, and Wf2 like Wa2")
    return one, two, three, four


def _biases(given: Any, weights: tuple[Array, ...], combine: str) -> tuple[Array | None, Array | None]:
    if given is None:
        return None, None
    if not _several(given, 2):
        raise UsageError("biases is not two vectors", expected="biases=[b1, b2], None for a layer without")
    made: list[Array | None] = []
    for layer, bias in enumerate(given):
        pair = weights[2 * layer : 2 * layer + 2]
        wide = pair[0].shape[1] + (0 if combine == "add" else pair[1].shape[1])
        made.append(None if bias is None else _bias(bias, wide))
    return made[0], made[1]


def _bias(given: Any, wide: int) -> Array:
    made = np.asarray(array("biases", given))
    if made.shape != (wide,) or made.dtype.kind not in "iuf" or not np.isfinite(_single(made)).all():
        raise UsageError(
            f"a vector of biases has shape {made.shape} and holds {made.dtype}",
            expected=f"{wide} numbers, finite as float32",
        )
    return _single(made)


def _flags(name: str, given: Any) -> tuple[bool, bool]:
    if np.shape(given) == ():
        return flag(name, given), flag(name, given)
    if np.shape(given) != (2,):
        raise UsageError(f"{name} is {given!r}", expected="True or False, or two of them: one for each layer")
    one, two = (flag(name, value) for value in given)
    return one, two
