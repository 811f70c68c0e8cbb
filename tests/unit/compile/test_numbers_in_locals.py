"""Numbers that stand in a program have 64 bits, whatever locals, loops and helpers they go through."""

import math

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import ProgramError

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped after 1 superstep ")

BELOW = -2.0
COUNT = -3
PAIR = af.Graph.from_edges([0], [1])
WAYS = ({"threads": 1}, {"direction": "push", "threads": 1}, {"parts": 2})


def powered(base, exponent=-2):
    return base**exponent


@af.program
class Powers:
    """Powers of numbers below 0 that stand for a local or a name of the module."""

    root: af.flag
    named: af.f64
    whole: af.f64
    literal: af.f64
    counted: af.i64

    def compute(v, u):
        below = -8.0
        root = below**0.5
        v.root |= root != root
        v.named += BELOW ** (u.number + 2) + BELOW**3
        v.whole += COUNT ** (u.number + 3)
        v.literal += (-2.0) ** (u.number + 4) + (u.number + 2) ** COUNT
        flag = u.number == 0
        v.counted += -flag + 3 * flag + (flag << 2) + (flag - 3) ** flag


@pytest.mark.parametrize("way", [{"debug": True}, *WAYS])
def test_a_number_below_0_is_raised_as_a_whole(way: dict[str, object]) -> None:
    result = af.run(Powers, PAIR, max_supersteps=1, **way)
    assert result["root"].tolist() == [False, True]
    assert result["named"].tolist() == [0.0, (-2.0) ** 2 + (-2.0) ** 3]
    assert result["whole"].tolist() == [0.0, -27.0]
    assert result["literal"].tolist() == [0.0, 16.0 + 2.0**-3]
    assert result["counted"].tolist() == [0, -1 + 3 + 4 - 2]


@af.program
class Astray:
    """What compiled code makes another number of, by a parameter."""

    which: int = 0
    x: af.f64

    def compute(v, u, p):
        count = 0
        count += 1
        below = 3 // 2 - 4
        if p.which == 0:
            v.x += 1 ** (count - 2)
        elif p.which == 1:
            for k in range(3):
                v.x += 3 ** (k - 2)
        elif p.which == 2:
            wide = 1
            for _k in range(70):
                wide = wide * 2 + 1
            v.x += 1.0 if wide < 0 else 3.0
        elif p.which == 3:
            v.x += 1 << (count + 69)
        elif p.which == 4:
            v.x += 5 // (count - 1)
        elif p.which == 5:
            v.x += 2**below
        elif p.which == 6:
            v.x += powered(3)
        elif p.which == 7:
            v.x += powered(count, 1 if u.number > 0 else -1)
        else:
            v.x += ((u.number == 0) + 1) ** (0 - count)


@pytest.mark.parametrize(
    ("which", "said", "becomes"),
    [
        (0, r"1 \*\* -1: an integer to a power below 0", 0.0), (1, r"3 \*\* -2: an integer to a power", 1.0),
        (2, "does not fit in 64 bits", 1.0), (3, "1 << 70: a shift", 64.0), (4, "5 // 0: there is no division", 0.0),
        (5, r"2 \*\* -3: an integer to a power", 0.0), (6, r"3 \*\* -2: an integer to a power", 0.0),
        (7, r"1 \*\* -1: an integer to a power", 0.0), (8, r"2 \*\* -1: an integer to a power", 0.0),
    ],
)  # fmt: skip
def test_what_goes_astray_in_locals_is_named_and_has_one_value(which: int, said: str, becomes: float) -> None:
    with pytest.raises(ProgramError, match=f"{said}.*vertex 1, superstep 0"):
        af.run(Astray, PAIR, which=which, debug=True, max_supersteps=1)
    for way in WAYS:
        assert af.run(Astray, PAIR, which=which, max_supersteps=1, **way)["x"].tolist() == [0.0, becomes]


@af.program
class Strides:
    """A loop whose steps a run chooses."""

    stride: int = 0
    rounds: af.i64

    def compute(v, u, p):
        for k in range(0, 6, p.stride):
            v.rounds += k


def test_steps_of_0_are_refused_in_plain_python_and_end_in_kernels() -> None:
    with pytest.raises(ProgramError, match="arg 3 must not be zero at vertex 1, superstep 0"):
        af.run(Strides, PAIR, debug=True, max_supersteps=1)
    for stride, wanted in ((0, 15), (2, 6), (-1, 0)):
        assert af.run(Strides, PAIR, stride=stride, threads=2, max_supersteps=1)["rounds"].tolist() == [0, wanted]


@af.program
class Lists:
    """Sums, counts and constants of a neighbourhood, divided by 0."""

    ratio: af.f64
    steps: af.i64

    def around(v, edges):
        many = sum(1 for u in edges)
        flags = sum(u.number == 0 for u in edges)
        v.ratio = math.pi / flags - 1 / many
        v.steps = abs(flags - 2) + round(many * 0.5)

    def update(v):
        return False


def test_counts_of_a_neighbourhood_are_numbers_as_kernels_have_them() -> None:
    plain, fast = (af.run(Lists, PAIR, **way) for way in ({"threads": 1}, {"threads": 2}))
    np.testing.assert_array_equal(plain["ratio"], [math.nan, math.pi - 1])
    np.testing.assert_array_equal(fast["ratio"], plain["ratio"])
    with pytest.raises(ProgramError, match="ratio becomes NaN at vertex 0, superstep 0"):
        af.run(Lists, PAIR, debug=True)
    loop = af.run(Lists, af.Graph.from_edges([0, 1], [1, 0]), debug=True)
    assert loop["ratio"].tolist() == [math.inf, math.pi - 1]
    assert loop["steps"].tolist() == [2, 1]
