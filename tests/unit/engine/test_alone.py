"""A team that is slower than one worker leaves it alone for a while: the answer is the same, however often."""

from collections import OrderedDict
from unittest import mock

import numpy as np
import pytest

import arcflux as af
from arcflux import algorithms
from arcflux.compile import frontier, lower


@af.program
class Levels:
    source: af.vertex
    sparse = True
    level: af.i32
    parent: af.ref

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.parent = v.number if v.number == p.source else -1
        return v.number == p.source

    def wants(v):
        return v.parent < 0

    def compute(v, u):
        v.parent = af.any(u.number)

    def update(v, step):
        if v.parent < 0:
            return False
        v.level = step + 1
        return True


@af.program
class Smallest:
    label: af.u32

    def start(v):
        v.label = v.number
        return True

    def compute(v, u):
        v.label = min(v.label, u.label)

    def update(v, old):
        return v.label < old.label


def impatient(worth: float) -> str:
    """The end of a superstep with a team that is looked at after every second push, and gives up soon, or never."""
    text = frontier._END
    for before, after in (
        ("seen == 16", "seen == 2"),
        ("1.0 * rate", f"{worth} * rate"),
        ("longer = 64", "longer = 3"),
    ):
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("worth", [0.0, 1.0, "np.inf"])
def test_workers_that_take_turns_with_a_lonely_one_find_the_same(worth: float, threads: int) -> None:
    graph = af.load("grid:200x200")
    with mock.patch.object(frontier, "_END", impatient(worth)), mock.patch.object(lower, "_known", OrderedDict()):
        levels = af.run(Levels(source=3), graph, threads=threads, direction="push")
        labels = af.run(Smallest, graph, threads=threads)
    np.testing.assert_array_equal(levels["level"], algorithms.bfs(graph, 3, threads=1)["level"])
    assert not labels["label"].any()
    assert sum(one.edges for one in levels.history) == graph.arcs
    assert [one.frontier for one in levels.history] == np.bincount(levels["level"]).tolist()
