"""A run in pieces ends as a run in one piece does, wherever each piece ran; what is no checkpoint of it is refused."""

from __future__ import annotations

import json
import shutil
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arcflux as af
from arcflux import trace
from arcflux.engine import checkpoint
from arcflux.engine.loop import Loop
from arcflux.errors import CancelledError, ChecksumError, StoreError, UsageError
from arcflux.history import History
from arcflux.io import store
from arcflux.spmd.interrupt import raise_if_cancelled
from arcflux.spmd.pool import TORN


@af.program
class Spread:
    """Mass that spreads to neighbours, with random loss and a total that every vertex sees: dense."""

    mass: af.f64
    held: af.i32[2]
    last: int = 11
    all: af.total(af.f64)
    most: af.total(af.i64[2], "max")

    def start(v, g):
        v.mass = v.number % 7
        v.held[0] = v.number
        g.all += v.mass
        return True

    def init(v):
        v.mass = 0.0

    def compute(v, u):
        v.mass += u.mass / u.out_degree
        v.held[1] = max(v.held[1], u.held[0])

    def update(v, g, p, step):
        if g.all > 0:
            v.mass = v.mass * 0.5 + af.random(v, step)
        v.held[0] = (v.held[0] + v.held[1]) % 1000
        g.all += v.mass
        for k in range(2):
            g.most[k] = max(g.most[k], v.held[k])
        return step < p.last


GRAPHS = {"grid": "grid:12x12,weights=1-9", "kron": "kron:7,weights=1-9"}
WHERE: list[dict[str, Any]] = [
    {"threads": 1}, {"threads": 2, "direction": "pull"}, {"direction": "push"}, {"parts": 2},
    {"parts": 3, "ranks_per_node": 1}, {"parts": 3, "ranks_per_node": 2, "exchange": "owners"},
    {"parts": 2, "ranks_per_node": 1, "partition": "random"},
]  # fmt: skip
A = af.algorithms
PROGRAMS: dict[str, Any] = {
    "bfs": (A.BFS, {"source": 0}), "sssp": (A.SSSP, {"source": 0}), "spread": (Spread, {}),
    "components": (A.Components, {}),
}  # fmt: skip


def run(name: str, graph: af.Graph, **options: Any) -> af.Result:
    program, values = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return af.run(program, graph, **values, **options)


def assert_same(one: af.Result, other: af.Result) -> None:
    for name, values in one.values.items():
        if name != "parent":  # any of several
            np.testing.assert_allclose(other.values[name], values, rtol=1e-12, err_msg=name)
    assert one.converged == other.converged
    for name, value in one.totals.items():
        np.testing.assert_allclose(other.totals[name], value, rtol=1e-12)


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_that_run_anywhere_end_as_one_run_does(tmp_path: Path, name: str, kind: str) -> None:
    graph, draw = af.load(GRAPHS[kind]), np.random.default_rng(len(name))
    whole, folder = run(name, graph), tmp_path / "run"
    for cut in (1, 2, 3, 5, 8):
        where = WHERE[draw.integers(len(WHERE))]
        part = run(name, graph, checkpoint=folder, max_supersteps=cut, **where)
        assert part.converged or part.supersteps == cut or name == "sssp"
        assert folder.exists() == (not part.converged)
    last = run(name, graph, checkpoint=af.Checkpoint(folder, seconds=1e-9))  # a superstep or so in each piece
    assert_same(whole, last)
    assert not folder.exists()
    if name == "spread":
        assert last.supersteps == whole.supersteps
        assert [step.frontier for step in last.history] == [step.frontier for step in whole.history]
        for one, other in zip(whole.history, last.history, strict=True):
            np.testing.assert_allclose(other.totals["all"], one.totals["all"], rtol=1e-12)
            assert other.totals["most"].tolist() == one.totals["most"].tolist()


def test_a_run_out_of_time_goes_on_in_the_next_one(tmp_path: Path) -> None:
    graph, folder = af.load("path:4000"), tmp_path / "run"
    reached = [run("bfs", graph, checkpoint=folder, timeout=0).supersteps for _ in range(3)]
    assert reached == sorted(set(reached))
    assert (folder / "manifest.json").exists()
    last = run("bfs", graph, checkpoint=folder)
    assert last["level"].tolist() == list(range(4000))
    assert [step.number for step in last.history] == list(range(last.supersteps))


def test_a_cancelled_run_keeps_how_far_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, folder, token = af.load("path:3000"), tmp_path / "run", af.CancelToken()
    write = checkpoint.folder.write

    def cancelling(standing: Any, path: Path) -> None:
        write(standing, path)
        token.cancel()

    monkeypatch.setattr(checkpoint.folder, "write", cancelling)
    with pytest.raises(af.errors.CancelledError) as cancelled:
        run("bfs", graph, checkpoint=af.Checkpoint(folder, seconds=1e-9), cancel=token)
    monkeypatch.undo()
    assert 0 < cancelled.value.result.supersteps < 3000
    assert run("bfs", graph, checkpoint=folder)["level"].tolist() == list(range(3000))


def test_a_history_is_kept_without_a_look_at_each_superstep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, folder = af.load("kron:8,directed=true"), tmp_path / "run"
    ways = [step.direction for step in run("bfs", graph).history]
    monkeypatch.setattr(History, "_made", lambda self, place: pytest.fail("a record was made"))
    run("bfs", graph, checkpoint=folder, max_supersteps=2)
    last = run("bfs", graph, checkpoint=folder)
    monkeypatch.undo()
    assert [step.direction for step in last.history][:2] == ways[:2]


@af.program
class Halved:
    """A search with a loop in update, which a run that is over leaves: then its superstep is undone."""

    hops: af.i64
    halvings: af.i64

    def start(v):
        v.hops = 0 if v.number == 0 else 99
        return v.number == 0

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old):
        rest = v.hops
        while rest > 1:
            rest = rest // 2
        return v.hops < old.hops and rest <= 1


@pytest.mark.parametrize("torn", [1, 2, 3])
@pytest.mark.parametrize("way", [{"threads": 1, "direction": "push"}, {"threads": 2, "direction": "pull"}, {}], ids=str)
def test_a_superstep_that_is_undone_leaves_its_frontier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any], torn: int
) -> None:
    """Of the frontiers 1, 4, 4 and 1 a smaller one follows a larger one, of which none may be lost."""
    graph = af.Graph.from_edges([0, 0, 0, 0, 1, 2, 3, 4, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    once, advance, left = af.run(Halved, graph, **way), Loop.advance, [torn]

    def advancing(self: Loop, first: int, limit: int, glance: Any) -> Any:
        def look(control: Any) -> None:
            if left == [first]:
                control[TORN] = 1
                left.clear()
            glance(control)

        return advance(self, first, limit, look)

    monkeypatch.setattr(Loop, "advance", advancing)
    pieces = af.run(Halved, graph, checkpoint=af.Checkpoint(tmp_path / "halved", seconds=3600), timeout=7200, **way)
    assert left == []
    assert pieces["hops"].tolist() == once["hops"].tolist()
    assert [step.frontier for step in pieces.history] == [step.frontier for step in once.history]


def test_of_another_run_it_is_refused(tmp_path: Path) -> None:
    graph, folder = af.load("path:50"), tmp_path / "run"
    run("bfs", graph, checkpoint=folder, max_supersteps=9)
    for program, values, other in [
        (A.BFS, {"source": 1}, graph), (A.BFS, {"source": 0}, af.load("path:51")), (A.Components, {}, graph),
        (A.BFS, {"source": 0, "given": {"level": np.ones(50, np.int32)}}, graph),
    ]:  # fmt: skip
        with pytest.raises(StoreError, match="another run"):
            af.run(program, other, checkpoint=folder, **values)
    assert run("bfs", graph, checkpoint=folder).supersteps == 50


def test_what_is_damaged_or_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    graph, folder = af.load("path:50"), tmp_path / "run"
    run("bfs", graph, checkpoint=folder, max_supersteps=9)
    for damage in ("flip", "cut", "lie", "missing"):
        other = tmp_path / damage
        shutil.copytree(folder, other)
        file, manifest = other / "fields.level.npy", other / "manifest.json"
        data = bytearray(file.read_bytes())
        if damage == "flip":
            data[-3] ^= 64
            file.write_bytes(data)
        elif damage == "cut":
            file.write_bytes(data[:-8])
        elif damage == "lie":
            manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "step": 10**9}))
        else:
            (other / "senders.npy").unlink()
        with pytest.raises(StoreError) as refused:
            run("bfs", graph, checkpoint=other)
        assert damage not in ("flip", "lie") or isinstance(refused.value, ChecksumError)
        assert manifest.exists()
    mine = tmp_path / "photos"
    mine.mkdir()
    (mine / "a.jpg").write_bytes(b"1")
    with pytest.raises(StoreError):
        run("bfs", graph, checkpoint=mine, max_supersteps=3)
    assert (mine / "a.jpg").exists()


def ended_between_pieces(graph: af.Graph, folder: Path, token: af.CancelToken | None, **way: Any) -> af.Result:
    """The result on what ends a run whose pieces are a superstep or so."""
    with pytest.raises((KeyboardInterrupt, CancelledError)) as ended:
        run("spread", graph, last=10**9, checkpoint=af.Checkpoint(folder, seconds=1e-9), cancel=token, **way)
    return ended.value.result  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
@pytest.mark.parametrize("moment", ["written", "prepared"])
@pytest.mark.parametrize("by", ["Ctrl-C", "token"])
def test_what_ends_a_run_between_two_pieces_has_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any], moment: str, by: str
) -> None:
    """A run of one piece keeps its supersteps, whenever Ctrl-C comes; so does one of several, and its checkpoint."""
    graph, token = af.load(GRAPHS["kron"]), af.CancelToken() if by == "token" else None

    def end() -> None:
        if token is None:
            signal.raise_signal(signal.SIGINT)
        else:
            token.cancel()
            raise_if_cancelled()

    place, name = (checkpoint.folder, "write") if moment == "written" else (checkpoint, "_resumed")
    real = getattr(place, name)
    monkeypatch.setattr(place, name, lambda *given: (end(), real(*given))[1])
    result = ended_between_pieces(graph, tmp_path / "run", token, **way)
    assert result.supersteps > 0
    whole = run("spread", graph, last=10**9, max_supersteps=result.supersteps)
    assert_same(result, whole)
    assert len(list(result.history)) == result.supersteps
    assert result.totals["most"].tolist() == whole.totals["most"].tolist()
    monkeypatch.undo()
    more = result.supersteps + 3
    whole = run("spread", graph, last=10**9, max_supersteps=more)
    assert_same(run("spread", graph, last=10**9, checkpoint=tmp_path / "run", max_supersteps=more), whole)


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_what_others_put_into_the_folder_loses_no_result(tmp_path: Path, way: dict[str, Any]) -> None:
    graph, folder = af.load(GRAPHS["kron"]), tmp_path / "run"
    run("spread", graph, checkpoint=folder, max_supersteps=3)

    def disturb(event: Any) -> None:
        if isinstance(event, trace.Task) and event.done:
            (folder / "notes.txt").write_text("mine")

    with trace.listen(disturb):
        found = run("spread", graph, checkpoint=af.Checkpoint(folder, seconds=1e-9), **way)
    assert_same(found, run("spread", graph))
    assert (folder / "notes.txt").read_text() == "mine"


def test_what_takes_no_checkpoint_says_why(tmp_path: Path) -> None:
    graph = af.load("path:5")
    with pytest.raises(UsageError, match="debug"):
        run("bfs", graph, checkpoint=tmp_path / "run", debug=True)
    with pytest.raises(UsageError, match="iteration"):
        af.run(A.HITS, graph, checkpoint=tmp_path / "run")
    with pytest.raises(UsageError, match="path"):
        run("bfs", graph, checkpoint=3)
    for seconds in (0, -1, float("nan"), "often"):
        with pytest.raises(UsageError, match="seconds"):
            af.Checkpoint(tmp_path / "run", seconds=seconds)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_counts_that_are_no_numbers_are_refused(tmp_path: Path, odd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their checksums are right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        af.run(af.algorithms.BFS, "path:20", source=0, checkpoint=tmp_path / "c", max_supersteps=5)
    whole = checkpoint.folder.read

    def read(path: Path, like: Any) -> Any:
        found = whole(path, like)
        found.past["frontier"][2] = odd
        return found

    monkeypatch.setattr(checkpoint.folder, "read", read)
    with pytest.raises(StoreError, match=r"past\.frontier"):
        af.run(af.algorithms.BFS, "path:20", source=0, checkpoint=tmp_path / "c")


@af.program
class Flags:
    """Its fields are flags."""

    sparse = True
    seen: af.flag

    def start(v):
        v.seen = v.number == 0
        return v.number == 0

    def compute(v, u):
        v.seen |= u.seen

    def update(v, old):
        return v.seen and not old.seen


def rewritten(folder: Path, name: str | None = None, array: Any = None, **said: Any) -> None:
    """Change an array of a checkpoint, or what its manifest says, and set all checksums right."""
    manifest = json.loads((folder / "manifest.json").read_text())
    if name is not None:
        with trace.task("write") as task:
            manifest["arrays"][name] = store.write_array(folder, name, array, task)
    store.write_manifest(folder, {**manifest, **said})


def huge(folder: Path, name: str) -> None:
    """An array of a terabyte that takes no place on the disk."""
    length = 1 << 37
    with open(folder / f"{name}.npy", "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (length,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * length)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["arrays"][name] = {"dtype": "<f8", "length": length, "sha256": "0" * 64, "sum64": "0" * 64}
    store.write_manifest(folder, manifest)


LIES: dict[str, Any] = {
    "other bytes than 0 and 1": lambda folder: rewritten(folder, "fields.seen", np.full(20, 7, np.uint8).view(bool)),
    "senders of other bytes": lambda folder: rewritten(folder, "senders", np.full(20, 255, np.uint8).view(np.bool_)),
    "an array too many": lambda folder: rewritten(folder, "more", np.arange(3)),
    "an array of a terabyte": lambda folder: huge(folder, "more"),
    "a past of a terabyte": lambda folder: huge(folder, "past.frontier"),
    "seconds that are none": lambda folder: rewritten(folder, seconds=float("nan")),
    "seconds before the first": lambda folder: rewritten(folder, seconds=-5.0),
    "a step that is none": lambda folder: rewritten(folder, step=True),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_with_right_checksums_are_refused_before_they_are_read(tmp_path: Path, lie: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        af.run(Flags, "path:20", checkpoint=tmp_path / "c", max_supersteps=1)
    LIES[lie](tmp_path / "c")
    with pytest.raises(StoreError):
        af.run(Flags, "path:20", checkpoint=tmp_path / "c")
