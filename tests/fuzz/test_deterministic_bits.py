"""Deterministic runs: the same bits, whatever the threads, direction, parts, exchange and nodes."""

import pytest
from program_fuzzer.bits import difference_in_bits

BATCH = 10


@pytest.mark.parametrize("first", range(0, 20, BATCH))
def test_rounded_sums_have_the_same_bits_in_every_way(first: int) -> None:
    assert [said for seed in range(first, first + BATCH) if (said := difference_in_bits(seed))] == []
