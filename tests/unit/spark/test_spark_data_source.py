"""Stores as a data source of Spark."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import GraphError, StoreError, UsageError

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no data sources in Python")
from arcflux.spark.data_source import ArcfluxSource


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


def reader_of(path, *names, **options):
    """What reads a store, as Spark's processes have it."""
    source = ArcfluxSource({"path": str(path), **options})
    return source.reader(SimpleNamespace(names=list(names) or ["source", "target"]))


@pytest.mark.parametrize("other", ["cycle:900", "path:1000", "kron:5"])
def test_slices_of_a_store_that_was_replaced_are_refused(tmp_path, other):
    """Each task opens the store for itself: rows of the old one and of the new one are no graph."""
    path = tmp_path / "graph.arcflux"
    af.load("path:900").save(path)
    reader = reader_of(path, slices="3")
    first, second, third = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(first)) > 0
    af.load("path:900").save(path)  # the same once more
    assert sum(batch.num_rows for batch in reader.read(second)) > 0
    af.load(other).save(path)
    with pytest.raises(StoreError, match="was replaced since Spark began to read it"):
        list(reader.read(third))


@pytest.mark.parametrize("slices", ["1000000000000", "9" * 18])
def test_more_slices_than_arcs_are_one_for_each(tmp_path, slices):
    af.load("path:5").save(tmp_path / "g")
    assert len(reader_of(tmp_path / "g", slices=slices).partitions()) == 8


@pytest.mark.parametrize("slices", ["9" * 5000, "0", "-1", "1.5", "many"])
def test_slices_that_are_no_count_are_refused(tmp_path, slices):
    af.load("path:5").save(tmp_path / "g")
    with pytest.raises(UsageError, match="slices"):
        reader_of(tmp_path / "g", slices=slices).partitions()


def test_a_column_that_is_named_as_the_ends_are_is_refused(tmp_path):
    """It took the place of the ids, without a word."""
    af.Graph.from_edges([0, 1], [1, 2], columns={"target": [True, False]}).save(tmp_path / "g")
    with pytest.raises(GraphError, match="named source or target"):
        ArcfluxSource({"path": str(tmp_path / "g")}).schema()
