"""What a run promises besides the right values: limits, interruption, warnings, several callers, a fork."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import arcflux as af
from arcflux import config, trace
from arcflux.algorithms import PageRank, bfs, connected_components, pagerank
from arcflux.errors import IdError, UsageError


def test_results_are_in_the_users_ids() -> None:
    graph = af.Graph.from_edges(["c", "b"], ["b", "a"])
    result = bfs(graph, "c")
    assert result.to_dict("level") == {"a": 2, "b": 1, "c": 0}
    assert result.to_dict("parent") == {"a": "b", "b": "c", "c": "c"}
    assert bfs(graph, "b").to_dict("parent") == {"a": "b", "b": "b", "c": None}
    numbered = af.Graph.from_edges([70, 50], [50, 30])
    assert bfs(numbered, 50).to_dict("parent") == {30: 50, 50: 50, 70: -1}
    assert sorted(bfs(numbered, 50).numbers("parent").tolist()) == [-1, *[numbered.ids.to_numbers([50])[0]] * 2]
    with pytest.raises(IdError, match="'z' is not in the graph"):
        bfs(graph, "z")


def test_too_few_supersteps_warn_and_keep_the_work() -> None:
    graph = af.load("path:100")
    with pytest.warns(UserWarning, match="stopped after 7 supersteps"):
        result = bfs(graph, 0, max_supersteps=7)
    assert not result.converged
    assert result.supersteps == 7
    assert result["level"].tolist() == [*range(8), *[-1] * 92]


@pytest.mark.parametrize("spec", ["path:1", "star:2"])
def test_tiny_graphs(spec: str) -> None:
    graph = af.load(spec)
    assert bfs(graph, 0)["level"][0] == 0
    assert connected_components(graph)["component"].max() == 0
    assert pagerank(graph)["rank"].sum() <= 1.0 + 1e-9


def test_no_vertices_and_no_edges() -> None:
    empty = af.Graph.from_edges([], [], directed=False)
    assert pagerank(empty).converged
    assert connected_components(empty)["component"].size == 0
    alone = af.Graph.from_edges([], [], vertices=3, directed=False)
    assert connected_components(alone)["component"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(pagerank(alone, dangling="drop")["rank"], 0.05)
    np.testing.assert_allclose(pagerank(alone)["rank"], 1 / 3)


def test_wrong_choices_are_named() -> None:
    graph = af.load("path:3")
    with pytest.raises(UsageError, match="direction is 'sideways'"):
        bfs(graph, 0, direction="sideways")
    with pytest.raises(UsageError, match="BFS needs source="):
        af.run(af.algorithms.BFS, graph)
    with pytest.raises(af.errors.ProgramError, match="no edge column 'weight'"):
        af.run(af.algorithms.SSSP, graph, source=0)


@af.program
class Total:
    """The weights of a vertex's in-edges, in too small a field."""

    total: af.f32
    count: af.i8

    def start(v):
        return True

    def compute(v, edge):
        v.total += edge.weight
        v.count += 100

    def update(v):
        return False


def test_debug_reports_nan_and_overflow_with_the_vertex() -> None:
    nan = af.Graph.from_edges([5], [7], columns={"weight": [float("nan")]})
    with pytest.raises(af.errors.ProgramError, match="total becomes NaN at vertex 7, superstep 0"):
        af.run(Total, nan, debug=True)
    twice = af.Graph.from_edges([5, 5], [7, 7], columns={"weight": [1, 2]})
    with pytest.raises(af.errors.ProgramError, match="count becomes 200 at vertex 7, superstep 0, outside int8"):
        af.run(Total, twice, debug=True)


def test_several_threads_may_run_at_once() -> None:
    graph = af.load("kron:10")
    wanted = pagerank(graph)["rank"]
    found: list[np.ndarray] = []
    callers = [threading.Thread(target=lambda: found.append(pagerank(graph)["rank"])) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 4
    assert all(np.array_equal(rank, wanted) for rank in found)


def test_history_says_what_happened() -> None:
    result = bfs(af.load("kron:11"), 0)
    assert [step.number for step in result.history] == list(range(result.supersteps))
    assert result.history[0].frontier == 1
    assert sum(step.frontier for step in result.history) == int((result["level"] >= 0).sum())
    assert all(step.seconds > 0 for step in result.history)
    assert sum(step.seconds for step in result.history) <= result.seconds * 1.01


@af.program
class Least:
    """The smallest number below `senders` that reaches a vertex; those vertices send at first."""

    senders: int = 0
    least: af.i64

    def start(v, p):
        v.least = v.number if v.number < p.senders else 1000
        return v.number < p.senders

    def compute(v, u):
        v.least = min(v.least, u.least)

    def update(v, old):
        return v.least < old.least


@pytest.mark.parametrize("senders", [0, 1, 6, 7])
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_the_first_frontier_is_who_start_says(senders: int, direction: str) -> None:
    graph = af.Graph.from_edges([0, 0, 1, 5, 6, 6], [1, 2, 0, 6, 3, 4], vertices=7)
    result = af.run(Least, graph, senders=senders, direction=direction)
    assert result["least"].tolist() == af.run(Least, graph, senders=senders, debug=True)["least"].tolist()
    if not senders:
        assert result.supersteps == 0
    else:
        assert result.history[0].frontier == senders
        assert result.history[0].edges == graph.out_degrees[:senders].sum()


# What is compiled for these is kept for others: only what they do, or how they end, matters.
WARM = {"ARCFLUX_CACHE": str(config.cache_folder())}


def python(code: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ARCFLUX_CACHE": str(folder / "cache"), "ARCFLUX_QUIET": "1", **more}
    return subprocess.run(
        [sys.executable, "-c", dedent(code)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=300,
    )


PROGRAM = """
import arcflux as af
RATE = {rate}

@af.program
class P:
    power: float = {power}
    x: af.{kind}
    def start(v):
        v.x = v.number
        return True
    def init(v):
        v.x = 0
    def compute(v, u):
        v.x += u.x
    def update(v, p):
        v.x = v.x * RATE + {more}
        return False
"""
RUN = """
from arcflux import trace
import program, arcflux as af
notes = []
with trace.listen(lambda event: notes.append(event.text) if isinstance(event, trace.Note) else None):
    print(af.run(program.P, af.load("path:3"))["x"].tolist())
print(sum("compiling dense" in note for note in notes))
"""


def test_a_program_compiles_once_and_again_when_anything_changes(tmp_path: Path) -> None:
    def run(**changes: object) -> list[str]:
        values = {"rate": 2.0, "power": 1.0, "kind": "f64", "more": 1, **changes}
        (tmp_path / "program.py").write_text(PROGRAM.format(**values))
        done = python(RUN, tmp_path, PYTHONDONTWRITEBYTECODE="1")
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:2]

    assert run() == ["[3.0, 5.0, 3.0]", "1"]
    assert run() == ["[3.0, 5.0, 3.0]", "0"]
    assert run(rate=3.0) == ["[4.0, 7.0, 4.0]", "1"]
    assert run(more=2) == ["[4.0, 6.0, 4.0]", "1"]
    assert run(kind="f32") == ["[3.0, 5.0, 3.0]", "1"]
    assert run(power=5.0) == ["[3.0, 5.0, 3.0]", "0"]
    assert (tmp_path / "cache").stat().st_mode & 0o77 == 0


def test_after_a_fork_the_child_runs_too(tmp_path: Path) -> None:
    done = python(
        """
        import os, arcflux as af
        graph = af.load("kron:8")
        before = af.algorithms.pagerank(graph)["rank"].tolist()
        child = os.fork()
        same = af.algorithms.pagerank(graph)["rank"].tolist() == before
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), same)
        else:
            os._exit(0 if same else 1)
        """,
        tmp_path,
        **WARM,
    )
    assert done.stdout.split() == ["0", "True"], done.stderr


PRESSED = """
import os, signal, threading, warnings, arcflux as af
from arcflux import trace
warnings.simplefilter("error")
timers = []

def press(event):
    if not timers and isinstance(event, trace.Task) and event.name == NAME:  # the supersteps begin
        timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
        timers[0].start()

"""


@pytest.mark.parametrize(
    ("call", "options"),
    [
        ("bfs(graph, 0", "threads=1"),
        ("bfs(graph, 0", "parts=4, partition='grid'"),
        ("run(af.algorithms.BFS, graph, source=0", "threads=2"),
        ("run(af.algorithms.BFS, graph, source=0", "parts=2, ranks_per_node=1"),
    ],
)
def test_ctrl_c_raises_with_the_last_whole_superstep(tmp_path: Path, call: str, options: str) -> None:
    size = 2_000_000 if "threads" in options or options == "parts=2" else 200_000
    done = python(
        PRESSED
        + f"""
NAME = "bfs" if "bfs(" in {call!r} and "grid" in {options!r} else "BFS"
graph = af.load("path:{size}")
with trace.listen(press):
    try:
        af.{call}, {options})
    except KeyboardInterrupt as error:
        result = error.result
        assert ("bfs(" in {call!r}) == (result.validator is not None)  # the algorithm's own, not only its run's
reached = int((result["level"] >= 0).sum())
print(result.converged, reached == result.supersteps + 1, 1 < reached < {size})
af.bfs("path:9", 0, {options})  # and the next call is not interrupted
""",
        tmp_path,
        **WARM,
    )
    assert done.stdout.split() == ["False", "True", "True"], done.stderr


def test_ctrl_c_ends_a_script(tmp_path: Path) -> None:
    done = python(
        PRESSED
        + """
NAME = "BFS"
with trace.listen(press):
    for _ in range(100):
        try:
            af.bfs("path:2000000", 0)
        except Exception:
            print("swallowed")
print("went on")
""",
        tmp_path,
        **WARM,
    )
    assert (done.stdout, done.returncode) == ("", -signal.SIGINT)
    assert "KeyboardInterrupt: BFS stopped after" in done.stderr


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("af.betweenness_centrality('kron:13')", "None"),
        ("af.run(af.algorithms.BFS, 'path:3000', source=0, debug=True)", "Result BFS:"),
    ],
)
def test_ctrl_c_without_whole_supersteps_has_no_result(tmp_path: Path, call: str, shown: str) -> None:
    """A native algorithm has none; debug=True has that of the last whole superstep."""
    done = python(
        f"""
import os, signal, threading, arcflux as af
af.betweenness_centrality("path:9")
af.run(af.algorithms.BFS, "path:9", source=0, debug=True)
ended = threading.Event()
def press():  # again and again: Python drops what it cannot raise, such as in a callback of the compiler
    while not ended.wait(0.5):
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    while True:
        {call}
except KeyboardInterrupt as error:
    ended.set()
    print(getattr(error, "result", "nothing there"))
""",
        tmp_path,
        **WARM,
    )
    assert done.stdout.startswith(shown), done.stderr


def test_timeout_stops_at_a_superstep_s_end() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = bfs(af.load("path:300000"), 0, timeout=0.01)
    assert not result.converged
    assert int((result["level"] >= 0).sum()) == result.supersteps + 1


def test_parameters_of_a_program_and_of_a_run_are_the_same() -> None:
    graph = af.load("kron:8")
    assert np.array_equal(af.run(PageRank(damping=0.5), graph)["rank"], af.run(PageRank, graph, damping=0.5)["rank"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not trace.has_listeners()


@af.program
class Kept:
    """Shows what was given: a number, a whole number, and a vector; adds the neighbours' numbers."""

    x: af.f64
    count: af.i16
    vector: af.f32[2]
    total: af.f64

    def start(v):
        v.vector[1] = v.vector[1] + 1.0
        return True

    def init(v):
        v.total = 0.0

    def compute(v, u):
        v.total += u.x

    def update(v):
        return False


@pytest.mark.parametrize("debug", [False, True])
def test_fields_may_be_given(debug: bool) -> None:
    graph = af.Graph.from_edges(["c", "b"], ["b", "a"], directed=False)
    x = np.array([1.0, 2.0, 4.0])
    vector = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = af.run(Kept, graph, given={"x": x, "count": {"c": 7}, "vector": vector}, debug=debug)
    assert found["x"].tolist() == [1.0, 2.0, 4.0]
    assert found["total"].tolist() == [2.0, 5.0, 2.0]
    assert found.to_dict("count") == {"a": 0, "b": 0, "c": 7}
    assert found["count"].dtype == np.int16
    assert found["vector"].tolist() == [[1.0, 3.0], [3.0, 5.0], [5.0, 7.0]]
    assert found["vector"].dtype == np.float32
    found.values["x"][0] = 9.0
    assert x[0] == 1.0
    mapped = af.run(Kept, graph, given={"vector": {"b": [8.0, 9.0]}}, debug=debug)
    assert mapped["vector"].tolist() == [[0.0, 1.0], [8.0, 10.0], [0.0, 1.0]]
    assert af.run(Kept, graph, given={}, debug=debug)["x"].tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": [1.0, 2.0, 3.0]}, r"'y' is given and no field[\s\S]*x, count, vector, total"),
        ({"x": [1.0, 2.0]}, r"x is given as float64 of shape \(2,\)[\s\S]*float64 of shape \(3,\)"),
        ({"x": 1.0}, r"x is given as float64 of shape \(\)"),
        ({"x": [[1.0]] * 3}, r"x is given as float64 of shape \(3, 1\)"),
        ({"vector": [1.0, 2.0, 3.0]}, r"vector is given as float64 of shape \(3,\)[\s\S]*\(3, 2\)"),
        ({"count": [1.5, 2.0, 3.0]}, r"count is given as float64 of shape[\s\S]*int16"),
        ({"x": ["a", "b", "c"]}, "x is given as <U1"),
        ({"vector": [[1.0, 2.0], [1.0], []]}, r"vector is given as values that are no array[\s\S]*\(3, 2\)"),
        ({"count": {0: 1.7}}, "count is given as float64 of shape"),
        ({"count": {0: 70_000}}, "count is given as 70000, which is outside int16"),
        ({"count": [0, -40_000, 0]}, "count is given as -40000, which is outside int16"),
    ],
)
def test_what_cannot_be_given_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        af.run(Kept, af.load("path:3"), given=given)


def test_ids_that_are_given_have_to_be_there() -> None:
    with pytest.raises(IdError, match="9 is not in the graph"):
        af.run(Kept, af.load("path:3"), given={"x": {9: 1.0}})


def test_a_program_may_be_retyped() -> None:
    graph = af.load("kron:9")
    narrow = PageRank.retyped(rank=af.f32)
    found = af.run(narrow, graph, tolerance=1e-5)
    full = af.run(PageRank, graph, tolerance=1e-5)
    assert found["rank"].dtype == np.float32
    assert full["rank"].dtype == np.float64
    np.testing.assert_allclose(found["rank"], full["rank"], rtol=1e-4)
    assert PageRank.fields["rank"] == af.f64
    vectors = Kept.retyped(vector=af.f64[3])
    assert af.run(vectors, graph)["vector"].shape == (graph.vertices, 3)
    with pytest.raises(UsageError, match=r"PageRank has no field 'ranks'[\s\S]*one of: rank"):
        PageRank.retyped(ranks=af.f32)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_supersteps": -1}, "max_supersteps is -1"),
        ({"max_supersteps": 2.5}, "max_supersteps is 2.5"),
        ({"timeout": -1.0}, "timeout is -1.0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": "soon"}, "timeout is 'soon'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        bfs(af.load("path:3"), 0, **options)


def test_a_history_holds_no_arrays_of_the_run() -> None:
    for result in (bfs(af.load("path:9"), 0), pagerank(af.load("path:9")), af.sssp(af.load("path:9"), 0, weight=None)):
        loop = result.history._make.__self__ if hasattr(result.history, "_make") else None
        assert loop is None or not (loop.rest or loop.choice or loop.team._lent)
