"""Arcflux inside Spark beside GraphX, on the same cached DataFrame, in turns: ``python benchmarks/spark.py kron:16``.

GraphX runs with Kryo, as its own library has it (graphx_peer.scala: its graph is built and cached, its result read to
the end). A time of ours is end to end: edges out of Spark, build, supersteps, and the result as a DataFrame that is
read to its end. `supersteps` are those of the engine alone. Both kinds of times are medians. `three` is PageRank,
components and landmarks on one load. ``--way faithful`` has programs of GX-Plug, whose tasks are agents.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import arcflux as af
from arcflux import spark
from arcflux.spark import packager
from arcflux.spark.faithful import FaithfulPlug
from plug_programs import Labels, Ranks

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
    """The edges of a graph, each once in one of its directions, as a frame in Spark's cache."""
    graph = af.load(spec)
    ends = np.stack(graph.edge_numbers()[:2]).astype(np.int64)
    turned = np.random.default_rng(1).random(ends.shape[1]) < 0.5  # so that no direction has more to do
    source, target = np.where(turned, ends[::-1], ends)
    with tempfile.TemporaryDirectory() as folder:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = Path(folder, "edges.parquet")
        pq.write_table(pa.table({"src": source, "dst": target}), path)
        frame = session.read.parquet(str(path)).repartition(session.sparkContext.defaultParallelism).cache()
        frame.count()
    return frame, graph


def timed(work):
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def read(frame):
    frame.write.format("noop").mode("overwrite").save()


_FAR = 1 << 20


@af.program
class Landmarks:
    """How many edges a vertex is away from each of four others; GraphX's goes against the edges."""

    a: af.vertex
    b: af.vertex
    c: af.vertex
    d: af.vertex
    to_a: af.i32
    to_b: af.i32
    to_c: af.i32
    to_d: af.i32

    def start(v, p):
        v.to_a = 0 if v.number == p.a else _FAR
        v.to_b = 0 if v.number == p.b else _FAR
        v.to_c = 0 if v.number == p.c else _FAR
        v.to_d = 0 if v.number == p.d else _FAR
        return v.number == p.a or v.number == p.b or v.number == p.c or v.number == p.d

    def compute(v, u, edge):
        v.to_a = min(v.to_a, u.to_a + 1)
        v.to_b = min(v.to_b, u.to_b + 1)
        v.to_c = min(v.to_c, u.to_c + 1)
        v.to_d = min(v.to_d, u.to_d + 1)

    def update(v, old):
        return v.to_a < old.to_a or v.to_b < old.to_b or v.to_c < old.to_c or v.to_d < old.to_d


class Case(NamedTuple):
    """What both run: ours by what and arguments, GraphX's by a call; and how ours reads the frame."""

    ours: list[tuple[Any, dict[str, Any]]]
    theirs: list[Callable[[], Any]]
    reading: dict[str, Any]


def cases_of(graph, peer, session, faithful: bool) -> dict[str, Case]:
    """The cases by name; those of the faithful way are programs."""
    four = [int(v) for v in np.argsort(-np.diff(graph.out.offsets).astype(np.int64))[:4]]
    longs = session.sparkContext._gateway.new_array(session.sparkContext._jvm.long, 4)
    for place, vertex in enumerate(four):
        longs[place] = vertex
    ranks = (Ranks, {"max_supersteps": 10}) if faithful else ("pagerank", {"max_iter": 10, "tol": 0})
    labels = (Labels, {"max_supersteps": 5}) if faithful else ("label_propagation", {"max_iter": 5})
    paths = (Landmarks, dict(zip("abcd", four, strict=True)))
    there, back = {"source": "src", "target": "dst"}, {"source": "dst", "target": "src"}

    def pagerank():
        return peer.pagerank(10)

    def landmarks():
        return peer.landmarks(longs)

    found = {
        "pagerank": Case([ranks], [pagerank], there),
        "landmarks": Case([paths], [landmarks], back),
        "labels": Case([labels], [lambda: peer.labels(5)], {**there, "directed": False}),
    }
    if not faithful:
        whole = ("weakly_connected_components", {})
        found["components"] = Case([whole], [peer.components], there)
        found["three"] = Case([ranks, whole, paths], [pagerank, peer.components, landmarks], there)
    return found


def ours_alone(plug, frame, case: Case) -> tuple[float, str]:
    """A case end to end, from the frame to frames that were read; the engine's own seconds, and the account."""
    graph = plug.graph(frame, **case.reading)
    for what, arguments in case.ours:
        read(graph.run(what, **arguments))
    return sum(reply["seconds"] for _, reply, _, _ in graph.told.runs), graph.explain()


def measured(plug_of, frame, case: Case, peer, repeat: int) -> dict[str, Any]:
    """Both in turns; the first round, in which both compile, does not count."""
    found: dict[str, list[float]] = {"ours": [], "supersteps": [], "graphx": [], "graphx_run": []}
    said = ""
    for turn in range(repeat + 1):
        with plug_of() as plug:
            seconds, (engine, said) = timed(lambda plug=plug: ours_alone(plug, frame, case))
        build, _ = timed(lambda: peer.build(frame._jdf))
        run, _ = timed(lambda: [one() for one in case.theirs])
        peer.drop()
        if turn or not repeat:
            for key, value in zip(found, (seconds, engine, build + run, run), strict=True):
                found[key].append(value)
    mid = {key: median(values) for key, values in found.items()}
    return {**mid, "times": mid["graphx"] / mid["ours"], "explain": said}


def shown(row: dict[str, Any]) -> str:
    """A row as text."""
    return (
        f"{row['graph']:<8} {row['way']:<8} {row['case']:<10} ours {row['ours']:7.3f} s (supersteps "
        f"{row['supersteps']:.4f})  GraphX {row['graphx']:7.3f} s (run {row['graphx_run']:.3f})  {row['times']:6.1f}x "
        f"end to end, {row['graphx_run'] / max(row['supersteps'], 1e-9):.0f}x supersteps"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["kron:14", "kron:16"])
    parser.add_argument("--only", default="pagerank,components,landmarks,three", help="cases, such as labels")
    parser.add_argument("--way", default="attached", choices=("attached", "faithful"))
    parser.add_argument("--repeat", type=int, default=3, help="rounds after the first; 0: the first counts")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--out")
    given = parser.parse_args()
    session, faithful, rows = session_of(given.cores, given.memory), given.way == "faithful", []
    peer = packager.instance(session, packager.build(PEER.read_text(), "graphx"), "arcflux.benchmarks.GraphxPeer")

    def plug_of():
        return FaithfulPlug(session) if faithful else spark.plug(session)

    for spec in given.graphs:
        frame, graph = cached_edges(session, spec)
        for name, case in cases_of(graph, peer, session, faithful).items():
            if name in given.only.split(","):
                told = measured(plug_of, frame, case, peer, given.repeat)
                rows.append({"graph": spec, "way": given.way, "case": name, **told})
                print(shown(rows[-1]), rows[-1]["explain"] if faithful else "", sep="\n", flush=True)
        frame.unpersist()
    if given.out:
        Path(given.out).write_text(json.dumps(rows, indent=1))
    session.stop()


if __name__ == "__main__":
    main()
