"""Devices take the time they should, by a clock of the test's own, and no more memory than they have."""

import time

import pytest

from arcflux.devices import CPU, Virtual, virtual
from arcflux.errors import SpaceError, UsageError


class Clock:
    """Time that passes when something sleeps or works, and that oversleeps by a tenth of a millisecond."""

    def __init__(self):
        self.now = 0.0
        self.over = 1e-4

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds + self.over

    def work(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", made.perf_counter)
    monkeypatch.setattr(virtual.time, "sleep", made.sleep)
    return made


def test_a_cpu_takes_what_it_takes(clock):
    with CPU(threads=1).timed() as took:
        clock.work(0.25)
    assert took.seconds == 0.25


@pytest.mark.parametrize("slowdown", [1.0, 2.0, 7.5])
def test_a_virtual_device_takes_so_many_times_as_long(clock, slowdown):
    device = Virtual(slowdown, clock=clock.perf_counter)
    with device.timed() as took:
        clock.work(0.25)
    assert took.seconds == slowdown * 0.25
    assert clock.now == pytest.approx(took.seconds, abs=2 * clock.over)


def test_short_sleeps_add_up(clock):
    device = Virtual(2.0, bandwidth=1e6, clock=clock.perf_counter)
    total = 0.0
    for _ in range(1000):
        with device.timed() as took:
            clock.work(3e-5)
        total += took.seconds + device.transfer(40)
    assert total == pytest.approx(1000 * (2 * 3e-5 + 40 / 1e6))
    assert clock.now == pytest.approx(total, abs=2 * clock.over)


def test_a_host_that_stood_still_does_not_make_a_device_faster(clock):
    device = Virtual(2.0, clock=clock.perf_counter)
    clock.over = 5.0
    with device.timed() as took:
        clock.work(0.25)
    assert took.seconds == 0.5
    clock.over = 0.0
    begun = clock.now
    with device.timed() as took:
        clock.work(0.25)
    assert took.seconds == 0.5
    assert clock.now - begun == pytest.approx(0.5, abs=2e-3)


def test_a_device_that_waited_for_a_core_does_not_wait_again(clock):
    """Its own clock shows what it worked; the world's has gone on for longer."""
    own = Clock()
    device = Virtual(3.0, clock=own.perf_counter)
    with device.timed() as took:
        own.work(0.1)
        clock.work(0.2)
    assert took.seconds == pytest.approx(0.3)
    assert clock.now == pytest.approx(0.3, abs=2 * clock.over)
    with device.timed() as took:
        own.work(0.1)
        clock.work(0.9)
    assert took.seconds == pytest.approx(0.3)
    assert clock.now == pytest.approx(1.2, abs=2 * clock.over)


def test_what_goes_wrong_inside_comes_out(clock):
    with pytest.raises(ZeroDivisionError), Virtual(2.0).timed():
        1 / 0  # noqa: B018 - failing is the point
    assert clock.now == 0


def test_transfers_take_bytes_over_bandwidth(clock):
    device = Virtual(bandwidth=1e8)
    assert device.transfer(5_000_000) == 0.05
    assert clock.now == pytest.approx(0.05, abs=2 * clock.over)
    assert Virtual().transfer(5_000_000) == 0
    device.transfer(1)
    assert device.transferred == 5_000_001


def test_real_time_passes():
    device = Virtual(slowdown=4.0)
    begun = time.perf_counter()
    with device.timed() as took:
        sum(range(200_000))
        inside = time.perf_counter() - begun
    assert time.perf_counter() - begun >= took.seconds >= 4.0 * inside - 1e-3


def test_memory_is_limited():
    device = Virtual(memory=1000, name="small")
    device.hold(600, "vertices")
    with pytest.raises(SpaceError, match=r"small has no room for edges: 401 bytes .* 400 of its 1,000"):
        device.hold(401, "edges")
    assert device.held == 600
    device.hold(400, "edges")
    device.release(1000)
    with pytest.raises(UsageError, match="released"):
        device.release(1)
    CPU().hold(1 << 60, "anything")


@pytest.mark.parametrize(
    "given",
    [{"slowdown": 0.5}, {"slowdown": float("nan")}, {"slowdown": "2"}, {"memory": 0}, {"memory": -1}, {"memory": True},
     {"bandwidth": 0.0}, {"bandwidth": float("inf")}],
    ids=str,
)  # fmt: skip
def test_senseless_devices_are_refused(given):
    with pytest.raises(UsageError):
        Virtual(**given)
