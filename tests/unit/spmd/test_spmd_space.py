"""How much memory there is to have: of the machine, of control groups of both versions, and by ulimit."""

import bz2
import gzip
import random
import resource
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pyarrow as pa
import pytest

import arcflux as af
from arcflux.errors import SpaceError
from arcflux.spmd import space
from arcflux.spmd.memory import empty

GIB = 1 << 30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system whose control groups are files of ours: a function that writes one."""
    real = space.Path
    monkeypatch.setattr(space, "_GROUPS", tmp_path / "groups")

    def path(*given):
        return tmp_path / "cgroup" if given == ("/proc/self/cgroup",) else real(*given)

    monkeypatch.setattr(space, "Path", path)

    def write(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


def group(write, folder, version, limit, usage, cache=0):
    names = ("memory.max", "memory.current", "inactive_file") if version == 2 else (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")  # fmt: skip
    write(f"groups/{folder}/{names[0]}", f"{limit}\n")
    write(f"groups/{folder}/{names[1]}", f"{usage}\n")
    write(f"groups/{folder}/memory.stat", f"anon 5\n{names[2]} {cache}\nrss 3\n")


@pytest.mark.parametrize("version", [1, 2])
def test_control_groups(system, version):
    system("cgroup", "0::/user/job\n" if version == 2 else "9:pids:/x\n4:cpu,memory:/user/job\n0::/\n")
    root = "" if version == 2 else "memory/"
    before = space.available()
    group(system, f"{root}user/job", version, "max" if version == 2 else 1 << 62, 0)
    assert space.available() > before // 2
    group(system, f"{root}user/job", version, 3 << 20, 1 << 20, cache=1 << 19)
    assert space.available() == (2 << 20) + (1 << 19)
    group(system, f"{root}user", version, 1 << 20, 0)  # the one above has less
    assert space.available() == 1 << 20
    group(system, f"{root}user", version, 1 << 20, 2 << 20)
    assert space.available() == 0


def test_a_group_that_is_the_root_of_a_container(system):
    system("cgroup", "0::/\n")
    group(system, "", 2, 5 << 20, 1 << 20)
    assert space.available() == 4 << 20


def test_files_that_say_nothing_are_no_limit(system):
    before = space.available()
    system("cgroup", "nonsense\n0::/a\n")
    system("groups/a/memory.max", "?")
    assert space.available() > before // 2


def run_limited(code, *args, limit=3 * GIB):
    """Run code in a process that may have so much address space; what it says."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)], capture_output=True, text=True, timeout=120,
        check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_limit_of_address_space_counts():
    said = run_limited("from arcflux.spmd.space import available; print(available())")
    assert 0 < int(said) < 3 * GIB


def test_more_vertices_than_memory(monkeypatch, tmp_path):
    for count in (10**12, 2**62):
        with pytest.raises(SpaceError, match=f"{count:,} vertices and 1 edges needs"):
            af.Graph.from_edges([0], [1], vertices=count)
        with pytest.raises(SpaceError):
            af.load([(0, 1)], vertices=count, directed=False)
        with pytest.raises(SpaceError):
            af.Graph.from_edges([0], [1], vertices=range(count))
        with pytest.raises(SpaceError, match="a list of"):
            af.Graph.from_edges([0], [1], vertices=range(0, count, 3))
    # A machine that has 8 GiB, of which a promise of 10^9 vertices would take 18 GB.
    monkeypatch.setattr(space, "available", lambda: 8 * GIB)
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n1000000000 1000000000 1\n1 1\n")
    (tmp_path / "g.gr").write_text("p sp 1000000000 1\na 1 2 3\n")
    (tmp_path / "g.graph").write_text("1000000000 0\n")
    (tmp_path / "g.el").write_text("# arcflux directed ids=0..999999999\n0 1\n")
    for name in ("g.mtx", "g.gr", "g.el"):
        with pytest.raises(SpaceError, match=r"1,000,000,000 vertices needs 18,000,000,000 bytes of memory \(16.8 GiB"):
            af.load(tmp_path / name)
    with pytest.raises(af.errors.ArcfluxError):
        af.load(tmp_path / "g.graph")


@pytest.mark.parametrize("suffix", ["gz", "bz2", "zst"])
def test_a_small_file_that_unpacks_to_more_than_there_is(tmp_path, monkeypatch, suffix):
    """Unpacking ends soon after what there is, not after what is in the file."""
    raw, path = random.Random(1).randbytes(1 << 10).hex().encode() * (1 << 11), tmp_path / f"g.el.{suffix}"
    if suffix == "zst":
        with pa.output_stream(str(path), compression="zstd") as file:
            for _ in range(24):
                file.write(raw)
    else:
        path.write_bytes((gzip if suffix == "gz" else bz2).compress(raw) * 24)
    assert path.stat().st_size < 4 << 20
    monkeypatch.setattr("arcflux.io.scan.available", lambda: 20 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SpaceError, match=r"MiB, of [0-9,]+ that are packed\), and there were 20\.0 MiB"):
        af.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80 << 10


def test_lines_and_tables_that_do_not_fit(tmp_path, monkeypatch):
    (tmp_path / "g.el").write_text("0 1\n" * 500_000)
    (tmp_path / "g.graph").write_text("300000 0\n" + "\n" * 300_000)
    af.load("path:400000").save(tmp_path / "g.parquet")
    af.load("path:400000").save(tmp_path / "g.feather")
    for name in ("g.el", "g.graph", "g.parquet", "g.feather"):
        assert af.load(tmp_path / name).vertices > 1
    monkeypatch.setattr(space, "available", lambda: 1 << 20)
    monkeypatch.setattr("arcflux.io.tables.available", lambda: 1 << 20)
    for name in ("g.el", "g.graph", "g.parquet", "g.feather"):
        with pytest.raises(SpaceError, match="MiB"):
            af.load(tmp_path / name)


@af.program
class Wide:
    """Fields of 32 KB a vertex."""

    x: af.f64[4096]

    def start(v):
        return True

    def compute(v, u):
        v.x += u.x

    def update(v):
        return False


@pytest.mark.parametrize("way", [{}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1}])
def test_fields_are_held_against_memory_before_they_are_made(monkeypatch, way):
    """The system would give the pages, and end the process when they are written."""
    monkeypatch.setattr(space, "available", lambda: GIB)
    with pytest.raises(
        SpaceError, match=r"(?s)Wide: 32,768 bytes for each of 100,000 vertices.*try: .*shorter vectors"
    ):
        af.run(Wide, af.load("path:100000"), **way)


def test_a_huge_array_is_held_against_memory(monkeypatch):
    monkeypatch.setattr(space, "available", lambda: GIB)
    assert len(empty(GIB // 2, "u1")) == GIB // 2
    with pytest.raises(SpaceError, match="an array of 1,073,741,825 values of uint8 needs"):
        empty(GIB + 1, "u1")


@pytest.fixture
def asked(monkeypatch):
    """A clock that stands, one core, and a machine with 1 GiB: how often it was asked, and how to move the clock."""
    now, times = [1000.0], []
    monkeypatch.setattr(space, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(space, "_CORES", 1)
    monkeypatch.setattr(space, "available", lambda: times.append(now[0]) or GIB)
    monkeypatch.setattr(space, "_answer", (0.0, 0))
    return now, times


def test_the_system_is_asked_once_a_moment(asked):
    now, times = asked
    assert all(space.surely_available(1 << 20) for _ in range(100))
    assert times == [1000.0]
    now[0] += 1.5
    assert space.surely_available(1 << 20)
    assert times == [1000.0, 1001.5]


def test_what_was_taken_since_is_not_there_any_more(asked):
    assert [space.surely_available(1 << 26) for _ in range(20)] == [True] * 16 + [False] * 4


def test_what_others_may_have_filled_since_is_not_there_any_more(asked):
    now, times = asked
    assert space.surely_available(1 << 20)
    now[0] += 0.12  # in an eighth of a second a core fills all of it
    assert space.surely_available(1 << 20)
    now[0] += 0.01
    assert not space.surely_available(1 << 20)
    assert times == [1000.0]


def test_much_is_never_sure(asked):
    assert not space.surely_available((1 << 26) + 1)
    assert asked[1] == []


def test_runs_one_after_the_other_ask_once(monkeypatch):
    graph, times = af.load("path:200000"), []
    monkeypatch.setattr(space, "_MOMENT", 1e9)
    monkeypatch.setattr(space, "_FILLED", 0)
    monkeypatch.setattr(space, "_answer", (-1e10, 0))
    monkeypatch.setattr(space, "available", lambda: times.append(1) or GIB)
    for _ in range(3):
        af.algorithms.bfs(graph, 0)
    assert len(times) == 1
