"""Local clusters, checked by the conditions of optimality of their scores, and by computing their conductance again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, maybe, real, shown, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["kkt_residual", "local_clusters"]

Array = NDArray[Any]


def _matrix(graph: Graph, weight: str | None) -> Any:
    from scipy.sparse import csr_array

    named = None if weight == "weight" and weight not in graph.columns else weight
    column = arguments.weights(graph, named)
    values = np.ones(graph.arcs) if column is None else column.astype(np.float64)
    offsets, neighbours = graph.out
    shape = graph.vertices, graph.vertices
    return csr_array((values, neighbours.astype(np.int64), offsets.astype(np.int64)), shape)


def kkt_residual(matrix: Any, seed: int, scores: Array, alpha: float, rho: float) -> float:
    """max |q - soft(q - gradient, rho alpha sqrt(d))| of scores p = sqrt(d) q; 0 at the minimum.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> kkt_residual(csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), 0, np.zeros(2), 0.5, 1.0)
    0.0
    """
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    q = scores / root
    slope = (1 + alpha) / 2 * q - (1 - alpha) / 2 * (matrix @ (q / root)) / root
    slope[seed] -= alpha / root[seed]
    moved = q - slope
    soft = np.sign(moved) * np.maximum(np.abs(moved) - rho * alpha * root, 0.0)
    connected = degree > 0
    return float(np.abs(q - soft)[connected].max(initial=0.0))


@takes_graph
@checked(alpha=real, rho=real, method=text, tol=maybe(real), weight=maybe(text))
def local_clusters(
    graph: Graph, found: Any, *, alpha: float = 0.15, rho: float = 1e-6, method: str = "push",
    tol: float | None = None, weight: str | None = "weight",
) -> Report:  # fmt: skip
    """Check a result of :func:`arcflux.local_clustering`; the arguments are the same.

    Scores of FISTA have to satisfy the conditions of optimality; those of pushes, with their residuals, are exactly the
    PageRank of the seed: residuals follow from the scores, lie between 0 and rho times the degree, and no mass is lost.
    Conductances are computed again.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.local_clustering(af.load("grid:4x4"), [5], rho=1e-3, method="fista").validate())
    True
    """
    if not hasattr(found, "scores_of"):
        raise UsageError(f"found is {shown(found)}", expected="what af.local_clustering returned")
    if method not in ("push", "fista"):
        raise arguments.unknown_choice("method", method, ("push", "fista"))
    matrix = _matrix(graph, weight)
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    enough = 1e-2 * rho * alpha if tol is None else tol
    worst, mass, wrong = 0.0, 0.0, 0.0
    for k, seed in enumerate(found.seeds.tolist()):
        p = found.scores_of(k)
        if degree[seed] > 0 and method == "fista":
            worst = max(worst, kkt_residual(matrix, seed, p, alpha, rho) - enough)
        elif degree[seed] > 0:
            rest = _residual(matrix, degree, seed, p, alpha)
            worst = max(worst, float((rest - rho * degree).max()), float(-rest.min()))
            mass = max(mass, abs(float(p.sum() + rest.sum()) - 1))
        wrong = max(wrong, _cut_error(matrix, degree, found, k))
    sentences = {
        "fista": f"every KKT residual is at most {enough:.1e}",
        "push": "every residual is from 0 to below rho times the degree",
    }[method]
    rules = [Rule.overall("optimal", sentences, f"{worst:.1e} more", not worst <= 1e-12)]
    if method == "push":
        rules.append(Rule.overall("mass", "scores and residuals add up to 1", f"{mass:.1e} off", not mass <= 1e-9))
    rules.append(Rule.overall("cut", "every conductance is that of its cluster", f"{wrong:.1e} off", not wrong <= 1e-9))
    return Report("local clusters", tuple(rules))


def _residual(matrix: Any, degree: Array, seed: int, p: Array, alpha: float) -> Array:
    """The residuals of pushes: r = s - (1 + alpha)/(2 alpha) p + (1 - alpha)/(2 alpha) A p / d."""
    spread = matrix.T @ (p / np.where(degree > 0, degree, 1.0))
    rest: Array = -(1 + alpha) / (2 * alpha) * p + (1 - alpha) / (2 * alpha) * spread
    rest[seed] += 1.0
    return rest


def _cut_error(matrix: Any, degree: Array, found: Any, k: int) -> float:
    begin = int(found.offsets[k])
    inside = np.zeros(len(degree))
    inside[found.members[begin : begin + int(found.sizes[k])]] = 1.0
    volume = float(degree @ inside)
    smaller = min(volume, float(degree.sum()) - volume)
    if not smaller > 1e-12 * float(degree.sum()):  # rounding reaches that much
        return 0.0 if np.isinf(found.conductances[k]) else np.inf
    cut = float((1 - inside) @ (matrix @ inside))
    return abs(cut / smaller - float(found.conductances[k]))
