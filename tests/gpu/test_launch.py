"""Shapes of launches: every row has one kernel, and occupancy is what the tables of the vendor say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arcflux.gpu.launch import Shapes, chosen, occupancy, shared_out


@given(st.lists(st.integers(0, 5000), max_size=50), st.integers(1, 64), st.integers(0, 3000), st.booleans())
def test_every_row_has_one_kernel(degrees: list[int], warp_from: int, more: int, blocks: bool) -> None:
    shapes = Shapes(warp_from=warp_from, block_from=warp_from + more)
    found = shared_out(np.array(degrees, np.int64), 7, shapes, blocks)
    assert sorted(np.concatenate([np.zeros(0, int), *found.values()]).tolist()) == list(range(7, 7 + len(degrees)))
    assert all(len(rows) for rows in found.values())
    assert blocks or "pull_block" not in found
    for row in found.get("pull_thread", []):
        assert degrees[int(row) - 7] < warp_from
    assert "pull_scan" not in found
    with_scans = shared_out(np.array(degrees, np.int64), 7, shapes, blocks, True)
    scanned = with_scans.pop("pull_scan", np.zeros(0, int))
    assert all(shapes.scan_from <= degrees[int(row) - 7] < warp_from for row in scanned)
    short = np.union1d(with_scans.pop("pull_thread", np.zeros(0, int)), scanned)
    np.testing.assert_array_equal(short, found.pop("pull_thread", np.zeros(0, int)))
    assert {name: rows.tolist() for name, rows in found.items()} == {k: r.tolist() for k, r in with_scans.items()}


def test_occupancy_by_registers_shared_memory_and_threads() -> None:
    assert occupancy(32, 0, 256, 80) == 1.0
    assert occupancy(33, 0, 256, 80) == 0.75  # 40 registers are given, so 6 blocks of 256
    assert occupancy(40, 0, 256, 90) == 0.75
    assert occupancy(64, 0, 256, 100) == 0.5
    assert occupancy(255, 0, 256, 80) == 0.125
    assert occupancy(16, 40 << 10, 128, 80) == 4 * 128 / 2048  # four blocks of 41 KiB in 164
    assert occupancy(16, 0, 32, 80) == 0.5  # 32 blocks of one warp


def test_what_is_asked_for_is_taken() -> None:
    asked = Shapes(threads=64, warp_from=3)
    assert chosen(np.full(10, 100), asked=asked) is asked
    assert asked.launch(129) == (3, 64)
    assert Shapes(threads=64, blocks=2).walking(10_000) == (2, 64)
    assert Shapes().launch(0) == (1, 256)
