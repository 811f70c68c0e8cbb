"""What every transport has to do: functions that each rank runs. They assert, and return nothing.

The tests of local.py run them on threads, those of mpi.py as processes.
"""

import numpy as np

DTYPES = ["uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"]
PLAIN = {
    "sum": lambda rows: [sum(column) for column in zip(*rows, strict=True)],
    "min": lambda rows: [min(column) for column in zip(*rows, strict=True)],
    "max": lambda rows: [max(column) for column in zip(*rows, strict=True)],
    "product": lambda rows: [int(np.prod(column)) for column in zip(*rows, strict=True)],
    "or": lambda rows: [int(np.bitwise_or.reduce(column)) for column in zip(*rows, strict=True)],
    "and": lambda rows: [int(np.bitwise_and.reduce(column)) for column in zip(*rows, strict=True)],
}


def the_groups_fit(t):
    assert 0 <= t.rank < t.size
    assert 0 <= t.node < t.nodes
    assert len(t.node_of) == t.size
    assert sorted(set(t.node_of.tolist())) == list(range(t.nodes))
    assert t.node_of[t.rank] == t.node
    assert t.mates == [rank for rank in range(t.size) if t.node_of[rank] == t.node]
    assert t.mates[t.place] == t.rank


def shared_memory_is_one_a_node(t):
    array = t.shared((len(t.mates), 3), np.int32)
    assert array.shape == (len(t.mates), 3)
    assert array.dtype == np.int32
    assert not array.any()
    t.node_barrier()
    array[t.place] = t.rank
    t.node_barrier()
    assert array.tolist() == [[mate] * 3 for mate in t.mates]
    t.node_barrier()
    large = t.shared(3 << 20, np.float64)
    if t.place == len(t.mates) - 1:
        large[:] = np.arange(3 << 20)
    t.node_barrier()
    assert large.sum() == (3 << 20) * ((3 << 20) - 1) / 2
    assert t.shared(0, np.uint8).shape == (0,)


def barriers_hold(t):
    """Nobody leaves a barrier before the last has come."""
    steps = t.shared(len(t.mates), np.int64)
    for step in range(1, 100):
        steps[t.place] = step
        t.node_barrier() if step % 3 else t.barrier()
        assert (steps >= step).all()
        t.node_barrier()


def messages_keep_their_order(t):
    t.sent.reset()
    for peer in range(t.size):
        for k in range(3):
            t.post(peer, [np.full(k, t.rank, np.int32), np.array([k], np.float64)], tag=k % 2)
    t.finish()
    for peer in reversed(range(t.size)):
        for k, tag in ((0, 0), (1, 1), (2, 0)):
            message = t.collect(peer, tag)
            assert message.dtype == np.uint8
            assert len(message) == 4 * k + 8
            assert message[: 4 * k].view(np.int32).tolist() == [peer] * k
            assert message[4 * k :].copy().view(np.float64).tolist() == [k]
    near = len(t.mates)
    assert (t.sent.near_messages, t.sent.near_bytes) == (3 * near, 36 * near)
    assert (t.sent.messages, t.sent.bytes) == (3 * (t.size - near), 36 * (t.size - near))


def messages_may_be_empty_or_large(t):
    there, back = (t.rank + 1) % t.size, (t.rank - 1) % t.size
    t.post(there, [])
    t.post(there, [np.arange(5 << 20, dtype=np.int32)])
    assert len(t.collect(back)) == 0
    large = t.collect(back).view(np.int32)
    assert (large == np.arange(5 << 20)).all()
    t.finish()


def buffers_may_change_after_finish(t):
    there, back = (t.rank + 1) % t.size, (t.rank - 1) % t.size
    mine = np.full(1000, t.rank)
    t.post(there, [mine])
    got = t.collect(back).view(mine.dtype)
    t.finish()
    mine[:] = -1
    assert (got == back).all()
    t.barrier()


def large_messages_may_be_finished_before_they_are_collected(t):
    there, back = (t.rank + 1) % t.size, (t.rank - 1) % t.size
    for length in (100, 1 << 20):
        for k in range(3):
            t.post(there, [np.full(length, 10 * t.rank + k)], tag=k // 2)
        t.finish()
        t.node_barrier()
        assert [int(t.collect(back, k // 2).view(np.int64)[-1]) for k in range(3)] == [10 * back + k for k in range(3)]


def reductions_are_right(t):
    for dtype in DTYPES:
        for length in (1, 5, 40_000):
            rows = [(np.arange(length) % 7 * (rank + 1) % 5).astype(dtype) for rank in range(t.size)]
            for operation, plain in PLAIN.items():
                if operation in ("or", "and") and np.dtype(dtype).kind == "f":
                    continue
                found = t.reduce(rows[t.rank], operation)
                assert found.dtype == np.dtype(dtype)
                assert found.shape == (length,)
                some = [row[:35].tolist() for row in rows]
                expected = np.array(plain(some), "int64").astype(dtype)
                assert (found[:35] == expected).all(), (dtype, length, operation)
                period = found[:35] if length > 35 else found
                assert (np.resize(period, length) == found).all()
    flags = t.reduce(np.array([t.rank == 0, True, False]), "or")
    assert flags.tolist() == [True, True, False]
    assert t.reduce(np.ones((2, 3)), "sum").tolist() == [[t.size] * 3] * 2
    assert t.reduce(np.empty(0), "sum").shape == (0,)


def small_sums_go_by_rank(t):
    """The bits of a float sum are those of adding in the order of the ranks, whatever the nodes are."""
    given = np.random.default_rng(7).normal(size=(t.size, 11)) * 10.0 ** np.arange(11)
    expected = given[0].copy()
    for row in given[1:]:
        expected += row
    assert t.reduce(given[t.rank], "sum").tobytes() == expected.tobytes()
    assert t.start_reduce(given[t.rank], "sum").wait().tobytes() == expected.tobytes()


def reductions_overlap(t):
    for round_ in range(20):
        values = np.array([t.rank + round_, -t.rank])
        pending = t.start_reduce(values, "max")
        values[:] = 0
        if round_ % 2:
            t.barrier()
        between = t.reduce(np.array([round_]), "sum")
        assert between[0] == round_ * t.size
        assert pending.wait().tolist() == [t.size - 1 + round_, 0]
        assert pending.wait().tolist() == [t.size - 1 + round_, 0]
    large = t.start_reduce(np.ones(100_000), "sum")
    t.node_barrier()
    assert (large.wait() == t.size).all()


def broadcasts_reach_all(t):
    for root in range(t.size):
        for length in (0, 1, 50_001):
            mine = np.full(length, t.rank, np.uint32)
            found = t.broadcast(mine, root)
            assert (found == root).all()
            assert found.shape == (length,)
            assert (mine == t.rank).all()


def gathers_take_any_length(t):
    for scale in (0, 1, 10_000):
        found = t.gather(np.full(t.rank * scale, t.rank, np.uint16))
        assert [len(each) for each in found] == [rank * scale for rank in range(t.size)]
        assert all((each == rank).all() for rank, each in enumerate(found))
        assert all(each.dtype == np.uint16 for each in found)


def gathers_keep_the_shape_of_rows(t):
    for shape in ((3,), (2, 5), (0,)):
        mine = np.arange(t.rank * int(np.prod(shape))).reshape(t.rank, *shape)
        found = t.gather(mine)
        assert [each.shape for each in found] == [(rank if 0 not in shape else 0, *shape) for rank in range(t.size)]
        assert (found[t.rank] == mine[: len(found[t.rank])]).all()


def groups_work_alone(t):
    side = next(p for p in range(1, t.size + 1) if p * p >= t.size)
    t.sent.reset()
    for of, sign in ((lambda rank: rank // side, 1), (lambda rank: rank % side, -1)):
        group = t.split(of(t.rank), sign * t.rank)
        the_groups_fit(group)
        members = [int(each[0]) for each in group.gather(np.array([t.rank]))]
        assert members == [rank for rank in range(t.size) if of(rank) == of(t.rank)][::sign]
        same_node = [int(t.node_of[rank]) == t.node for rank in members]
        assert [int(node) == group.node for node in group.node_of] == same_node
        assert group.reduce(np.array([t.rank]), "sum")[0] == sum(members)
        shared_memory_is_one_a_node(group)
        barriers_hold(group)
        reductions_overlap(group)
    assert group.sent is t.sent
    group.superstep = 4
    assert t.superstep == 4


def ranks_may_leave_their_nodes(t):
    """Every second rank is a node of its own in a group of all; the others stay together where they were."""
    group = t.split(0, t.rank, alone=t.rank % 2 == 0)
    the_groups_fit(group)
    assert group.size == t.size
    mates = [t.rank] if t.rank % 2 == 0 else [rank for rank in t.mates if rank % 2]
    assert group.mates == mates
    assert group.nodes == len({int(t.node_of[rank]) for rank in range(1, t.size, 2)}) + -(-t.size // 2)
    shared_memory_is_one_a_node(group)
    barriers_hold(group)
    assert group.reduce(np.array([t.rank]), "sum")[0] == sum(range(t.size))


def groups_are_told_apart(t):
    """Messages with one tag between the same two ranks arrive in the group that they were posted in."""
    groups = [t.split(0, sign * t.rank, alone=own) for sign, own in ((1, False), (-1, False), (1, True))]
    groups = list(dict.fromkeys([t, *groups]))  # with the same ranks in the same order, it may be the same
    for number, group in enumerate(groups):
        for peer in range(group.size):
            group.post(peer, [np.array([number, t.rank])], tag=7)
    for number, group in reversed(list(enumerate(groups))):
        for peer in range(group.size):
            assert group.collect(peer, tag=7).view(np.int64).tolist() == [number, group.names[peer]]
        group.finish()
    t.barrier()


def counts_are_of_what_left(t):
    """A node's leader tells each other node once what its ranks gave; nobody else sends."""
    t.barrier()
    t.sent.reset()
    t.reduce(np.zeros(3), "sum")
    others = t.nodes - 1 if t.place == 0 else 0
    assert (t.sent.messages, t.sent.bytes) == (others, others * 24 * len(t.mates))
    assert (t.sent.near_messages, t.sent.near_bytes) == (0, 0)
    t.sent.reset()
    t.broadcast(np.zeros(9000), t.size - 1)
    total = t.reduce(np.array([t.sent.messages, t.sent.bytes]), "sum")
    assert total.tolist() == [t.nodes - 1, (t.nodes - 1) * 72_000]


CASES = [
    the_groups_fit,
    shared_memory_is_one_a_node,
    barriers_hold,
    messages_keep_their_order,
    messages_may_be_empty_or_large,
    buffers_may_change_after_finish,
    large_messages_may_be_finished_before_they_are_collected,
    reductions_are_right,
    small_sums_go_by_rank,
    reductions_overlap,
    broadcasts_reach_all,
    gathers_keep_the_shape_of_rows,
    gathers_take_any_length,
    groups_work_alone,
    ranks_may_leave_their_nodes,
    groups_are_told_apart,
    counts_are_of_what_left,
]
