"""Programs in Medusa's words: iterations of several runs, halt, maxIteration, lists of edges and of messages."""

import numpy as np
import pytest
from dialect_cases import sample
from emv_programs import Authorities, Everything, expected_authorities, expected_everything

import arcflux as af
from arcflux.dialects.emv import MAX_ITERATION
from arcflux.errors import UsageError

WAYS = [{}, {"debug": True}, {"threads": 3}, {"parts": 3}, {"parts": 2, "ranks_per_node": 1, "exchange": "owners"}]
GRAPHS = {
    "undirected": sample(30, 60, 4),
    "directed": af.Graph.from_edges(
        [0, 1, 2, 2, 3, 5, 5, 0, 4, 4], [1, 2, 0, 3, 4, 5, 1, 1, 2, 3],
        columns={"weight": [3.0, 1, 2, 5, 1, 1, 4, 2, 2, 7]}, vertices=8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("graph", GRAPHS)
def test_iterations_of_several_runs(graph: str, way: dict[str, object]) -> None:
    expected_authorities(af.run(Authorities, GRAPHS[graph], **way), GRAPHS[graph])
    expected_everything(af.run(Everything, GRAPHS[graph], **way), GRAPHS[graph])


def test_runs_that_belong_together_are_one_phase() -> None:
    assert list(Everything.phases) == ["Weigh", "Send_Double_Look_Shrink"]
    assert Everything.phases["Weigh"].edges == "against"
    assert list(Authorities.phases) == ["SendScore_TakeScore_Add", "SendSpread_TakeSpread_Largest"]


@af.emv
class Counting:
    message: af.i64
    x: af.i64
    most: af.total(af.i64, "max")

    def Send(e):
        e.send(1)

    def Combiner(a, b):
        return a + b

    def Take(v, combined, old, g):
        v.x = old.x + combined
        g.most = max(g.most, v.x)

    def iteration(run, g, p):
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()
        run.halt = g.most >= 7 or run.iterations == 20


def test_the_host_halts_by_a_total() -> None:
    assert not Counting.phases
    for way in WAYS[:3]:
        result = af.run(Counting, "cycle:5", **way)
        assert result["x"].tolist() == [8] * 5
        assert result.supersteps == 4
        assert result.converged
    assert af.run(Counting, af.Graph.from_edges([0], [1], vertices=2)).supersteps == 7
    assert af.run(Counting, af.Graph.from_edges([], [], vertices=2)).supersteps == 20


def test_max_iteration_is_a_parameter_with_medusas_default() -> None:
    @af.emv
    class Limited:
        maxIteration: int = 4
        message: af.i64
        x: af.i64

        def Send(e):
            e.send(1)

        def Combiner(a, b):
            return a + b

        def Take(v, combined, old):
            v.x = old.x + combined

        def iteration(run):
            run.EDGE.Send()
            run.Combiner()
            run.VERTEX.Take()

    assert af.run(Limited, "cycle:5")["x"].tolist() == [8] * 5
    assert af.run(Limited, "cycle:5", maxIteration=9, debug=True)["x"].tolist() == [18] * 5
    assert Limited.most_supersteps == MAX_ITERATION == 2147483647


def test_more_iterations_than_programs_have_supersteps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of other programs is not the end of these."""
    monkeypatch.setattr("arcflux.engine.front._MOST_SUPERSTEPS", 3)
    assert af.run(Counting, "path:2").supersteps == 7


def test_halt_in_phases_is_reset_before_every_iteration() -> None:
    @af.emv
    class Peel:
        """Two VERTEX runs, of which one goes on until all is gone."""

        x: af.i64
        y: af.i64

        def start(v):
            v.x = v.number
            return True

        def Down(v, g):
            if v.x == 0:
                return
            v.x -= 1
            g.halt = False

        def Up(v):
            v.y += 1

        def iteration(run):
            run.VERTEX.Down()
            run.VERTEX.Up()

    for way in WAYS:
        result = af.run(Peel, "path:5", **way)
        assert result["x"].tolist() == [0] * 5
        assert result["y"].tolist() == [5] * 5
        assert result.iterations == 5


def test_loops_of_the_host_run_chains_again() -> None:
    @af.emv
    class Doubled:
        maxIteration: int = 2
        times: int = 3
        message: af.i64
        x: af.i64

        def start(v):
            v.x = 1
            return True

        def Send(e):
            e.send(e.tail.x)

        def Combiner(a, b):
            return max(a, b)

        def Take(v, combined):
            v.x = 2 * combined

        def iteration(run, g, p):
            for _ in range(p.times):
                run.EDGE.Send()
                run.Combiner()
                run.VERTEX.Take()

    assert af.run(Doubled, "cycle:4")["x"].tolist() == [64] * 4
    assert af.run(Doubled, "cycle:4", times=1)["x"].tolist() == [4] * 4


def test_an_edge_without_a_message_has_what_the_buffer_began_with() -> None:
    @af.emv
    class Lists:
        maxIteration: int = 1
        message: af.i64
        x: af.i64

        def Send(e):
            if e.tail.number > 1:
                e.send(e.tail.number)

        def Look(v, ml):
            v.x = sum(m.value for m in ml)

        def iteration(run):
            run.InitMessageBuffer(-10)
            run.EDGE.Send()
            run.MLIST.Look()

    graph = af.Graph.from_edges([0, 1, 2, 3], [4, 4, 4, 4], vertices=5)
    for way in WAYS:
        assert af.run(Lists, graph, **way)["x"].tolist() == [0, 0, 0, 0, -15]


def test_the_buffers_first_value_takes_part_in_a_minimum() -> None:
    @af.emv
    class Low:
        maxIteration: int = 1
        mark: int = 3
        message: af.i64
        x: af.i64

        def Send(e):
            e.send(e.tail.number)

        def Combiner(a, b):
            return min(a, b)

        def Take(v, combined):
            v.x = combined

        def iteration(run, g, p):
            run.InitMessageBuffer(p.mark)
            run.EDGE.Send()
            run.Combiner()
            run.VERTEX.Take()

    graph = af.Graph.from_edges([0, 5], [1, 2], vertices=6)
    for way in WAYS:
        assert af.run(Low, graph, **way)["x"].tolist() == [3, 0, 3, 3, 3, 3]


def test_a_graph_is_added_up() -> None:
    medusa = af.Medusa()
    medusa.AddVertex(7, x=5)
    medusa.AddEdge(7, 3, weight=2.0)
    medusa.AddEdge(3, 9, weight=4.0)
    medusa.AddVertex(11)
    graph = medusa.graph()
    assert sorted(graph.ids.to_ids(np.arange(4)).tolist()) == [3, 7, 9, 11]
    result = af.run(Counting, graph, given=medusa.given)
    assert result.to_dict()[7] == 5
    assert af.sssp(graph, 7).to_dict("distance")[9] == 6.0
    with pytest.raises(UsageError, match="an edge has the columns none"):
        medusa.AddEdge(1, 2)
    assert af.Medusa(directed=False).graph().vertices == 0


@pytest.mark.parametrize("wrong", [[], (), {}, None, 1.5, True, b"a"])
def test_ids_of_medusa_are_whole_numbers_or_text(wrong):
    medusa = af.Medusa()
    for add in (lambda: medusa.AddVertex(wrong), lambda: medusa.AddEdge(0, wrong), lambda: medusa.AddEdge(wrong, 0)):
        with pytest.raises(UsageError, match="the id of a vertex is "):
            add()
    assert medusa.graph().vertices == 0  # nothing of a refused edge stays
