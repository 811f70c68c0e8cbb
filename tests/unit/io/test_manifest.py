"""Stores that are damaged or lie: refused with a reason, and nothing in them is run."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from io_samples import change_manifest, put_array, put_manifest, store_sample

import arcflux as af
from arcflux.errors import ChecksumError, StoreError
from arcflux.io import store


@pytest.fixture
def folder(tmp_path):
    """A store with every array that there can be but ids.values."""
    store.write(store_sample(), tmp_path / "g.arcflux", reverse=True)
    return tmp_path / "g.arcflux"


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
        change_manifest(folder, {"neighbours": {"dtype": dtype, "length": 3, "sha256": ""}})
        for act in (af.load, store.verify):
            with pytest.raises(StoreError, match="neighbours"):
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
    put_array(folder, name, array)
    if name == "ids.values":
        change_manifest(folder, ids={"kind": "integer", "base": None})
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
    put_array(folder, name, array)
    if name == "ids.values":
        change_manifest(folder, ids={"kind": "integer", "base": None})
    assert af.load(folder).vertices == 3
    with pytest.raises(StoreError) as caught:
        store.verify(folder)
    assert not isinstance(caught.value, ChecksumError)


MISTYPED = [
    {"directed": 1}, {"vertices": 2}, {"vertices": -1}, {"vertices": 3.0}, {"vertices": 10**30}, {"edges": 4},
    {"edges": "3"}, {"directed": False}, {"directed": False, "edges": 1}, {"columns": ["gone"]}, {"columns": [5]},
    {"columns": [["weight"]]}, {"columns": {}}, {"ids": []}, {"ids": {}}, {"ids": {"kind": "integer", "base": "x"}},
    {"ids": {"kind": "integer", "base": 2**63}}, {"ids": {"kind": "integer", "base": -(2**70)}},
    {"ids": {"kind": "integer", "base": None}}, {"ids": {"kind": "other", "base": 0}}, {"ids": {"kind": "integer"}},
    {"ids": {"kind": [], "base": 0}}, {"name": None}, {"changes": []}, {"changes": {"nonsense": 1}}, {"sorted": "yes"},
    {"changes": {"edges_given": "many"}}, {"assumptions": "x"}, {"arrays": []}, {"arrays": {}}, {"version": "1"},
    {"version": 0}, {"version": None}, {"format": "other"}, {"format": []}, {"format": {}}, {"format": None},
]  # fmt: skip


@pytest.mark.parametrize("fields", MISTYPED, ids=str)
def test_a_manifest_that_lies(folder, fields):
    change_manifest(folder, **fields)
    with pytest.raises(StoreError) as caught:
        af.load(folder)
    assert str(folder) in str(caught.value)


def test_every_field_is_needed(folder):
    whole = json.loads((folder / "manifest.json").read_text())
    for missing in whole:
        (folder / "manifest.json").write_text(json.dumps({key: whole[key] for key in whole if key != missing}))
        if missing == "checksum":  # then it was written before there were any
            assert af.load(folder).vertices == 3
            continue
        with pytest.raises(StoreError):
            af.load(folder)
    for missing in whole["arrays"]:
        entries = {name: entry for name, entry in whole["arrays"].items() if name != missing}
        put_manifest(folder, {**whole, "arrays": entries})
        if missing == "in_offsets":  # then there are no in-edges, which is no loss
            assert af.load(folder)._in is None
        else:
            with pytest.raises(StoreError, match=missing):
                af.load(folder)


ENTRY = {"dtype": "<u4", "length": 3, "sha256": "0"}


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", ".", "", "a/b", "a\0b", "a\nb", "..\\x", ".hidden", "~"])
def test_the_manifest_names_nothing_outside(folder, name):
    np.save(folder.parent / "x.npy", np.zeros(3, UINT32))
    change_manifest(folder, {name: ENTRY})
    with pytest.raises(StoreError, match="lacks or mistypes arrays"):
        af.load(folder)


@pytest.mark.parametrize(
    "entry", [{**ENTRY, "length": "3"}, {**ENTRY, "dtype": 4}, {**ENTRY, "length": -3}, [], None, {}]
)
def test_entries_that_are_none(folder, entry):
    change_manifest(folder, {"neighbours": entry})
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


def test_a_manifest_without_end(folder):
    file = folder / "manifest.json"
    file.write_bytes(file.read_bytes() + b" " * (1 << 24))
    with pytest.raises(StoreError, match="it is too large"):
        af.load(folder)


def test_lies_that_agree_with_each_other(folder, tmp_path):
    """Arrays and manifest fit together, and still are no graph."""
    np.save(folder / "column.cost.npy", np.array([1, 2, 3]))
    with pytest.raises(StoreError, match=r"column\.cost\.npy.*holds <i8"):
        af.load(folder)
    for name in (5, "a b", ""):
        store.write(store_sample(), tmp_path / "names", reverse=False)
        put_array(tmp_path / "names", f"column.{name}", np.zeros(3))
        change_manifest(tmp_path / "names", columns=[name])
        with pytest.raises(StoreError, match="columns"):
            af.load(tmp_path / "names")
    store.write(af.Graph.from_edges([0, 1], [1, 2]), tmp_path / "more", reverse=True)
    put_array(tmp_path / "more", "in_offsets", np.array([0, 0, 1, 3], UINT64))
    put_array(tmp_path / "more", "in_neighbours", np.zeros(3, UINT32))
    store.write(af.Graph.from_edges([], []), tmp_path / "less")
    put_array(tmp_path / "less", "offsets", np.zeros(0, UINT64))
    change_manifest(tmp_path / "less", vertices=-1)
    for name in ("more", "less"):
        with pytest.raises(StoreError):
            af.load(tmp_path / name)


def test_newer_and_missing(folder, tmp_path):
    change_manifest(folder, version=2)
    with pytest.raises(StoreError, match="format version 2") as caught:
        af.load(folder)
    assert "upgrade" in caught.value.remedy
    (folder / "manifest.json").unlink()
    for place in (folder, tmp_path / "absent.arcflux", tmp_path):
        with pytest.raises(StoreError, match="store"):
            store.open_graph(place)
