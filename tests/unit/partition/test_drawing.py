"""What people see of parts."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from part_graphs import graphs, patient
from part_oracles import arcs_of, place

import arcflux as af
from arcflux.errors import MissingExtraError, UsageError
from arcflux.partition import PARTITIONERS, drawing


@pytest.mark.parametrize("how", PARTITIONERS)
@settings(patient)
@given(graph=graphs(), k=st.integers(1, 5))
def test_where_arcs_are_and_what_the_matrix_shows(how, graph, k):
    parts = af.partition(graph, k, how)
    where, arcs = place(parts), [(u, v) for u, v, _ in arcs_of(graph)]
    sources, targets = (np.array([arc[side] for arc in arcs], np.uint32) for side in (0, 1))
    assert parts.where(sources, targets).tolist() == [where(u, v) for u, v in arcs]
    winner, total = drawing.raster(parts)
    n = graph.vertices
    owners = parts.owner.tolist()
    rank = list(range(n)) if parts.bounds is not None else np.argsort(np.argsort(owners, kind="stable")).tolist()
    held = {}
    for u, v in arcs:
        held.setdefault((rank[u], rank[v]), []).append(where(u, v))
    assert winner.shape == total.shape == (n, n)
    for i in range(n):
        for j in range(n):
            here = held.get((i, j), [])
            assert total[i, j] == len(here)
            assert winner[i, j] in here if here else winner[i, j] == -1


def test_a_square_has_the_colour_of_most_of_its_arcs():
    graph = af.load("kron:10")
    parts = af.partition(graph, 4, "random")
    winner, total = drawing.raster(parts, side=1)
    assert total.tolist() == [[graph.arcs]]
    assert winner.tolist() == [[int(np.argmax(parts.statistics.arcs))]]


@pytest.mark.parametrize("how", PARTITIONERS)
def test_cards_say_the_same(how):
    parts = af.partition("kron:7", 5, how)
    said, page = str(parts), parts._repr_html_()
    assert said.startswith(f"5 parts of kron:7 by {'2 x 3 ' if how == 'grid' else ''}{how}, ")
    for arcs, uds in zip(parts.statistics.arcs, parts.statistics.uds, strict=True):
        assert f" {arcs:,} " in said
        assert f"<td>{arcs:,}</td>" in page
        assert f"<td>{uds:,}</td>" in page
    for note in parts.notes:
        assert note in said


def test_of_many_parts_the_first_are_shown_and_names_are_escaped():
    graph = af.Graph.from_edges([0], [1], name="<b>")
    parts = af.partition(graph, 40)
    assert str(parts).endswith("and 8 more")
    assert "<b>&lt;b&gt;" not in parts._repr_html_()
    assert "&lt;b&gt;" in parts._repr_html_()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_is_written(suffix, tmp_path):
    for how in ("ranges", "grid", "mincut"):
        af.partition("kron:7", 4, how).plot(tmp_path / f"{how}.{suffix}")
        start = (tmp_path / f"{how}.{suffix}").read_bytes()[:60]
        assert start.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    af.partition(af.Graph.from_edges([], [], vertices=3), 2).plot(tmp_path / f"none.{suffix}")


def test_a_picture_that_cannot_be(tmp_path, monkeypatch):
    parts = af.partition("path:4", 2)
    with pytest.raises(UsageError, match="names no picture"):
        parts.plot(tmp_path / "parts.txt")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"arcflux\[plot\]"):
        parts.plot(tmp_path / "parts.png")
    assert not list(tmp_path.iterdir())
