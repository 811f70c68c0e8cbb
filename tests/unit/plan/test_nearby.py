"""What a formula missed nearby is made good, what it missed elsewhere is not, and odd runs count little."""

import math

import numpy as np
import plan_machine
import pytest

from arcflux.plan.brief import brief
from arcflux.plan.fit import Curve, Fit, Observation, fit
from arcflux.plan.nearby import Nearby, place_of
from arcflux.plan.shape import grid, kronecker, uniform

CURVE = Curve.of(plan_machine.HIERARCHY)
SHAPES = [kronecker(s) for s in (12, 14, 16, 18)] + [uniform(1 << s, 32 << s) for s in (13, 15, 17, 19)]


def taken(shape):
    """A kernel that is twice as slow where degrees are skewed, which no sum of the features can say."""
    return 1e-9 * shape.arcs * 10 * (2.0 if "kron" in shape.name else 1.0)


def test_families_that_differ_are_told_apart():
    found = fit([Observation(one, 10.0, taken(one)) for one in SHAPES], True, CURVE, 8)
    plain = Fit(**{**vars(found), "nearby": Nearby()})
    for shape in (kronecker(15), kronecker(17), uniform(1 << 14, 32 << 14), uniform(1 << 18, 32 << 18)):
        off, before = (abs(one.seconds(shape, 10.0) / taken(shape) - 1) for one in (found, plain))
        assert off < max(0.15, before / 2)


def test_far_from_all_runs_the_formula_stands():
    near = Nearby((place_of(brief(kronecker(12))),), (np.log(3.0),))
    assert near.factor(place_of(brief(grid(2000, 2000)))) == pytest.approx(1.0, abs=1e-6)
    assert Nearby().factor(place_of(brief(kronecker(12)))) == 1.0


def test_one_odd_run_counts_little():
    places = [place_of(brief(kronecker(s))) for s in (13, 14, 15)]
    calm, odd = Nearby(tuple(places), (0.1, 0.1, 0.1)), Nearby(tuple(places), (0.1, 2.0, 0.1))
    assert odd.factor(places[1]) == pytest.approx(calm.factor(places[1]), rel=0.1)


def test_what_does_not_fit_together_is_refused():
    for places, missed in (([[1.0]], []), ([[1.0]], [float("nan")]), ([[float("inf")]], [0.0])):
        with pytest.raises(ValueError, match="fit together"):
            Nearby.of(places, missed)


def test_runs_that_are_far_from_each_other_and_from_the_formula_tell_the_middle():
    """All of them are odd then, the formula too, and nothing would be left to divide by."""
    place = (10.0, 4.0, 0.0, 0.0)
    nearby = Nearby((place, place), (-6.0, 6.0))
    assert nearby.factor(place) == pytest.approx(1.0)
    nearby = Nearby((place,), (6.0,))
    assert 1.0 < nearby.factor(place) <= math.exp(6.0)
