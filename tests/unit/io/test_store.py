"""The store: there and back, every kind of damage found, nothing in it run, and nothing lost when writing fails."""

import errno
import json
import os
import resource
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import change_manifest, graphs, put_array, store_sample

import arcflux as af
from arcflux.errors import ChecksumError, SpaceError, StoreError
from arcflux.io import replace, store


@pytest.fixture
def folder(tmp_path):
    """A store with every array that there can be but ids.values."""
    store.write(store_sample(), tmp_path / "g.arcflux", reverse=True)
    return tmp_path / "g.arcflux"


@settings(deadline=None, max_examples=80)
@given(graphs(), st.sampled_from([None, True, False]), st.booleans())
def test_there_and_back(graph, reverse, reversed_before):
    if reversed_before:
        assert graph.into
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.object(os, "fsync"),
    ):  # which is slow, and not the point here
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
    unsorted = af.Graph.from_edges([0, 0], [2, 1], sort=False)
    unsorted.save(tmp_path / "u")
    assert not af.load(tmp_path / "u").sorted
    with pytest.raises(ValueError, match="read-only"):
        back.out.neighbours[0] = 1


def test_every_flipped_byte_is_found(tmp_path):
    for ids in (("ada", "bob", "eve"), (-5, 2**40, 7)):
        folder = tmp_path / "g"
        store.write(store_sample(ids=ids), folder, reverse=True)
        files = sorted(folder.glob("*.npy"))
        assert len(files) == 8 + len(store_sample(ids=ids).ids.arrays)
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


def test_opening_reads_no_arrays(tmp_path):
    arcs = 1 << 31
    store.write(af.Graph.from_edges([0], [0]), tmp_path / "g")
    put_array(tmp_path / "g", "offsets", np.array([0, arcs], np.uint64))
    header = {"descr": "<u4", "fortran_order": False, "shape": (arcs,)}
    with open(tmp_path / "g" / "neighbours.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * arcs)  # 8 GiB that are nowhere on the disk
    entry = {"dtype": "<u4", "length": arcs, "sha256": ""}
    change_manifest(tmp_path / "g", {"neighbours": entry}, edges=arcs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert af.load(tmp_path / "g").arcs == arcs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_many_open_at_once(folder):
    expected = store_sample()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: af.load(folder).equals(expected), range(64)))


def failing(function, times, error):
    """A stand-in for a function: works a few times, then raises."""
    left = iter(range(times))

    def call(*args, **options):
        if next(left, None) is None:
            raise error
        return function(*args, **options)

    return call


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "interrupted"])
@pytest.mark.parametrize(
    ("module", "name", "times"),
    [
        (store, "write_array", 0),
        (store, "write_array", 3),
        (json, "dump", 0),
        (os, "fsync", 4),
        (replace, "_exchange", 0),
    ],
)
def test_the_old_store_stays_when_writing_fails(folder, tmp_path, monkeypatch, module, name, times, error):
    with monkeypatch.context() as broken:
        broken.setattr(module, name, failing(getattr(module, name), times, error))
        with pytest.raises(SpaceError if error is FULL else KeyboardInterrupt) as caught:
            store_sample("new").save(folder)
    if error is FULL:
        assert "No space left" in str(caught.value)
        assert "free some space" in caught.value.remedy
    assert af.load(folder).name == "old"
    store.verify(folder)
    assert [file.name for file in tmp_path.iterdir()] == ["g.arcflux"]


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "interrupted"])
def test_the_old_store_comes_back_when_the_new_one_cannot_take_its_place(folder, tmp_path, monkeypatch, error):
    rename = os.replace

    def refusing(old, new):
        if new == folder and ".new." in old.name:
            raise error
        rename(old, new)

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", refusing)
        broken.setattr(replace, "_exchange", lambda one, other: False)  # as on a file system that cannot
        with pytest.raises(SpaceError if error is FULL else KeyboardInterrupt):
            store_sample("new").save(folder)
    assert af.load(folder).name == "old"
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
            store_sample().save(target)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_mine(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(SpaceError, match="Permission denied"):
        store_sample().save(tmp_path / "g")


def test_nothing_but_a_store_is_replaced(tmp_path, folder):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("years")
    (tmp_path / "README").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    for target in (tmp_path / "work", tmp_path / "README", folder, tmp_path):
        with pytest.raises(StoreError, match="would be lost"):
            store_sample("new").save(target)
    (folder / "notes.txt").unlink()
    (tmp_path / "empty").mkdir()
    for target in (folder, tmp_path / "empty"):
        store_sample("new").save(target)
        assert af.load(target).name == "new"
    assert (tmp_path / "work" / "thesis.tex").read_text() == "years"
    graph = af.load(folder)
    graph.save(folder)
    assert af.load(folder).equals(graph)
    assert {file.name for file in tmp_path.iterdir()} == {"work", "README", "g.arcflux", "empty"}


def test_a_store_for_which_memory_is_not_enough_is_not_called_damaged(tmp_path, monkeypatch):
    store.write(af.load("path:9"), tmp_path / "g")

    def refuse(*args, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(np, "memmap", refuse)
    with pytest.raises(SpaceError, match="not enough memory for loading a graph"):
        af.load(tmp_path / "g")
