"""Records are sorted stably, room grows as needed, and what cannot be delivered ends the run with a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.devices import CPU
from arcflux.engine.mail.boxes import Box
from arcflux.engine.mail.sorting import first_outside, sort_by
from arcflux.errors import ProgramError, SpaceError
from arcflux.spmd.interrupt import cancelling


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(5, 12), max_size=200), st.integers(1, 3))
def test_sorting_keeps_the_order_of_equal_numbers(numbers: list[int], threads: int) -> None:
    values = np.arange(len(numbers))
    copy, begins = np.zeros(len(numbers) + 3, np.int64), np.full(9, 77, np.uint64)
    sort_by(np.array(numbers, np.int64), 5, begins, [(values, copy)], threads)
    assert copy[: len(numbers)].tolist() == sorted(range(len(numbers)), key=lambda i: (numbers[i], i))
    assert begins.tolist() == [sum(n < 5 + box for n in numbers) for box in range(9)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_records_are_sorted_by_several_workers(threads: int) -> None:
    numbers = np.random.default_rng(3).integers(0, 50, 100_000)
    values, copy, begins = np.arange(100_000), np.zeros(100_000, np.int64), np.zeros(51, np.uint64)
    sort_by(numbers, 0, begins, [(values, copy)], threads)
    np.testing.assert_array_equal(copy, np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize(
    ("bad", "place"), [({}, -1), ({7: -1}, 7), ({90_000: 50, 60_000: -3}, 60_000), ({0: 1 << 62}, 0)]
)
def test_the_first_number_that_is_no_vertex_is_found(bad: dict[int, int], place: int) -> None:
    numbers = np.random.default_rng(3).integers(0, 50, 100_000)
    for where, number in bad.items():
        numbers[where] = number
    assert first_outside(numbers, 50, 3) == place


def test_a_token_waits_until_mail_is_sorted() -> None:
    token = af.CancelToken()
    token.cancel()
    values, copy, begins = np.array([10, 11, 12]), np.zeros(3, np.int64), np.zeros(3, np.uint64)
    with cancelling(token):  # or a run that is cancelled there would have no result
        assert first_outside(np.array([1, 0, 5]), 5, 1) == 2
        sort_by(np.array([1, 0, 1]), 0, begins, [(values, copy)], 1)
    assert copy.tolist() == [11, 10, 12]


def test_room_grows_without_losing_anything() -> None:
    box = Box("m", af.mail(af.i32), 3, 5, CPU(1))
    box.cursor[:3] = 1, 0, 3000
    box.make_room()
    assert box.cursor.tolist() == [0, 1, 1, 3001]
    assert box.sent == 3001 <= len(box.to) == len(box.out[0])
    room = box.to
    box.cursor[:3] = 0, 3001, 0
    box.make_room()
    assert box.to is room


def test_a_device_without_room_for_mail_says_so() -> None:
    device = af.devices.Virtual(memory=1 << 20)
    box = Box("m", af.mail(af.i64), 3, 5, device)
    held = device.held
    box.cursor[:3] = 1 << 18, 0, 0
    with pytest.raises(SpaceError, match="no room for the mail m"):
        box.make_room()
    box.release()
    assert device.held <= held


@af.program
class Astray:
    """Sends to a number that a parameter says, from one vertex, in one superstep."""

    to: int = 0
    at: int = -1
    x: af.i64
    note: af.mail(af.i64)

    def start(v, p):
        if v.number == 3 and p.at < 0:
            af.send(p.to, note=1)
        return True

    def receive(v, note):
        v.x += len(note)

    def update(v, p, step):
        if v.number == 3 and step == p.at:
            af.send(p.to, note=1)
        return step < 3


WAYS = [{"threads": 2}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1, "partition": "random"}, {"debug": True}]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("to", [-1, 10, 1 << 40])
@pytest.mark.parametrize(("at", "when"), [(-1, "in start"), (2, "superstep 2")])
def test_a_record_for_no_vertex_names_its_sender(to: int, at: int, when: str, way: dict[str, object]) -> None:
    graph = af.Graph.from_edges(list("abcdefghij"), list("bcdefghija"))
    with pytest.raises(ProgramError, match=f"note.*sent? .*to {to}|note to {to}") as caught:
        af.run(Astray, graph, to=to, at=at, **way)
    said = str(caught.value)
    assert "vertex d" in said
    assert when in said
    assert "0 to 9" in said


@af.program
class Beyond:
    """Asks for a neighbour that there is not."""

    k: int = 1
    x: af.i64
    seen: af.ref
    note: af.mail(af.i64)

    def start(v, p):
        v.seen = af.neighbour(v, p.k)
        if v.seen >= 0:
            af.send(v.seen, note=v.number)
        return False

    def receive(v, note):
        for r in note:
            v.x += r


@pytest.mark.parametrize("k", [-1, 1, 1 << 62])
def test_a_neighbour_that_there_is_not(k: int) -> None:
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0])
    assert af.run(Beyond, graph, k=k).values["seen"].tolist() == [-1, -1, -1]
    with pytest.raises(ProgramError, match=f"out-neighbour {k} of 1 is asked for at vertex 0, in start"):
        af.run(Beyond, graph, k=k, debug=True)


@af.program
class Growing:
    """Each record becomes two: room grows from superstep to superstep."""

    rounds: int = 14
    x: af.i64
    note: af.mail(af.i64)

    def start(v):
        if v.number == 0:
            af.send(0, note=1)
        return False

    def receive(v, note, g, p, step):
        for r in note:
            v.x += r
            if step < p.rounds:
                af.send((v.number + r) % g.vertices, note=r)
                af.send((v.number * 3 + 1) % g.vertices, note=r)


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 3, "ranks_per_node": 1}], ids=str)
def test_mail_that_doubles_is_never_lost(way: dict[str, object]) -> None:
    found = af.run(Growing, "path:7", **way)
    assert found["x"].sum() == (1 << 15) - 1
    assert [step.edges for step in found.history] == [1 << k for k in range(15)]


def test_a_long_loop_that_sends_is_ended_by_its_time() -> None:
    @af.program
    class Endless:
        x: af.i64
        note: af.mail(af.i64)

        def start(v):
            af.send(v.number, note=1)
            return True

        def receive(v, note):
            v.x += len(note)
            while v.x < 1 << 62:
                v.x = v.x if v.x > 5 else v.x + 1
            af.send(v.number, note=v.x)

    with pytest.warns(UserWarning, match="before it converged"):
        found = af.run(Endless, "path:3", timeout=0.3)
    assert found["x"].tolist() == [0, 0, 0]
    assert found.supersteps == 0


@af.program
class Flooding:
    """Vertex 3 sends without an end."""

    n: int = 10**18
    x: af.i64
    letter: af.mail(af.i64)

    def start(v):
        return True

    def receive(v, letter):
        v.x = len(letter)

    def update(v, p, step):
        if step == 1 and v.number == 3:
            for k in range(p.n):
                af.send(k % 4, letter=k)
        return True


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_a_flood_is_ended_by_its_time_without_room_for_it(way: dict[str, object]) -> None:
    af.run(Flooding(n=2), "path:9", max_supersteps=3, **way)
    found = af.run(Flooding, "path:9", timeout=0.5, **way)
    assert not found.converged
    assert found.supersteps <= 1
    assert found["x"].tolist() == [0] * 9
