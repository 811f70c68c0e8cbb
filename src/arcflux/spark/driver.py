"""One run in its own Spark session: ``python -m arcflux.spark.driver JOB``, for jobs that are handed over.

JOB is an object of JSON: the `master` of Spark, the `graph` (a store that all tasks can read), `task` and `parameters`,
`workers`, and the Parquet file `out`. The engine runs in the tasks of one barrier stage. It prints what ``arcflux run
--json`` would print, or its error.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from arcflux.errors import ArcfluxError, UsageError
from arcflux.graph import Graph
from arcflux.io.store import open_graph

__all__ = ["run_job"]


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job, and write its result in the graph's vertex order; returns the facts of the run."""
    from pyarrow import parquet

    from arcflux import spark

    graph = _store(Path(job["graph"]))
    session = _session(job["master"])
    try:
        spark.register(session)
        edges = session.read.format("arcflux").option("slices", job["workers"]).load(job["graph"])
        with spark.plug(session, way="barrier", workers=job["workers"]) as plug:
            shared = plug.graph(edges, "source", "target", columns=list(graph.columns), directed=graph.directed)
            table = shared.run(job["task"], **job["parameters"]).toArrow()
            run = shared.told.runs[-1][1]
    finally:
        session.stop()
    order = np.argsort(graph.ids.to_numbers(np.asarray(table.column("vertex").to_pylist())))
    parquet.write_table(table.take(order), job["out"])
    where = f"{job['workers']} tasks of Spark"
    said = {name: run[name] for name in ("supersteps", "converged")}
    return {**said, "spread": {"parts": job["workers"], "where": where}}


def _store(path: Path) -> Graph:
    if not path.is_dir():
        raise UsageError(f"{path.name} is no store", expected="a store, for Spark", remedy=f"arcflux convert {path}")
    graph = open_graph(path)
    ends = np.zeros(graph.vertices, np.bool_)
    ends[graph.out.neighbours] = True
    alone = int(np.count_nonzero(~ends & (np.diff(graph.out.offsets) == 0)))
    if alone:
        raise UsageError(
            f"{alone:,} vertices of {path.name} have no edge, and edges are all that Spark's tasks are given",
            expected="a graph in which each vertex has an edge", remedy="submit it without workers",
        )  # fmt: skip
    return graph


def _session(master: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.master(master).appName("arcflux job").getOrCreate()


def _main(job: str) -> int:
    try:
        print(json.dumps(run_job(json.loads(job))))
    except Exception as error:  # of Spark, of its JVM, or ours: reported to the server
        said = str(error) if isinstance(error, ArcfluxError) else f"{type(error).__name__}: {error}"
        print(json.dumps({"error": {"what": said[:2000]}}))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
