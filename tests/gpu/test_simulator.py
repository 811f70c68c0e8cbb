"""The simulator itself: warps, shared memory, schedules, and what it refuses."""

import numpy as np
import programs
import pytest
from samples import shapes
from test_programs import run

from arcflux import algorithms
from arcflux.devices.cuda import Cuda
from arcflux.gpu import api
from arcflux.gpu.kit import FULL, claim, cuda, kernel
from arcflux.gpu.simulator import DivergenceError, shuffled


@kernel
def _warps(values, out):
    k = cuda.grid(1)
    total = values[k]
    for level in range(5):
        total += cuda.shfl_xor_sync(FULL, total, 16 >> level)
    out[k, 0] = total
    out[k, 1] = cuda.shfl_up_sync(FULL, values[k], 1)
    out[k, 2] = cuda.shfl_down_sync(FULL, values[k], 3)
    out[k, 3] = cuda.shfl_sync(FULL, values[k], 7)
    out[k, 4] = cuda.ballot_sync(FULL, values[k] % 2 == 1)
    out[k, 5] = cuda.syncthreads_count(values[k] > 10)


def test_warp_operations_are_what_they_say() -> None:
    values, out = np.arange(64) * 3 % 17, np.zeros((64, 6), np.int64)
    api.launch(_warps, 1, 64, values, out)
    for first in (0, 32):
        warp = values[first : first + 32]
        for lane in range(32):
            got = out[first + lane].tolist()
            assert got[0] == warp.sum()
            assert got[1] == warp[max(lane - 1, 0)]
            assert got[2] == (warp[lane + 3] if lane + 3 < 32 else warp[lane])
            assert got[3] == warp[7]
            assert got[4] == sum(1 << k for k in range(32) if warp[k] % 2 == 1)
            assert got[5] == (values > 10).sum()


@kernel
def _part_of_a_warp(out):
    if cuda.threadIdx.x < 5:
        cuda.syncwarp()
    out[0] = 1


@kernel
def _two_barriers(out):
    if cuda.threadIdx.x < 32:
        cuda.syncthreads()
    else:
        cuda.syncwarp()
        cuda.syncthreads_count(True)


@kernel
def _half_a_mask(out):
    cuda.ballot_sync(0xFFFF, True)


@pytest.mark.parametrize("bad", [_part_of_a_warp, _two_barriers, _half_a_mask], ids=lambda k: k.__name__)
def test_divergence_is_an_error(bad: object) -> None:
    with pytest.raises(DivergenceError):
        api.launch(bad, 1, 64, np.zeros(1))


def test_a_block_of_half_a_warp_is_refused() -> None:
    with pytest.raises(DivergenceError, match="whole warps"):
        api.launch(_warps, 1, 16, np.zeros(64, np.int64), np.zeros((64, 6), np.int64))


@kernel
def _listed(values, counts, out):
    scratch = cuda.shared.array(33, np.int64)
    k = cuda.grid(1)
    mine = values[k] > 4
    place = claim(mine, counts, 0, scratch)
    if mine:
        out[place] = k


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_claimed_places_are_all_different_and_without_gaps(seed: int | None) -> None:
    values, counts, out = np.arange(256) * 7 % 11, np.zeros(1, np.int64), np.full(256, -1)
    if seed is None:
        api.launch(_listed, 4, 64, values, counts, out)
    else:
        with shuffled(seed):
            api.launch(_listed, 4, 64, values, counts, out)
    wanted = np.flatnonzero(values > 4)
    assert counts[0] == len(wanted)
    assert sorted(out[: len(wanted)].tolist()) == wanted.tolist()
    assert (out[len(wanted) :] == -1).all()


@kernel
def _racing(out):
    seen = out[0]
    cuda.atomic.add(out, 1, 1)
    out[0] = seen + 1


def test_a_race_shows_when_schedules_are_shuffled() -> None:
    plain, mixed = np.zeros(2, np.int64), np.zeros(2, np.int64)
    api.launch(_racing, 1, 64, plain)
    with shuffled(3):
        api.launch(_racing, 1, 64, mixed)
    assert plain.tolist() == [64, 64]
    assert mixed[1] == 64
    assert mixed[0] < 64


SHUFFLED = [programs.Bits, programs.Sketch, programs.Extremes, programs.Counts, algorithms.BFS, algorithms.SSSP]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("program", SHUFFLED, ids=lambda p: p.name)
def test_integers_are_the_same_in_any_schedule(program: object, direction: str) -> None:
    graph = shapes()["skewed"]
    plain = run(program, graph, devices=[Cuda(0)], direction=direction)
    for seed in (1, 2):
        with shuffled(seed):
            other = run(program, graph, devices=[Cuda(0)], direction=direction)
        assert other.supersteps == plain.supersteps
        for name, values in plain.values.items():
            exact = values.dtype.kind != "f" or program is algorithms.SSSP
            if exact and (program.name, name) != ("BFS", "parent"):
                np.testing.assert_array_equal(other[name], values)


@pytest.mark.parametrize("program", [algorithms.PageRank, programs.Vectors, programs.Counts], ids=lambda p: p.name)
def test_deterministic_floats_are_the_same_in_any_schedule(program: object) -> None:
    graph = shapes()["skewed"]
    plain = run(program, graph, devices=[Cuda(0)], deterministic=True)
    for seed in (1, 2):
        with shuffled(seed):
            other = run(program, graph, devices=[Cuda(0)], deterministic=True)
        for name, values in plain.values.items():
            np.testing.assert_array_equal(other[name], values)
        assert [s.residual for s in other.history] == [s.residual for s in plain.history]
