"""Neighbourhoods give on a GPU what plain Python gives, on one of them and on several."""

import warnings
from contextlib import nullcontext

import around_programs as around
import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import lower
from arcflux.devices.cuda import Cuda
from arcflux.gpu import simulator

SMALL, _ = around.scattered(24, 40, 7)
WEIGHTED = around.weighted(around.scattered(20, 60, 8, directed=True)[0])
CASES = {
    "labels": (around.Labels, SMALL, {}),
    "sparse labels": (around.SparseLabels, SMALL, {"max_supersteps": 5}),
    "closing": (around.Closing, SMALL, {}),
    "everything": (around.Everything, WEIGHTED, {"rounds": 2}),
    "hops": (around.Hops, SMALL, {"source": 5}),
    "settling": (around.Settling, SMALL, {}),
    "triangles": (around.Triangles, WEIGHTED, {}),
}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_a_gpu_gives_what_plain_python_gives(case: str, devices: int) -> None:
    program, graph, more = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = af.run(program, graph, debug=True, **more)
        there = af.run(program, graph, devices=[Cuda(0) for _ in range(devices)], **more)
    for name, values in plain.values.items():
        np.testing.assert_array_equal(there[name], values, name)
    assert there.supersteps == plain.supersteps


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("case", [*CASES, "hub"])
def test_a_warp_gives_what_a_thread_gives(case: str, seed: int | None) -> None:
    """Rows of every length are the work of a warp here; a hub's row is longer than the warp is wide."""
    star = around.weighted(af.Graph.from_edges([0] * 40 + [*range(1, 41)], [*range(1, 41)] + [7] * 40))
    program, graph, more = CASES.get(case, (around.Everything, star, {"rounds": 2}))
    wide = Cuda(0, shapes=af.devices.Shapes(warp_from=1))
    narrow = Cuda(0, shapes=af.devices.Shapes(warp_from=1000))
    with warnings.catch_warnings(), simulator.shuffled(seed) if seed is not None else nullcontext():
        warnings.simplefilter("ignore", UserWarning)
        warp, thread = (af.run(program, graph, devices=[one], **more) for one in (wide, narrow))
    plain = af.run(program, graph, debug=True, **more) if seed is None and case == "hub" else thread
    for name, values in thread.values.items():
        np.testing.assert_array_equal(warp[name], values, name)
        np.testing.assert_array_equal(plain[name], values, name)


def test_rows_are_taken_by_threads_and_warps() -> None:
    """A kernel has no way to reduce or push: a vertex looks around where all its edges are."""
    text = cuda_source(lower(around.Everything, {"weight": np.dtype("f8")}))
    assert all(f"def part_{name}(" in text for name in ("pull_thread", "pull_warp"))
    assert not any(f"def part_{name}(" in text for name in ("pull_block", "push", "gather", "apply"))


@pytest.mark.parametrize("count", [1, 2, 3, 31, 32, 33, 100])
def test_a_warp_sorts_rows_of_any_length(count: int) -> None:
    from arcflux.gpu import warp_votes
    from arcflux.gpu.kit import cuda, kernel

    @kernel
    def chosen(values: object, places: object, numbers: object, found: object) -> None:
        best = warp_votes.leading_warp(values, places, np.uint64(values.size))
        median = warp_votes.middle_warp(numbers, np.uint64(numbers.size))
        if cuda.grid(1) == 0:
            found[0], found[1] = best, median

    chance = np.random.default_rng(count)
    values, numbers = chance.integers(0, 9, count), chance.normal(size=count)
    found, sortable, places = np.zeros(2), values.copy(), np.arange(count, dtype=np.uint32)
    expected = np.median(numbers)
    chosen[1, 32](sortable, places, numbers, found)
    assert found.tolist() == [np.bincount(values).argmax(), expected]
    np.testing.assert_array_equal(sortable, np.sort(values))
    np.testing.assert_array_equal(places, np.argsort(values, kind="stable"))
