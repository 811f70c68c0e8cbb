"""A team that is slower than one worker leaves it alone for a while: the answer is the same, however often."""

from collections import OrderedDict
from unittest import mock

import numpy as np
import pytest

import arcflux as af
from arcflux import algorithms
from arcflux.compile import lower
from arcflux.compile.cpu import frontier


def impatient(worth: float) -> str:
    """The end of a superstep with a team that is looked at after every second push, and gives up soon, or never.

    It also notes in the history who was alone.
    """
    text, others = frontier._END, {
        "seen == 16": "seen == 2",
        "1.0 * rate": f"{worth} * rate",
        "longer = 64": "longer = 3",
        "said[6] = size": "said[6] = size\n            said[7] = alone",
    }  # fmt: skip
    for before, after in others.items():
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("worth", [0.0, 1.0, "np.inf"])
def test_workers_that_take_turns_with_a_lonely_one_find_the_same(worth: float, threads: int) -> None:
    graph = af.load("grid:300x300")
    with mock.patch.object(frontier, "_END", impatient(worth)), mock.patch.object(lower, "_known", OrderedDict()):
        found = af.run(algorithms.BFS(source=3), graph, threads=threads, direction="push")
        labels = af.run(algorithms.Components, graph, threads=threads)
    np.testing.assert_array_equal(found["level"], algorithms.bfs(graph, 3, threads=1)["level"])
    assert not labels["component"].any()
    assert sum(one.edges for one in found.history) == graph.arcs
    assert [one.frontier for one in found.history] == np.bincount(found["level"]).tolist()
    alone = found.history.rows[found.history.rows[:, 4] > 500, 7]  # far above what one worker takes anyway
    assert len(alone) > 50
    if worth != 1.0:
        assert alone.any() == (worth == 0.0)
