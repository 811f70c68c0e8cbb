"""Programs in other systems' words give what the native form gives, in every way to run."""

import numpy as np
import pytest
from dialect_cases import sample
from hypothesis import given, settings
from hypothesis import strategies as st
from message_programs import DIALECTS, FAR, Degrees, Highest, Hops, Lowest

import arcflux as af
import oracles
from arcflux.errors import ProgramError, UsageError

WAYS = [
    {}, {"debug": True}, {"direction": "push"}, {"direction": "pull", "threads": 3}, {"deterministic": True},
    {"parts": 3, "exchange": "readers"}, {"parts": 2, "exchange": "owners", "ranks_per_node": 1},
]  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> af.Graph:
    n = draw(st.integers(2, 9))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(1, 9)), min_size=1, max_size=24))
    source, target, weight = (np.array(column) for column in zip(*edges, strict=True))
    columns = {"weight": weight.astype(float)}
    return af.Graph.from_edges(source, target, columns=columns, vertices=n, directed=draw(st.booleans()))


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=14, deadline=None)
@given(graph=graphs(), way=st.sampled_from(WAYS))
def test_hops(name: str, graph: af.Graph, way: dict[str, object]) -> None:
    made = af.run(getattr(Hops, name), graph, source=0, **way)
    assert list(made.values) == ["level"]
    levels = af.bfs(graph, 0)["level"]
    assert made["level"].tolist() == np.where(levels < 0, FAR, levels).tolist()


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=14, deadline=None)
@given(graph=graphs(), way=st.sampled_from(WAYS))
def test_messages_that_are_not_sent(name: str, graph: af.Graph, way: dict[str, object]) -> None:
    source, target, _ = graph.edge_numbers()
    if not graph.directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    other = source != target
    expected = np.bincount(target[other].astype(int), minlength=graph.vertices)
    assert af.run(getattr(Degrees, name), graph, **way)["count"].tolist() == expected.tolist()


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(("form", "best"), [(Lowest, [0, 0, 1, 2, 3]), (Highest, [0, 1, 2, 3, 4])])
@pytest.mark.parametrize("way", [{}, {"debug": True}, {"parts": 2, "ranks_per_node": 1}], ids=str)
@pytest.mark.filterwarnings("ignore:.*before it converged")
def test_numbers_of_vertices_as_messages(name: str, form: type, best: list[int], way: dict[str, object]) -> None:
    """The first vertex has no message: then the least number is beyond all that a field of 32 bits could hold."""
    line = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    assert af.run(getattr(form, name), line, max_supersteps=1, **way)["best"].tolist() == best


def test_orders_of_msg() -> None:
    def made(order: str) -> af.Result:
        @af.msg(order=order)
        class Smallest:
            low: af.i64
            calls: af.i64

            def start(v):
                v.low = v.number
                return True

            def MSGGen(u):
                return u.low

            def MSGMerge(a, b):
                return min(a, b)

            def MSGApply(v, message):
                changes = message < v.low
                v.low = min(v.low, message)
                v.calls = v.calls + 1
                return changes

        return af.run(Smallest, "path:5", max_supersteps=50)

    bsp, gas = made("bsp"), made("gas")
    assert bsp["low"].tolist() == gas["low"].tolist() == [0] * 5
    # As GAS has it, vertices are applied once before there are messages.
    assert gas["calls"].tolist() == [count + 1 for count in bsp["calls"]]


@pytest.mark.parametrize("order", ["bsp", "gas", "async"])
def test_every_order_comes_to_the_same_components(order: str) -> None:
    @af.msg(order=order)
    class Smallest:
        low: af.i64

        def start(v):
            v.low = v.number
            return True

        def MSGGen(u):
            return u.low

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message):
            changes = message < v.low
            v.low = min(v.low, message)
            return changes

    graph = sample(40, 45, 2)
    source, target, _ = graph.edge_numbers()
    expected = oracles.components(40, list(zip(source.tolist(), target.tolist(), strict=True)))
    for way in WAYS:
        assert af.run(Smallest, graph, **way)["low"].tolist() == expected


def test_asynchronous_programs_may_see_fresher_values() -> None:
    assert "monotone" in _asynchronous().promises
    assert af.run(_asynchronous(), "path:30")["low"].tolist() == [0] * 30


def _asynchronous() -> af.program:
    @af.msg(order="async")
    class Smallest:
        low: af.i64

        def start(v):
            v.low = v.number
            return True

        def MSGGen(u):
            return u.low

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message, old):
            v.low = min(v.low, message)
            return v.low < old.low

    return Smallest


def test_what_is_refused_in_a_body_is_on_its_line() -> None:
    @af.gas
    class Wrong:
        x: af.f64

        def start(v):
            return True

        def gather(v, u):
            return u.x

        def sum(a, b):
            return a + b

        def apply(v, gathered):
            v.x = gathered * unknown_name  # noqa: F821

    with pytest.raises(ProgramError) as error:
        af.run(Wrong, "path:3")
    assert "unknown_name" in str(error.value)
    assert "v.x = gathered * unknown_name" in str(error.value)


def test_errors_speak_of_the_functions_that_were_written() -> None:
    @af.msg
    class Wrong:
        x: af.f64

        def MSGGen(u):
            return u.x

        def MSGMerge(a, b):
            return a + b

        def MSGApply(v, message):
            if message > 0.0:
                return True

    with pytest.raises(ProgramError, match="MSGApply can end without a return"):
        af.run(Wrong, "path:3")


def test_dialects_take_classes_and_known_orders() -> None:
    with pytest.raises(UsageError, match=r"@af\.gas stands above 3"):
        af.gas(3)
    with pytest.raises(UsageError, match="order is 'bulk'"):
        af.msg(order="bulk")


def test_oracle_of_hops() -> None:
    graph = af.load("grid:4x5")
    edges = list(zip(*(each.tolist() for each in graph.edge_numbers()[:2]), strict=True))
    expected = oracles.bfs_levels(20, [*edges, *((b, a) for a, b in edges)], 7)
    for name in DIALECTS:
        assert af.run(getattr(Hops, name), graph, source=7)["level"].tolist() == list(expected)


def test_names_around_are_those_that_functions_see_now() -> None:
    factor = 2.0

    @af.gas
    class Scaled:
        x: af.f64

        def start(v):
            v.x = 1.0
            return True

        def gather(v, u):
            return factor * u.x

        def sum(a, b):
            return max(a, b)

        def apply(v, gathered):
            v.x = gathered

        def scatter(v):
            return False

    for expected in (2.0, 3.0):
        for way in ({}, {"debug": True}):
            assert af.run(Scaled, "cycle:3", **way)["x"].tolist() == [expected] * 3
        factor = 3.0


@pytest.mark.parametrize("order", [np.arange(2), [], None, 5])
def test_an_order_that_is_no_text_is_refused(order):
    with pytest.raises(UsageError, match="order is "):
        af.msg(order=order)


@af.gas
class Told:
    """A search in whose functions every line is told: what is printed decides nothing."""

    source: af.vertex
    hops: af.i32

    def start(v, p):
        print("start", v.number)
        v.hops = 0 if v.number == p.source else 1000
        return v.number == p.source

    def gather(v, u):
        print("gather", v.hops, u.hops)
        return u.hops + 1

    def sum(a, b):
        return min(a, b)

    def apply(v, gathered):
        print("apply", v.hops, gathered)
        if v.hops > 0:
            breakpoint()
        v.hops = min(v.hops, gathered)
        print("applied", v.hops)

    def scatter(v, old):
        print("scatter", v.hops, old.hops)
        return v.hops < old.hops


def test_prints_and_breakpoints_decide_nothing(capsys, monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(1))
    found = af.run(Told, "path:4", source=1, debug=True)
    assert found["hops"].tolist() == [1, 0, 1, 2]
    told = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert told == {"start", "gather", "apply", "applied", "scatter"}
    assert stops
    with pytest.raises(ProgramError, match="run with debug=True"):
        af.run(Told, "path:4", source=1)
