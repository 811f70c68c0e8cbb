"""Programs as text: what is sent makes the same program, and what cannot be sent is refused by its name."""

import math

import numpy as np
import pytest

import arcflux as af
from arcflux import f64
from arcflux.errors import ProgramError
from arcflux.plug.program_text import program_of, text_of

LIMIT, FAR = 3, math.inf
RATE = 2.5
open_file = open(__file__)  # noqa: SIM115 - something that cannot be sent
open_file.close()


def halved(x):
    return twice(x) / 4


def twice(x):
    return x * 2


@af.program
class Base:
    x: f64

    def start(v):
        v.x = halved(v.out_degree * 1.0) + LIMIT
        return True

    def compute(v, u):
        v.x += u.x * RATE

    def update(v, old):
        return v.x != old.x


@af.program
class Child(Base):
    bound: float = 10.0

    def update(v, old, p):
        v.x = min(v.x, p.bound, FAR)
        return v.x != old.x


@af.msg(order="gas")
class Spread:
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def MSGGen(u, edge):
        return u.x

    def MSGMerge(a, b):
        return min(a, b)

    def MSGApply(v, message):
        v.x = min(v.x, message)
        return True


@pytest.mark.parametrize("program", [Base, Child, af.algorithms.PageRank, af.algorithms.BFS], ids=lambda one: one.name)
def test_the_text_makes_the_same_program(program):
    text = text_of(program)
    again = program_of(text, program.name)
    assert repr(again) == repr(program)
    assert text_of(again) == text


def test_it_gives_the_same_values():
    graph = af.load("path:6")
    again = program_of(text_of(Child), "Child")
    first, second = (af.run(one, graph, max_supersteps=3, debug=True) for one in (Child, again))
    assert np.array_equal(first["x"], second["x"])


def test_a_dialect_keeps_its_order():
    assert 'order="gas"' in text_of(Spread)
    assert repr(program_of(text_of(Spread), "Spread")) == repr(Spread)


def test_a_class_within_a_function_takes_what_is_around_it():
    shift = 4

    @af.program
    class Inner:
        y: af.i32

        def start(v):
            v.y = shift

        def compute(v, u):
            v.y = max(v.y, u.y)

        def update(v, old):
            return v.y > old.y

    assert "shift = 4" in text_of(Inner)
    assert program_of(text_of(Inner), "Inner").fields == Inner.fields


def test_what_cannot_be_sent_is_named():
    @af.program
    class Wrong:
        y: af.f64

        def start(v):
            v.y = open_file

        def compute(v, u):
            v.y += u.y

        def update(v, old):
            return False

    with pytest.raises(ProgramError, match="open_file is a TextIOWrapper"):
        text_of(Wrong)


def test_a_name_that_the_text_does_not_have():
    with pytest.raises(ProgramError, match="no program 'Other'"):
        program_of(text_of(Base), "Other")
