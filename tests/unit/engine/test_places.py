"""Rows at places, by kernels and by NumPy, against NumPy."""

import numpy as np
import pytest

from arcflux.engine.exchange import places as module
from arcflux.engine.exchange.places import chosen_of, differing, put, taken

KINDS = [np.float64, np.float32, np.int64, np.uint32, np.int16, np.uint8, bool]


def case(kind, index, count, row=()):
    rng = np.random.default_rng(count)
    arrays = [rng.integers(0, 3, (3 * count, *row)).astype(kind) for _ in range(2)]
    return *arrays, np.sort(rng.choice(3 * count, count, replace=False)).astype(index)


@pytest.mark.parametrize("count", [0, 1, 100, module._SHORT - 1, module._SHORT, module._SHORT + 77])
@pytest.mark.parametrize("index", [np.uint32, np.uint64, np.int64])
@pytest.mark.parametrize("kind", KINDS)
def test_long_and_short_lists_are_what_numpy_makes_of_them(kind, index, count):
    array, other, places = case(kind, index, count)
    assert taken(array, places).tolist() == array[places].tolist()
    assert taken(array, places).dtype == array.dtype
    differs = differing(array, other, places)
    assert differs.tolist() == (array[places] != other[places]).tolist()
    assert differs.dtype == bool
    assert chosen_of(places, differs, int(differs.sum())).tolist() == places[differs].tolist()
    expected, got = array.copy(), array.copy()
    expected[places] = other[places]
    put(got, places, other[places])
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("count", [10, module._SHORT + 1])
def test_rows_of_several_values_are_left_to_numpy(count):
    array, other, places = case(np.float32, np.uint32, count, (3,))
    assert (taken(array, places) == array[places]).all()
    assert differing(array, other, places).tolist() == (array[places] != other[places]).any(axis=1).tolist()
    got = array.copy()
    put(got, places, other[places])
    assert (got[places] == other[places]).all()


def test_nothing_and_everything_is_chosen():
    places = np.arange(module._SHORT, dtype=np.uint32)
    for chosen in (np.zeros(len(places), bool), np.ones(len(places), bool)):
        assert chosen_of(places, chosen, int(chosen.sum())).tolist() == places[chosen].tolist()


def test_values_from_a_message_may_be_read_only_and_at_any_byte():
    """What comes in a message begins wherever the header ends."""
    count = module._SHORT
    values = np.arange(count, dtype=np.float64)
    message = np.concatenate([np.zeros(3, np.uint8), values.view(np.uint8)])
    array = np.zeros(count)
    put(array, np.arange(count, dtype=np.uint32), np.frombuffer(message.tobytes(), np.float64, count, 3))
    assert array.tolist() == values.tolist()
