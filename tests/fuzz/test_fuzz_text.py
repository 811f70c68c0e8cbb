"""Noise in text files: whatever the bytes and the options, a graph comes out or an ArcfluxError, and soon."""

import bz2
import gzip
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import ArcfluxError
from arcflux.graph import card

PIECES = st.sampled_from([
    b"1", b"2", b"-7", b"+3", b"007", b"9223372036854775808", b"a", b"source", b"target", b"weight", b"u", b"v", b"nan",
    b"inf", b"1.5", b"1e9", b"1e999", b"true", b"NULL", b" ", b"  ", b"\t", b",", b";", b"|", b"\n", b"\n", b"\n\n",
    b"\r\n", b"\r", b"#", b"%", b'"', b'""', b"'", b"\0", b"\xff", b"\xef\xbb\xbf", "é".encode(),
    b"1 2\n2 3\n", b"a,b,c\n", b"1 2 3 4 5\n", b"\n1\t2\t0.5\n",
    b"# arcflux directed", b"# arcflux undirected ids=text", b" ids=0..9", b" ids=3..1", b" ids=integer", b" ids=text",
    b" delimiter=comma", b" delimiter=tab", b" delimiter=blank", b" header=yes", b" header=no", b" columns=weight:int8",
    b" columns=x:float32,y:bool", b" columns=weight:uint64", b"\n# isolated: [1, 2]\n", b"\n# isolated: [",
    b'\n# isolated: ["a", "\\u0000"]\n',
])  # fmt: skip
TEXTS = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))
OPTIONS = st.fixed_dictionaries({}, optional={
    "delimiter": st.sampled_from([",", ";", "|", "\t", " ", ":", "", "x", '"', "\n", "é", "\0"]),
    "header": st.booleans(),
    "weights": st.booleans(),
    "ids": st.sampled_from(["integer", "text", "other"]),
    "comments": st.sampled_from(["", "#", "%#", "]^-\\", "1", "é", "\n", " "]),
    "directed": st.booleans(),
    "deduplicate": st.sampled_from(["first", "sum", "min", "max", "none"]),
    "threads": st.integers(1, 2),
    "vertices": st.integers(-1, 12),
})  # fmt: skip


def try_to_load(content, name, options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        with suppress(ArcfluxError):
            graph = af.load(path, **options)
            assert card.text(graph)
            assert len(graph.edge_list()[0]) == graph.edges


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Every kernel, so that none is compiled against the clock."""
    for text in (b"1 2\n", b"1 -2\n"):
        for weight in (b"", b" 3", b" 3000000000", b" 0.5"):
            for options in ({}, {"directed": False, "deduplicate": "sum"}, {"deduplicate": "max"}):
                try_to_load(text.replace(b"\n", weight + b"\n") * 3, "g.txt", options)


@settings(deadline=60_000, max_examples=400)
@given(TEXTS, st.sampled_from(["g.txt", "g.csv", "g.tsv"]), OPTIONS)
def test_noise(content, name, options):
    try_to_load(content, name, options)


def _gzipped(content):
    """The same bytes at any time."""
    return gzip.compress(content, mtime=0)


@settings(deadline=60_000, max_examples=60)
@given(st.data(), st.sampled_from([(".gz", _gzipped), (".bz2", bz2.compress), (".zst", zstandard.compress)]))
def test_noise_in_archives(data, packer):
    suffix, compress = packer
    packed = bytearray(compress(data.draw(TEXTS)))
    for at in data.draw(st.lists(st.integers(0, len(packed) - 1), max_size=3)):
        packed[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.none() | st.integers(0, len(packed)))
    try_to_load(bytes(packed[:cut]), f"g.el{suffix}", {})


MANY = [b" ", b"\t", b",", b'"', b'","', b"#", b" #", b"\r", b"-", b"1", b"1 ", b"a ", b'a" ', b"\0", b"1.", b"a,b\n",
        b"# arcflux\n", b'# isolated: [""]\n', b"# arcflux ids=text columns=a:int8,"]  # fmt: skip


@pytest.mark.parametrize("name", ["g.txt", "g.csv"])
@pytest.mark.parametrize("piece", MANY)
def test_a_lot_of_the_same_takes_no_time(piece, name):
    """Regular expressions and searches that go back and forth would take minutes here."""
    try_to_load(piece * (300_000 // len(piece)), name, {})
    try_to_load(b"1 2\n" + piece * (300_000 // len(piece)) + b"\n3 4\n", name, {})
