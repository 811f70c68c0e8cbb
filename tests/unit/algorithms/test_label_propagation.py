"""Label propagation against the oracle, a worked example, and itself on other threads."""

from typing import Any

import numpy as np
import pytest
from between_samples import IDS, Sample, patient, sample, samples, seconds_to_interrupt
from hypothesis import example, given
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux import trace
from arcflux.algorithms import label_propagation
from arcflux.errors import UsageError

PAIR = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 0)]


@patient
@given(samples(most=16), st.integers(1, 8), st.sampled_from([1, 2, 3]))
@example(sample(4, PAIR, directed=True), 1, 1)
@example(sample(4, PAIR, directed=True, sort=False), 2, 2)
@example(sample(3, [(0, 0), (0, 0), (1, 1), (1, 2), (1, 2)], directed=True), 3, 1)
def test_the_oracle(s: Sample, rounds: int, threads: int) -> None:
    result = label_propagation(s.graph, rounds, threads=threads)
    right = oracles.label_propagation(s.n, s.edges, rounds, s.directed)
    assert result["label"].tolist() == [s.ids[v] for v in right]
    assert result.numbers("label").tolist() == right
    assert result.supersteps <= rounds
    following = oracles.label_propagation(s.n, s.edges, result.supersteps, s.directed)
    before = oracles.label_propagation(s.n, s.edges, result.supersteps - 1, s.directed)
    assert result.converged == (following == before)
    assert result.history[-1].changed == sum(a != b for a, b in zip(following, before, strict=True))


def simple_edges(graph: af.Graph) -> list[tuple[int, int]]:
    source, target, _ = graph.edge_numbers()
    return list(zip(source.tolist(), target.tolist(), strict=True))


@pytest.mark.parametrize("spec", ["kron:9", "rmat:9,ef=6", "grid:20x20", "star:600", "complete:40", "urand:9,ef=1"])
def test_larger_graphs_on_any_number_of_threads(spec: str) -> None:
    graph = af.load(spec)
    right = oracles.label_propagation(graph.vertices, simple_edges(graph), 6, graph.directed)
    for threads in (1, 2, 3):
        assert label_propagation(graph, 6, threads=threads)["label"].tolist() == right


def test_only_those_near_a_change_count_again() -> None:
    """Triangles settle at once, a path goes on: the history shows that only it is counted, and the labels are right."""
    edges = [(v + a, v + b) for v in range(0, 3000, 3) for a, b in ((0, 1), (1, 2), (2, 0))]
    edges += [(v, v + 1) for v in range(3000, 3060)]
    s = sample(3061, edges)
    result = label_propagation(s.graph, 30)
    assert result["label"].tolist() == oracles.label_propagation(s.n, s.edges, 30, False)
    assert result.history[0].frontier == 3061
    assert 0 < result.history[9].frontier <= 61


def test_the_example_of_the_rule() -> None:
    """Two rounds by hand. First everybody takes the smallest neighbour, but 1 the one that is there both ways."""
    graph = af.Graph.from_edges([1, 1, 4, 2, 3], [2, 4, 1, 3, 5])
    once = label_propagation(graph, 1).to_dict()
    assert once == {1: 4, 2: 1, 3: 2, 4: 1, 5: 3}
    assert label_propagation(graph, 2).to_dict() == {1: 1, 2: 2, 3: 1, 4: 4, 5: 2}
    assert af.validate.ldbc("cdlp", once, {1: 4, 2: 1, 3: 2, 4: 1, 5: 3}).ok


def test_ties_go_to_the_smallest_id_as_ids_are_ordered() -> None:
    assert label_propagation(af.Graph.from_edges([10, 10], [9, -3], directed=False), 1).to_dict()[10] == -3
    text = af.Graph.from_edges(["m", "m"], ["9", "10"], directed=False)
    assert label_propagation(text, 1).to_dict()["m"] == "10"


def test_labels_that_swap_for_ever_do_not_converge() -> None:
    graph = af.load("path:2")
    assert label_propagation(graph, 3)["label"].tolist() == [1, 0]
    assert label_propagation(graph, 4)["label"].tolist() == [0, 1]
    assert not label_propagation(graph, 1000).converged


def test_empty_graphs() -> None:
    for n in (0, 1, 5):
        result = label_propagation(sample(n, [(0, 0)] if n else []).graph)
        assert result.converged
        assert result.supersteps == 1
        assert result["label"].tolist() == list(range(n))
    isolated = sample(3, [(0, 2)], kind="text")
    assert label_propagation(isolated.graph, 1).to_dict() == {"v00": "v02", "v01": "v01", "v02": "v00"}
    assert IDS["text"](1) == "v01"


def test_a_vertex_with_many_labels_around_it() -> None:
    """More labels than any small table holds, and all different but two."""
    n = 5000
    star = [(0, v) for v in range(1, n)]
    s = sample(n, [*star, (n - 2, n - 1)], directed=False)
    assert label_propagation(s.graph, 4)["label"].tolist() == oracles.label_propagation(n, s.edges, 4, False)
    rng = np.random.default_rng(1)
    edges = [*star, *((int(u), int(v)) for u, v in rng.integers(1, n, (3 * n, 2)))]
    s = sample(n, edges, directed=True)
    assert label_propagation(s.graph, 5)["label"].tolist() == oracles.label_propagation(n, s.edges, 5, True)


def test_what_is_refused() -> None:
    for wrong in (0, -1, 1.5, "3", None, 10**9):
        with pytest.raises(UsageError, match="max_iter"):
            label_propagation(af.load("path:3"), wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threads"):
        label_propagation(af.load("path:3"), threads=0)


def test_progress_is_told() -> None:
    heard: list[Any] = []
    with trace.listen(heard.append):
        label_propagation(af.load("path:4"), 7)
    tasks = [event for event in heard if isinstance(event, trace.Task) and event.name == "label propagation"]
    assert tasks
    assert (tasks[-1].total, tasks[-1].unit, tasks[-1].finished) == (7, "rounds", True)


def test_ctrl_c_ends_it() -> None:
    graph = af.load("grid:200x200")
    label_propagation(graph, 1)
    assert seconds_to_interrupt("label propagation", lambda: label_propagation(graph, 100_000, threads=2)) < 5
