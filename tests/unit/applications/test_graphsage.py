"""GraphSAGE against dense formulas, exact cases, statistics of its samples, and itself elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import arcflux as af
from arcflux.applications.graphsage import random_weights

SPREAD = ({"threads": 1}, {"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1})


def dense(
    graph: af.Graph, x: np.ndarray, w: list[np.ndarray], combine: str = "concat", unit: bool = True
) -> np.ndarray:
    """All neighbours, layer by layer, by the definition."""
    a = np.zeros((graph.vertices, graph.vertices))
    rows = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int))
    np.add.at(a, (rows, graph.out.neighbours), 1)
    a[graph.out_degrees == 0, graph.out_degrees == 0] = 0
    for v in np.flatnonzero(graph.out_degrees == 0):
        a[v, v] = 1
    a /= a.sum(axis=1, keepdims=True)
    for own, theirs in ((w[0], w[1]), (w[2], w[3])):
        halves = x @ own, (a @ x) @ theirs
        x = np.maximum(halves[0] + halves[1] if combine == "add" else np.concatenate(halves, 1), 0)
        if unit:
            length = np.linalg.norm(x, axis=1, keepdims=True)
            x = x / np.where(length > 0, length, 1)
    return x


@pytest.mark.parametrize("combine", ["concat", "add"])
@pytest.mark.parametrize("source", ["duplicated", "direct", "streamed"])
def test_all_neighbours_are_the_dense_formula(combine: str, source: str) -> None:
    graph = af.load("kron:7")
    x = np.random.default_rng(1).normal(size=(graph.vertices, 5))
    w = random_weights(5, 6, 7, combine)
    for where in SPREAD:
        found = af.graphsage(graph, x, w, children=None, combine=combine, feature_source=source, **where)
        assert found["embedding"] == pytest.approx(dense(graph, x, w, combine), abs=1e-5)
        assert found.validate()


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("source", ["duplicated", "direct", "streamed"])
def test_samples_are_the_same_everywhere_and_in_any_batches(share: bool, source: str) -> None:
    graph = af.load("kron:7")
    x = np.random.default_rng(2).normal(size=(graph.vertices, 4))
    w = random_weights(4, 5, 6)
    how = {"children": 4, "leaves": 3, "share_samples": share, "seed": 9}
    alone = af.graphsage(graph, x, w, **how)["embedding"]
    for where in SPREAD:
        found = af.graphsage(graph, x, w, **how, batch=17, feature_source=source, **where)
        assert found["embedding"] == pytest.approx(alone, abs=2e-6), where
    assert np.abs(af.graphsage(graph, x, w, **{**how, "seed": 8})["embedding"] - alone).max() > 1e-3


@pytest.mark.parametrize("how", [{}, {"share_samples": True}, {"children": None}, {"combine": "add", "leaves": 3}])
def test_the_validator_knows_rows_of_another_graph_sample_or_weight(how: dict) -> None:
    graph = af.load("kron:7")
    x = np.random.default_rng(2).normal(size=(graph.vertices, 4))
    w = random_weights(4, 5, 6, how.get("combine", "concat"))
    found = af.graphsage(graph, x, w, **how)
    assert found.validate()
    others = [af.graphsage(graph, x, [2 * w[0], *w[1:]], **how), af.graphsage(graph, 2 - x, w, **how)]
    others += [af.graphsage(graph, x, w, **how, seed=5)] if how.get("children", 10) else []
    for other in others:
        report = found.with_changes(values={"embedding": other["embedding"]}).validate()
        assert not report["sample"].passed


@pytest.mark.parametrize("share", [False, True])
def test_constant_features_do_not_depend_on_the_sample(share: bool) -> None:
    graph = af.load("kron:7")
    x = np.tile(np.array([1.0, -2.0, 0.5]), (graph.vertices, 1))
    w = random_weights(3, 4, 4)
    found = af.graphsage(graph, x, w, children=3, share_samples=share)["embedding"]
    assert found == pytest.approx(np.tile(dense(graph, x, w)[:1], (graph.vertices, 1)), abs=1e-6)


def test_many_samples_come_near_all_neighbours() -> None:
    graph = af.load("complete:9")
    x = np.random.default_rng(3).normal(size=(9, 4))
    w = random_weights(4, 8, 8)
    found = af.graphsage(graph, x, w, children=3000, leaves=300)["embedding"]
    assert found == pytest.approx(dense(graph, x, w), abs=0.1)


def test_neighbours_are_drawn_evenly() -> None:
    """With identity weights a mean shows how often each neighbour was drawn."""
    graph, n, drawn = af.load("complete:6"), 6, 5000
    x, none = np.eye(6), np.zeros((6, 6))
    weights = [none, np.eye(6), np.concatenate([none, np.eye(6)]), np.zeros((12, 6))]
    rows = af.graphsage(
        graph, x, weights, children=drawn, leaves=1, normalise=False, share_samples=False
    )["embedding"][:, :n]  # fmt: skip
    counts = rows * drawn
    assert np.diag(counts) == pytest.approx(0)
    expected = drawn / (n - 1)
    others = counts[~np.eye(6, dtype=bool)]
    statistic = float(((others - expected) ** 2 / expected).sum())
    freedom = n * (n - 2)
    assert abs(statistic - freedom) < 6 * (2 * freedom) ** 0.5


def test_trained_weights_of_pyg_work_by_adding() -> None:
    """SAGEConv: lin_l(mean) + lin_r(x), with a bias in lin_l; relu between layers."""
    graph, random = af.load("grid:4x5"), np.random.default_rng(4)
    x = random.normal(size=(20, 3))
    left, right = [random.normal(size=s) for s in ((4, 3), (2, 4))], [random.normal(size=s) for s in ((4, 3), (2, 4))]
    bias = [random.normal(size=4), random.normal(size=2)]
    a = graph.to_scipy().toarray() != 0
    a = a / a.sum(axis=1, keepdims=True)
    hidden = np.maximum(a @ x @ left[0].T + bias[0] + x @ right[0].T, 0)
    expected = a @ hidden @ left[1].T + bias[1] + hidden @ right[1].T
    found = af.graphsage(
        graph, x, [right[0].T, left[0].T, right[1].T, left[1].T], biases=bias, combine="add", children=None,
        normalise=False, relu=(True, False),
    )  # fmt: skip
    assert found["embedding"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("how", [{"children": None}, {}, {"share_samples": True}])
@pytest.mark.parametrize("size", [1e-30, 1e22])
def test_features_of_any_size_give_rows_of_length_one(how: dict, size: float) -> None:
    """Whose squares float32 cannot hold; a row does not depend on the size of features."""
    graph, x = af.load("kron:6"), np.random.default_rng(5).normal(size=(64, 3))
    w = random_weights(3, 4, 4)
    found = af.graphsage(graph, size * x, w, **how)
    assert found["embedding"] == pytest.approx(af.graphsage(graph, x, w, **how)["embedding"], abs=1e-5)
    assert found.validate().ok, found.validate()


def test_any_seed_is_one() -> None:
    assert af.graphsage("path:3", seed=-1).validate().ok


def test_rows_of_zeros_stay_and_lone_vertices_draw_themselves() -> None:
    graph = af.Graph.from_edges([0], [1], vertices=3, directed=False)
    found = af.graphsage(graph, np.zeros((3, 2)), random_weights(2, 3, 3))
    assert (found["embedding"] == 0).all()
    x = np.array([[1.0, 2.0], [0.5, 1.0], [3.0, -1.0]])
    w = random_weights(2, 3, 3)
    assert af.graphsage(graph, x, w)["embedding"] == pytest.approx(dense(graph, x, w), abs=1e-5)


def test_duplicated_features_send_only_the_result() -> None:
    graph = af.load("kron:7")
    x, w = np.ones((graph.vertices, 8)), random_weights(8, 4, 4)
    spread = {"parts": 4, "ranks_per_node": 1, "children": 3}
    assert set(af.graphsage(graph, x, w, **spread).traffic) == {"result"}
    direct = af.graphsage(graph, x, w, feature_source="direct", **spread).traffic
    assert direct["features"] > 0
    assert direct["children"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": np.ones((2, 3))}, "features has shape"), ({"features": [[np.nan]] * 4}, "vertex 0 hold NaN"),
        ({"weights": [1, 2]}, "four matrices"), ({"weights": random_weights(7)}, "Wf1 has shape"),
        ({"combine": "sum"}, "combine is 'sum'"), ({"feature_source": "disk"}, "feature_source is 'disk'"),
        ({"children": None, "leaves": 3}, "leaves is given"), ({"children": 0}, "children is 0"),
        ({"features": np.full((4, 2), 1e300)}, "infinity as float32"),
        ({"features": np.full((4, 2), 3e38)}, "rows of layer 1 may be as large as"),
        ({"weights": [1e300 * some.astype(float) for some in random_weights(64)]}, "finite as float32"),
        ({"biases": [[np.nan] * 256, None]}, "vector of biases"), ({"biases": [[1.0], None]}, "vector of biases"),
        ({"children": 1 << 60}, "samples at a time"), ({"biases": [1, 2, 3]}, "two vectors"),
        ({"relu": (True,)}, "relu is"), ({"batch": 0}, "batch is 0"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=said):
        af.graphsage("path:4", **options)


def test_the_validator_notices_wrong_rows() -> None:
    assert not af.validate.embedding("path:2", [[1, 1], [0, 1]])["length"].passed
    assert not af.validate.embedding("path:2", [[1, np.nan], [0, 1]])["finite"].passed
