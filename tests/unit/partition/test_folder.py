"""Parts that went through a folder are the same parts, and a folder that is not what it should be is refused."""

import json

import numpy as np
import pytest

import arcflux as af
from arcflux import trace
from arcflux.errors import ChecksumError, StoreError
from arcflux.io import store
from arcflux.io.manifest import manifest_sum
from arcflux.partition import PARTITIONERS
from arcflux.partition.folder import verify


def assert_same(got, expected):
    assert (got.k, got.how, got.shape, got.notes) == (expected.k, expected.how, expected.shape, expected.notes)
    assert (got.placement, got.duplicated) == (expected.placement, expected.duplicated)
    assert got.graph.equals(expected.graph)
    assert np.array_equal(got.owner, expected.owner)
    assert got.owner.dtype == expected.owner.dtype
    for i in range(got.k):
        one, other = got.part(i), expected.part(i)
        assert (one.number, one.arcs) == (i, other.arcs)
        for a, b in [(one.owned, other.owned), (one.targets, other.targets), *zip(one.into, other.into, strict=True)]:
            assert np.array_equal(a, b)
            assert a.dtype == b.dtype
        assert one.in_columns.keys() == other.in_columns.keys()
        for name, column in one.in_columns.items():
            assert np.array_equal(column, other.in_columns[name])
        assert np.array_equal(one.out.neighbours, other.out.neighbours)


@pytest.mark.parametrize("how", PARTITIONERS)
@pytest.mark.parametrize("spec", ["kron:7,weights=1-9", "rmat:6"])
def test_parts_come_back(how, spec, tmp_path):
    for k in (1, 5):
        parts = af.partition(spec, k, how)
        for placed in (parts, parts.at_sources(), parts.at_targets()):
            placed.save(tmp_path / "parts")
            assert_same(af.load_parts(tmp_path / "parts"), placed)
            verify(tmp_path / "parts")


def test_a_part_opens_its_own_files_alone(tmp_path):
    folder = tmp_path / "parts"
    af.partition("kron:7", 3, "random").save(folder)
    for file in folder.glob("part[02].*"):
        file.unlink()
    parts = af.load_parts(folder)
    assert parts.part(1).arcs == af.partition("kron:7", 3, "random").part(1).arcs
    with pytest.raises(StoreError, match=r"part0.targets.npy is missing"):
        parts.part(0)


def test_ranges_add_nothing_to_the_graph(tmp_path):
    af.partition("kron:7", 3).save(tmp_path / "parts")
    assert sorted(file.name for file in (tmp_path / "parts").iterdir()) == [
        "bounds.npy", "graph.arcflux", "manifest.json",
    ]  # fmt: skip
    assert not (af.load_parts(tmp_path / "parts").part(1).into.neighbours.flags.writeable)


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("keep me")
    with pytest.raises(StoreError, match="would be lost"):
        af.partition("path:4", 2).save(tmp_path / "letters")
    assert (tmp_path / "letters" / "mine.txt").read_text() == "keep me"


def test_what_is_no_folder_of_parts_is_told(tmp_path):
    with pytest.raises(StoreError, match="no such folder of parts"):
        af.load_parts(tmp_path / "nothing")
    af.load("path:4").save(tmp_path / "graph.arcflux")
    with pytest.raises(StoreError, match="its format is not arcflux-parts"):
        af.load_parts(tmp_path / "graph.arcflux")


def test_a_folder_of_parts_is_no_store_and_says_what_opens_it(tmp_path):
    parts = af.partition("kron:6", 3)
    parts.save(tmp_path / "parts")
    with pytest.raises(StoreError, match="this is a folder of parts, and not a store") as failure:
        af.load(tmp_path / "parts")
    assert "af.load_parts opens it" in str(failure.value)
    assert af.load(tmp_path / "parts" / "graph.arcflux").equals(parts.graph)


def test_parts_by_hand_come_back(tmp_path):
    graph = af.load("kron:6,weights=1-9")
    parts = af.Parts(graph, 2, "odd and even", owner=np.arange(graph.vertices) % 2)
    parts.save(tmp_path / "parts")
    again = af.load_parts(tmp_path / "parts")
    assert (again.how, again.owner.tolist()) == ("assignment", parts.owner.tolist())
    assert again.part(1).arcs == parts.part(1).arcs


@pytest.fixture
def random_parts(tmp_path):
    af.partition("kron:6,weights=1-9", 3, "random").save(tmp_path / "parts")
    return tmp_path / "parts"


@pytest.fixture
def grid_parts(tmp_path):
    af.partition("kron:6", 4, "grid").save(tmp_path / "parts")
    return tmp_path / "parts"


def spoiled(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    manifest["checksum"] = manifest_sum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("k", 0), ("k", "3"), ("k", 2.0), ("how", "magic"), ("mode", "?"), ("limit", -1), ("shape", [2, 2]),
        ("notes", [1]), ("duplicated", 1), ("arrays", []), ("arrays", {"../x": {}}), ("arrays", {}), ("version", 99),
        ("version", None), ("k", 300), ("k", 1 << 40),
    ],
)  # fmt: skip
def test_a_manifest_that_is_off_is_refused(random_parts, key, value):
    spoiled(random_parts, lambda manifest: manifest.update({key: value}))
    with pytest.raises(StoreError):
        af.load_parts(random_parts)


@pytest.mark.parametrize(("key", "value"), [("shape", None), ("shape", [3, 3]), ("shape", [0, 4]), ("k", 5)])
def test_a_grid_that_is_off_is_refused(grid_parts, key, value):
    spoiled(grid_parts, lambda manifest: manifest.update({key: value}))
    with pytest.raises(StoreError):
        af.load_parts(grid_parts)


@pytest.mark.parametrize("name", ["part1.targets", "part1.offsets", "part1.sources", "part1.column.weight"])
def test_a_part_whose_arrays_do_not_fit_is_refused(random_parts, name):
    array = np.load(random_parts / f"{name}.npy")
    np.save(random_parts / f"{name}.npy", array[:-1])
    spoiled(random_parts, lambda manifest: manifest["arrays"][name].update({"length": len(array) - 1}))
    parts = af.load_parts(random_parts)
    assert parts.part(0).arcs
    with pytest.raises(StoreError, match="part 1 contradict"):
        parts.part(1)


def test_bounds_that_are_off_are_refused(tmp_path):
    folder = tmp_path / "parts"
    af.partition("kron:6", 3).save(folder)
    for wrong in ([0, 40, 20, 64], [0, 20, 40, 63], [1, 20, 40, 64]):
        np.save(folder / "bounds.npy", np.array(wrong))
        with pytest.raises(StoreError, match="do not fit"):
            af.load_parts(folder)


@pytest.mark.parametrize("name", ["owner", "part1.sources", "part2.column.weight", "graph.arcflux/neighbours"])
def test_a_changed_byte_is_found(random_parts, name):
    raw = bytearray((random_parts / f"{name}.npy").read_bytes())
    raw[-1] ^= 1
    (random_parts / f"{name}.npy").write_bytes(raw)
    with pytest.raises(ChecksumError, match="not those that were written"):
        verify(random_parts)


@pytest.mark.parametrize(
    ("name", "said"),
    [("part0.sources", "part 0 does not have the arcs"), ("owner", r"owner\.npy: .* 2 is the largest")],
)
def test_content_that_is_wrong_though_its_checksum_is_right_is_found(random_parts, name, said):
    array = np.load(random_parts / f"{name}.npy")
    array[0] = 17
    with trace.task("rewrite") as task:
        entry = store.write_array(random_parts, name, array, task)
    spoiled(random_parts, lambda manifest: manifest["arrays"].update({name: entry}))
    with pytest.raises(StoreError, match=said):
        verify(random_parts)


def test_parts_whose_folder_was_replaced_say_so(random_parts):
    parts = af.load_parts(random_parts)
    first = parts.part(0)
    af.partition("kron:7", 5, "random").save(random_parts)
    assert first.into.neighbours.sum() >= 0  # what was opened stays
    with pytest.raises(StoreError, match="replaced since it was opened, and part 1 is gone"):
        parts.part(1)
    assert af.load_parts(random_parts).k == 5


def test_a_changed_byte_is_found_before_the_part_is_used(random_parts):
    raw = bytearray((random_parts / "part1.sources.npy").read_bytes())
    raw[-1] ^= 1
    (random_parts / "part1.sources.npy").write_bytes(raw)
    parts = af.load_parts(random_parts)
    assert parts.part(0).arcs
    with pytest.raises(ChecksumError, match=r"part1\.sources"):
        parts.part(1)
    assert af.load_parts(random_parts, trust=True).part(1).arcs


@pytest.mark.parametrize("name", ["rule.rows", "rule.columns"])
def test_tables_of_a_grid_that_is_another_are_refused(grid_parts, name):
    array = np.load(grid_parts / f"{name}.npy")[::-1].copy()
    with trace.task("rewrite") as task:
        entry = store.write_array(grid_parts, name, array, task)
    spoiled(grid_parts, lambda manifest: manifest["arrays"].update({name: entry}))
    with pytest.raises(StoreError, match="tables of the grid"):
        af.load_parts(grid_parts)
