"""With debug=True, prints and breakpoints in a program work; kernels have neither, and the refusal says so."""

import sys

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
