"""Atomics, words and random numbers, as kernels see them."""

import numpy as np
import pytest

from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import (
    claim,
    compare_and_swap,
    count_ones,
    fetch_add,
    load_word,
    prefetch,
    prefetch_to_read,
    trailing_zeros,
)
from arcflux.spmd.pool import run
from arcflux.spmd.random import bits, key, mix, permute, uniform

ROUNDS = 20_000


@kernel
def add(worker, workers, control, array, value):
    for i in range(ROUNDS):
        fetch_add(array, i & 1, value)


@kernel
def take_turns(worker, workers, control, array, won):
    for i in range(ROUNDS):
        if compare_and_swap(array, i, 0, worker + 1) == 0:
            won[worker] += 1


@kernel
def words(worker, workers, control, data, out):
    if claim(control) == 0:
        for i in range(data.size - 7):
            out[i] = load_word(data, i)
            prefetch(data, 10**6 + i)
            prefetch_to_read(data, 10**6 + i)


@kernel
def bit_counts(worker, workers, control, given, ones, zeros):
    if claim(control) == 0:
        for i in range(given.size):
            ones[i] = count_ones(given[i])
            zeros[i] = trailing_zeros(given[i])


@kernel
def permuted(worker, workers, control, seed, width, out):
    if claim(control) == 0:
        for i in range(out.size):
            out[i] = permute(key(seed, 0), i, width)


@kernel
def values(worker, workers, control, seed, stream, out, floats):
    if claim(control) == 0:
        for i in range(out.size):
            out[i] = bits(key(seed, stream), i)
            floats[i] = uniform(key(seed, stream), i)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
def test_nothing_that_is_added_atomically_gets_lost(kind):
    array = np.zeros(2, kind)
    run(add, 4, array, kind(3), threads=4)
    assert array.tolist() == [4 * 3 * ROUNDS // 2] * 2


def test_one_worker_alone_wins_a_swap():
    array, won = np.zeros(ROUNDS, np.int64), np.zeros(4, np.int64)
    run(take_turns, 4, array, won, threads=4)
    assert won.sum() == ROUNDS
    assert np.bincount(array, minlength=5)[1:].tolist() == won.tolist()


def test_words_are_read_from_any_byte():
    data = np.random.default_rng(1).integers(0, 256, 40, np.uint8)
    out = np.zeros(33, np.uint64)
    run(words, 1, data, out)
    assert out.tolist() == [int.from_bytes(data[i : i + 8].tobytes(), "little") for i in range(33)]


def test_bits_are_counted():
    given = np.array([0, 1, 2, 2**63, 2**64 - 1, 12, 2**40 + 2**33], np.uint64)
    ones, zeros = np.zeros(7, np.uint64), np.zeros(7, np.uint64)
    run(bit_counts, 1, given, ones, zeros)
    assert ones.tolist() == [int(x).bit_count() for x in given.tolist()]
    assert zeros.tolist() == [64, 0, 1, 63, 0, 2, 33]


@pytest.mark.parametrize("width", [0, 1, 2, 5, 13])
def test_permute_is_a_bijection_that_the_seed_decides(width):
    orders = []
    for seed in (1, 2):
        out = np.zeros(1 << width, np.uint64)
        run(permuted, 1, np.uint64(seed), np.uint64(width), out)
        assert sorted(out.tolist()) == list(range(1 << width))
        orders.append(out.tolist())
    assert width < 5 or orders[0] != orders[1]


def test_streams_and_seeds_give_different_numbers():
    found = []
    for seed, stream in ((0, 0), (0, 1), (1, 0), (1, 1)):
        out, floats = np.zeros(1000, np.uint64), np.zeros(1000)
        run(values, 1, np.uint64(seed), np.uint64(stream), out, floats)
        found += out.tolist()
        assert (floats >= 0).all()
        assert (floats < 1).all()
        assert np.array_equal(floats, (out >> np.uint64(11)) / 2.0**53)
        assert abs(floats.mean() - 0.5) < 0.05
    assert len(set(found)) == 4000


def test_mix_is_the_output_function_of_splitmix64():
    # The first outputs of SplitMix64 from seed 1234567 (Vigna's reference splitmix64.c).
    golden = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + golden * k) % 2**64 for k in (1, 2, 3)], np.uint64)
    assert mix.py_func(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
