"""Noise in stores: manifests and array headers changed at random open as a graph or as an ArcfluxError."""

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import ArcfluxError
from arcflux.graph import card
from arcflux.io import store

WORDS = ["offsets", "neighbours", "column.weight", "ids.data", "../x", "<u4", "<u8", "|O", "integer", "text"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS)
    | st.sampled_from([0, 1, 2, 3, 6, -1, 2**63, 2**64, 10**40]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Three stores: integer ids without gaps, others, and names; the last two with in-edges."""
    place = tmp_path_factory.mktemp("stores")
    weight = {"weight": np.array([1.5, 2.5, 3.5])}
    for name, ids in [("run", [0, 1, 2]), ("integers", [-5, 7, 2**40]), ("names", ["ada", "bob", "eve"])]:
        graph = af.Graph.from_edges(ids, [ids[1], ids[2], ids[2]], columns=weight, directed=name != "run")
        store.write(graph, place / name, reverse=name != "run")
    return [place / name for name in ("run", "integers", "names")]


def try_to_open(folder):
    with suppress(ArcfluxError):
        graph = af.load(folder)
        assert card.text(graph)
        assert json.dumps(card.facts(graph))
        assert len(graph.edge_list()[0]) == graph.edges
        assert repr(graph.neighbours(graph.ids.to_ids([0])[0]))
    with suppress(ArcfluxError):
        store.verify(folder)


def places(value, path=()):
    """Every place in a JSON document, as the way to it."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


@settings(deadline=60_000, max_examples=250)
@given(data=st.data(), which=st.integers(0, 2))
def test_manifests(samples, data, which):
    document = json.loads((samples[which] / "manifest.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([path for path in places(document) if path]))
        parent = document
        for key in way:
            parent = parent[key]
        act = data.draw(st.sampled_from(["exchange", "exchange", "remove", "add"]))
        if act == "exchange":
            parent[last] = data.draw(JSON)
        elif act == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[data.draw(st.text(max_size=8) | st.sampled_from(["ids.values", "in_offsets"]))] = data.draw(JSON)
        if not document:
            break
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(samples[which], Path(place, "g"))
        (folder / "manifest.json").write_text(json.dumps(document))
        try_to_open(folder)


@settings(deadline=60_000, max_examples=100)
@given(data=st.data(), which=st.integers(0, 2))
def test_manifest_bytes(samples, data, which):
    raw = bytearray((samples[which] / "manifest.json").read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
        raw[at] = data.draw(st.integers(0, 255) | st.sampled_from(list(b'"{}[]0-e.,:')))
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(samples[which], Path(place, "g"))
        (folder / "manifest.json").write_bytes(raw)
        try_to_open(folder)


DEEP = [b"(" * 5000, b"{" * 300, b"[" * 9000, b"1" * 9000, b"{'descr': " + b"-" * 9000, b"'\\N{", b"0" * 20_000]
TYPES = [
    "'<u4'",
    "'|O'",
    "'<f8'",
    "[('a', '<u4')]",
    "'<M8[ns]'",
    "'V9'",
    "'x'",
    "4",
    "[]",
    "('<u4', (2,))",
    "'<U9999999'",
]
SHAPES = [
    "(3,)",
    "()",
    "(0,)",
    "(-1,)",
    "(1, 3)",
    "(3L,)",
    "(2**70,)",
    f"({10**19},)",
    "3",
    "('3',)",
    "(True,)",
    "(3.0,)",
]
HEADERS = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(str.encode),
    st.sampled_from(DEEP),
    st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}}}".format,
        st.sampled_from(TYPES),
        st.sampled_from(["False", "True", "0", "None"]),
        st.sampled_from(SHAPES),
    ).map(str.encode),
)
VERSIONS = st.sampled_from([b"\1\0", b"\2\0", b"\3\0", b"\0\1"])
ARRAYS = st.sampled_from(["offsets", "neighbours", "column.weight", "ids.data", "ids.values", "in_offsets"])


def with_array(sample, name, remake):
    """Open a copy of a store in which the bytes of one array were made anew."""
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(sample, Path(place, "g"))
        file = folder / f"{name}.npy"
        file.write_bytes(remake(file.read_bytes() if file.exists() else bytes(150)))
        try_to_open(folder)


@settings(deadline=60_000, max_examples=250)
@given(HEADERS, VERSIONS, ARRAYS, st.integers(0, 2), st.sampled_from([b"", bytes(12), None]))
def test_array_headers(samples, header, version, name, which, body):
    length = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
    start = b"\x93NUMPY" + version + length + header
    with_array(samples[which], name, lambda raw: start + (raw[128:] if body is None else body))


@settings(deadline=60_000, max_examples=150)
@given(
    st.dictionaries(st.integers(0, 127), st.integers(0, 255), min_size=1, max_size=4),
    ARRAYS,
    st.integers(0, 2),
    st.none() | st.integers(0, 150),
)
def test_array_bytes(samples, changes, name, which, cut):
    def remade(raw):
        return bytes(changes.get(at, byte) for at, byte in enumerate(raw))[:cut]

    with_array(samples[which], name, remade)


def test_the_checks_let_good_stores_through(samples):
    for folder in samples:
        store.verify(folder)
        assert "vertices  3" in card.text(af.load(folder))
