"""Blocks of triplets on a GPU's daemon: alone, and beside daemons of cores and of a virtual device in one job."""

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import ProgramError
from arcflux.plug.agent import Blocks
from arcflux.plug.upper import gas


@af.program
class Spread:
    """The smallest number that reaches a vertex, how far it came, and how many vertices have moved in all."""

    least: af.i64
    far: af.f32[2]
    moved: af.total(af.i64)

    def start(v):
        v.least = v.number
        v.far[0] = 0.0
        v.far[1] = -1.0 * v.out_degree
        return True

    def compute(v, u, edge):
        v.least = min(v.least, u.least)
        v.far = max(v.far, u.far + edge.weight)

    def update(v, old, g):
        if v.least < old.least:
            g.moved += 1
        return v.least < old.least


@af.program
class Ranks:
    """PageRank of fixed iterations, with a residual and a total."""

    tolerance: float = 0.0
    rank: af.f64
    lost: af.total(af.f64)

    def start(v, g):
        v.rank = 1.0 / g.vertices
        if v.out_degree == 0:
            g.lost += v.rank
        return True

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def init(v):
        v.rank = 0.0

    def update(v, g, old):
        v.rank = (0.15 + 0.85 * g.lost) / g.vertices + 0.85 * v.rank
        if v.out_degree == 0:
            g.lost += v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("daemons")


@pytest.mark.filterwarnings("ignore:Ranks stopped after 3 supersteps")
@pytest.mark.parametrize("daemons", [["cuda:0"], ["cpu", "virtual:2", "cuda:0"]])
@pytest.mark.parametrize("program", [Spread, Ranks])
def test_the_same_values_as_on_cores(folder, program, daemons):
    graph = af.load("kron:5,weights=1-9")
    options = {"max_supersteps": 3} if program is Ranks else {}
    expected = af.run(program, graph, **options)
    found = gas.run(graph, program, workers=1, daemons=daemons, folder=folder, lease=5.0, blocks=Blocks(size=64),
                    threads=1, **options)  # fmt: skip
    assert len(found.history) == len(expected.history)
    for name in expected.values:
        assert np.allclose(found[name], expected[name], rtol=1e-12)
    for mine, theirs in zip(found.history, expected.history, strict=True):
        assert mine.totals == pytest.approx(theirs.totals)
        assert mine.residual == pytest.approx(theirs.residual)


@af.msg
class Labels:
    """Label propagation, which sees lists."""

    label: af.i64

    def start(v):
        v.label = v.number
        return True

    def MSGGen(u):
        return [u.label]

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, old):
        v.label = af.mode(message, default=old.label)
        return v.label != old.label


def test_lists_are_refused(folder):
    with pytest.raises(ProgramError, match="lists of messages"):
        gas.run(af.load("kron:4"), Labels, workers=1, daemons=["cuda:0"], folder=folder, lease=5.0)
