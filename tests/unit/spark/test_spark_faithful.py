"""Tasks as agents of GX-Plug: the same values, whatever is switched off, and everything goes through the driver."""

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import UsageError
from arcflux.spark.faithful import FaithfulPlug

EDGES = [(int(s), int(t)) for s, t in np.random.default_rng(8).integers(0, 60, (200, 2))]


@af.program
class Nearest:
    """The least number that reaches a vertex along edges."""

    least: af.i64

    def start(v, p):
        v.least = v.number
        return True

    def compute(v, u, edge):
        v.least = min(v.least, u.least)

    def update(v, old):
        return v.least < old.least


@pytest.mark.parametrize("switched", [{}, {"lazy": False, "skip": False, "cache": 0}])
def test_the_same_values_as_without_spark(session, frame_of, switched):
    graph = af.Graph.from_edges(*zip(*EDGES, strict=True))
    expected = af.run(Nearest, graph)
    with FaithfulPlug(session, workers=2, **switched) as plug:
        found = plug.graph(frame_of(EDGES), "src", "dst").run(Nearest)
        values = {row.vertex: row.least for row in found.collect()}
        messages, size = plug.passed_on
    assert values == dict(zip(expected.ids.tolist(), expected["least"].tolist(), strict=True))
    assert messages > 2 * expected.supersteps
    assert size > 0


def test_native_algorithms_are_refused(session, frame_of):
    with spark.plug(session, way="faithful") as plug:
        graph = plug.graph(frame_of(EDGES))
        with pytest.raises(UsageError, match="the way is 'faithful'"):
            graph.pagerank()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"daemons": "cpu"}, r"(?s)daemons is 'cpu'.*\['cpu'\]"), ({"daemons": []}, "daemons is"),
        ({"daemons": [3]}, "daemon"), ({"blocks": "large"}, "blocks is 'large'"), ({"cache": -1}, "cache is -1"),
        ({"lazy": "yes"}, "lazy is 'yes'"), ({"skip": 2}, "skip is 2"),
        ({"partition": "thirds"}, "no partitioner 'thirds'"),
    ],
)  # fmt: skip
def test_options_of_no_sense_are_refused_at_once(session, options, said):
    with pytest.raises(UsageError, match=said):
        spark.plug(session, way="faithful", **options)
