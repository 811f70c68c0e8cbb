"""A result: values by field, in the user's ids, in the form that is asked for."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import arcflux as af
from arcflux.algorithms import bfs, pagerank
from arcflux.errors import UsageError
from arcflux.result import spark


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


def test_a_field_has_to_be_named_when_there_are_several(result: af.Result) -> None:
    with pytest.raises(UsageError, match="several fields"):
        result.to_numpy()
    with pytest.raises(UsageError, match="no field 'rank'"):
        result["rank"]
    assert pagerank(af.load("path:3")).to_numpy().shape == (3,)


def test_saving(result: af.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "levels.csv")
    assert (tmp_path / "levels.csv").read_text().splitlines()[:2] == ['"vertex","level","parent"', '"a",1,"hub"']
    result.save(tmp_path / "levels.parquet")
    assert parquet.read_table(tmp_path / "levels.parquet")["level"].to_pylist() == [1, 1, 2, 0]
    pagerank(af.load("path:3")).save(tmp_path / "rank.npy")
    assert np.load(tmp_path / "rank.npy").shape == (3,)
    with pytest.raises(UsageError, match="names no format"):
        result.save(tmp_path / "levels.doc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["levels.csv", "levels.parquet", "rank.npy"]


def test_how_it_looks(result: af.Result) -> None:
    assert repr(result).startswith("<Result BFS: 3 supersteps, converged")
    assert "level     int32, 0 to 2" in str(result)
    assert "<th>level</th>" in result._repr_html_()
    assert spark([0, 1, 2, 4]) == "▁▂▄█"
    assert len(spark(list(range(500)))) == 60


def test_validate_by_the_rules_of_the_algorithm() -> None:
    graph = af.load("kron:8")
    result = af.algorithms.bfs(graph, 1)
    assert result.validate()
    result.values["level"][1] = 5
    assert not result.validate()
    with pytest.raises(UsageError, match="no rules to check BFS by"):
        af.run(af.algorithms.BFS, graph, source=1).validate()
