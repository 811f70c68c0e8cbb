"""Both schedulers by simulation: whatever happens, nothing deadlocks or starves, and memory is never over budget."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import KINDS, Device

from arcflux.errors import SpaceError, UsageError
from arcflux.jobs.accounts import Account, Pairs
from arcflux.jobs.memory import Allocate, Buffer, Copy, MemoryScheduler
from arcflux.jobs.slices import Done, KernelScheduler, Preempt, Run

_BUDGET = 100
_buffers = st.lists(
    st.one_of(
        st.builds(Buffer, st.sampled_from(["a", "b", "c"]), st.integers(0, 30), st.booleans(), st.booleans()),
        # A shared buffer is the same for all who name it.
        st.sampled_from([Buffer(f"part{k}", 11 * k, shared=True) for k in range(4)]),
    ),
    max_size=3,
    unique_by=lambda buffer: buffer.name,
)
_tasks = st.lists(st.tuples(_buffers, st.integers(1, 12), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=12)


def _device(seed: int, workers: int, pinned: int) -> Device:
    return Device(MemoryScheduler(_BUDGET, pinned), KernelScheduler(workers, quantum=0.02), Random(seed))


@settings(max_examples=150, deadline=None)
@given(_tasks, st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0, 25, 1000]))
def test_every_kernel_ends_and_memory_stays_within_the_budget(tasks, seed, workers, pinned):
    device = _device(seed, workers, pinned)
    for number, (buffers, chunks, weight) in enumerate(tasks):
        device.submit(number, buffers, chunks, weight)
        for _ in range(device.random.randint(0, 6)):
            device.happen()
    while device.happen():
        pass
    assert sorted(device.left) == list(range(len(tasks)))
    for number, (_, chunks, _) in enumerate(tasks):  # every chunk once, in order
        assert [k for first, last in device.ran[number] for k in range(first, last)] == list(range(chunks))
    assert all(held.shared and not held.users for held in device.memory.held.values())
    assert device.memory.pinned_used == 0
    assert not device.kernels.kernels


@settings(max_examples=150, deadline=None)
@given(_tasks, st.integers(0, 2**32), st.integers(1, 4), st.sets(st.integers(0, 11), max_size=6))
def test_kernels_that_are_cancelled_at_any_time_leave_nothing_behind(tasks, seed, workers, cancelled):
    device = _device(seed, workers, 30)
    doomed = [number for number in sorted(cancelled) if number < len(tasks)]
    for number, (buffers, chunks, weight) in enumerate(tasks):
        device.submit(number, buffers, chunks, weight)
        for _ in range(device.random.randint(0, 5)):
            device.happen()
            if doomed and device.random.random() < 0.3 and doomed[0] <= number:
                device.cancel(doomed.pop(0))
    while device.happen():
        pass
    for number in doomed:
        device.cancel(number)
    assert sorted(device.left) == list(range(len(tasks)))
    assert all(held.shared and not held.users and held.loaded for held in device.memory.held.values())
    assert device.memory.pinned_used == 0


def test_two_kernels_that_each_hold_half_of_what_they_need_would_deadlock_and_do_not():
    memory = MemoryScheduler(100)
    for kernel in (1, 2):
        memory.submit(kernel, [Buffer("first", 40, load=False)])  # as if each asked for its halves in turn
    for kernel in (1, 2):
        memory.submit(kernel, [Buffer("second", 40, load=False)])
    begun = memory.seal(1)
    assert [command.nbytes for command in begun if isinstance(command, Allocate)] == [40, 40]
    assert memory.seal(2) == []
    assert memory.waiting() == [2]
    after = memory.executed(1)
    assert sum(command.nbytes for command in after if isinstance(command, Allocate)) == 80


def test_batches_begin_first_come_first_served_and_a_small_one_does_not_overtake():
    memory = MemoryScheduler(100)
    for kernel, size in ((1, 60), (2, 80), (3, 10)):
        memory.submit(kernel, [Buffer("state", size, load=False)])
        memory.seal(kernel)
    assert memory.waiting() == [2, 3]
    commands = memory.executed(1)
    assert [command.kernel for command in commands if isinstance(command, Allocate)] == [2, 3]


def test_a_shared_buffer_is_loaded_once_and_leaves_when_its_room_is_needed():
    memory = MemoryScheduler(100)
    graph = Buffer("graph", 60, shared=True)
    memory.submit(1, [graph, Buffer("state", 20, load=False)])
    memory.submit(2, [graph, Buffer("state", 20, load=False)])
    assert [type(command).__name__ for command in memory.seal(1)] == ["Allocate", "Allocate", "Copy"]
    assert [type(command).__name__ for command in memory.seal(2)] == ["Allocate"]  # it waits for the same copy
    assert [command.kernel for command in memory.copied(1, "graph")] == [1, 2]
    memory.executed(1)
    memory.executed(2)
    assert memory.used == 60
    memory.submit(3, [Buffer("other", 90, load=False)])
    assert [type(command).__name__ for command in memory.seal(3)] == ["Free", "Allocate", "Ready"]


def test_copies_beyond_the_pinned_memory_are_pageable():
    memory = MemoryScheduler(100, pinned=30)
    memory.submit(1, [Buffer("a", 25), Buffer("b", 25), Buffer("c", 5)])
    copies = [command for command in memory.seal(1) if isinstance(command, Copy)]
    assert [copy.pinned for copy in copies] == [True, False, True]


def test_more_than_the_budget_is_refused_and_blocks_nobody():
    memory = MemoryScheduler(100)
    memory.submit(1, [Buffer("a", 101)])
    with pytest.raises(SpaceError, match="101 bytes"):
        memory.seal(1)
    memory.submit(2, [Buffer("a", 100, load=False)])
    assert memory.seal(2)[-1].kernel == 2
    with pytest.raises(UsageError):
        memory.submit(2, [Buffer("late", 1)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(1, 4))
def test_no_kernel_starves_and_service_follows_weights(seed, count, workers):
    random = Random(seed)
    kernels = KernelScheduler(workers, quantum=0.02)
    weights = [random.choice([1.0, 2.0, 4.0]) for _ in range(count)]
    running: dict[int, Run] = {}
    served = [0.0] * count

    def obey(commands):
        running.update({one.kernel: one for one in commands if isinstance(one, Run)})

    for number in range(count):
        obey(kernels.add(number, KINDS[0], None, weights[number]))
    now, turns, last = 0.0, 0, [0] * count
    for turns in range(1, 2000):
        number = random.choice(list(running))
        one = running.pop(number)
        seconds = random.uniform(0.01, 0.03)
        now += seconds
        served[number] += seconds * one.workers / workers
        last[number] = turns
        obey(kernels.ended(number, 1, seconds, now))
    assert min(last) > turns - 40 * count  # each ran not long ago
    shares = [one / weight for one, weight in zip(served, weights, strict=True)]
    assert max(shares) < 1.25 * min(shares)


def test_complementary_kernels_run_side_by_side_until_either_ends_then_one_has_all_workers():
    kernels = KernelScheduler(4, quantum=0.02)
    assert kernels.add(1, KINDS[0], 30) == [Run(1, 0, 1, 4, 0.02)]
    assert kernels.add(2, KINDS[1], 2) == [Preempt(1, at_once=True)]  # it has a partner
    pair = kernels.ended(1, 1, 0.02, 0.02)
    assert {(one.kernel, one.workers) for one in pair} == {(1, 2), (2, 2)}
    assert [(one.kernel, one.workers) for one in kernels.ended(1, 1, 0.02, 0.04)] == [(1, 2)]
    assert [(one.kernel, one.workers) for one in kernels.ended(2, 1, 0.02, 0.04)] == [(2, 2)]
    assert kernels.ended(2, 1, 0.02, 0.06) == [Done(2), Preempt(1)]
    assert [one.workers for one in kernels.ended(1, 1, 0.02, 0.06)] == [4]


def _streams():
    """Cores on which a search and a PageRank are known to gain side by side; both jobs shorter than a quantum."""
    pairs, search, ranks = Pairs(), Account("bfs", 1.0, 0.3), Account("pagerank", 1.0, 0.2)
    for _ in range(8):
        for one, other, beside in ((search, ranks, 0.64), (ranks, search, 0.51)):
            pairs.measured(one, None, 1.0)
            pairs.measured(one, other, beside)
    return KernelScheduler(2, quantum=0.05, pairs=pairs, patience=0.01), search, ranks


def test_a_partner_need_not_wait_for_a_quantum_to_be_over():
    kernels, search, ranks = _streams()
    kernels.add(1, ranks, away=True)
    assert kernels.back(1, 0.0) == [Run(1, 0, 1, 2, 0.05)]
    kernels.add(2, search, now=0.001, away=True)
    assert kernels.back(2, 0.001) == [Preempt(1, at_once=True)]
    assert kernels.ended(1, 0, 0.004, 0.004, away=True) == [Run(2, 0, 1, 1, 0.05)]  # half is kept for what is away
    assert kernels.back(1, 0.0041) == [Run(1, 0, 1, 1, 0.05)]


def test_a_stream_of_short_jobs_keeps_its_half():
    kernels, search, ranks = _streams()
    for number, account in ((1, ranks), (2, search)):
        kernels.add(number, account, away=True)
    assert [one.workers for one in (*kernels.back(1, 0.0), *kernels.back(2, 0.0))] == [1, 1]
    now = 0.0
    for number in range(3, 20):  # each search ends, and the next one comes a little later
        now += 0.003
        assert kernels.ended(number - 1, 0, 0.003, now, away=True) == []
        assert kernels.remove(number - 1, now) == [Done(number - 1)]
        now += 0.0005
        kernels.add(number, search, now=now, away=True)
        assert kernels.back(number, now) == [Run(number, 0, 1, 1, 0.05)]
    kernels.ended(19, 0, 0.003, now, away=True)
    kernels.remove(19, now)
    assert kernels.next_tick() == pytest.approx(now + 4 * 0.0005)  # four times as long as it usually takes
    assert kernels.tick(now + 0.0019) == []
    assert kernels.tick(now + 0.0021) == [Preempt(1)]  # no more came: all workers for the other


@pytest.mark.parametrize(("gaps", "kept"), [([], 0.025), ([0.01], 0.025), ([0.001], 0.004), ([0.001, 0.003], 0.012)])
def test_a_half_is_kept_for_as_long_as_the_next_job_usually_takes_to_come(gaps, kept):
    kernels, search, ranks = _streams()
    for number, account in ((1, ranks), (2, search)):
        kernels.add(number, account, away=True)
    assert [one.workers for one in (*kernels.back(1, 0.0), *kernels.back(2, 0.0))] == [1, 1]
    now = 0.003
    for number, gap in enumerate(gaps, 3):
        kernels.ended(number - 1, 0, 0.003, now, away=True)
        kernels.remove(number - 1, now)
        now += gap
        kernels.add(number, search, now=now, away=True)
        assert kernels.back(number, now) == [Run(number, 0, 1, 1, 0.05)]
        now += 0.003
    kernels.ended(2 + len(gaps), 0, 0.003, now, away=True)
    kernels.remove(2 + len(gaps), now)
    assert kernels.next_tick() == pytest.approx(now + kept)


def test_a_pair_that_is_known_to_gain_nothing_takes_turns():
    kernels, search, ranks = _streams()
    for _ in range(30):
        kernels.pairs.measured(search, ranks, 0.45)
        kernels.pairs.measured(ranks, search, 0.45)
    kernels.add(1, ranks, away=True)
    kernels.back(1, 0.0)
    kernels.add(2, search, now=0.001, away=True)
    assert kernels.back(2, 0.001) == [Preempt(1)]  # with its quantum
    assert kernels.ended(1, 0, 0.004, 0.004, away=True) == [Run(2, 0, 1, 2, 0.05)]


def test_kernels_of_one_kind_take_turns_on_all_workers():
    kernels = KernelScheduler(2, quantum=0.02)
    kernels.add(1, KINDS[0], 10)
    kernels.add(2, KINDS[0], 10)
    order, commands = [], kernels.ended(1, 1, 0.02, 0.02)
    for turn in range(6):
        assert [one.workers for one in commands] == [2]
        order.append(commands[0].kernel)
        commands = kernels.ended(commands[0].kernel, 1, 0.02, turn * 0.02)
    assert order == [2, 1, 2, 1, 2, 1]


def test_a_slice_that_does_not_end_holds_others_up_for_its_patience_alone():
    kernels = KernelScheduler(2, quantum=0.02, patience=0.05)
    kernels.add(1, KINDS[0], None, now=0.0)
    # One that has had nothing yet runs at once beside what runs, which is told to end.
    assert kernels.add(2, KINDS[0], None, now=1.0) == [Run(2, 0, 1, 1, 0.02), Preempt(1)]
    assert kernels.ended(2, 1, 0.03, 1.03) == []
    assert kernels.tick(1.06) == []
    assert kernels.tick(1.11) == [Run(2, 1, 2, 1, 0.02)]


def test_one_that_waits_for_a_slice_that_cannot_be_cut_runs_beside_it_at_once():
    kernels = KernelScheduler(2, quantum=0.02, patience=0.05)
    for number in (1, 2):
        kernels.add(number, KINDS[0], None, away=True)
    assert kernels.back(1, 0.0, limit=2) == [Run(1, 0, 1, 2, 0.02)]
    kernels.kernels[2].served = 1.0
    assert kernels.back(2, 0.5) == [Run(2, 0, 1, 1, 0.02), Preempt(1)]


def test_a_share_is_left_free_for_a_quantum_when_one_has_gone_that_was_worth_running_beside():
    kernels = KernelScheduler(2, quantum=0.02, patience=0.05)
    assert kernels.add(1, KINDS[1], None, now=0.0) == [Run(1, 0, 1, 2, 0.02)]
    kernels.add(2, KINDS[0], None, now=1.0)  # short, so it runs at once beside the first, which is told to end
    assert kernels.ended(1, 1, 1.0, 1.0) == [Run(1, 1, 2, 1, 0.02)]
    kernels.remove(2, 1.005)
    assert kernels.ended(2, 1, 0.005, 1.005) == [Done(2)]  # another one of its kind may come
    assert kernels.tick(1.01) == []
    assert kernels.add(3, KINDS[0], None, now=1.012) == [Run(3, 0, 1, 1, 0.02)]
    kernels.remove(3, 1.02)
    kernels.ended(3, 1, 0.008, 1.02)
    assert kernels.tick(1.045) == [Preempt(1)]  # none came
    assert [one.workers for one in kernels.ended(1, 1, 0.05, 1.05)] == [2]


def test_no_worker_is_idle_while_one_waits():
    kernels = KernelScheduler(2, quantum=0.02, patience=0.05)
    kernels.add(1, KINDS[0], None, now=0.0)
    assert kernels.add(2, KINDS[0], None, now=1.0) == [Run(2, 0, 1, 1, 0.02), Preempt(1)]
    assert kernels.ended(1, 1, 1.0, 1.01) == [Run(1, 1, 2, 1, 0.02)]


def test_what_a_kernel_with_few_workers_leaves_goes_to_whoever_is_next():
    kernels = KernelScheduler(4, quantum=0.02, patience=0.05)
    for number in (1, 2):
        kernels.add(number, KINDS[0], None, away=True)
        kernels.kernels[number].served = 1.0
    assert kernels.back(1, 0.0, limit=1) == [Run(1, 0, 1, 1, 0.02)]
    assert kernels.back(2, 0.0) == [Run(2, 0, 1, 3, 0.02)]
    kernels.ended(1, 1, 0.02, 0.02, away=True)
    kernels.ended(2, 1, 0.02, 0.02, away=True)
    assert [one.workers for one in kernels.back(2, 0.03)] == [4]


def test_kinds_that_are_not_known_together_are_tried_whatever_their_accounts_say():
    pairs, one, other = Pairs(), KINDS[0], Account("components", 1.0, 0.3)
    assert pairs.gain(one, other) < 1.05
    pairs.measured(one, None, 100.0)
    pairs.measured(other, None, 10.0)
    assert pairs.is_worth_a_try(one, other)
    assert not pairs.is_worth_a_try(one, one)
    for _ in range(3):
        pairs.measured(one, other, 80.0)
        pairs.measured(other, one, 6.0)
    assert not pairs.is_worth_a_try(one, other)
    assert pairs.gain(one, other) > 1.2


def test_what_is_measured_corrects_the_account():
    pairs, one, other = Pairs(), KINDS[0], KINDS[1]
    before = pairs.gain(one, other)
    for _ in range(20):
        for mine, beside in ((one, other), (other, one)):
            pairs.measured(mine, None, 100.0)
            pairs.measured(mine, beside, 40.0)
    assert before == pytest.approx(1.15)  # on half of the workers: .65 of the bandwidth, .5 of the arithmetic
    assert pairs.gain(one, other) < 1.05  # side by side each had 0.4 of its speed: not worth it
    assert Account.of_work("x", 8, 1).memory == 1.0


def test_a_short_kernel_runs_at_once_beside_a_long_one_and_waits_for_a_short_one():
    kernels = KernelScheduler(2, quantum=0.05, patience=0.01)
    search = Account("search", 1.0, 1.0)
    kernels.add(1, search, now=0.0)
    assert kernels.add(2, search, now=0.01) == [Preempt(1)]
    assert [one.kernel for one in kernels.ended(1, 0, 0.02, now=0.02, away=True)] == [2]
    long = KernelScheduler(2, quantum=0.05, patience=0.01)
    long.add(1, search, now=0.0)
    assert long.add(2, search, now=0.1) == [Run(2, 0, 1, 1, 0.05), Preempt(1)]


def test_a_short_kernel_waits_for_the_quantum_of_another_at_most():
    kernels = KernelScheduler(2, quantum=0.05, patience=0.01)
    search = Account("search", 1.0, 1.0)
    kernels.add(1, search, now=0.0)
    kernels.add(2, search, now=0.04)
    assert kernels.next_tick() == pytest.approx(0.06)
    assert kernels.tick(0.055) == []
    assert [one.kernel for one in kernels.tick(0.061)] == [2]
