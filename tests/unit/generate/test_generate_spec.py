"""Specs: what they mean, and what is said of those that mean nothing."""

import inspect
import time
from contextlib import suppress

import pytest
from generated import SPECS, TINY
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux import generate
from arcflux.errors import SpaceError, SpecError, UsageError
from arcflux.generate import GENERATORS, recipe
from arcflux.spmd import space


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("kron:20", {"scale": 20}),
        (
            "kron:20,ef=8,seed=3,weights=1-255",
            {"scale": 20, "edge_factor": 8, "seed": 3, "weights": (1, 255)},
        ),
        ("kron: 20 , ef = 8 ", {"scale": 20, "edge_factor": 8}),
        ("kron:20,directed,simple=no", {"scale": 20, "directed": True, "simple": False}),
        ("kron:20,weights", {"scale": 20, "weights": (1, 255)}),
        ("kron:20,weights=-5--1", {"scale": 20, "weights": (-5, -1)}),
        ("kron:20,weights=1e-3-.5", {"scale": 20, "weights": (0.001, 0.5)}),
        ("kron:20,weights=0-0.5", {"scale": 20, "weights": (0.0, 0.5)}),
        ("rmat:18,a=.5,b=.2,c=.2,permute=off", {"scale": 18, "a": 0.5, "b": 0.2, "c": 0.2, "permute": False}),
        ("urand:20", {"scale": 20}),
        ("urand:n=1000,m=5000", {"vertices": 1000, "edges": 5000}),
        ("urand:m=5000,n=1000", {"vertices": 1000, "edges": 5000}),
        ("grid:1024x512", {"rows": 1024, "columns": 512}),
        ("ws:1000,k=10,p=0.1", {"vertices": 1000, "k": 10, "p": 0.1}),
        ("worlds:100x1000,k=10,kind=rmat", {"worlds": 100, "size": 1000, "k": 10, "kind": "rmat"}),
        ("ratings:1000x500,per=20", {"users": 1000, "items": 500, "per_user": 20}),
    ],
)
def test_what_specs_mean(text, arguments):
    assert generate.parse(text).arguments == arguments


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kron", "no size is given"),
        ("kron:", "no size is given"),
        ("kron:,ef=3", "no size is given"),
        ("kron:ef=3", "no size is given"),
        ("urand:m=5", "no size is given"),
        ("krno:20", "did you mean kron"),
        ("warts:20", "names no generator"),
        ("", "names no generator"),
        (":", "names no generator"),
        ("C:/x", "names no generator"),
        ("kron:ten", "the size is 'ten'"),
        ("kron:1.5", "the size is '1.5'"),
        ("kron:-1", "scale is -1"),
        ("kron:64", "scale is 64"),
        ("kron:20x20", "the size is '20x20'"),
        ("kron:٣", "the size is"),
        ("kron:" + "9" * 5000, "the size is '9999"),
        ("grid:1024", "the size is '1024'"),
        ("grid:axb", "the size is 'axb'"),
        ("grid:-1x5", "rows is -1"),
        ("kron:20,", "'' is no option"),
        ("kron:20,ef=8,ef=9", "ef is given twice"),
        ("urand:20,n=5", "both given"),
        ("kron:20,edge=8", "'edge' is no option"),
        ("kron:20,sede=8", "did you mean seed"),
        ("kron:20,seed", "seed has no value"),
        ("kron:20,seed=", "seed is ''"),
        ("kron:20,seed=-1", "seed is -1"),
        ("kron:20,ef=-8", "edge_factor is -8"),
        ("kron:20,directed=maybe", "directed is 'maybe'"),
        ("kron:20,weights=5", "weights is '5'"),
        ("kron:20,weights=255-1", "weights is (255, 1)"),
        ("kron:20,weights=0-9999999999", "weights is (0, 9999999999)"),
        ("kron:20,weights=0-1e999", "weights is (0.0, inf)"),
        ("rmat:5,a=.9,b=.9", "do not add up to 1"),
        ("rmat:5,a=nan", "a is 'nan'"),
        ("cycle:2", "vertices is 2"),
        ("ws:10,k=3", "k is 3"),
        ("ws:10,k=4,p=2", "p is 2.0"),
        ("worlds:10x100,kind=tree", "kind is 'tree'"),
        ("worlds:10x100,kind=rmat", "size is 100"),
        ("ratings:10x10,low=3,high=2", "low is 3"),
    ],
)
def test_bad_specs_say_what_is_wrong(text, said):
    began = time.perf_counter()
    with pytest.raises(SpecError) as caught:
        generate.from_spec(text)
    assert time.perf_counter() - began < 1
    assert said in str(caught.value)
    assert "expected: " in str(caught.value)
    assert generate.is_spec(caught.value.remedy)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text",
    [
        "kron:60", "kron:63,ef=9999999999", "urand:60", "rmat:59", "grid:9999999999x9999999999",
        "path:9999999999999999", "star:9999999999999999", "cycle:9999999999999999", "complete:9999999999",
        "ws:9999999999999999", "worlds:9999999999x9999999999", "ratings:9999999999999999x5",
        "urand:n=5,m=9999999999999999",
    ],
)  # fmt: skip
def test_graphs_that_cannot_fit_are_refused_at_once(text):
    began = time.perf_counter()
    with pytest.raises(SpaceError, match=r"needs [0-9,]+ bytes of memory \("):
        generate.from_spec(text)
    assert time.perf_counter() - began < 1


def test_the_bytes_needed_are_compared_with_those_there_are(monkeypatch):
    monkeypatch.setattr(space, "available", lambda: 100_000)
    assert generate.kronecker(4).vertices == 16
    with pytest.raises(SpaceError, match=r"and 97\.7 KiB are available"):
        generate.kronecker(14)


def test_memory_is_found_without_proc(monkeypatch):
    assert space.available() > 1 << 20
    monkeypatch.setattr(space.Path, "read_text", lambda path: "nothing here")
    assert space.available() > 1 << 20
    monkeypatch.setattr(space.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError))
    assert space.available() == 1 << 47


@pytest.mark.parametrize(
    "text", ["graph.el", "C:/x", "/tmp/kron", "kron", "kron/20", "", "KRON:20", "kron.txt:20", None, 7]
)
def test_what_is_no_spec(text):
    assert not generate.is_spec(text)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_registry(name):
    entry = GENERATORS[name]
    assert entry.name == name
    assert entry.help
    assert entry.form.startswith(f"{name}:")
    assert generate.parse(entry.example).generator is entry
    parameters = inspect.signature(entry.make).parameters
    named = {*entry.size, *(option.argument for option in entry.options.values()), "threads"}
    assert named == set(parameters)


class _Reached(Exception):
    """Generation would begin here."""


@pytest.fixture(scope="module", autouse=True)
def _kernels_loaded():
    """Have the kernels imported before anything is timed."""
    generate.path(2)


def _plan(text):
    """Everything but the generation itself."""
    with suppress(SpecError, SpaceError, UsageError, _Reached):
        generate.parse(text).graph()


_words = st.sampled_from([*GENERATORS, "n", "m", "ef", "seed", "weights", "directed", "simple", "k", "p", "a", "kind"])
_marks = st.sampled_from([":", ",", "=", "x", "-", ".", " ", "e", "1", "0", "20", "64", "9" * 19, "no", "-1", "1e400"])
_likely = st.lists(st.one_of(_words, _marks, st.text(max_size=3)), max_size=12).map("".join)
_named = st.tuples(st.sampled_from(list(GENERATORS)), st.lists(st.one_of(_words, _marks), max_size=12).map("".join))


@settings(max_examples=400, deadline=5000)
@given(st.one_of(st.text(), _likely, _named.map(":".join), st.sampled_from([*SPECS, *TINY])))
def test_no_text_breaks_the_parser(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe.Recipe, "graph", _stop)
        patch.setattr(recipe.Recipe, "graph_by_rows", _stop)
        patch.setattr("arcflux.generate.planted._communities", _stop)
        patch.setattr("arcflux.generate.geometric._points", _stop)
        _plan(text)
    assert isinstance(generate.is_spec(text), bool)


def _stop(*_):
    raise _Reached
