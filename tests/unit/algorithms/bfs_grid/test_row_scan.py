"""The OR-scan against unions of sets; and what is on its critical path, as the messages count it."""

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux.algorithms.bfs_grid.scan import SCANS, Path
from arcflux.transports import run_local

WORDS = 3


def scanned(name, rows):
    """What each rank gets for its bitmap: before, whole, the critical path, and what it sent."""

    def work(transport):
        path, mine = Path(), rows[transport.rank].copy()
        before, whole = SCANS[name](transport, mine, path)
        assert np.array_equal(mine, rows[transport.rank])
        return before, whole, path, transport.sent

    return run_local(len(rows), work, ranks_per_node=1)


def longest(name, p):
    paths = [path for _, _, path, _ in scanned(name, np.zeros((p, WORDS), np.uint64))]
    return max(path.messages for path in paths), max(path.bytes for path in paths)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.sampled_from(list(SCANS)), st.data())
def test_every_rank_gets_the_union_of_those_before_it(p, name, data):
    word = st.integers(0, 2**64 - 1)
    rows = np.array(
        data.draw(st.lists(st.lists(word, min_size=WORDS, max_size=WORDS), min_size=p, max_size=p)), np.uint64
    )
    union = np.zeros(WORDS, np.uint64)
    for rank, (before, whole, _, _) in enumerate(scanned(name, rows)):
        assert np.array_equal(before, union)
        union = union | rows[rank]
        assert np.array_equal(whole, union)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 7, 8, 9, 16])
def test_log_and_wave_on_the_critical_path(p):
    size = 8 * WORDS
    steps = ceil(log2(p))
    assert longest("log", p) == (steps, size * steps)
    assert longest("wave", p) == (p - 1, size * (p - 1))
    shorter = [a < b for a, b in zip(longest("log", p), longest("wave", p), strict=True)]
    assert shorter == [p >= 4, p >= 4]


@pytest.mark.parametrize("p", [2, 3, 4, 8])
def test_log_sends_more_in_all(p):
    def total(name):
        sent = [sent for *_, sent in scanned(name, np.zeros((p, WORDS), np.uint64))]
        return sum(each.messages for each in sent), sum(each.bytes for each in sent)

    several = sum(p - 2**k for k in range(ceil(log2(p))))
    assert total("log") == (several, several * (8 * WORDS + 16))
    assert total("wave") == (p - 1, (p - 1) * (8 * WORDS + 16))
    assert (total("log") > total("wave")) == (p > 2)
