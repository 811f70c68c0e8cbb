"""No error of the compiler reaches a user: a program compiles, or is refused with its line and a reason."""

import numpy as np
import pytest

import arcflux as af
from arcflux.compile import cache
from arcflux.compile.failures import refusing_failures
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError


@af.program
class About:
    """What v is, in compute: its number and its degrees."""

    near: af.i64
    weight: af.i64

    def start(v):
        v.near = 0
        return True

    def init(v):
        v.near = 0
        v.weight = 0

    def compute(v, u):
        v.near += v.number * 3 + v.in_degree - u.out_degree
        if u.number < v.number:
            v.weight += v.out_degree

    def update(v, step):
        return step < 2


@af.program
class Lower:
    """The smallest number below one's own, by priority, which has no old state to ask for."""

    low: af.i64

    def start(v):
        v.low = v.number
        return True

    def compute(v, u):
        if u.low < v.number:
            v.low = min(v.low, u.low + v.number - v.number)

    def update(v, old):
        return v.low < old.low

    def priority(v):
        return v.low


@pytest.mark.parametrize("program", [About, Lower], ids=lambda p: p.name)
def test_compute_knows_what_v_is(program: object) -> None:
    graph = af.load("kron:6")
    plain = af.run(program, graph, debug=True)
    for how in (
        {"direction": "pull"}, {"direction": "push"}, {"deterministic": True}, {"parts": 2, "ranks_per_node": 1},
        {"parts": 3, "exchange": "owners", "ranks_per_node": 1}, {"parts": 2, "direction": "push", "ranks_per_node": 1},
    ):  # fmt: skip
        fast = af.run(program, graph, **how)
        for name in program.fields:
            np.testing.assert_array_equal(fast[name], plain[name], err_msg=str(how))


def test_a_failure_of_the_compiler_is_a_refusal_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generated function that cannot be typed, as a hole in the checks would leave one."""
    made = cache.module

    def broken(source: str) -> object:
        return made(source.replace("def update(step):", "def update(step):\n    step = step + missing_name"))  # unbound

    monkeypatch.setattr(cache, "module", broken)
    with pytest.raises(ProgramError) as caught:
        af.run(About, af.load("path:4"))
    said = str(caught.value)
    assert "About: update cannot be compiled" in said
    assert "missing_name" in said
    assert "def update" in said
    assert "arcflux_program" not in said
    assert caught.value.__suppress_context__


def test_errors_that_are_not_the_compilers_stay_what_they_are() -> None:
    lowered = lower(About, {})
    with pytest.raises(ZeroDivisionError), refusing_failures(lowered):
        1 / 0  # noqa: B018


def test_what_a_compiler_raises_without_a_place_is_refused_too() -> None:
    from numba.core.errors import LoweringError

    with pytest.raises(ProgramError, match="the program cannot be compiled: no such thing"), \
            refusing_failures(lower(About, {})):  # fmt: skip
        raise LoweringError("no such thing")
