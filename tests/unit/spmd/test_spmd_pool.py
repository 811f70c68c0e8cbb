"""run(): all workers, every chunk once, errors, many callers, forks and Ctrl-C."""

import signal
import threading
import time

import numpy as np
import pytest
from spmd_processes import lines, python

from arcflux import trace
from arcflux.errors import UsageError
from arcflux.spmd import pool
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.pool import run


@kernel
def count_chunks(worker, workers, control, done, by_worker):
    while True:
        chunk = claim(control)
        if chunk >= done.size:
            break
        done[chunk] += 1
        by_worker[worker] += 1


@kernel
def fail(worker, workers, control, limit):
    if claim(control) == limit:
        raise ZeroDivisionError("the third chunk")


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("chunks", [0, 1, 2, 6, 5000])
def test_every_chunk_is_done_once(chunks, threads):
    done, by_worker = np.zeros(chunks, np.int64), np.zeros(8, np.int64)
    run(count_chunks, chunks, done, by_worker, threads=threads)
    assert done.tolist() == [1] * chunks
    assert by_worker.sum() == chunks


@pytest.mark.parametrize(("threads", "chunks", "workers"), [(3, 10, 3), (7, 2, 2), (1, 10, 1), (5, 0, 1)])
def test_there_are_no_more_workers_than_chunks(threads, chunks, workers):
    seen = []
    run(lambda worker, workers, control: seen.append((worker, workers)), chunks, threads=threads)
    assert sorted(seen) == [(worker, workers) for worker in range(workers)]


def test_workers_do_not_run_in_the_calling_thread():
    seen = set()
    run(lambda *_: seen.add(threading.current_thread()), 2, threads=2)
    assert len(seen) == 2
    assert threading.current_thread() not in seen


class TestBrief:
    """Launches in which the calling thread is the first worker."""

    @pytest.mark.parametrize("threads", [1, 2, 3, 7])
    @pytest.mark.parametrize("chunks", [2, 6, 5000])
    def test_every_chunk_is_done_once(self, chunks, threads):
        done, by_worker = np.zeros(chunks, np.int64), np.zeros(8, np.int64)
        run(count_chunks, chunks, done, by_worker, threads=threads, brief=1)
        assert done.tolist() == [1] * chunks
        assert by_worker.sum() == chunks

    def test_the_calling_thread_is_the_first_worker(self):
        seen = {}
        run(lambda worker, *_: seen.setdefault(worker, threading.current_thread()), 3, threads=3, brief=1)
        assert sorted(seen) == [0, 1, 2]
        assert seen[0] is threading.current_thread()
        assert len(set(seen.values())) == 3

    def test_what_another_worker_raises_is_raised(self):
        def broken(worker, *_):
            if worker == 1:
                raise ZeroDivisionError("in the second")

        with pytest.raises(ZeroDivisionError, match="in the second"):
            run(broken, 2, threads=2, brief=1)

    def test_what_the_first_worker_raises_is_raised_when_the_others_are_done(self):
        over = []

        def broken(worker, workers, control):
            if worker == 0:
                raise ZeroDivisionError("in the first")
            while not control[pool.STOP]:
                time.sleep(0.001)
            over.append(worker)

        with pytest.raises(ZeroDivisionError, match="in the first"):
            run(broken, 3, threads=3, brief=1)
        assert sorted(over) == [1, 2]

    def test_a_signal_before_the_first_worker_has_begun_leaves_nobody_waiting(self, monkeypatch):
        met, start = threading.Barrier(2), pool._Pool.start

        def interrupted(self, job):
            start(self, job)
            monkeypatch.setattr(pool._Pool, "start", start)
            raise KeyboardInterrupt

        monkeypatch.setattr(pool._Pool, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(lambda *_: met.wait(10), 2, threads=2, brief=1)
        assert not met.broken

    def test_a_glance_sees_the_end(self):
        seen = []
        run(count_chunks, 5, np.zeros(5, np.int64), np.zeros(2, np.int64), threads=2, brief=7,
            glance=lambda control: seen.append((int(control[0]) >= 5, int(control[pool.BRIEF]))))  # fmt: skip
        assert seen == [(True, 7)]


def test_threads_are_used_again():
    for _ in range(3):
        run(lambda *_: None, 5, threads=5)
    before = threading.active_count()
    for _ in range(20):
        run(lambda *_: None, 5, threads=5)
    assert threading.active_count() == before


def test_an_error_in_a_worker_is_raised_and_the_pool_goes_on():
    def kernel_of_python(worker, workers, control):
        if worker == 1:
            raise KeyError("worker one")

    for _ in range(3):
        with pytest.raises(KeyError, match="worker one"):
            run(kernel_of_python, 3, threads=3)
    with pytest.raises(ZeroDivisionError, match="third chunk"):
        run(fail, 4, 2, threads=4)
    test_every_chunk_is_done_once(100, 3)


def test_an_error_of_a_single_chunk_is_raised_too():
    with pytest.raises(ZeroDivisionError):
        run(fail, 1, 0)


def test_several_callers_run_at_once():
    results = [np.zeros(20_000, np.int64) for _ in range(8)]
    at_once = threading.Barrier(len(results))

    def caller(done):
        at_once.wait()
        for _ in range(5):
            run(count_chunks, len(done), done, np.zeros(8, np.int64), threads=3)

    callers = [threading.Thread(target=caller, args=(done,)) for done in results]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert all((done == 5).all() for done in results)


def test_callers_that_wait_for_each_other_do_not_block():
    both = threading.Barrier(2, timeout=20)
    other = threading.Thread(
        target=run, args=(lambda worker, *_: worker == 0 and both.wait(), 2), kwargs={"threads": 2}
    )
    other.start()
    run(lambda worker, *_: worker == 0 and both.wait(), 2, threads=2)
    other.join()


def test_the_task_moves_on_with_the_chunks(monkeypatch):
    monkeypatch.setattr(pool, "_GLANCE", 0.001)
    heard = []
    halfway = threading.Event()

    def slow(worker, workers, control):
        control[0] = 5
        assert halfway.wait(20)

    def hear(event):
        heard.append(event.done)
        if event.done == 60:
            halfway.set()

    with trace.listen(hear), trace.task("work", total=100) as task:
        task.advance(20)
        run(slow, 10, threads=1, task=task)
    assert heard[:3] == [0, 20, 60]


def test_a_listener_that_fails_stops_the_workers(monkeypatch):
    monkeypatch.setattr(pool, "_GLANCE", 0.001)
    stopped = []

    def obedient(worker, workers, control):
        while control[0] < 10:
            time.sleep(0.001)
        stopped.append(worker)

    def hear(event):
        if event.done:
            raise RuntimeError("no more")

    task = trace.Task("work", total=100, done=1)
    with trace.listen(hear), pytest.raises(RuntimeError, match="no more"):
        run(obedient, 10, threads=2, task=task)
    assert sorted(stopped) == [0, 1]


def test_a_wrong_number_of_threads_is_refused():
    for wrong in (0, -1, 5000, 2.5, "many", float("inf"), float("nan")):
        with pytest.raises(UsageError, match="threads is"):
            run(lambda *_: None, 3, threads=wrong)


FORK = """
import os, sys, threading
import numpy as np
from arcflux.graph import Graph
from arcflux.spmd import pool

source = np.arange(200_000)[::-1]
before = Graph.from_edges(source, source + 1, threads=3)
with pool._lock:
    child = os.fork()
    if not child:
        same = Graph.from_edges(source, source + 1, threads=3).equals(before)
        os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(Graph.from_edges(source, source + 1, threads=3).equals(before))
"""


def test_a_forked_child_has_threads_of_its_own():
    assert lines(FORK, PYTHONWARNINGS="ignore") == ["0", "True"]


LONG = """
import numpy as np
from test_spmd_pool import *

@kernel
def spin(worker, workers, control, sums):
    while True:
        chunk = claim(control)
        if chunk >= 1 << 40:
            break
        for i in range(100_000):
            sums[worker] += i ^ chunk

sums = np.zeros(8, np.int64)
spin.ready(0, 2, np.zeros(16, np.int64), sums)
threading.Thread(target=lambda: (time.sleep(0.3), print("running", flush=True))).start()
run(spin, 1 << 40, sums, threads={threads})
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_long_kernel(tmp_path, threads):
    (tmp_path / "long.py").write_text(LONG.format(threads=threads))
    process = python(f"import runpy; runpy.run_path({str(tmp_path / 'long.py')!r})", ARCFLUX_CACHE=tmp_path / "cache")
    try:
        assert process.stdout.readline() == "running\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
    finally:
        process.kill()
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT
