"""Local clustering against PageRank, the conditions of optimality, planted blocks, and itself elsewhere."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import arcflux as af
from arcflux.validate.clusters import kkt_residual

METHODS = pytest.mark.parametrize("method", ["push", "fista"])


@METHODS
def test_scores_come_to_personalised_pagerank(method: str) -> None:
    graph = af.load("kron:7")
    seed = int(np.argmax(graph.out_degrees))
    damping = (1 - 0.15) / (1 + 0.15)
    expected = af.pagerank(graph, damping, personalization={seed: 1.0}, tol=1e-13, max_iter=500)["rank"]
    found = af.local_clustering(graph, [seed], rho=1e-9, method=method)
    assert found["score"] == pytest.approx(expected, abs=1e-5)
    assert found.validate(), found.validate()


@METHODS
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_holds_for_many_seeds(method: str, weighted: bool) -> None:
    graph = af.load("kron:8,weights=1-9")
    seeds = np.flatnonzero(graph.out_degrees)[::20]
    found = af.local_clustering(graph, seeds, rho=1e-4, method=method, weight="weight" if weighted else None)
    assert found.converged
    assert found.validate(), found.validate()
    strength = graph.out_degrees if not weighted else np.add.reduceat(
        np.append(graph.columns["weight"], 0), np.minimum(graph.out.offsets[:-1], graph.arcs).astype(int)
    ) * (graph.out_degrees > 0)  # fmt: skip
    for k in range(len(seeds)):
        some = slice(found.offsets[k], found.offsets[k + 1])
        assert (found.scores[some] > 0).all()
        if method == "fista":
            assert strength[found.members[some]].sum() <= 1 / 1e-4
        order = found.scores[some] / strength[found.members[some]]
        assert (np.diff(order) <= 1e-18).all()


@METHODS
def test_a_planted_block_is_found(method: str) -> None:
    planted = nx.planted_partition_graph(2, 40, 0.5, 0.02, seed=2)
    blocks = [set(block) for block in planted.graph["partition"]]
    found = af.local_clustering(planted, [0, 45, 79], rho=1e-5, method=method)
    for k, seed in enumerate((0, 45, 79)):
        cluster, block = set(found.cluster(k).tolist()), next(block for block in blocks if seed in block)
        assert len(cluster & block) >= 0.95 * len(cluster | block)
        assert found.conductances[k] < 0.1
        assert found.conductances[k] == pytest.approx(nx.conductance(planted, found.cluster(k).tolist()))


@METHODS
def test_the_same_bits_everywhere(method: str) -> None:
    graph = af.load("kron:8")
    seeds = np.flatnonzero(graph.out_degrees)[:17]
    alone = af.local_clustering(graph, seeds, rho=1e-4, method=method, threads=1)
    for where in ({"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}):
        other = af.local_clustering(graph, seeds, rho=1e-4, method=method, **where)
        for name in ("members", "scores", "sizes", "conductances", "residuals"):
            assert (getattr(other, name) == getattr(alone, name)).all(), (where, name)


def test_fista_on_distributed_rows_agrees_and_has_the_same_bits_on_any_number() -> None:
    graph = af.load("kron:7")
    asked = {"seeds": np.flatnonzero(graph.out_degrees)[:3], "rho": 1e-3, "method": "fista"}
    alone = af.local_clustering(graph, **asked)
    first = af.local_clustering(graph, **asked, distributed=True)
    assert first.validate()
    assert first["score"] == pytest.approx(alone["score"], abs=1e-5)
    assert (first.sizes == alone.sizes).all()
    for where in ({"parts": 3, "ranks_per_node": 1}, {"parts": 4, "ranks_per_node": 2}):
        other = af.local_clustering(graph, **asked, distributed=True, **where)
        assert (other.scores == first.scores).all()
        assert other.traffic["steps"] > 0


def test_the_steps_and_support_of_a_known_problem() -> None:
    """One dense proximal solver, by its definition, on a small graph."""
    graph = af.load("kron:6")
    seed, alpha, rho = int(np.argmax(graph.out_degrees)), 0.15, 1e-3
    matrix = np.zeros((graph.vertices, graph.vertices))
    source = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int))
    np.add.at(matrix, (source, graph.out.neighbours), 1.0)
    degree = matrix.sum(axis=1)
    root = np.sqrt(np.where(degree > 0, degree, 1))
    q = np.zeros(graph.vertices)
    for _ in range(4000):
        slope = (1 + alpha) / 2 * q - (1 - alpha) / 2 * (matrix @ (q / root)) / root
        slope[seed] -= alpha / root[seed]
        moved = q - slope
        q = np.sign(moved) * np.maximum(abs(moved) - rho * alpha * root, 0)
    found = af.local_clustering(graph, [seed], alpha=alpha, rho=rho, method="fista", tol=1e-12)
    assert found["score"] == pytest.approx(q * root, abs=1e-9)
    assert found.residuals[0] <= 1e-12
    assert kkt_residual(matrix, seed, found["score"], alpha, rho) <= 1e-11


@pytest.mark.parametrize("options", [{}, {"method": "fista"}, {"method": "fista", "distributed": True, "parts": 2}])
def test_what_rounding_leaves_outside_is_nothing_to_be_cut_from(options) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        ends = draw.integers(0, 12, (2, 40))
        columns = {"weight": draw.random(40)}
        graph = af.Graph.from_edges(*ends, vertices=12, directed=False, columns=columns)
        found = af.local_clustering(graph, [int(ends[0, 0])], rho=1e-6, **options)
        assert found.validate().ok, (seed, found.validate())
        assert found.sizes[0] < 12


def test_a_seed_without_edges_is_alone() -> None:
    graph = af.Graph.from_edges([0], [1], vertices=3, directed=False)
    found = af.local_clustering(graph, [2, 0])
    assert found.conductances[0] == np.inf
    assert found.scores_of(0).tolist() == [0, 0, 1]
    assert found.cluster(0).tolist() == [2]
    assert found.validate().ok
    assert af.local_clustering(graph, [2], method="fista").scores_of(0).tolist() == [0, 0, 1]


def test_weights_whose_sums_are_no_floats_are_refused() -> None:
    for weight, said in ((1e308, "sums to infinity"), (5e-324, "by which scores are divided")):
        graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False, columns={"weight": [weight] * 3})
        with pytest.raises(af.errors.WeightError, match=said):
            af.local_clustering(graph, [0])


def test_too_few_steps_are_said() -> None:
    assert not af.local_clustering("kron:7", [0], rho=1e-5, max_iter=2).converged


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": 0.0}, "alpha is 0.0"), ({"alpha": 1.0}, "alpha is 1.0"), ({"rho": 0.0}, "rho is 0.0"),
        ({"rho": float("nan")}, "rho is nan"), ({"tol": -1.0}, "tol is -1.0"), ({"method": "x"}, "method is 'x'"),
        ({"seeds": []}, "seeds is empty"), ({"seeds": [77]}, "77"), ({"distributed": True}, "distributed is for FISTA"),
        ({"weight": "toll"}, "no edge column"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=said):
        af.local_clustering("path:4", **{"seeds": [0], **options})


def test_directed_graphs_are_refused() -> None:
    with pytest.raises(af.errors.GraphError, match="directed"):
        af.local_clustering(af.Graph.from_edges([0], [1]), [0])
