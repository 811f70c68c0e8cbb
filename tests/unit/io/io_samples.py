"""Graphs of every kind for the tests of the formats, and small tools that several of them need."""

import hashlib
import json

import numpy as np
from hypothesis import strategies as st

import arcflux as af

DTYPES = [np.dtype(code) for code in "?bBhHiIqQfd"]
INT64 = st.integers(-(2**63), 2**63 - 1)
# What separates, quotes and comments; names without line breaks; and everything that UTF-8 can say.
AWKWARD_NAMES = st.text(" ,;|\t\"'#%\0ab1.\\", max_size=6)
NAMES = AWKWARD_NAMES | st.text(st.characters(codec="utf-8"), max_size=6) | st.text("a\r\n", min_size=1, max_size=2)
PLAIN_NAMES = st.text("abcdefgé,;|'0123456789", min_size=1, max_size=4)


@st.composite
def columns(draw, size):
    names = draw(st.lists(st.sampled_from(["weight", "capacity", "x2", "größe"]), unique=True, max_size=3))
    return {name: draw(values(draw(st.sampled_from(DTYPES)), size)) for name in names}


def values(dtype, size):
    """Arrays of one type: its extremes, and for floats also infinities and NaN."""
    if dtype.kind == "b":
        one = st.booleans()
    elif dtype.kind == "f":
        one = st.floats(width=dtype.itemsize * 8)
    else:
        limits = np.iinfo(dtype)
        one = st.integers(limits.min, limits.max) | st.sampled_from([limits.min, limits.max])
    return st.lists(one, min_size=size, max_size=size).map(lambda listed: np.array(listed, dtype))


@st.composite
def ids(draw, names):
    """Different ids: a run of integers, any int64s, or names."""
    kind = draw(st.sampled_from(["run", "any", "names"] if names is not None else ["run", "any"]))
    if kind == "run":
        first, count = draw(INT64.filter(lambda i: i < 2**63 - 10) | st.just(0)), draw(st.integers(0, 9))
        return list(range(first, first + count))
    return draw(st.lists(INT64 if kind == "any" else names, unique=True, max_size=9))


@st.composite
def graphs(draw, names=NAMES, columns=columns):
    """A graph with isolated vertices, self-loops and parallel edges; also without edges, or without vertices."""
    vertices = draw(ids(names))
    size = draw(st.integers(0, 12)) if vertices else 0
    ends = st.lists(st.sampled_from(vertices), min_size=size, max_size=size) if vertices else st.just([])
    return af.Graph.from_edges(
        draw(ends), draw(ends), columns=draw(columns(size)), vertices=vertices, directed=draw(st.booleans())
    )


def edges_of(graph):
    """Every edge as a tuple of source, target and values, sorted."""
    source, target, held = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in held.values()), strict=True))


def store_sample(name="old", ids=("ada", "bob", "eve")):
    """A triangle with two columns."""
    columns = {"weight": np.array([1, 2, 3], np.int8), "cost": np.array([0.5, 1.5, 2.5])}
    return af.Graph.from_edges(ids, [*ids[1:], ids[0]], columns=columns, name=name)


def change_manifest(folder, entries=None, **fields):
    """Exchange entries for arrays in a store's manifest, or whole fields of it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["arrays"] |= entries or {}
    manifest |= fields
    put_manifest(folder, manifest)


def put_manifest(folder, manifest):
    """Write a manifest with the checksum that it should have."""
    said = {key: value for key, value in manifest.items() if key != "checksum"}
    checksum = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({**said, "checksum": checksum}))


def put_array(folder, name, array):
    """Exchange an array of a store, and set the manifest right."""
    np.save(folder / f"{name}.npy", array)
    digest = hashlib.sha256(hashlib.sha256(array.tobytes()).digest()).hexdigest()
    change_manifest(folder, {name: {"dtype": array.dtype.str, "length": len(array), "sha256": digest}})
