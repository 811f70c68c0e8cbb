"""A result: values by field, in the user's ids, in the form that is asked for."""

import math
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as parquet
import pytest

import arcflux as af
from arcflux.algorithms import bfs, pagerank
from arcflux.drawing import extent, spark, svg
from arcflux.errors import MissingExtraError, ProgramError, UsageError
from arcflux.result import Superstep


@pytest.fixture
def result() -> af.Result:
    return bfs(af.Graph.from_edges(["hub", "hub", "a"], ["a", "b", "c"]), "hub")


def test_values_in_every_form(result: af.Result) -> None:
    assert result.ids.tolist() == ["a", "b", "c", "hub"]
    assert result["level"].tolist() == [1, 1, 2, 0]
    assert result.to_numpy("level").dtype == np.int32
    assert result.to_dict("level") == {"a": 1, "b": 1, "c": 2, "hub": 0}
    assert result.to_arrow().column_names == ["vertex", "level", "parent"]
    assert result.to_pandas()["level"].tolist() == [1, 1, 2, 0]
    assert result.to_polars()["vertex"].to_list() == ["a", "b", "c", "hub"]
    assert result.top(2, "level") == [("c", 2), ("a", 1)]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_told_with_what_to_install(
    result: af.Result, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=f"pip install {package}"):
        getattr(result, f"to_{package}")()


def test_a_field_has_to_be_named_when_there_are_several(result: af.Result) -> None:
    with pytest.raises(UsageError, match="several fields"):
        result.to_numpy()
    with pytest.raises(UsageError, match="no field 'rank'"):
        result["rank"]
    assert pagerank(af.load("path:3")).to_numpy().shape == (3,)


def test_saving(result: af.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "levels.csv")
    assert (tmp_path / "levels.csv").read_text().splitlines()[:2] == ["vertex,level,parent", '"a",1,"hub"']
    result.save(tmp_path / "levels.parquet")
    assert parquet.read_table(tmp_path / "levels.parquet")["level"].to_pylist() == [1, 1, 2, 0]
    pagerank(af.load("path:3")).save(tmp_path / "rank.npy")
    assert np.load(tmp_path / "rank.npy").shape == (3,)
    result.save(tmp_path / "level.npy", "level")
    assert np.load(tmp_path / "level.npy").tolist() == [1, 1, 2, 0]
    result.save(tmp_path / "one.csv", "level")
    assert (tmp_path / "one.csv").read_text().splitlines()[:2] == ["vertex,level", '"a",1']
    with pytest.raises(UsageError, match=r"levels.doc: the suffix '.doc' names no format"):
        result.save(tmp_path / "levels.doc")
    names = ["level.npy", "levels.csv", "levels.parquet", "one.csv", "rank.npy"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_how_it_looks(result: af.Result) -> None:
    assert repr(result).startswith("<Result BFS: 3 supersteps, converged")
    assert "level     int32, 0 to 2" in str(result)
    assert "<th>level</th>" in result._repr_html_()
    assert spark([0, 1, 2, 4]) == "▁▂▄█"
    assert len(spark(list(range(500)))) == 60


def made(values: list[Any], *steps: Superstep, field: str = "x") -> af.Result:
    graph = af.Graph.from_edges([], [], vertices=len(values))
    return af.Result("Made", graph, {field: np.array(values)}, list(steps), True, 0.5)


def test_vectors_are_several_columns_of_text(tmp_path: Path) -> None:
    result = made([[1.5, 2.0], [3.0, 4.0]], field="factors")
    result.save(tmp_path / "factors.csv")
    assert (tmp_path / "factors.csv").read_text().split() == ["vertex,factors_0,factors_1", "0,1.5,2", "1,3,4"]
    result.save(tmp_path / "factors.npy")
    assert np.load(tmp_path / "factors.npy").tolist() == [[1.5, 2.0], [3.0, 4.0]]
    with pytest.raises(UsageError, match="no order"):
        result.top(1)


def test_the_largest_are_finite_and_in_order() -> None:
    assert made([2.0, np.inf, 7.0, np.nan, 7.0, -np.inf]).top(9) == [
        (2, 7.0),
        (4, 7.0),
        (0, 2.0),
    ]
    assert made([2.0, 7.0, 3.0]).top(2) == [(1, 7.0), (2, 3.0)]
    with pytest.raises(UsageError, match="values of parent have no order"):
        bfs(af.load("path:3"), 0).top(1, "parent")


def test_the_curve_is_what_moves() -> None:
    def step(frontier: int, residual: float, changed: int | None) -> Superstep:
        return Superstep(0, "pull", frontier, residual, 0.1, changed)

    two = [0.0, 0.0]
    assert made(two, step(1, 3.0, 4), step(2, 2.0, 1)).curve() == ("frontier", [1, 2])
    assert made(two, step(1, 3.0, 4), step(1, 2.0, 1)).curve() == ("frontier", [1, 1])
    assert made(two, step(2, 3.0, 4), step(2, 2.0, 1)).curve() == ("residual", [3, 2])
    assert made(two, step(2, 0.0, 4), step(2, 0.0, 1)).curve() == ("changed", [4, 1])
    assert made(two, step(2, 0.0, None)).curve() == ("frontier", [2])
    assert made(two).curve() == ("frontier", [])


def test_html_has_a_plot_and_escapes_names() -> None:
    drawn = made([1.0], Superstep(0, "pull", 4, 0.0, 0.1), Superstep(1, "pull", 1, 0.0, 0.1), field="<b>")._repr_html_()
    assert "&lt;b&gt;" in drawn
    assert "<th><b>" not in drawn
    heights = re.findall(r"<rect [^>]*height='([0-9.]+)'", drawn)
    assert heights == ["36.0", "9.0"]
    assert "<svg" not in made([1.0])._repr_html_()
    ElementTree.fromstring(svg("a & b", [1.0, math.nan, math.inf, -1.0]))


def test_extent() -> None:
    assert extent(np.array([3.0, 1.0, np.inf, np.nan])) == "1 to 3, not finite for 2"
    assert extent(np.array([np.inf])) == "no number, not finite for 1"
    assert extent(np.array([True, False, True])) == "2 of 3 true"
    assert extent(np.array([], np.int32)) == "no vertices"
    assert extent(np.array([[1, 2], [3, 4]])) == "1 to 4"


def test_validate_by_the_rules_of_the_algorithm() -> None:
    graph = af.load("kron:8")
    result = af.algorithms.bfs(graph, 1)
    assert result.validate()
    result.values["level"][1] = 5
    assert not result.validate()
    with pytest.raises(UsageError, match="no rules to check BFS by"):
        af.run(af.algorithms.BFS, graph, source=1).validate()


def test_programs_and_results_can_be_kept_in_sets(result: af.Result) -> None:
    """Programs are equal if they say the same, results only to themselves: arrays have no single answer."""
    search = af.algorithms.BFS
    assert {search: 1}[af.algorithms.BFS(source=None)] == 1
    assert len({search, search(source=3), af.algorithms.PageRank}) == 3
    assert result == result
    assert result != result.with_changes(name="other")
    assert len({result, result}) == 1


@af.program
class Pointed:
    """A reference that is given, and stays."""

    to: af.ref
    x: af.i64

    def compute(v, u):
        v.x = max(v.x, u.number)


@pytest.mark.parametrize("ids", [["a", "b", "c"], [10, 20, 70], [0, 1, 2]], ids=str)
@pytest.mark.filterwarnings("ignore:.*before it converged")
def test_a_reference_to_no_vertex_is_told_with_its_vertex(ids: list[Any], tmp_path: Path) -> None:
    graph = af.Graph.from_edges(ids[:2], ids[1:])
    found = af.run(Pointed, graph, given={"to": np.array([-7, 1, 3])}, max_supersteps=1)
    said = f"to of vertex {ids[2]} is 3, and vertices are numbered from 0 to 2"
    for act in (lambda: found["to"], found.to_arrow, lambda: found.save(tmp_path / "x.csv")):
        with pytest.raises(ProgramError, match=said):
            act()
    assert found.numbers("to").tolist() == [-7, 1, 3]
    assert said[3:] in str(found)
    assert said[3:] in found._repr_html_()
    right = af.run(Pointed, graph, given={"to": np.array([-7, 1, 2])}, max_supersteps=1)
    assert right["to"].tolist() == [-1 if isinstance(ids[0], int) else None, *ids[1:]]
