"""Shares of unequal devices: all of the work, each piece once, in proportion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcflux.devices import CPU
from arcflux.devices.base import Device
from arcflux.engine.shares import Shares, weight
from arcflux.errors import UsageError

weights = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9)


@given(weights, st.integers(0, 10**12))
def test_everything_is_somebodys_in_proportion(given_weights, total):
    cuts = Shares(given_weights, 0).cuts(total)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, total, len(given_weights) + 1)
    assert cuts == sorted(cuts)
    for rank, begin in enumerate(cuts[:-1]):
        shares = Shares(given_weights, rank)
        assert shares.mine(total) == (begin, cuts[rank + 1])
        assert cuts[rank + 1] - begin == pytest.approx(shares.part * total, abs=1 + 1e-9 * total)


def test_cores_count_for_one_each_and_gpus_for_many(monkeypatch):
    monkeypatch.delenv("ARCFLUX_GPU_CORES", raising=False)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    gpu = Device("cuda:0")
    gpu.kind = "cuda"
    assert (weight(CPU(3)), weight(gpu)) == (3.0, 64.0)
    monkeypatch.setenv("ARCFLUX_GPU_CORES", "12.5")
    assert weight(gpu) == 12.5


@pytest.mark.parametrize("said", ["none", "0", "-3", "1e9", "nan"])
def test_what_is_no_number_of_cores(said, monkeypatch):
    monkeypatch.setenv("ARCFLUX_GPU_CORES", said)
    gpu = Device("cuda:0")
    gpu.kind = "cuda"
    with pytest.raises(UsageError, match="ARCFLUX_GPU_CORES is"):
        weight(gpu)
