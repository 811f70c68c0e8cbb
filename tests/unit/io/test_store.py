"""The store: there and back, every kind of damage found, nothing in it run, and nothing lost when writing fails."""

import errno
import hashlib
import json
import os
import pickle
import resource
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import graphs

import arcflux as af
from arcflux.errors import ArcfluxError, ChecksumError, SpaceError, StoreError
from arcflux.io import loaded, store


def sample(name="old", ids=("ada", "bob", "eve")):
    columns = {"weight": np.array([1, 2, 3], np.int8), "cost": np.array([0.5, 1.5, 2.5])}
    source, target = [ids[0], ids[1], ids[2]], [ids[1], ids[2], ids[0]]
    return af.Graph.from_edges(source, target, columns=columns, name=name)


@pytest.fixture
def folder(tmp_path):
    """A store with every array that there can be but ids.values."""
    store.write(sample(), tmp_path / "g.arcflux", reverse=True)
    return tmp_path / "g.arcflux"


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def change(folder, **fields):
    (folder / "manifest.json").write_text(json.dumps({**manifest_of(folder), **fields}))


def put(folder, name, array):
    """Exchange an array, and set the manifest right."""
    np.save(folder / f"{name}.npy", array)
    entry = {"dtype": array.dtype.str, "length": len(array)}
    entry["sha256"] = hashlib.sha256(hashlib.sha256(array.tobytes()).digest()).hexdigest()
    change(folder, arrays={**manifest_of(folder)["arrays"], name: entry})


@settings(deadline=None, max_examples=150)
@given(graphs(), st.sampled_from([None, True, False]), st.booleans())
def test_there_and_back(graph, reverse, reversed_before):
    if reversed_before:
        assert graph.into
    with tempfile.TemporaryDirectory() as place:
        store.write(graph, Path(place, "g"), reverse=reverse)
        store.verify(Path(place, "g"))
        back = af.load(Path(place, "g"))
        kept = graph.directed and (reverse or (reverse is None and reversed_before))
        assert (back._in is not None) == bool(kept)
        assert back.equals(graph)
        assert (back.edges, back.sorted, back.changes) == (graph.edges, graph.sorted, graph.changes)
        assert all(np.array_equal(a, b) for a, b in zip(back.into, graph.into, strict=True))
        again = Path(place, "again")
        back.save(again)
        assert af.load(again).equals(graph)


def test_everything_that_was_said_is_kept(tmp_path):
    (tmp_path / "g.txt").write_text("0 1 5\n1 0 7\n1 1 2\n0 1 3\n")
    graph = af.load(tmp_path / "g.txt", deduplicate="sum", drop_self_loops=True, symmetrise=True)
    graph.save(tmp_path / "g")
    back = af.load(tmp_path / "g")
    assert (back.name, back.assumptions, back.changes) == (graph.name, graph.assumptions, graph.changes)
    assert back.changes.symmetrised
    assert (back.edges, back.directed) == (1, False)
    with pytest.raises(ValueError, match="read-only"):
        back.out.neighbours[0] = 1


def test_every_flipped_byte_is_found(tmp_path):
    for ids in (("ada", "bob", "eve"), (-5, 2**40, 7)):
        folder = tmp_path / "g"
        store.write(sample(ids=ids), folder, reverse=True)
        files = sorted(folder.glob("*.npy"))
        assert len(files) == 8 + len(sample(ids=ids).ids.arrays)
        for file in files:
            right = file.read_bytes()
            for at in [*range(0, 128, 5), *range(128, len(right), 3), len(right) - 1]:
                wrong = bytearray(right)
                wrong[at] ^= 1 << at % 8
                file.write_bytes(wrong)
                with pytest.raises(StoreError) as caught:
                    store.verify(folder)
                if at >= 128 and file.name not in ("offsets.npy", "in_offsets.npy", "ids.offsets.npy"):
                    assert isinstance(caught.value, ChecksumError)
                    assert caught.value.path == str(file)
                elif at < 128:
                    assert caught.value.path == str(file)
                assert caught.value.exit_code == 3
            for cut in (0, 5, 100, 128, len(right) - 1):
                file.write_bytes(right[:cut])
                with pytest.raises(StoreError, match=file.name):
                    af.load(folder)
            file.write_bytes(right + b"\0")
            with pytest.raises(StoreError, match=file.name):
                af.load(folder)
            file.unlink()
            with pytest.raises(StoreError, match=f"{file.name} is missing"):
                af.load(folder)
            file.write_bytes(right)
        store.verify(folder)


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_is_unpickled(folder, tmp_path):
    trap = tmp_path / "sprung"
    bait = np.empty(3, object)
    bait[:] = [Trap(trap)] * 3
    np.save(folder / "neighbours.npy", bait, allow_pickle=True)
    for dtype in ("|O", "<u4"):
        arrays = manifest_of(folder)["arrays"]
        change(folder, arrays={**arrays, "neighbours": {**arrays["neighbours"], "dtype": dtype}})
        for act in (af.load, store.verify):
            with pytest.raises(StoreError, match="neighbours.npy"):
                act(folder)
    (folder / "neighbours.npy").write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(StoreError):
        af.load(folder)
    np.savez(folder / "x.npz", bait)
    shutil.move(folder / "x.npz", folder / "neighbours.npy")
    with pytest.raises(StoreError):
        af.load(folder)
    assert not trap.exists()


UINT32, UINT64, INT64 = np.uint32, np.uint64, np.int64


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("neighbours", np.zeros(2, UINT32)),
        ("neighbours", np.zeros(3, np.int32)),
        ("neighbours", np.zeros(3, ">u4")),
        ("neighbours", np.zeros((3, 1), UINT32)),
        ("offsets", np.zeros(0, UINT64)),
        ("offsets", np.array([0, 1, 2, 3], INT64)),
        ("offsets", np.array([0, 1, 2, 3.0])),
        ("offsets", np.array([1, 1, 2, 3], UINT64)),
        ("offsets", np.array([0, 1, 2, 4], UINT64)),
        ("offsets", np.array([0, 1, 3], UINT64)),
        ("in_offsets", np.array([0, 1, 2, 9], UINT64)),
        ("in_offsets", np.array([0, 3], UINT64)),
        ("in_neighbours", np.zeros(9, UINT32)),
        ("column.weight", np.zeros(2, np.int8)),
        ("column.weight", np.zeros(3, np.float16)),
        ("column.weight", np.zeros(3, "<M8[s]")),
        ("column.weight", np.array(["a", "b", "c"])),
        ("in_column.cost", np.zeros(1)),
        ("ids.offsets", np.array([0, 3, 6, 9], np.int32)),
        ("ids.offsets", np.array([0, 3, 6, 900], INT64)),
        ("ids.offsets", np.array([0, 3, 9], INT64)),
        ("ids.data", np.zeros(9, np.int8)),
        ("ids.values", np.zeros(3)),
        ("ids.values", np.zeros(2, INT64)),
    ],
)
def test_arrays_that_are_no_graph(folder, name, array):
    put(folder, name, array)
    with pytest.raises(StoreError) as caught:
        af.load(folder)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("offsets", np.array([0, 2, 1, 3], UINT64)),
        ("neighbours", np.array([1, 2, 3], UINT32)),
        ("in_neighbours", np.array([2, 0, 2**32 - 1], UINT32)),
        ("in_offsets", np.array([0, 2**63, 1, 3], UINT64)),
        ("ids.data", np.frombuffer(b"adabob\xff\xfe!", np.uint8)),
        ("ids.data", np.frombuffer(b"eveadabob", np.uint8)),
        ("ids.data", np.frombuffer(b"adaadabob", np.uint8)),
        ("ids.offsets", np.array([0, 8, 3, 9], INT64)),
        ("ids.offsets", np.array([0, -5, 3, 9], INT64)),
        ("ids.values", np.array([1, 1, 2], INT64)),
        ("ids.values", np.array([3, 2, 1], INT64)),
    ],
)
def test_verify_looks_into_the_arrays(folder, name, array):
    put(folder, name, array)
    with pytest.raises(StoreError) as caught:
        store.verify(folder)
    assert not isinstance(caught.value, ChecksumError)


MISTYPED = [{"directed": 1}, {"vertices": 2}, {"vertices": -1}, {"vertices": 3.0}, {"vertices": 10**30}, {"edges": 4},
            {"edges": "3"}, {"directed": False}, {"directed": False, "edges": 1}, {"columns": ["gone"]}, {"columns": [5]},
            {"columns": [["weight"]]}, {"columns": {}}, {"ids": []}, {"ids": {"base": "x"}}, {"ids": {"base": 2**63}},
            {"ids": {"base": -(2**70)}}, {"name": None}, {"changes": []}, {"changes": {"nonsense": 1}},
            {"changes": {"edges_given": "many"}}, {"assumptions": "x"}, {"sorted": "yes"}, {"arrays": []}, {"arrays": {}},
            {"version": "1"}, {"version": 0}, {"version": None}, {"format": "other"}]  # fmt: skip


@pytest.mark.parametrize("fields", MISTYPED, ids=str)
def test_a_manifest_that_lies(folder, fields):
    change(folder, **fields)
    with pytest.raises(StoreError) as caught:
        af.load(folder)
    assert str(folder) in str(caught.value)
    for key in fields:
        change(folder, **{key: None})
    with pytest.raises(StoreError):
        af.load(folder)


ENTRY = {"dtype": "<u4", "length": 3, "sha256": "0"}


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", ".", "", "a/b", "a\0b", "a\nb", "..\\x", ".hidden", "~"])
def test_the_manifest_names_nothing_outside(folder, name):
    np.save(folder.parent / "x.npy", np.zeros(3, UINT32))
    change(folder, arrays={**manifest_of(folder)["arrays"], name: ENTRY})
    with pytest.raises(StoreError, match="lacks or mistypes arrays"):
        af.load(folder)


@pytest.mark.parametrize(
    "entry", [{**ENTRY, "length": "3"}, {**ENTRY, "dtype": 4}, {**ENTRY, "length": -3}, [], None, {}]
)
def test_entries_that_are_none(folder, entry):
    change(folder, arrays={**manifest_of(folder)["arrays"], "neighbours": entry})
    with pytest.raises(StoreError):
        af.load(folder)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"5", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b" " * (1 << 24) + b"{}",
             b'{"format": "arcflux-store", "version": ' + b"9" * 10_000 + b"}"], ids=lambda text: repr(text[:10])
)  # fmt: skip
def test_manifests_that_are_none(folder, text):
    (folder / "manifest.json").write_bytes(text)
    with pytest.raises(StoreError) as caught:
        af.load(folder)
    assert caught.value.path.startswith(str(folder))


def test_newer_and_missing(folder, tmp_path):
    change(folder, version=2)
    with pytest.raises(StoreError, match="format version 2") as caught:
        af.load(folder)
    assert "upgrade" in caught.value.remedy
    (folder / "manifest.json").unlink()
    for place in (folder, tmp_path / "absent.arcflux", tmp_path):
        with pytest.raises(StoreError, match="store"):
            store.open_graph(place)


def test_opening_reads_no_arrays(tmp_path):
    arcs = 1 << 31
    store.write(af.Graph.from_edges([0], [0]), tmp_path / "g")
    put(tmp_path / "g", "offsets", np.array([0, arcs], UINT64))
    header = {"descr": "<u4", "fortran_order": False, "shape": (arcs,)}
    with open(tmp_path / "g" / "neighbours.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * arcs)  # 8 GiB that are nowhere on the disk
    entry = {"dtype": "<u4", "length": arcs, "sha256": ""}
    change(tmp_path / "g", edges=arcs, arrays={**manifest_of(tmp_path / "g")["arrays"], "neighbours": entry})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert af.load(tmp_path / "g").arcs == arcs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_many_open_at_once(folder):
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: af.load(folder).equals(sample()), range(64)))


def failing(times, error):
    """A stand-in for a function: works a few times, then raises."""

    def wrap(function):
        left = iter(range(times))

        def call(*args, **options):
            if next(left, None) is None:
                raise error
            return function(*args, **options)

        return call

    return wrap


@pytest.mark.parametrize(("module", "name", "times"), [
    (store, "_write_array", 0), (store, "_write_array", 3), (json, "dump", 0), (os, "fsync", 4), (os, "replace", 0), (os, "replace", 1),
])  # fmt: skip
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=str)
def test_the_old_store_stays_when_writing_fails(folder, tmp_path, monkeypatch, module, name, times, error):
    with monkeypatch.context() as broken:
        broken.setattr(module, name, failing(times, error)(getattr(module, name)))
        if (module, name, times) == (os, "replace", 1):  # the new one cannot come; putting the old one back works
            real = os.replace
            broken.setattr(
                os,
                "replace",
                lambda a, b: real(a, b) if "old" in f"{a}{b}".replace(str(tmp_path), "") else failing(0, error)(real)(),
            )
        with pytest.raises(SpaceError if isinstance(error, OSError) else KeyboardInterrupt) as caught:
            sample("new").save(folder)
    if isinstance(error, OSError):
        assert "No space left" in str(caught.value)
        assert "free some space" in caught.value.remedy
    assert af.load(folder).name == "old"
    store.verify(folder)
    assert [file.name for file in tmp_path.iterdir()] == ["g.arcflux"]


def test_a_limit_of_the_system_is_a_space_error(tmp_path):
    graph = af.Graph.from_edges(np.arange(60_000), np.arange(60_000)[::-1])
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name in ("g", "g.el", "g.csv.gz", "g.parquet"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard[1]))
        try:
            with pytest.raises(SpaceError, match="cannot be written"):
                graph.save(tmp_path / name)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, hard)
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file" / "g.arcflux", tmp_path / "file" / "deep" / "g.el", tmp_path / ("x" * 300)):
        with pytest.raises(SpaceError, match="nothing was changed"):
            sample().save(target)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_mine(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(SpaceError, match="Permission denied"):
        sample().save(tmp_path / "g")


def test_nothing_but_a_store_is_replaced(tmp_path, folder):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("years")
    (tmp_path / "README").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    for target in (tmp_path / "work", tmp_path / "README", folder, tmp_path):
        with pytest.raises(StoreError, match="would be lost"):
            sample("new").save(target)
    (folder / "notes.txt").unlink()
    (tmp_path / "empty").mkdir()
    for target in (folder, tmp_path / "empty"):
        sample("new").save(target)
        assert af.load(target).name == "new"
    assert (tmp_path / "work" / "thesis.tex").read_text() == "years"
    graph = af.load(folder)
    graph.save(folder)
    assert af.load(folder).equals(graph)
    assert {file.name for file in tmp_path.iterdir()} == {"work", "README", "g.arcflux", "empty"}
    assert issubclass(StoreError, ArcfluxError)
    assert loaded.existing(tmp_path / "README")
