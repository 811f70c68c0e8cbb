"""Classification against a slow oracle, planted patterns, and properties."""

from __future__ import annotations

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import UsageError, WeightError


def log_softmax(values: np.ndarray) -> np.ndarray:
    return values - np.log(np.exp(values - values.max(0)).sum(0)) - values.max(0)


def oracle(graph: af.Graph, pattern: af.Graph, nodes: np.ndarray, costs: np.ndarray, rounds: int) -> np.ndarray:
    """The corrected form, message by message."""
    arcs = [(v, int(u)) for v in range(graph.vertices) for u in graph.neighbours(v)]
    ends = [(p, int(r)) for p in range(pattern.vertices) for r in pattern.neighbours(p)]
    forward, backward = np.zeros((2, graph.vertices, len(ends)))
    belief = log_softmax(-nodes)
    for _ in range(rounds):
        new_forward, new_backward = np.zeros((2, graph.vertices, len(ends)))
        for q, (p, r) in enumerate(ends):
            behind, ahead = belief[:, p] - backward[:, q], belief[:, r] - forward[:, q]
            new_forward[:, q] = behind.max() - costs[:, q].max()
            new_backward[:, q] = ahead.max() - costs[:, q].max()
            for e, (u, v) in enumerate(arcs):
                new_forward[v, q] = max(new_forward[v, q], behind[u] - costs[e, q])
                new_backward[u, q] = max(new_backward[u, q], ahead[v] - costs[e, q])
        forward, backward = new_forward - new_forward.max(0), new_backward - new_backward.max(0)
        total = -nodes.copy()
        for q, (p, r) in enumerate(ends):
            total[:, r] += forward[:, q]
            total[:, p] += backward[:, q]
        belief = log_softmax(total)
    return belief


def planted(seed: int, vertices: int = 200) -> tuple[af.Graph, af.Graph, np.ndarray, np.ndarray]:
    """A graph with random features, and the surroundings of one of its vertices, with a little noise, as a pattern."""
    draw = np.random.default_rng(seed)
    plain = af.load(f"urand:n={vertices},m={4 * vertices},directed,seed={seed + 1}")
    source, target, _ = plain.edge_numbers()
    kinds = {name: draw.normal(size=len(source)) for name in ("a", "b", "c")}
    graph = af.Graph.from_edges(source, target, columns=kinds, vertices=vertices)
    near = [int(draw.integers(vertices))]
    for v in near:
        near += [int(u) for u in graph.neighbours(v) if int(u) not in near][: max(0, 6 - len(near))]
    number = {v: k for k, v in enumerate(near)}
    inside = [k for k in range(len(source)) if int(source[k]) in number and int(target[k]) in number]
    columns = {name: values[inside] + draw.normal(size=len(inside)) * 0.05 for name, values in kinds.items()}
    pattern = af.Graph.from_edges(
        [number[int(source[k])] for k in inside], [number[int(target[k])] for k in inside], columns=columns,
        vertices=len(near),
    )  # fmt: skip
    return graph, pattern, np.array(near), draw.normal(size=(vertices, 3))


@pytest.mark.parametrize("directed", [True, False])
def test_it_is_what_the_definition_says(directed: bool) -> None:
    draw = np.random.default_rng(1)
    ends = draw.integers(0, 12, (2, 30))
    graph = af.Graph.from_edges(*ends, vertices=12, directed=directed, columns={"a": draw.integers(0, 5, 30)})
    pattern = af.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=directed, columns={"a": [1, 2, 3]})
    mine, theirs = draw.normal(size=(12, 2)), draw.normal(size=(3, 2))
    nodes = np.linalg.norm(mine[:, None] - theirs, axis=2)
    costs = np.abs(graph.columns["a"][:, None].astype(float) - pattern.columns["a"])
    found = af.classify(graph, pattern, mine, theirs, edges=["a"])
    assert found["log_probability"] == pytest.approx(oracle(graph, pattern, nodes, costs, 3), abs=1e-9)
    assert found.validate()


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_pattern_is_found_by_edges_alone_and_with_features(seed: int) -> None:
    graph, pattern, place, features = planted(seed)
    found = af.classify(graph, pattern, edges=["a", "b", "c"])
    assert found["log_probability"].argmax(0).tolist() == place.tolist()
    near = features[place] + np.random.default_rng(seed).normal(size=(len(place), 3)) * 0.1
    assert list(af.classify(graph, pattern, features, near, edges=["a", "b", "c"]).best().values()) == place.tolist()


def test_one_vertex_is_a_softmax_of_distances() -> None:
    found = af.classify("path:3", "path:1", [[0.0], [1.0], [3.0]], [[1.0]])["log_probability"][:, 0]
    assert np.exp(found) == pytest.approx(np.exp([-1, 0, -2]) / np.exp([-1, 0, -2]).sum())


def test_the_published_form_forgets_the_edges_in_every_other_round() -> None:
    graph, pattern, place, features = planted(1)
    near = features[place] + 0.01
    found = af.classify(graph, pattern, features, near, edges=["a"], method="pnnl")
    assert found["log_probability"].argmax(0).tolist() == place.tolist()
    assert found.validate()
    blind = af.classify(graph, pattern, edges=["a", "b", "c"], method="pnnl", iterations=3)["log_probability"]
    assert np.ptp(blind) < 1e-9
    seeing = af.classify(graph, pattern, edges=["a", "b", "c"], iterations=3)["log_probability"]
    assert (seeing.argmax(0) == place).all()


def test_the_same_on_any_number_of_workers_and_for_any_numbering() -> None:
    graph, pattern, place, features = planted(2)
    near = features[place]
    alone = af.classify(graph, pattern, features, near, edges=["a"], threads=1)
    for where in ({"threads": 3}, {"parts": 2}, {"parts": 3, "ranks_per_node": 1}):
        other = af.classify(graph, pattern, features, near, edges=["a"], **where)
        assert (other["log_probability"] == alone["log_probability"]).all(), where
    assert other.sent["messages"] > 0
    order = np.random.default_rng(0).permutation(graph.vertices)
    source, target, places = graph.edge_numbers()
    moved = af.Graph.from_edges(
        order[source], order[target], columns={"a": graph.columns["a"][places]}, vertices=graph.vertices
    )
    again = af.classify(moved, pattern, features[np.argsort(order)], near, edges=["a"])
    assert again["log_probability"][order] == pytest.approx(alone["log_probability"], abs=1e-9)


def test_bad_input_is_refused() -> None:
    for arguments, match in (
        (([[1], [2], [3]], None), "both, or none"),
        (([[1], [2]], [[1], [2]]), "shape"),
        (([1, 2, 3], [[1], [2]]), "shape"),
        (([[1], [np.nan], [3]], [[1], [2]]), "nan"),
        (([[1], [2], [3]], [[1, 2], [2, 3]]), "columns"),
    ):
        with pytest.raises(UsageError, match=match):
            af.classify("path:3", "path:2", *arguments)
    with pytest.raises(WeightError, match="no edge column"):
        af.classify("path:3", "path:2", edges=["kind"])
    far = [af.load("path:3").with_columns({"kind": [kind] * 4}) for kind in (1e200, 1.0)]
    for arguments, named in ((("path:3", "path:1", [[1e200]] * 3, [[0]]), ()), (far, ["kind"])):
        with pytest.raises(UsageError, match="squares of distances are infinite"):
            af.classify(*arguments, edges=named)
    with pytest.raises(UsageError, match="method is"):
        af.classify("path:3", "path:2", method="exact")
    with pytest.raises(UsageError, match="pattern has 0"):
        af.classify("path:3", "path:0")


def test_the_validator_computes_all_messages_once_more() -> None:
    graph, pattern, _, features = planted(3)
    given = features, np.random.default_rng(4).normal(size=(pattern.vertices, 3))
    found = af.classify(graph, pattern, *given, edges=["a", "b"])
    assert found.validate()
    for other in (
        af.classify(graph, pattern, *given, edges=["a"]), af.classify(graph, pattern, *given, edges=["a", "b"],
        iterations=1), af.classify(graph, pattern, edges=["a", "b"]),
    ):  # fmt: skip
        report = found.with_changes(values={"log_probability": other["log_probability"]}).validate()
        assert report["sums"].passed
        assert not report["messages"].passed
