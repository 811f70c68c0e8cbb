"""What ends a run that does not end by itself: time, a token, Ctrl-C, and Ctrl-C again."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from stopping_programs import InAlong, InAround, InCompute, InOrder, InPhase, InReceive, InStart, InStop, InUpdate

import arcflux as af
from arcflux.compile.cpu.module import parts_source, source
from arcflux.compile.lower import lower
from arcflux.engine import front, parts
from arcflux.errors import ArcfluxError, CancelledError, UsageError
from arcflux.spmd.team import Team

pytestmark = pytest.mark.filterwarnings("ignore:.*before it converged")

WAYS = [
    {"threads": 1},
    {"threads": 2},
    {"threads": 2, "direction": "push"},
    {"threads": 2, "direction": "pull"},
    {"threads": 2, "deterministic": True},
    {"parts": 2},
    {"parts": 3, "ranks_per_node": 1},
    {"parts": 3, "ranks_per_node": 2, "exchange": "owners"},
    {"parts": 3, "ranks_per_node": 1, "exchange": "allreduce"},
    {"debug": True},
]
WHOLE = [(InUpdate, 2), (InStart, 0), (InCompute, 1)]
# Neighbourhoods, mail, edge state and phases have kernels of their own, which look for themselves.
OTHER_KERNELS = [(InAround, 1), (InReceive, 2), (InAlong, 2), (InPhase, 3)]


@pytest.fixture(scope="module")
def graph():
    return af.load("kron:6")


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("program", "supersteps"), WHOLE, ids=["update", "start", "compute"])
def test_an_endless_loop_ends_with_the_time_and_the_last_whole_superstep(graph, program, supersteps, way):
    af.run(program(n=2), graph, max_supersteps=3, **way)  # compiled
    found = af.run(program, graph, timeout=0.4, **way)
    assert not found.converged
    assert found.supersteps == supersteps
    whole = np.zeros(graph.vertices)
    if supersteps:
        whole = af.run(program(n=2), graph, max_supersteps=supersteps, debug=True)["x"]
    assert found["x"].tolist() == whole.tolist()


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 3, "ranks_per_node": 1}, {"debug": True}], ids=str)
@pytest.mark.parametrize(("program", "supersteps"), OTHER_KERNELS, ids=["around", "receive", "along", "phase"])
def test_an_endless_loop_ends_in_other_kernels(graph, program, supersteps, way):
    def check(found):
        assert not found.converged
        assert found.supersteps <= supersteps
        if found.supersteps:
            whole = af.run(program(n=2), graph, max_supersteps=found.supersteps, **way)
            assert found["x"].tolist() == whole["x"].tolist()

    af.run(program(n=2), graph, max_supersteps=supersteps + 1, **way)  # compiled

    def cancelled(after):
        error, seconds = cancelled_soon(lambda token: af.run(program, graph, cancel=token, **way), after)
        assert seconds < 20 + after
        return error.result  # None before it has begun

    for end in (lambda after: af.run(program, graph, timeout=after, **way), cancelled):
        for after in (0.5, 2, 8, 30):  # on busy cores the time may be over before the loop is reached
            found = end(after)
            if found is not None:
                check(found)
            if found is not None and found.supersteps == supersteps:
                break
        else:
            pytest.fail(f"superstep {supersteps}, whose loop has no end, was not reached")


@pytest.mark.parametrize(
    "way", [{"threads": 2}, {"parts": 2}, {"parts": 3, "ranks_per_node": 1}, {"debug": True}], ids=str
)
def test_a_stop_that_does_not_end_is_broken_off(graph, way):
    """The superstep before it is whole, and counts or does not; the run has not converged."""
    af.run(InStop(n=2), graph, max_supersteps=3, **way)

    def timed(after):
        return af.run(InStop, graph, timeout=after, **way)

    def cancelled(after):
        return cancelled_soon(lambda token: af.run(InStop, graph, cancel=token, **way), after)[0].result

    for end in (timed, cancelled):
        ended = (end(after) for after in (0.5, 2, 8))  # None where busy cores had not begun
        found = next(found for found in ended if found is not None and found.supersteps)
        assert not found.converged
        assert found.supersteps in (1, 2)
        whole = af.run(InStop(n=2), graph, max_supersteps=found.supersteps, **way)
        assert found["x"].tolist() == whole["x"].tolist()


@pytest.mark.parametrize("way", [{"threads": 1}, {"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_programs_with_a_priority_end_too(graph, way):
    line = af.load("path:9")
    af.run(InOrder(n=2), line, **way)
    found = af.run(InOrder, line, timeout=0.4, **way)
    assert not found.converged
    assert set(found["x"].tolist()) <= {0, 1, 2, 10**9}


def test_a_start_that_is_broken_off_leaves_what_was_given(graph):
    given = np.arange(graph.vertices)
    for way in ({"threads": 2}, {"parts": 2, "ranks_per_node": 1}, {"debug": True}):
        assert af.run(InStart, graph, timeout=0.2, given={"x": given}, **way)["x"].tolist() == given.tolist()


def test_short_loops_cost_nothing():
    @af.program
    class Short:
        size: int = 8
        x: af.f64["size"]

        def start(v, p):
            for k in range(p.size):
                v.x[k] = k
            return True

        def compute(v, u):
            v.x += u.x

        def update(v, old):
            total = 0
            for i in range(60):
                for k in range(1, 60):
                    total += i * k
            return v.x[0] + total < 0

    for text in (source, parts_source):
        assert "control)" not in text(lower(Short, {})).replace("fetch_add(control)", "")
        assert "halted(control)" in text(lower(InUpdate, {}))


# --- tokens


def cancelled_soon(call, seconds=0.3):
    """What a call raises whose token is cancelled while it runs, and how many seconds after that."""
    token = af.CancelToken()
    at = []
    timer = threading.Timer(seconds, lambda: (at.append(time.perf_counter()), token.cancel()))
    timer.start()
    try:
        with pytest.raises(CancelledError) as caught:
            call(token)
        return caught.value, time.perf_counter() - at[0]
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_token_ends_a_run_with_the_last_whole_superstep(graph, way):
    af.run(InUpdate(n=2), graph, max_supersteps=3, **way)
    error, seconds = cancelled_soon(lambda token: af.run(InUpdate, graph, cancel=token, **way))
    assert seconds < 20
    assert error.result.supersteps == 2
    assert not error.result.converged
    assert "cancelled after 2 supersteps" in str(error)
    assert isinstance(error, ArcfluxError)


def test_a_token_ends_a_run_in_another_thread(graph):
    token, outcome = af.CancelToken(), []

    def work():
        try:
            af.run(InUpdate, graph, cancel=token, threads=2)
        except CancelledError as error:
            outcome.append(error.result.supersteps)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    token.cancel()
    thread.join(60)
    assert outcome == [2]


NATIVE = [
    af.connected_components, af.algorithms.weakly_connected_components, af.algorithms.label_propagation,
    af.algorithms.triangles, af.algorithms.clustering, af.algorithms.two_hop_friends,
    af.algorithms.betweenness_centrality, af.louvain, af.leiden,
]  # fmt: skip


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda one: one.__name__)
def test_native_algorithms_take_a_timeout(graph, algorithm):
    with pytest.raises(CancelledError, match=f"{algorithm.__name__} was not over after 0 s") as caught:
        algorithm(graph, timeout=0)
    assert caught.value.result is None
    assert type(algorithm(graph, timeout=600)) is type(algorithm(graph))
    with pytest.raises(UsageError, match="timeout is 'soon'"):
        algorithm(graph, timeout="soon")


def test_time_is_over_in_the_middle_of_a_native_algorithm():
    graph = af.load("kron:16")  # for every vertex, it would take minutes
    af.algorithms.betweenness_centrality(graph, k=2)
    begun = time.perf_counter()
    with pytest.raises(CancelledError, match=r"not over after 0\.5 s"):
        af.algorithms.betweenness_centrality(graph, timeout=0.5)
    assert time.perf_counter() - begun < 60


def test_a_token_ends_what_has_a_timeout_too(graph):
    token = af.CancelToken()
    token.cancel()
    with pytest.raises(CancelledError, match="was cancelled"):
        af.algorithms.triangles(graph, cancel=token, timeout=600)


def test_a_run_that_was_done_before_does_not_mind(graph):
    token = af.CancelToken()
    found = af.bfs(graph, graph.ids.to_ids([0])[0], cancel=token)
    token.cancel()
    assert found.converged
    with pytest.raises(CancelledError):
        af.bfs(graph, graph.ids.to_ids([0])[0], cancel=token)
    assert repr(token) == "<CancelToken, cancelled>"


def test_only_a_token_is_a_token(graph):
    for wrong in (True, threading.Event(), "now"):
        with pytest.raises(UsageError, match="expected: an af"):
            af.run(InUpdate, graph, cancel=wrong)


NATIVE = {
    "betweenness_centrality": {}, "clustering": {}, "connected_components": {}, "label_propagation": {},
    "triangles": {}, "triangle_count": {}, "two_hop_friends": {}, "weakly_connected_components": {}, "louvain": {},
    "leiden": {},
}  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_every_algorithm_takes_a_token(graph, name):
    token = af.CancelToken()
    getattr(af, name)(graph, cancel=token)
    token.cancel()
    for way in ({}, {"parts": 2}):
        with pytest.raises(CancelledError):
            getattr(af, name)(graph, cancel=token, **way)
    getattr(af, name)(graph)


def test_a_long_native_algorithm_ends_between_two_chunks():
    large = af.load("kron:15")
    af.betweenness_centrality(af.load("kron:5"))
    _, seconds = cancelled_soon(lambda token: af.betweenness_centrality(large, cancel=token))
    assert seconds < 30


# --- Ctrl-C

SCRIPT = """
import sys, threading, time
sys.path.insert(0, {folder!r})
import numpy as np
import arcflux as af
import stopping_programs
from arcflux.spmd.jit import kernel
from arcflux.spmd.pool import abandoned, run

@kernel
def spin(worker, workers, control, sums):
    for i in range(1 << 60):
        sums[worker] = sums[worker] * 3 + i

graph = af.load("kron:6")
def endless():
    sums = np.zeros(8, np.int64)
    spin.ready(0, 2, np.zeros(16, np.int64), sums)
    print("running", flush=True)
    run(spin, 2, sums, threads=2)
def program(**way):
    af.run(stopping_programs.InUpdate(n=2), graph, max_supersteps=3, **way)
    print("running", flush=True)
    return af.run(stopping_programs.InUpdate, graph, **way)
{body}
"""


def pressed(tmp_path, body, presses):
    """The lines of a script that prints `running` and is interrupted so often, and its exit code."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(folder=str(Path(__file__).parent), body=body))
    process = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        line = process.stdout.readline()
        if line != "running\n":
            process.kill()
        assert line == "running\n", process.stderr.read()
        time.sleep(0.5)
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        said, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return said.splitlines(), complaints, process.returncode


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_ctrl_c_ends_a_program_in_its_loop(tmp_path, way):
    body = f"""
try:
    result = program(**{way!r})
except KeyboardInterrupt as error:
    result = getattr(error, "result", None)
print("ended", 2 if result is None else result.supersteps, abandoned())
"""
    said, complaints, code = pressed(tmp_path, body, 1)
    assert said == ["ended 2 False"], complaints
    assert code == 0


def test_a_second_ctrl_c_ends_a_kernel_that_never_looks_and_others_run_after_it(tmp_path):
    body = """
try:
    endless()
except KeyboardInterrupt:
    print("ended", abandoned())
print(af.bfs(af.load("path:5"), 0, threads=2)["level"].tolist())
"""
    said, complaints, code = pressed(tmp_path, body, 2)
    assert said == ["ended True", "[0, 1, 2, 3, 4]"], complaints
    assert "Segmentation" not in complaints
    assert code == 0


def test_a_script_that_was_interrupted_twice_is_gone(tmp_path):
    _, complaints, code = pressed(tmp_path, "endless()", 2)
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert code == -signal.SIGINT


@pytest.mark.parametrize("way", [{}, {"debug": True}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_a_second_ctrl_c_ends_an_iteration_that_calls_no_phase(tmp_path, way):
    """Nothing looks into plain Python; in parts that are nodes, it is a thread that nobody can interrupt."""
    body = f"""
@af.program
class P:
    x: af.i64

    @af.phase(edges=None)
    class one:
        def update(v):
            return True

    def iteration(run):
        run.one()
        print("running\\n", end="", flush=True)  # one write: another rank prints, too
        while True:
            time.sleep(0.001)
        return True

try:
    af.run(P, graph, **{way!r})
except KeyboardInterrupt as error:
    print("ended", error.result)
"""
    said, complaints, code = pressed(tmp_path, body, 2)
    assert "ended None" in said, complaints
    assert code in (0, -signal.SIGINT)  # where the first press is enough, the second meets a script that is over


LOOP = """
import arcflux as af
@af.program
class Endless:
    x: af.i64
    def start(v):
        v.x = v.number
        return True
    def compute(v, u):
        v.x = min(v.x, u.x)
    def update(v, old):
        for k in range(10**18):
            v.x = (v.x + k) % 1000
        return v.x < old.x
"""


@pytest.mark.parametrize("more", [[], ["--parts", "2"]], ids=str)
def test_the_command_line_ends_an_endless_loop(tmp_path, more):
    (tmp_path / "program.py").write_text(LOOP)
    command = [sys.executable, "-m", "arcflux", "run", str(tmp_path / "program.py:Endless"), "kron:6", *more]
    timed = subprocess.run([*command, "--timeout", "1"], capture_output=True, text=True, timeout=100)
    assert timed.returncode == 0, timed.stderr
    assert "before it converged" in timed.stderr
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, complaints
    assert "Traceback" not in complaints


@pytest.mark.parametrize("where", ["gathered", "noted in the journal"])
@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_ctrl_c_when_supersteps_are_over_has_their_result(graph, monkeypatch, way, where):
    """There is something to do between the last superstep and the end of the call, such as waiting for a lock."""
    whole = af.run(InUpdate(n=2), graph, max_supersteps=5, **way)

    def pressed(place, name):
        real = getattr(place, name)

        def press(*given, **options):
            monkeypatch.setattr(place, name, real)
            signal.raise_signal(signal.SIGINT)
            return real(*given, **options)

        monkeypatch.setattr(place, name, press)

    if where == "gathered":
        pressed(*((parts, "collect_fields") if "ranks_per_node" in way else (Team, "result")))
    else:
        pressed(front, "kept")
    with pytest.raises(KeyboardInterrupt) as ended:
        af.run(InUpdate(n=2), graph, max_supersteps=5, **way)
    assert ended.value.result.supersteps == 5
    assert ended.value.result["x"].tolist() == whole["x"].tolist()
