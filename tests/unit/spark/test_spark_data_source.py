"""Stores as a data source of Spark."""

from collections import Counter

import numpy as np
import pytest

import arcflux as af
from arcflux import spark

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no data sources in Python")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_a_store_is_read_in_slices(session, tmp_path, directed, text):
    spark.register(session)
    ends = np.random.default_rng(1).integers(-5, 20, (200, 2))
    names = [[f"v{v}" for v in row] if text else row.tolist() for row in ends]
    weights = np.arange(200, dtype=np.float32)
    graph = af.Graph.from_edges(*zip(*names, strict=True), columns={"weight": weights}, directed=directed)
    graph.save(tmp_path / "graph.arcflux")
    frame = session.read.format("arcflux").option("slices", 7).load(str(tmp_path / "graph.arcflux"))
    assert frame.rdd.getNumPartitions() == 7
    kind = "string" if text else "bigint"
    assert frame.dtypes == [("source", kind), ("target", kind), ("weight", "float")]
    as_is = sorted if not directed else list
    found = Counter((*as_is((row.source, row.target)), row.weight) for row in frame.collect())
    assert found == Counter((*as_is(row), float(w)) for row, w in zip(names, weights, strict=True))


def test_what_cannot_be_read_is_said(session, tmp_path):
    spark.register(session)
    with pytest.raises(Exception, match=r"nothing\.arcflux"):
        session.read.format("arcflux").load(str(tmp_path / "nothing.arcflux")).count()
    with pytest.raises(Exception, match="a whole path"):
        session.read.format("arcflux").load("graph.arcflux").count()
    af.Graph.from_edges([0], [1]).save(tmp_path / "graph.arcflux")
    with pytest.raises(Exception, match="slices is 'many'"):
        session.read.format("arcflux").option("slices", "many").load(str(tmp_path / "graph.arcflux")).count()
