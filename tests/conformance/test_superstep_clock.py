"""The seconds of a superstep are those of all workers, also when the one that notes them has no core for a while.

Kernels are interpreted with a clock that counts claims of work, and with a first worker that leaves some barriers only
when the others are at the next. All supersteps of these programs claim alike, so all have to last alike.
"""

import random
import time
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from program_fuzzer import interpret
from program_fuzzer.ways import Way

import arcflux as af

SUPERSTEPS = 8


@af.program
class Dense:
    """Every vertex sends in every superstep."""

    x: af.i64

    def start(v):
        v.x = 1
        return True

    def init(v):
        v.x = 0

    def compute(v, u):
        v.x += u.x

    def update(v):
        return True


@af.program
class Sparse:
    """Every vertex is in every frontier."""

    sparse = True
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v):
        return True


@af.program
class Ordered:
    """Paths of SUPERSTEPS vertices side by side, all of which advance together."""

    d: af.i64

    def start(v):
        v.d = 0 if v.in_degree == 0 else 1000000
        return v.in_degree == 0

    def compute(v, u):
        v.d = min(v.d, u.d + 1)

    def update(v, old):
        return v.d < old.d

    def priority(v):
        return v.d


@contextmanager
def late_first_worker(workers):
    """Within, time is the number of claims, and worker 0 leaves half of all barriers when the rest is at the next."""
    names, here, claims, passes = interpret._names(), interpret._all_here, [0], random.Random(1)

    def claim(*arguments):
        claims[0] += 1
        return names["fetch_add"](*arguments)

    def wait(barrier, worker, team):
        passed = here(barrier, worker, team)
        if worker == 0 and team == workers and passes.random() < 0.5:
            end = time.monotonic() + 1  # the others may be over
            while barrier[0] < workers - 1 and time.monotonic() < end:
                time.sleep(0)
        return passed

    changed = {**names, "fetch_add": claim, "ticks": lambda: claims[0], "all_here": wait}
    interpret._module.cache_clear()
    with mock.patch.object(interpret, "_names", return_value=changed):
        yield
    interpret._module.cache_clear()


def lengths(program, graph, way):
    """The seconds of the supersteps of a run."""
    with late_first_worker(2), way.active() as options:
        found = af.run(program, graph, max_supersteps=SUPERSTEPS, threads=2, **options)
    return [superstep.seconds for superstep in found.history]


@pytest.mark.filterwarnings("ignore:.* stopped after")
@pytest.mark.parametrize("program", [Dense, Sparse], ids=lambda program: program.name)
@pytest.mark.parametrize("direction", ["pull", "push"])
def test_supersteps_that_are_alike_last_alike(program, direction):
    found = lengths(program, af.load("cycle:900"), Way({"direction": direction}, patches=("teams", "chunks")))
    assert len(found) == SUPERSTEPS
    assert min(found[1:-1]) > 0.85 * max(found[1:-1]), found


def test_buckets_that_are_alike_last_alike():
    sources = np.arange(1000 * (SUPERSTEPS + 1))
    found = lengths(Ordered, af.Graph.from_edges(sources, sources + 1000), Way({}))
    assert len(found) == 2  # bins are some steps wide, and each is relaxed at once
    assert min(found) > 0.85 * max(found), found
