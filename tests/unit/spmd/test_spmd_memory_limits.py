"""Memory that is not enough in the middle of work: a SpaceError, no thread left over, and the process goes on."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from memory_limits import WORK

import arcflux as af
from arcflux.errors import SpaceError, UsageError
from arcflux.io import store
from arcflux.partition import folder
from arcflux.spmd import memory, pool
from arcflux.spmd.memory import within_memory


def outcome(name, slack):
    """What comes of a piece of work with so many bytes more than are used, and whether all is well after it."""
    program = Path(__file__).with_name("memory_limits.py")
    done = subprocess.run(
        [sys.executable, program, name, str(slack)], capture_output=True, text=True, timeout=240, env={**os.environ}
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["generate", "many threads", "many parts"])
def test_with_hardly_any_memory_left_work_is_refused_and_the_process_goes_on(name):
    assert outcome(name, 1 << 20) == ["SpaceError", "alive"]


@pytest.mark.chaos
@pytest.mark.parametrize("name", WORK)
def test_with_any_amount_of_memory_work_is_done_or_refused(name):
    rng = random.Random(f"{name} {os.environ.get('ARCFLUX_TEST_SEED', '')}")
    for slack in [int(2 ** rng.uniform(12, 29)) for _ in range(8)]:
        first, *rest = outcome(name, slack)
        assert (first in ("ok", "SpaceError"), rest) == (True, ["alive"]), (slack, first)


def failing_start(monkeypatch, after):
    """Have the system refuse every thread after so many."""
    start, started = threading.Thread.start, []

    def refuse(self):
        if self.name.startswith("arcflux-"):
            if len(started) == after:
                raise RuntimeError("can't start new thread")
            started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return started


@pytest.mark.parametrize("way", [{"threads": 13}, {"parts": 4, "ranks_per_node": 1}], ids=str)
@pytest.mark.parametrize("after", [0, 2])
def test_threads_are_started_all_or_none(monkeypatch, way, after):
    graph = af.load("path:3000")
    expected = list(range(3000))
    with monkeypatch.context() as patched:
        patched.setattr(pool, "_idle", {})
        started = failing_start(patched, after)
        with pytest.raises(SpaceError, match="not enough memory for running a program"):
            af.bfs(graph, 0, **way)
        for thread in started:
            thread.join(20)
        assert len(started) == after
        assert not any(thread.is_alive() for thread in started)
    assert af.bfs(graph, 0, **way)["level"].tolist() == expected


def test_a_worker_that_cannot_enter_a_kernel_frees_the_reserve_and_tries_again():
    together, tries = threading.Barrier(3, timeout=20), []

    def kernel(worker, workers, control):
        tries.append(worker)
        if worker == 1 and tries.count(1) == 1:
            raise MemoryError
        together.wait()  # as in a kernel's own barrier

    kernel.ready = lambda *_: None
    pool.run(kernel, 3, threads=3)
    assert sorted(tries) == [0, 1, 1, 2]
    assert memory._reserve is None
    pool.run(lambda *_: None, 3, threads=3)
    assert memory._reserve is not None


def test_what_is_kept_for_later_goes_before_memory_is_refused(monkeypatch):
    taken, real = [], memory._Block

    def scarce(*args, **options):
        if memory._spare:
            taken.append(len(memory._spare))
            raise OSError(12, "Cannot allocate memory")
        return real(*args, **options)

    memory._keep_spare(real(-1, 1 << 20))
    monkeypatch.setattr(memory, "_Block", scarce)
    assert len(memory.empty(1 << 22, "u1")) == 1 << 22
    assert taken
    assert not memory._spare


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
        SystemError("<built-in> returned NULL without setting an exception"),
    ],
    ids=repr,
)
def test_every_way_to_say_it_becomes_one(error):
    with pytest.raises(SpaceError, match="not enough memory for counting") as caught, within_memory("counting"):
        raise error
    assert caught.value.__cause__ is error
    wrapped = KeyError("what came of it")
    wrapped.__context__ = error
    with pytest.raises(SpaceError), within_memory("counting"):
        raise wrapped


def test_other_errors_stay_as_they_are():
    for error in (UsageError("threads is 0"), KeyError("x"), OSError(28, "No space left on device")):
        with pytest.raises(type(error)) as caught, within_memory("counting"):
            raise error
        assert caught.value is error


WITHOUT_COMPILER = """
import arcflux as af
from arcflux import requirements

def load(package):
    raise OSError("could not find libllvmlite.so") from OSError("failed to map segment from shared object")

requirements.load = load
try:
    af.louvain("path:4")
except af.errors.SpaceError as error:
    print(str(error).splitlines()[0])
"""


def test_a_compiler_that_memory_does_not_hold():
    done = subprocess.run([sys.executable, "-c", WITHOUT_COMPILER], capture_output=True, text=True, timeout=100)
    assert done.stdout == "there is not enough memory for loading the compiler\n", done.stderr


def test_what_cannot_be_refused_later_is_refused_before(monkeypatch):
    with pytest.raises(SpaceError, match="not enough memory for a palace"):
        memory.require(1 << 60, "a palace")
    memory.require(1 << 20, "a hut")


DOORS = {
    "load": lambda place, graph: af.load(place / "g"),
    "load_parts": lambda place, graph: af.load_parts(place / "p"),
    "verify": lambda place, graph: store.verify(place / "g"),
    "verify parts": lambda place, graph: folder.verify(place / "p"),
}


@pytest.mark.parametrize("door", DOORS)
def test_files_that_memory_does_not_hold(tmp_path, monkeypatch, door):
    graph = af.load("kron:5")
    graph.save(tmp_path / "g")
    af.partition(graph, 2).save(tmp_path / "p")
    DOORS[door](tmp_path, graph)

    def refuse(*given, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(np, "memmap", refuse)
    with pytest.raises(SpaceError, match="not enough memory for"):
        DOORS[door](tmp_path, graph)


@pytest.mark.parametrize("name", ["edge_list", "to_arrow", "to_pandas"])
def test_other_forms_of_a_graph_that_memory_does_not_hold(monkeypatch, name):
    graph = af.load("rmat:5")
    getattr(graph, name)()

    def refuse(self):
        raise MemoryError

    monkeypatch.setattr(af.Graph, "edge_numbers", refuse)
    with pytest.raises(SpaceError, match="not enough memory for"):
        getattr(graph, name)()
