"""Arcflux inside Spark beside GraphX, on the same cached DataFrame, in turns: ``python benchmarks/spark.py kron:16``.

GraphX runs with Kryo, as its own library has it (graphx_peer.scala: its graph is built and cached, its result read to
the end). A time of ours is end to end: edges out of Spark, build, supersteps, and the result as a DataFrame that is
read to its end. `supersteps` are those of the engine alone. Both kinds of times are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import arcflux as af
from arcflux import spark
from arcflux.spark import packager

PEER = Path(__file__).with_name("graphx_peer.scala")


def session_of(cores: int, memory: str):
    """A local session as GraphX likes it."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.driver.memory", memory).config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "131072").config("spark.log.level", "ERROR")
        .getOrCreate()
    )  # fmt: skip


def cached_edges(session, spec: str):
    """The edges of a graph, each once in its first direction, as a frame in Spark's cache."""
    graph = af.load(spec)
    source, target, _ = graph.edge_numbers()
    with tempfile.TemporaryDirectory() as folder:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = Path(folder, "edges.parquet")
        pq.write_table(pa.table({"src": source.astype(np.int64), "dst": target.astype(np.int64)}), path)
        frame = session.read.parquet(str(path)).repartition(session.sparkContext.defaultParallelism).cache()
        frame.count()
    return frame, graph


def timed(work):
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def read(frame):
    frame.write.format("noop").mode("overwrite").save()


def sources_of(graph) -> list[int]:
    degrees = np.diff(graph.out.offsets).astype(np.int64)
    return [int(v) for v in np.argsort(-degrees)[:4]]


def ours_alone(frame, name, arguments):
    """One algorithm end to end, from the frame to a frame that was read; and the engine's own seconds."""
    with spark.plug(frame.sparkSession) as plug:
        graph = plug.graph(frame, "src", "dst", directed=name not in UNDIRECTED)
        runs = arguments if isinstance(arguments, list) else [arguments]
        for one in runs:
            read(graph.run(name, **one))
        return sum(reply["seconds"] for _, reply, _, _ in graph.told.runs), graph.explain()


UNDIRECTED = ("weakly_connected_components", "label_propagation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["kron:14", "kron:16"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--skip", default="", help="algorithms to leave out, such as labels")
    parser.add_argument("--out")
    given = parser.parse_args()
    session = session_of(given.cores, given.memory)
    peer = packager.instance(session, packager.build(PEER.read_text(), "graphx"), "arcflux.benchmarks.GraphxPeer")
    rows = []
    for spec in given.graphs:
        frame, graph = cached_edges(session, spec)
        four = sources_of(graph)
        longs = session.sparkContext._gateway.new_array(session.sparkContext._jvm.long, 4)
        for place, vertex in enumerate(four):
            longs[place] = vertex
        cases = {
            "pagerank": ("pagerank", {"max_iter": 10, "tol": 0}, lambda: peer.pagerank(10)),
            "components": ("weakly_connected_components", {}, peer.components),
            "landmarks": ("bfs", [{"source": v, "direction": "auto"} for v in four], partial(peer.landmarks, longs)),
            "labels": ("label_propagation", {"max_iter": 5}, lambda: peer.labels(5)),
        }
        for case, (name, arguments, theirs) in cases.items():
            if case in given.skip.split(","):
                continue
            rows.append(measured(frame, spec, case, name, arguments, theirs, peer, given.repeat))
            print(rows[-1]["line"], flush=True)
        frame.unpersist()
    if given.out:
        Path(given.out).write_text(json.dumps(rows, indent=1))
    session.stop()


def measured(frame, spec, case, name, arguments, theirs, peer, repeat) -> dict:
    """Both in turns; the first round, in which both compile, does not count."""
    found: dict[str, list[float]] = {"ours": [], "supersteps": [], "graphx": [], "graphx_run": []}
    said = ""
    for turn in range(repeat + 1):
        seconds, (engine, said) = timed(lambda: ours_alone(frame, name, arguments))
        build, _ = timed(lambda: peer.build(frame._jdf))
        run, _ = timed(theirs)
        peer.drop()
        if turn:
            for key, value in zip(found, (seconds, engine, build + run, run), strict=True):
                found[key].append(value)
    mid = {key: median(values) for key, values in found.items()}
    line = (
        f"{spec:<8} {case:<11} ours {mid['ours']:7.3f} s (supersteps {mid['supersteps']:.4f})  GraphX "
        f"{mid['graphx']:7.3f} s (run {mid['graphx_run']:.3f})  {mid['graphx'] / mid['ours']:6.1f}x end to end, "
        f"{mid['graphx_run'] / max(mid['supersteps'], 1e-9):.0f}x supersteps"
    )
    return {"graph": spec, "case": case, **mid, "line": line, "explain": said}


if __name__ == "__main__":
    main()
