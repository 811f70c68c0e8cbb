"""Supersteps are columns of numbers, and records when looked at; both say the same."""

import numpy as np
import pytest

import arcflux as af
from arcflux import history
from arcflux.history import Chained, column

NAMES = ("frontier", "residual", "seconds", "changed", "edges", "bytes", "more_bytes", "slowest", "planning")
GRAPH = af.load("kron:8")
HOW = {
    "frontier": lambda: af.algorithms.bfs(GRAPH, 1),
    "dense": lambda: af.algorithms.pagerank(GRAPH),
    "buckets": lambda: af.algorithms.sssp(GRAPH, 1, weight=None),
    "parts": lambda: af.algorithms.bfs(GRAPH, 1, parts=3, ranks_per_node=1),
    "dense parts": lambda: af.algorithms.pagerank(GRAPH, parts=3, ranks_per_node=2, partition="random"),
    "debug": lambda: af.run(af.algorithms.BFS, af.load("path:9"), source=0, debug=True),
}


@pytest.mark.parametrize("how", list(HOW))
def test_columns_say_what_records_do(how):
    result = HOW[how]()
    steps = list(result.history)
    assert [step.number for step in steps] == list(range(len(steps)))
    for name in NAMES:
        unknown = -1.0 if name != "edges" else float(result.graph.arcs)
        said = [getattr(step, name) for step in steps]
        expected = [unknown if value is None else value for value in said]
        assert result.column(name, unknown).tolist() == pytest.approx(expected), name


def test_one_run_after_another():
    first, second = HOW["frontier"](), HOW["dense parts"]()
    both = Chained(first.history, second.history)
    assert [step.number for step in both] == list(range(len(first.history) + len(second.history)))
    assert both[-1].part_seconds == second.history[-1].part_seconds
    assert column(both, "frontier").tolist() == [step.frontier for step in both]


def test_long_runs_are_shown_without_a_record_for_each_superstep(monkeypatch):
    """The curve, the repr and the sums of half a million supersteps are a few passes over arrays."""
    result = af.algorithms.bfs(af.load("path:20000"), 0)
    made = []
    make = history.History._made
    monkeypatch.setattr(history.History, "_made", lambda self, place: made.append(place) or make(self, place))
    assert (result.supersteps, len(result.curve()[1])) == (20_000, 20_000)
    assert "20,000 supersteps" in str(result)
    assert result._repr_html_()
    assert result.column("frontier").sum() == 20_000
    assert len(made) <= 2


def test_rows_of_a_run_on_parts_are_small():
    """Numbers, not objects: tuples of seconds and bounds for each superstep would take kilobytes."""
    result = af.algorithms.bfs(af.load("path:300"), 0, parts=2, ranks_per_node=1)
    assert result.history.rows.nbytes <= 300 * 8 * 20
    assert np.isfinite(result.history.rows).all()
    assert result.history[7].bounds == result.history[8].bounds != ()


@pytest.mark.parametrize("call", [HOW["debug"], lambda: af.label_propagation("path:9"), HOW["frontier"]])
def test_a_history_is_short_to_look_at_whatever_made_it(call):
    """A notebook showed a page of records of a run with debug=True."""
    found = call().history
    assert repr(found) == f"<History: {len(found)} supersteps>"
    assert found._repr_html_().startswith("<b>History")
    assert [step.number for step in found] == list(range(len(found)))
    assert [step.number for step in found[1:3]] == [1, 2]
    assert found[-1].frontier == found.column("frontier")[-1]
