"""On a GPU too, what `update` answers says who sends next, and never whether v's new value counts."""

import warnings

import numpy as np
import programs
import pytest
from samples import shapes

import arcflux as af
from arcflux.devices.cuda import Cuda

SHAPES = shapes()


def run(program: object, graph: af.Graph, **how: object) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return af.run(program, graph, source=0, max_supersteps=8, **how)


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("program", programs.ANSWERS, ids=lambda p: p.name)
def test_every_direction_gives_what_plain_python_gives(program: object, direction: str) -> None:
    graph = SHAPES["skewed"]
    plain = run(program, graph, debug=True)
    there = run(program, graph, devices=[Cuda(0)], direction=direction)
    for name, values in plain.values.items():
        np.testing.assert_array_equal(there[name], values)
    assert there.supersteps == plain.supersteps
