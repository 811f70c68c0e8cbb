"""Edges go to devices first, then to their nodes, then stay in the file; what fits nowhere is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcflux.devices import CPU, Demand, Virtual, place
from arcflux.errors import SpaceError, UsageError


def demand(degrees, arc_bytes=4, fixed=0, first=0):
    offsets = np.concatenate(([0], np.cumsum(degrees))).astype(np.uint64)
    return Demand(offsets + np.uint64(first), arc_bytes, fixed)


def fits(degrees, row, arc_bytes, left, block):
    """Whether a device can hold the rows before `row` and two blocks of the others, counted by hand."""
    streamed = [arc_bytes * d for d in degrees[row:]]
    return arc_bytes * sum(degrees[:row]) + 2 * max(*streamed, min(block, left // 4), 0) <= left


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=30),
    st.sampled_from([4, 8, 12]),
    st.integers(0, 200),
    st.integers(1, 2500),
    st.integers(1, 300),
    st.integers(0, 5000),
)
def test_a_device_holds_as_many_rows_as_fit(degrees, arc_bytes, fixed, memory, block, first):
    part, left = demand(degrees, arc_bytes, fixed, first), memory - fixed
    whole = arc_bytes * sum(degrees)
    able = [row for row in range(len(degrees)) if fits(degrees, row, arc_bytes, left, block)]
    try:
        found = place([part], [Virtual(memory=memory)], block=block).parts[0]
    except SpaceError:
        assert whole > left
        assert not able
        return
    assert found.device_bytes <= memory
    if whole <= left:
        assert (found.resident, found.streams, found.host_bytes) == (len(degrees), False, 0)
        assert found.device_bytes == fixed + whole
        return
    assert found.resident == max(able)
    assert found.streams
    assert (found.blocks[0], found.blocks[-1]) == (found.resident, len(degrees))
    sizes = [arc_bytes * sum(degrees[a:b]) for a, b in zip(found.blocks, found.blocks[1:], strict=False)]
    assert (np.diff(found.blocks) > 0).all()
    assert found.buffer == max(sizes)
    assert found.device_bytes == fixed + arc_bytes * sum(degrees[: found.resident]) + 2 * max(sizes)
    assert found.hosted == len(degrees)
    assert found.host_bytes == sum(sizes)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 900),
    st.integers(0, 50),
)
def test_a_node_gives_even_shares(parts, room, shared):
    """With a file to fall back on: everybody gets what fits into an even share, and what others leave of theirs."""
    demands = [demand(degrees, 4, 16) for degrees, _ in parts]
    devices = [Virtual(memory=200) if own else CPU(1) for _, own in parts]
    fixed = shared + 16 * sum(not own for _, own in parts)
    if fixed > room:
        with pytest.raises(SpaceError, match="node 0"):
            place(demands, devices, host={0: room}, shared=shared, mapped=True, block=40)
        return
    found = place(demands, devices, host={0: room}, shared=shared, mapped=True, block=40)
    assert found.host_bytes[0] <= room
    got = [d.between(p.resident, p.hosted) for d, p in zip(demands, found.parts, strict=True)]
    wanted = [d.between(p.resident, p.rows) for d, p in zip(demands, found.parts, strict=True)]
    even = max(share for share in range(room + 1) if sum(min(share, want) for want in wanted) <= room - fixed)
    for d, p in zip(demands, found.parts, strict=True):
        rows = [row for row in range(p.resident, p.rows + 1) if d.between(p.resident, row) <= even]
        assert p.hosted >= rows[-1]
    assert found.host_bytes[0] == sum(got) + fixed


def test_everything_fits():
    found = place([demand([5] * 10)] * 2, [Virtual(memory=1000), Virtual(memory=200)])
    assert [(part.resident, part.streams) for part in found.parts] == [(10, False), (10, False)]
    assert found.host_bytes == {0: 0}


def test_devices_without_memory_work_in_their_nodes():
    found = place(
        [demand([5] * 10, fixed=40)] * 3,
        [CPU(1), CPU(1), CPU(1)],
        node_of_part=[0, 0, 1],
        host={0: 600, 1: 400},
        shared=9,
    )
    assert found.host_bytes == {0: 2 * 240 + 9, 1: 249}
    assert [(part.resident, part.hosted, part.streams) for part in found.parts] == [(0, 10, False)] * 3


def test_a_file_takes_what_is_left():
    part = place([demand([5] * 10, fixed=40)], [CPU(1)], host={0: 140}, mapped=True).parts[0]
    assert (part.hosted, part.host_bytes) == (5, 140)


def test_a_hub_decides_the_blocks():
    """The largest row streams as a whole, so both buffers are as large as it, and less is resident."""
    part = place([demand([10] * 50 + [100] + [10] * 50)], [Virtual(memory=2000)], block=40).parts[0]
    assert part.buffer == 400
    assert part.resident == 30
    assert part.device_bytes == 2000


@pytest.mark.parametrize(
    ("memory", "host", "needed", "there"),
    [
        (300, {0: 100}, "2,100 bytes", "400 are there"),  # all together
        (300, {0: 5000}, "1,700 bytes", "300 are there"),  # the device: 100, and two rows of 800
        (1700, {0: 5000}, "", ""),
        (1800, {0: 1999}, "2,000 bytes", "1,999 are there"),  # the node, which all has to stream from
        (1800, {0: 2000}, "", ""),
        (2100, {0: 0}, "", ""),
    ],
)
def test_what_fits_nowhere_is_refused(memory, host, needed, there):
    parts = [demand([200, 200, 100], 4, 100)]
    if not needed:
        assert place(parts, [Virtual(memory=memory)], host=host).parts[0].device_bytes <= memory
        return
    with pytest.raises(SpaceError) as caught:
        place(parts, [Virtual(memory=memory)], host=host)
    assert needed in str(caught.value)
    assert there in str(caught.value)
    assert len(caught.value.remedy.split("; ")) == 3


def test_senseless_placements_are_refused():
    one = demand([1, 2])
    with pytest.raises(UsageError, match="2 parts, 1 devices"):
        place([one, one], [CPU(1)])
    device = Virtual(memory=100)
    with pytest.raises(UsageError, match="twice"):
        place([one, one], [device, device])
    with pytest.raises(UsageError, match="block"):
        place([one], [device], block=0)


def test_parts_without_rows_or_edges():
    found = place([demand([]), demand([0, 0])], [Virtual(memory=10), Virtual(memory=10)])
    assert [(part.rows, part.resident, part.streams) for part in found.parts] == [(0, 0, False), (2, 2, False)]
    with pytest.raises(SpaceError, match="11 bytes are needed"):
        place([demand([], fixed=11)], [Virtual(memory=10)])
