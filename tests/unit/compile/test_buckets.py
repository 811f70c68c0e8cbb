"""Programs with a priority give what they give without one, whatever the buckets, the memory and the threads."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.algorithms import SSSP
from arcflux.compile.cpu import bins


@af.program
class Widest:
    """The widest path from a source: as wide as its narrowest edge; the widest first."""

    source: af.vertex
    delta: float = 0.0
    width: af.f32

    def start(v, p):
        v.width = math.inf if v.number == p.source else 0.0
        return v.number == p.source

    def compute(v, u, edge):
        v.width = max(v.width, min(u.width, edge.weight))

    def update(v, old):
        return v.width > old.width

    def priority(v):
        return -v.width


@af.program
class Marks:
    """Which of 8 marks reach a vertex that wants any, and the least number; by an order that makes no sense."""

    delta: float = 0.0
    sense: float = 1.0
    marks: af.u8
    least: af.i64

    def start(v):
        v.marks = 1 << (v.number % 8)
        v.least = v.number
        return True

    def wants(v):
        return v.number % 11 != 7

    def compute(v, u):
        v.marks |= u.marks
        v.least = min(v.least, u.least + u.number // 1000)

    def update(v, old):
        return v.marks != old.marks or v.least < old.least

    def priority(v, p):
        return p.sense * v.least if v.marks != 255 else math.nan if v.least % 2 == 0 else -math.inf


@af.program
class Landmarks:
    """The distances from three vertices, in one vector; by their sum, so that none comes quite in order."""

    delta: float = 0.0
    far: af.f64[3]

    def start(v):
        for k in range(3):
            v.far[k] = 0.0 if v.number == 5 * k else 1000.0
        return v.number % 5 == 0 and v.number < 15

    def compute(v, u, edge):
        v.far = min(v.far, u.far + edge.weight)

    def update(v, old):
        return v.far[0] < old.far[0] or v.far[1] < old.far[1] or v.far[2] < old.far[2]

    def priority(v):
        return v.far[0] + v.far[1] + v.far[2]


def unordered(program: object) -> object:
    return replace(program, functions={k: f for k, f in program.functions.items() if k != "priority"})


@st.composite
def graphs(draw: st.DrawFn) -> af.Graph:
    n = draw(st.integers(1, 40))
    ends = st.lists(st.integers(0, n - 1), min_size=80, max_size=80)
    weight = draw(st.lists(st.floats(0, 50, width=32), min_size=80, max_size=80))
    return af.Graph.from_edges(np.array(draw(ends)), np.array(draw(ends)), vertices=n, directed=draw(st.booleans()),
                               columns={"weight": np.array(weight, "f4")})  # fmt: skip


@pytest.mark.parametrize("program", [SSSP, Widest, Marks, Landmarks], ids=lambda p: p.name)
@settings(max_examples=40, deadline=None)
@given(graph=graphs(), threads=st.integers(1, 3), delta=st.sampled_from([0.0, 1e-12, 0.5, 20.0, 1e200]), data=st.data())
def test_order_makes_no_difference(
    program: object, graph: af.Graph, threads: int, delta: float, data: st.DataObject
) -> None:
    choices = {"source": [0], "sense": [1.0, -1.0]}
    more = {name: data.draw(st.sampled_from(choices[name])) for name in program.parameters if name != "delta"}
    plain = af.run(unordered(program), graph, **more)
    ordered = af.run(program, graph, threads=threads, delta=delta, **more)
    assert ordered.converged
    for name in plain.values:
        np.testing.assert_array_equal(ordered[name], plain[name])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("program", [SSSP, Widest, Marks], ids=lambda p: p.name)
def test_blocks_that_run_out_are_made_more(program: object, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("kron:10,weights=1-255")
    more = {"source": 0} if "source" in program.parameters else {}
    plain = af.run(unordered(program), graph, **more)
    grown = []
    grow = bins.Bins._grow
    monkeypatch.setattr(bins, "capacity", lambda vertices, threads: 3 * threads + -(-vertices // bins.BLOCK))
    monkeypatch.setattr(bins.Bins, "_grow", lambda self: (grown.append(self.links.size), grow(self))[1])
    ordered = af.run(program, graph, threads=threads, delta=3.0, **more)
    assert ordered.converged
    assert grown
    for name in plain.values:
        np.testing.assert_array_equal(ordered[name], plain[name])


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_narrow_window_moves_on(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("grid:30x30,weights=1-255")
    plain = af.run(unordered(SSSP), graph, source=0)
    monkeypatch.setattr(bins, "WINDOW", window)
    for threads in (1, 2, 3):
        for delta in (1.0, 100.0):
            found = af.run(SSSP, graph, source=0, delta=delta, threads=threads)
            np.testing.assert_array_equal(found["distance"], plain["distance"])


def test_a_width_that_is_much_too_small_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("grid:60x60,weights=1-255")
    scales = []
    monkeypatch.setattr(bins.Bins, "arguments", property(
        lambda self, arguments=bins.Bins.arguments.fget: (scales.append(self.scale), arguments(self))[1]
    ))  # fmt: skip
    found = af.run(SSSP, graph, source=0, delta=1e-6, threads=1)
    assert 1e-3 < 1 / scales[-1][1] < 10
    np.testing.assert_array_equal(found["distance"], af.run(unordered(SSSP), graph, source=0)["distance"])


def test_history_has_a_superstep_for_each_meeting() -> None:
    """On a path a worker goes on alone for many buckets before it meets the others: in several launches still."""
    length = 100_000
    graph = af.load(f"path:{length}")
    graph = af.Graph(graph.out, directed=False, columns={"weight": np.ones(graph.arcs)})
    found = af.run(SSSP, graph, source=0, delta=1.0, threads=2)
    assert found["distance"].tolist() == list(range(length))
    met = len(found.history)
    assert 256 < met < length / 100
    assert [step.number for step in found.history] == list(range(met))
    assert {(step.direction, step.frontier) for step in found.history} == {("push", 1)}
    assert found.history[0].reason == "the next bucket, of width 1"
    assert sum(step.seconds for step in found.history) <= found.seconds
    assert af.run(SSSP, graph, source=0, delta=1.0, threads=2, max_supersteps=met).converged
    with pytest.warns(UserWarning, match=f"stopped after {met - 1}"):
        assert not af.run(SSSP, graph, source=0, delta=1.0, threads=2, max_supersteps=met - 1).converged


def test_the_width_is_the_parameter_delta_or_chosen() -> None:
    graph = af.load("urand:8,weights=100-200")

    def chosen(threads: int) -> float:
        return float(af.run(SSSP, graph, source=0, threads=threads).history[0].reason.rsplit(" ", 1)[1])

    assert 5 < chosen(12) < 500
    assert chosen(1) == chosen(2) == pytest.approx(chosen(12) * 5 / 12, rel=1e-4)
    assert chosen(2) < chosen(4) < chosen(12)
    assert af.run(SSSP, graph, source=0, delta=2.5).history[0].reason.endswith("width 2.5")


def test_a_circle_of_negative_weight_can_be_stopped() -> None:
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0], columns={"weight": [1.0, -3.0, 1.0]})
    for options in ({"max_supersteps": 3}, {"timeout": 0.05}):
        begun = time.perf_counter()
        with pytest.warns(UserWarning, match="before it converged"):
            found = af.run(SSSP, graph, source=0, threads=2, **options)
        assert not found.converged
        assert time.perf_counter() - begun < 20


@pytest.mark.parametrize("program", [SSSP, Marks], ids=lambda p: p.name)
def test_pull_takes_supersteps_instead(program: af.program) -> None:
    graph = af.load("kron:7,weights=1-9")
    given = {"source": 1} if "source" in program.parameters else {}
    pulled, pushed = (af.run(program, graph, direction=way, **given) for way in ("pull", "auto"))
    assert {step.direction for step in pulled.history} == {"pull"}
    for name, values in pushed.values.items():
        np.testing.assert_array_equal(pulled.values[name], values)


def test_nothing_to_do() -> None:
    graph = af.Graph.from_edges([], [], vertices=2, columns={"weight": np.empty(0)})
    assert af.run(SSSP, graph, source=1)["distance"].tolist() == [math.inf, 0.0]
    none = af.Graph.from_edges([], [])
    assert af.run(Marks, none).converged
