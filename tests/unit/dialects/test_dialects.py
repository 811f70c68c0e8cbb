"""Programs in other systems' words give what the native form gives, in every way to run."""

import math

import numpy as np
import pytest
from dialect_programs import DIALECTS, FAR, SSSP, Degrees, Hops, PageRank
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux.compile import cpu
from arcflux.compile.lower import lower
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
def test_pagerank(name: str, graph: af.Graph, way: dict[str, object]) -> None:
    expected = af.run(af.algorithms.PageRank, graph, debug=True)
    made = af.run(getattr(PageRank, name), graph, **way)
    assert list(made.values) == ["rank"]
    np.testing.assert_allclose(made["rank"], expected["rank"], rtol=1e-9)
    assert made.supersteps == expected.supersteps


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=14, deadline=None)
@given(graph=graphs(), way=st.sampled_from(WAYS))
def test_shortest_paths(name: str, graph: af.Graph, way: dict[str, object]) -> None:
    made = af.run(getattr(SSSP, name), graph, source=0, **way)
    assert made["distance"].tolist() == af.sssp(graph, 0)["distance"].tolist()


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
def test_kernels_of_merging_programs_are_those_of_the_native_form(name: str) -> None:
    """SSSP without priority, as the native form would say it."""

    @af.program
    class Native:
        source: af.vertex
        distance: af.f64

        def start(v, p):
            v.distance = 0.0 if v.number == p.source else math.inf
            return v.number == p.source

        def compute(v, u, edge):
            v.distance = min(v.distance, u.distance + edge.weight)

        def update(v, old):
            return v.distance < old.distance

    columns = {"weight": np.dtype(np.float64)}
    texts = [cpu.source(lower(program, columns)) for program in (Native, getattr(SSSP, name))]
    kernels = [text[text.index("def source_m0") :] for text in texts]
    assert kernels[0] == kernels[1]


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


def refused(make: object, *said: str) -> None:
    with pytest.raises(ProgramError) as error:
        make()
    for words in said:
        assert words in str(error.value)


def test_a_sum_that_has_an_order_is_refused() -> None:
    def make() -> object:
        @af.gas
        class Last:
            x: af.f64

            def gather(v, u):
                return u.x

            def sum(a, b):
                return a - b

            def apply(v, gathered):
                v.x = gathered

        return Last

    refused(make, "sum is not a way to combine", "def sum(a, b)", "min(a, b)")


def test_a_missing_function_is_refused() -> None:
    def make() -> object:
        @af.msg
        class Half:
            x: af.f64

            def MSGGen(u):
                return u.x

        return Half

    refused(make, "MSGMerge is missing", "def MSGMerge(a, b)")


def test_an_unknown_function_and_argument_are_refused() -> None:
    def function() -> object:
        @af.gas
        class Odd:
            x: af.f64

            def compute(v, u):
                v.x += u.x

        return Odd

    def argument() -> object:
        @af.gas
        class Odd:
            x: af.f64

            def gather(v, w):
                return w.x

        return Odd

    refused(function, "no function 'compute'", "gather, sum, apply")
    refused(argument, "cannot have an argument 'w'", "may ask for: v, u, edge")


def test_an_apply_that_shows_who_was_signalled_is_refused() -> None:
    def make() -> object:
        @af.gas
        class Counted:
            x: af.f64

            def gather(v, u):
                return u.x

            def sum(a, b):
                return a + b

            def apply(v, gathered):
                v.x = v.x + gathered

            def scatter(v, old):
                return v.x > 10.0

        return Counted

    refused(make, "apply reads x as it was before", "def apply(v, gathered)", "return True")


def test_a_start_that_leaves_out_vertices_is_refused_where_all_gather() -> None:
    def make() -> object:
        @af.gas
        class Some:
            x: af.f64

            def start(v):
                return v.number == 0

            def gather(v, u):
                return u.x

            def sum(a, b):
                return a + b

            def apply(v, gathered):
                v.x = gathered

        return Some

    refused(make, "start leaves out vertices", "def start(v)", "return True in start")


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
