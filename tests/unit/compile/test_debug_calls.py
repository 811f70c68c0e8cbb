"""With debug=True, prints and breakpoints in a program work; kernels have neither, and the refusal says so."""

import math
import sys
from bdb import BdbQuit

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import ProgramError

GRAPH = af.Graph.from_edges([0, 1], [1, 2])


def tell(*words):
    """A function of the user's own."""
    print("told", *words)


@af.program
class Talking:
    """Prints where a program can print."""

    loud: bool = True
    x: af.i64

    def start(v, p):
        print("start", v.number, f"{p.loud!r}")
        v.x = v.number
        return True

    def init(v):
        if v.x > 100:
            print("never")
        else:
            pass

    def compute(v, u, p):
        if p.loud:
            print(f"{u.number} -> {v.number}", "with", u.x, sep=" ")
        v.x = max(v.x, u.x)

    def update(v, old, step):
        tell("update", v.number, step)
        return v.x != old.x

    def wants(v):
        print("wants", v.number)
        return True


@af.program
class Stopping:
    """Stops in the debugger."""

    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def compute(v, u):
        breakpoint()
        v.x = max(v.x, u.x)

    def update(v, old):
        return v.x != old.x


@af.program
class Shown:
    """Prints all that its functions see."""

    most: int = 3
    far: af.vertices
    x: af.i64
    pair: af.f64[2]
    load: af.edge(af.f64, 1.0)
    lost: af.total(af.f64)

    def start(v, p):
        print(p, p.far)
        return True

    def along(edge, u):
        print(edge, u)
        edge.load = 2.0

    def compute(v, u, edge):
        print(edge)
        v.x = max(v.x, u.x + edge.weight)

    def update(v, old, g):
        print(v, old, g)
        g.lost += 0.5
        return False


@af.program
class Neighbours:
    """Prints what neighbourhoods and mail are."""

    x: af.i64
    note: af.mail(a=af.i64, b=af.f64)

    def start(v):
        af.send(v.number, note=(7, 0.5))
        return True

    def around(v, edges):
        print(edges)
        for u, edge in edges:
            print(u, edge)
            v.x = u.number + edge.weight

    def receive(v, note):
        for r in note:
            print(r, note)

    def update(v):
        return v.x < 0


def test_what_functions_see_is_readable(capsys):
    graph = af.Graph.from_edges([0, 1], [1, 2], columns={"weight": [4, 5]})
    af.run(Shown, graph, far=[0, 2], debug=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "<parameters: most=3, far=<2 vertices>> <2 vertices>"
    assert said[3:] == [
        "<vertex 0: x=0, pair=[0.0, 0.0], far=True> <vertex 0: x=0, pair=[0.0, 0.0], far=True> "
        "<graph: vertices=3, edges=2, arcs=2, lost=0.0>",
        "<edge: weight=4, load=1.0> <vertex 0: x=0, pair=[0.0, 0.0], far=True>",
        "<edge: weight=4, load=2.0>",
        "<vertex 1: x=4, pair=[0.0, 0.0], far=False> <vertex 1: x=0, pair=[0.0, 0.0], far=False> "
        "<graph: vertices=3, edges=2, arcs=2, lost=0.0>",
        "<edge: weight=5, load=1.0> <vertex 1: x=0, pair=[0.0, 0.0], far=False>",
        "<edge: weight=5, load=2.0>",
        "<vertex 2: x=5, pair=[0.0, 0.0], far=True> <vertex 2: x=0, pair=[0.0, 0.0], far=True> "
        "<graph: vertices=3, edges=2, arcs=2, lost=0.0>",
    ]


def test_lists_and_records_are_readable(capsys):
    graph = af.Graph.from_edges([0], [1], columns={"weight": [4]})
    af.run(Neighbours, graph, debug=True)
    record = "<record: a=7, b=0.5>"
    assert capsys.readouterr().out.splitlines()[:4] == [
        "<0 edges>", f"{record} [{record}]", "<1 edges>", "<vertex 0: x=0> <edge: weight=4>",
    ]  # fmt: skip


def test_prints_are_seen(capsys):
    result = af.run(Talking, GRAPH, debug=True)
    assert result["x"].tolist() == [0, 1, 2]
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["start 0 True", "start 1 True", "start 2 True"]
    assert "0 -> 1 with 0" in said
    assert "told update 2 0" in said
    assert "wants 1" in said
    assert "never" not in said


def test_a_breakpoint_stops_in_the_function(monkeypatch):
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["u"].number))
    assert af.run(Stopping, GRAPH, debug=True)["x"].tolist() == [0, 1, 2]
    assert stops == [0, 1]


@pytest.mark.parametrize("program", [Talking, Stopping])
def test_kernels_refuse_with_what_to_do(program):
    af.run(program, GRAPH, debug=True) if program is Talking else None
    with pytest.raises(ProgramError, match="result is not used") as caught:
        af.run(program, GRAPH)
    assert "debug=True" in caught.value.remedy


def test_what_is_no_call_stays_refused():
    @af.program
    class Dropping:
        x: af.i64

        def start(v):
            v.x  # noqa: B018
            return True

        def compute(v, u):
            v.x = max(v.x, u.x)

        def update(v, old):
            return v.x != old.x

    with pytest.raises(ProgramError, match="drops it"):
        af.run(Dropping, GRAPH, debug=True)


@af.program
class Mistyped:
    """A line for the debugger that is wrong itself, where nobody checks it beforehand."""

    x: af.i64

    def compute(v, u):
        print(v.wide)
        v.x += 1


def test_a_mistake_in_a_line_for_the_debugger_is_said_with_its_place() -> None:
    with pytest.raises(ProgramError, match="AttributeError: a vertex has no 'wide' at vertex 1, superstep 0") as caught:
        af.run(Mistyped, GRAPH, debug=True)
    assert "print(v.wide)" in str(caught.value)


SEEN = [3, 4]


@af.program
class Rounding:
    """Its lines for the debugger hand to built-ins, math and NumPy what no program can."""

    rank: af.f64
    pair: af.f64[2] = (1.0, 2.0)

    def start(v, p):
        print(round(v.rank + 2 / 3, 3), round(v.rank), max(SEEN), min([5, v.number + 5]), max("a", "b"))
        print(isinstance(v.number, int), max((q for q in ["b", "a"]), key=ord), list(map(float, SEEN)), sum(SEEN, 0.5))
        print(np.array(SEEN).max(), np.sqrt([4.0, 9.0]), math.sqrt(v.number + 4), math.perm(4), max(p.pair))
        return True

    def compute(v, u):
        v.rank += u.rank

    def update(v, step):
        v.rank = max(v.rank, round(2.5))
        return step < 1


def test_lines_for_the_debugger_have_all_of_python(capsys):
    result = af.run(Rounding, "path:2", debug=True)
    assert capsys.readouterr().out.splitlines()[:3] == [
        "0.667 0 4 5 b", "True b [3.0, 4.0] 7.5", "4 [2. 3.] 2.0 24 2.0",
    ]  # fmt: skip
    assert result["rank"].tolist() == [4.0, 4.0]  # lines of the program stay its own: round(2.5) is 2


class Odd(Exception):
    """One that nobody knows."""


@pytest.mark.parametrize("kind", [RuntimeError, AssertionError, OSError, ImportError, Odd])
def test_what_a_call_raises_is_told_with_the_vertex(kind, monkeypatch):
    def raising(*words):
        raise kind("out of order")

    monkeypatch.setattr(sys.modules[__name__], "tell", raising)
    with pytest.raises(ProgramError, match=rf"{kind.__name__}: out of order at vertex 0, superstep 0") as caught:
        af.run(Talking, GRAPH, debug=True)
    assert isinstance(caught.value.__cause__, kind)


def test_quitting_a_debugger_ends_the_run_as_in_any_script(monkeypatch):
    def leave():
        raise BdbQuit

    monkeypatch.setattr(sys, "breakpointhook", leave)
    with pytest.raises(BdbQuit):
        af.run(Stopping, GRAPH, debug=True)


def press(step, v):
    """Ctrl-C in the middle of the third superstep."""
    if (step, v) == (2, 1):
        raise KeyboardInterrupt


@af.program
class Counting:
    """Counts supersteps."""

    x: af.i64

    def start(v):
        return True

    def compute(v, u):
        v.x += 0

    def update(v, step):
        press(step, v.number)
        v.x += 1
        return True


def test_an_interrupt_has_the_last_whole_superstep():
    with pytest.raises(KeyboardInterrupt) as caught:
        af.run(Counting, GRAPH, debug=True)
    result = caught.value.result
    assert (result.supersteps, result.converged, result["x"].tolist()) == (2, False, [2, 2, 2])
