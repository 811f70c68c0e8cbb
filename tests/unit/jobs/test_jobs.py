"""Jobs in a process: results of solo runs, priorities, limits, memory, cancelling, and no job waits for ever."""

from __future__ import annotations

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import arcflux as af
from arcflux.engine import advice
from arcflux.errors import CancelledError, SpaceError, UsageError
from arcflux.jobs import runtime
from arcflux.jobs.accounts import Account
from arcflux.jobs.cores import Cores
from arcflux.spmd.pool import BRIEF
from arcflux.spmd.turns import Turns, taking_turns


@af.program
class Widest:
    """The heaviest load that every edge of one way can bear."""

    source: af.vertex
    width: af.f64

    def start(v, p):
        v.width = 1e300 if v.number == p.source else 0.0
        return v.number == p.source

    def compute(v, u, edge):
        v.width = max(v.width, min(u.width, edge.weight))

    def update(v, old):
        return v.width > old.width


@af.program
class Forever:
    """Never converges."""

    x: af.f64

    def start(v):
        v.x = 1.0
        return True

    def compute(v, u):
        v.x += u.x

    def update(v, old):
        v.x = v.x * 0.5 + 1.0
        return True


@pytest.fixture(scope="module")
def graph():
    return af.load("kron:9,weights=1-255")


def test_results_are_those_of_solo_runs_whatever_runs_beside(graph):
    wanted = {
        "bfs": af.bfs(graph, 3)["level"],
        "sssp": af.sssp(graph, 3)["distance"],
        "cc": af.connected_components(graph)["component"],
        "tc": af.triangles(graph)["triangles"],
        "widest": af.run(Widest, graph, source=3)["width"],
        "pr": af.pagerank(graph, deterministic=True)["rank"],
    }
    with af.Jobs(graph, threads=2, quantum=0.001) as jobs:
        found = []
        for _ in range(3):
            found += [
                ("bfs", jobs.submit("bfs", source=3), "level"),
                ("sssp", jobs.submit("sssp", source=3, priority=2), "distance"),
                ("cc", jobs.submit("connected_components"), "component"),
                ("tc", jobs.submit(af.triangles), "triangles"),
                ("widest", jobs.submit(Widest, source=3), "width"),
                ("pr", jobs.submit("pagerank", deterministic=True, priority=-3), "rank"),
            ]
        for name, job, field in found:
            np.testing.assert_array_equal(job.result(240)[field], wanted[name], err_msg=name)
            assert job.state == "done"
    assert len(jobs) == 18
    assert jobs.memory_used == 0


def test_a_slice_is_cut_and_goes_on_where_it_was(graph):
    with af.Jobs(graph, threads=2, quantum=0.0005) as jobs:
        several = [jobs.submit(Forever, max_supersteps=10_000, deterministic=True) for _ in range(3)]
        values = [job.result(240) for job in several]
        with pytest.warns(UserWarning, match="converged"):
            alone = af.run(Forever, graph, max_supersteps=10_000, deterministic=True)
        assert all(one.supersteps == 10_000 for one in values)
        assert max(job.work.turns for job in several) > 2
        for one in values:
            np.testing.assert_array_equal(one["x"], alone["x"])


def test_cancel_of_a_running_job_gives_its_last_superstep_and_the_others_go_on(graph):
    with af.Jobs(graph, threads=2) as jobs:
        endless, other = jobs.submit(Forever), jobs.submit("bfs", source=0)
        while endless.progress.supersteps < 10 and not endless.is_over:
            time.sleep(0.01)
        endless.cancel()
        with pytest.raises(CancelledError, match="job was cancelled") as caught:
            endless.result(240)
        assert caught.value.result.supersteps >= 10
        assert endless.state == "cancelled"
        assert other.result(240)["level"][0] == 0


def test_cancel_before_it_begins(graph):
    with af.Jobs(graph, threads=1, at_once=1) as jobs:
        first, second = jobs.submit(Forever), jobs.submit("bfs", source=0)
        assert second.state == "queued"
        second.cancel()
        assert second.state == "cancelled"
        with pytest.raises(CancelledError):
            second.result(1)
        first.cancel()
        first.cancel()
        assert first.wait(240)


def test_priorities_are_admitted_first(graph):
    with af.Jobs(graph, threads=1, at_once=1) as jobs:
        first = jobs.submit(Forever)
        later = [jobs.submit("bfs", source=0, priority=priority) for priority in (0, 5, -5, 5)]
        first.cancel()
        for job in later:
            job.result(240)
        order = sorted(later, key=lambda job: job.started)
        assert [job.priority for job in order] == [5, 5, 0, -5]


@pytest.mark.parametrize(
    ("limits", "reason"), [({"max_seconds": 0.1}, "may take"), ({"deadline": 0.2}, "deadline")]
)  # fmt: skip
def test_seconds_and_deadlines_end_a_job(graph, limits, reason):
    with af.Jobs(graph, threads=2) as jobs:
        job = jobs.submit(Forever, **limits)
        with pytest.raises(CancelledError, match=reason) as caught:
            job.result(240)
        assert caught.value.result.supersteps > 0


def test_memory_limits_and_budgets(graph):
    with af.Jobs(graph, threads=1, memory=4 << 20) as jobs:
        with pytest.raises(SpaceError, match=r"(?s)bfs takes about .*at most 1,000, for all jobs.*memory="):
            af.Jobs(graph, memory=1000).submit("bfs", source=0)
        with pytest.raises(UsageError, match="max_memory"):
            jobs.submit("pagerank", max_memory=10)
        several = [jobs.submit("bfs", source=k) for k in range(12)]
        most = 0
        while not all(job.is_over for job in several):
            most = max(most, jobs.memory_used)
            time.sleep(0.001)
        assert 0 < most <= 4 << 20
        assert all(job.state == "done" for job in several)


def test_a_job_that_fails_says_why_and_harms_nobody(graph):
    with af.Jobs(graph, threads=2) as jobs:
        wrong, right = jobs.submit("bfs", source=10**9), jobs.submit("bfs", source=1)
        with pytest.raises(af.errors.IdError):
            wrong.result(240)
        assert wrong.state == "failed"
        assert right.result(240).converged


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("pagerunk", {}, "names no algorithm"),
        ("bfs", {}, "needs source"),
        ("bfs", {"source": 1, "sauce": 2}, "no parameter 'sauce'"),
        ("bfs", {"source": 1, "threads": 2}, "decided by Jobs"),
        ("bfs", {"source": 1, "priority": 99}, "from -10 to 10"),
        ("bfs", {"source": 1, "max_seconds": -1}, "above 0"),
        (3, {}, "the task is 3"),
        (Exception, {}, "no program yet"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(graph, task, options, said):
    with af.Jobs(graph, threads=1) as jobs:
        with pytest.raises(UsageError, match=said):
            jobs.submit(task, **options)
        assert len(jobs) == 0


def test_many_threads_submit_cancel_and_every_job_ends(graph):
    with af.Jobs(graph, threads=2, at_once=3) as jobs:
        made, lock = [], threading.Lock()

        def submit(seed):
            for k in range(8):
                job = jobs.submit("bfs", source=seed * 8 + k) if k % 3 else jobs.submit(Forever, max_seconds=0.02)
                with lock:
                    made.append(job)
                if k % 4 == 1:
                    job.cancel()

        threads = [threading.Thread(target=submit, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert jobs.wait(240)
        assert len(made) == 32
        assert {job.state for job in made} <= {"done", "cancelled"}
        assert jobs.memory_used == 0
        assert not jobs.cores.scheduler.kernels


def test_virtual_devices_with_memory_budgets():
    graph = af.load("kron:8")
    devices = [af.devices.Virtual(1.0, memory=400_000, bandwidth=1e9, name="a"),
               af.devices.Virtual(2.0, memory=300_000, bandwidth=1e9, name="b")]  # fmt: skip
    with af.Jobs(graph, devices=devices) as jobs:
        several = [jobs.submit("bfs", source=k) for k in range(5)]
        most = 0
        while not all(job.is_over for job in several):
            for memory, device in zip(jobs._memories, devices, strict=True):
                assert memory.used <= device.memory
            most = max(most, len([job for job in several if job.state == "running"]))
            time.sleep(0.001)
        for k, job in enumerate(several):
            np.testing.assert_array_equal(job.result()["level"], af.bfs(graph, k)["level"])
        assert most >= 1
        with pytest.raises(UsageError, match="run on devices"):
            jobs.submit("triangles")
    assert all(one.engine.busy > 0 for one in jobs.devices)


def test_closing_waits_and_leaves_no_thread_in_a_turn(graph):
    with af.Jobs(graph, threads=2) as jobs:
        job = jobs.submit("pagerank")
    assert job.state == "done"
    with pytest.raises(UsageError, match="closed"):
        jobs.submit("pagerank")
    jobs = af.Jobs(graph, threads=2)
    job = jobs.submit(Forever)
    jobs.close(cancel=True)
    assert job.state == "cancelled"


class Fitful(Turns):
    """Another number of workers in each launch, and every launch ends with its superstep."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.asked = []

    def take(self, workers, control, shrinks):
        control[BRIEF] = 1
        self.asked.append(shrinks)
        return int(self.random.integers(1, workers + 1)) if shrinks else workers


@pytest.mark.parametrize("seed", range(4))
def test_runs_go_on_with_another_number_of_workers(graph, seed):
    calls = {
        "bfs": lambda: af.bfs(graph, 3, threads=3)["level"],
        "sssp": lambda: af.sssp(graph, 3, threads=3)["distance"],
        "widest": lambda: af.run(Widest, graph, source=3, threads=3)["width"],
        "pr": lambda: af.pagerank(graph, deterministic=True, threads=3)["rank"],
        "labels": lambda: af.label_propagation(graph, threads=3)["label"],
    }
    for name, call in calls.items():
        alone = call()
        turns = Fitful(seed)
        with taking_turns(turns):
            np.testing.assert_array_equal(call(), alone, err_msg=name)
        assert turns.asked, name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph", "kron:5"), ("graph", 0), ("graph", []), ("priority", np.arange(2)), ("priority", "1"),
        ("priority", 0.5), ("deadline", 10**400), ("deadline", "soon"), ("max_seconds", 10**400), ("ended", 5),
    ],
)  # fmt: skip
def test_a_wrong_argument_of_a_submission_is_named(graph, name, value):
    with af.Jobs(graph, threads=1) as jobs, pytest.raises(UsageError, match=f"{name} is "):
        jobs.submit("pagerank", **{name: value})


@pytest.mark.parametrize("devices", [5, "cuda", {1}])
def test_devices_that_are_no_list_are_refused(graph, devices):
    with pytest.raises(UsageError, match="devices is "):
        af.Jobs(graph, devices=devices)


@pytest.mark.parametrize("url", ["", "localhost", "http://", "http:///jobs", "http://127.0.0.1:99999", "http://h:x", 3])
def test_a_client_has_the_address_of_a_server(url):
    with pytest.raises(UsageError, match=r"(?s)the url is .*http://HOST:PORT"):
        af.Client(url, "token")


@pytest.mark.parametrize("ident", [5, None, b"1", ["1"]])
def test_a_client_asks_for_jobs_by_text(ident):
    client = af.Client("http://127.0.0.1:9", "token", timeout=0.1)
    for ask in (client.status, client.cancel, client.wait, client.result, client.stream):
        with pytest.raises(UsageError, match="ident is "):
            ask(ident)


@pytest.mark.parametrize("timeout", ["x", 10**400, [1]])
def test_a_client_waits_for_seconds(timeout):
    with pytest.raises(UsageError, match="timeout is "):
        af.Client("http://127.0.0.1:9", "token", timeout=0.1).wait("1", timeout)


@pytest.mark.parametrize("timeout", ["x", -1, math.nan, 10**400, [1]])
def test_jobs_are_waited_for_in_seconds(graph, timeout):
    with af.Jobs(graph, threads=1) as jobs:
        job = jobs.submit("bfs", source=0)
        for wait in (job.wait, job.result, jobs.wait):
            with pytest.raises(UsageError, match="timeout is "):
                wait(timeout)
        assert job.wait(1e300)
        assert jobs.wait(math.inf)


def test_waiting_for_all_jobs_ends_in_time(graph):
    with af.Jobs(graph, threads=1) as jobs:
        several = [jobs.submit(Forever) for _ in range(3)]
        begun = time.monotonic()
        assert not jobs.wait(0.1)
        assert time.monotonic() - begun < 60
        for job in several:
            job.cancel()


@pytest.mark.parametrize("wrong", [None, 1, "1", []])
def test_only_jobs_of_these_jobs_are_looked_up_and_forgotten(graph, wrong):
    with af.Jobs(graph, threads=1) as jobs, af.Jobs(graph, threads=1) as others:
        job, foreign = jobs.submit("bfs", source=3), others.submit("bfs", source=3)
        foreign.result(240)
        for call in (jobs.forget, jobs.task):
            for one in (wrong, foreign):
                with pytest.raises(UsageError, match="job is "):
                    call(one)
        job.result(240)
        jobs.forget(job)
        jobs.forget(job)
        assert len(jobs) == 0


@pytest.mark.parametrize("value", [np.int64(9), 9])
def test_limits_are_any_whole_numbers(graph, value):
    with af.Jobs(graph, threads=1) as jobs:
        assert jobs.submit(Forever, max_supersteps=value).result(240).supersteps == 9
        with pytest.raises(UsageError, match="max_supersteps is "):
            jobs.submit(Forever, max_supersteps=1.5)


def test_runs_beside_others_teach_the_planner_nothing(graph, monkeypatch):
    told = []

    def record(plan, graph, result, *, keep):
        told.append(keep)
        return result

    monkeypatch.setattr(advice, "enter", lambda name: SimpleNamespace(record=record))
    assert advice.kept("plan", graph, "result") == "result"
    with taking_turns(Turns()):
        assert advice.kept("plan", graph, "result") == "result"
    assert told == [True, False]


def test_the_seconds_of_a_turn_in_hand_count(graph):
    with af.Jobs(graph, threads=1) as jobs:
        job = jobs.submit(Forever)
        while job.progress.seconds <= 0 and not job.is_over:
            time.sleep(0.001)
        before = job.progress.seconds
        time.sleep(0.02)
        assert before < job.progress.seconds
        job.cancel()


def test_a_turn_passes_on_without_the_clock():
    cores = Cores(2, quantum=1e-9, pairing=False)
    cores._clock = threading.current_thread()  # none is started
    account, controls = Account("bfs", 1.0, 0.2), [np.zeros(16, np.int64) for _ in range(2)]
    one, other = (cores.seat(number, account, 1.0) for number in (1, 2))
    one.sit_down()
    assert one.take(2, controls[0], True) == 2

    def waits():
        other.sit_down()
        granted.append(other.take(2, controls[1], True))

    granted = []
    thread = threading.Thread(target=waits)
    thread.start()
    end = time.monotonic() + 60
    while not controls[0][BRIEF] and time.monotonic() < end:
        time.sleep(0.001)
    assert controls[0][BRIEF] == 1  # its time is over, and another waits
    one.leave()
    thread.join(60)
    assert len(granted) == 1
    other.leave()
    for seat in (one, other):
        seat.stand_up()
    assert cores.slices == cores.scheduler.kernels == cores._waiting == {}
    cores.close()


def test_jobs_without_a_thread_end_with_an_error_and_let_others_begin(graph, monkeypatch):
    """They were running, for ever; so was every job behind them."""
    real, refused = runtime.start_thread, []

    def scarce(call):
        if len(refused) < 60:
            refused.append(call)
            raise RuntimeError("can't start new thread")
        real(call)

    monkeypatch.setattr(runtime, "start_thread", scarce)
    told = []
    with af.Jobs(graph, threads=2, at_once=2) as jobs:
        first = jobs.submit("bfs", source=0, ended=told.append)
        with pytest.raises(SpaceError, match="not enough memory for a thread"):
            first.result(60)
        assert told == [first]
        monkeypatch.setattr(runtime, "start_thread", lambda call: threading.Timer(0.3, real, [call]).start())
        held = [jobs.submit("bfs", source=0) for _ in range(2)]  # all others wait behind them
        others = [jobs.submit("bfs", source=0) for _ in range(100)]
        monkeypatch.setattr(runtime, "start_thread", scarce)
        assert all(job.wait(120) for job in (*held, *others))
        ends = [job.state for job in others]
        assert ends.count("failed") == 59
        assert ends.count("done") == 41
        assert jobs.submit("bfs", source=0).result(60)["level"].tolist() == af.bfs(graph, 0)["level"].tolist()
