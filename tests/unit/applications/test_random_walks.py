"""Random walks and graph search: exact transition tables, known limits, and the same walks wherever they are walked."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import arcflux as af

EVERYWHERE = (
    {"threads": 1}, {"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1},
    {"parts": 3, "ranks_per_node": 1, "distributed": True}, {"parts": 4, "ranks_per_node": 2, "distributed": True},
)  # fmt: skip


def small() -> af.Graph:
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 0), (1, 6)]
    source, target = np.array(edges).T
    return af.Graph.from_edges(source, target, directed=False, columns={"weight": [1, 2, 3, 4, 5, 0, 2, 1, 1.5]})


def second_order(graph: af.Graph, t: int, v: int, p: float, q: float, weighted: bool) -> dict[int, float]:
    """The transition table of node2vec, by its definition."""
    row = graph.neighbours(v).tolist()
    begin = int(graph.out.offsets[v])
    weights = graph.columns["weight"][begin : begin + len(row)].tolist() if weighted else [1.0] * len(row)
    bias = {x: w * (1 / p if x == t else 1.0 if graph.has_edge(t, x) else 1 / q) for x, w in zip(row, weights)}  # noqa: B905
    return {x: share / sum(bias.values()) for x, share in bias.items()}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (1e-3, 1e3)])
def test_transitions_have_the_probabilities_of_the_definition(p: float, q: float, weighted: bool) -> None:
    graph = small()
    rows = af.random_walks(
        graph, walk_length=30, walks_per_vertex=700, p=p, q=q, weight="weight" if weighted else None, seed=3
    ).numbers_of_walks
    triples = Counter(zip(rows[:, :-2].ravel().tolist(), rows[:, 1:-1].ravel().tolist(), rows[:, 2:].ravel().tolist()))  # noqa: B905
    pairs: Counter[tuple[int, int]] = Counter()
    for (t, v, _), count in triples.items():
        pairs[t, v] += count
    statistic = freedom = 0.0
    for (t, v), count in pairs.items():
        table = second_order(graph, t, v, p, q, weighted)
        cells = {x: share * count for x, share in table.items() if share * count >= 5}
        statistic += sum((triples[t, v, x] - mean) ** 2 / mean for x, mean in cells.items())
        freedom += max(0, len(cells) - 1)
        assert not any(triples[t, v, x] for x, share in table.items() if share == 0)
    assert freedom > 5
    assert abs(statistic - freedom) < 6 * (2 * freedom) ** 0.5


@pytest.mark.parametrize(
    "rules",
    [
        {"weight": None}, {}, {"weight": None, "p": 0.5, "q": 2.0}, {"p": 1e-4, "q": 1e4, "restart": 0.1},
        {"metapath": [0, 1, 2], "types": np.arange(256) % 3}, {"restart": 0.3},
    ],
    ids=["uniform", "weighted", "node2vec", "extreme", "metapath", "restart"],
)  # fmt: skip
def test_walks_are_the_same_everywhere_and_right(rules: dict[str, object]) -> None:
    graph = af.load("kron:8,weights=0-20")
    alone = af.random_walks(graph, walk_length=12, walks_per_vertex=2, seed=7, **rules)
    assert alone.validate(), alone.validate()
    for where in EVERYWHERE:
        other = af.random_walks(graph, walk_length=12, walks_per_vertex=2, seed=7, **rules, **where)
        assert (other.numbers_of_walks == alone.numbers_of_walks).all(), where
    assert (af.random_walks(graph, walk_length=12, walks_per_vertex=2, seed=8, **rules).walks != alone.walks).any()


def test_a_step_of_a_distributed_walk_takes_at_most_sixteen_bytes() -> None:
    graph = af.load("urand:10")
    found = af.random_walks(graph, walk_length=20, weight=None, parts=4, ranks_per_node=1, distributed=True)
    steps, starts = graph.vertices * 19, graph.vertices
    assert 0.6 * 8 * steps < found.traffic["visits"] <= 8 * steps
    assert found.traffic["records"] <= 8 * (steps + starts) + 4 * 4 * 20 * 8
    assert "visits" not in af.random_walks(graph, walk_length=20, parts=4, ranks_per_node=1).traffic


def test_visits_go_as_degrees_on_a_connected_graph_with_triangles() -> None:
    graph = af.load("complete:6")
    found = af.random_walks(small(), walk_length=400, walks_per_vertex=50, weight=None)
    share = found["visits"] / found["visits"].sum()
    assert share == pytest.approx(small().out_degrees / small().arcs, abs=0.01)
    assert found["visits"].sum() == 7 * 50 * 400
    assert af.random_walks(graph, walk_length=2)["visits"].sum() == 12


def test_a_large_p_never_turns_back_where_there_is_another_way() -> None:
    rows = af.random_walks("cycle:9", walk_length=20, p=1e12).numbers_of_walks
    assert not (rows[:, 2:] == rows[:, :-2]).any()


def test_walks_end_at_sinks_and_only_there() -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"])
    found = af.random_walks(graph, ["a", "c", "a"], 5)
    assert found.walks.tolist() == [["a", "b", "c", None, None], ["c"] + [None] * 4, ["a", "b", "c", None, None]]
    assert found.lengths.tolist() == [3, 1, 3]
    weightless = af.Graph.from_edges([0], [1], columns={"weight": [0]})
    assert af.random_walks(weightless, [0], 3).walks.tolist() == [[0, -1, -1]]
    assert af.random_walks(graph, ["a"], 1).walks.tolist() == [["a"]]


def test_restarts_lead_back_to_the_start() -> None:
    rows = af.random_walks("star:5", [1], 50, walks_per_vertex=40, restart=1.0).numbers_of_walks
    assert (rows == 1).all()


def test_a_relabelled_graph_has_the_same_chances() -> None:
    graph, order = small(), np.array([3, 6, 0, 2, 5, 1, 4])
    source, target, arcs = graph.edge_numbers()
    again = af.Graph.from_edges(order[source], order[target], directed=False,
                                columns={"weight": graph.columns["weight"][arcs]})  # fmt: skip
    counts = [af.random_walks(g, walk_length=60, walks_per_vertex=300, p=0.5, q=2.0)["visits"] for g in (graph, again)]
    assert counts[1][order] / counts[1].sum() == pytest.approx(counts[0] / counts[0].sum(), abs=0.01)


def test_walks_are_written_a_row_each(tmp_path) -> None:
    found = af.random_walks("path:4", walk_length=3)
    found.save(tmp_path / "walks.npy")
    assert (np.load(tmp_path / "walks.npy") == found.walks).all()
    found.save(tmp_path / "walks.csv")
    assert (tmp_path / "walks.csv").read_text().splitlines()[0] == '"step_0","step_1","step_2"'
    found.save(tmp_path / "visits.npy", "visits")
    assert (np.load(tmp_path / "visits.npy") == found["visits"]).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"p": 0.0}, "p is 0.0"), ({"q": -1.0}, "q is -1.0"), ({"p": float("nan")}, "p is nan"),
        ({"restart": 1.5}, "restart is 1.5"), ({"walk_length": 0}, "walk_length is 0"), ({"starts": [99]}, "99"),
        ({"starts": []}, "starts is empty"), ({"starts": 0}, "starts is 0"), ({"weight": "toll"}, "no edge column"),
        ({"metapath": [0]}, "metapath is given, and types is not"), ({"types": [0] * 4}, "types is given"),
        ({"metapath": [0, 7], "types": [0] * 4}, "type 7"), ({"metapath": [], "types": [0] * 4}, "metapath is"),
        ({"metapath": [0], "types": [0, 1, 0, 0], "starts": [1]}, "vertex 1, of type 1"),
        ({"metapath": [0], "types": [0] * 4, "p": 2.0}, "both metapath"), ({"seed": 0.5}, "seed is 0.5"),
        ({"metapath": [0], "types": [0, 1]}, "types has shape"), ({"walk_length": 1 << 50}, "walks of"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=expected):
        af.random_walks("path:4", **options)


def test_weights_that_sum_to_infinity_are_refused() -> None:
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False, columns={"weight": [1e308, 1e308, 1.0]})
    with pytest.raises(af.errors.WeightError, match="sums to infinity"):
        af.random_walks(graph)


def test_the_validator_notices_wrong_walks() -> None:
    graph = af.load("complete:5")
    fair = af.random_walks(graph, walk_length=50, walks_per_vertex=20).numbers_of_walks
    assert af.validate.walks(graph, fair)
    assert not af.validate.walks(graph, fair, q=0.1, p=10.0)["chi-square"].passed
    round_trip = np.tile(np.array([0, 1], np.int64), (50, 20))
    assert not af.validate.walks(graph, round_trip)["chi-square"].passed
    ended = fair.copy()
    ended[0, 20:] = -1
    assert not af.validate.walks(graph, ended)["ends"].passed
    assert not af.validate.walks(graph, [[0, 9]])["range"].passed
    assert not af.validate.walks(graph, fair, metapath=[0, 1], types=[0, 1, 0, 1, 0])["types"].passed


# --- graph search


@pytest.mark.parametrize("mode", ["uniform", "greedy", "stochastic_greedy"])
def test_searches_are_the_same_everywhere_direct_and_prepared(mode: str) -> None:
    graph = af.load("kron:8")
    scores = np.random.default_rng(1).integers(0, 50, graph.vertices)
    alone = af.graph_search(graph, scores, mode=mode, seed=4, walks_per_vertex=3, method="direct")
    assert alone.validate(), alone.validate()
    for where in (*EVERYWHERE, {"method": "previsit"}):
        other = af.graph_search(graph, scores, mode=mode, seed=4, walks_per_vertex=3, **where)
        assert (other.numbers_of_walks == alone.numbers_of_walks).all(), where


def test_greedy_takes_the_best_neighbour_and_of_equals_the_first() -> None:
    graph = small()
    scores = np.array([3, 1, 3, 2, 7, 7, 0])
    rows = af.graph_search(graph, scores).numbers_of_walks
    for row in rows.tolist():
        for v, x in pairwise(row):
            assert x == max(graph.neighbours(v).tolist(), key=lambda u: (scores[u], -u))


def test_stochastic_steps_go_by_score_and_end_where_all_scores_are_0() -> None:
    graph = af.load("star:4")
    rows = af.graph_search(
        graph, [1, 1, 2, 0], [0], 2, walks_per_vertex=6000, mode="stochastic_greedy"
    ).numbers_of_walks
    share = np.bincount(rows[:, 1], minlength=4) / 6000
    assert share == pytest.approx([0, 1 / 3, 2 / 3, 0], abs=0.03)
    assert af.graph_search(graph, [0, 0, 0, 0], mode="stochastic_greedy").walks[:, 1].tolist() == [-1] * 4


def test_scores_are_degrees_where_none_are_given() -> None:
    assert af.graph_search("path:4", starts=[0], walk_length=4).walks.tolist() == [[0, 1, 2, 1]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scores": [1, 2]}, "scores has shape"), ({"scores": [1, 2, 3, float("nan")]}, "score of vertex 3 is nan"),
        ({"scores": [1, 2, -3, 4], "mode": "stochastic_greedy"}, "score of vertex 2 is -3"),
        ({"scores": [1e308] * 4, "mode": "stochastic_greedy"}, "may sum to infinity"),
        ({"mode": "lazy"}, "mode is 'lazy'"), ({"method": "slow"}, "method is 'slow'"), ({"starts": [9]}, "9"),
    ],
)  # fmt: skip
def test_bad_searches_are_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=expected):
        af.graph_search("path:4", **options)


def test_the_validator_notices_a_step_that_is_not_the_best() -> None:
    assert not af.validate.search("path:4", [[1, 2, 3]], [5, 1, 2, 3])["best"].passed
