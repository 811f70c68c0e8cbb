"""A driver of a standalone cluster: ``spark_standalone.py MASTER values|wait`` prints a line of JSON."""

import json
import os
import sys
import time

import numpy as np
from pyspark.sql import SparkSession

import arcflux as af
from arcflux import spark

EDGES = np.random.default_rng(21).integers(0, 60, (300, 2)).tolist()


def session_of(master: str) -> SparkSession:
    made = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m",
        "spark.executor.cores": "1", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2",
        "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "512m",
    }.items():  # fmt: skip
        made = made.config(name, value)
    return made.getOrCreate()


def main() -> None:
    master, what = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = session_of(master)
    frame = session.createDataFrame(EDGES, "src bigint, dst bigint").repartition(2)
    expected = af.weakly_connected_components(af.Graph.from_edges(*zip(*EDGES, strict=True)))
    wanted = dict(zip(expected.ids.tolist(), expected["component"].tolist(), strict=True))
    if what == "values":
        same = {}
        for way in ("attached", "barrier"):
            with spark.plug(session, way=way) as plug:
                found = plug.graph(frame).weakly_connected_components()
                same[way] = {row[0]: row[1] for row in found.collect()} == wanted
        print(json.dumps(same), flush=True)
        session.stop()
        return
    with spark.plug(session) as plug:
        plug.graph(frame).weakly_connected_components()
        print(json.dumps({"daemon": plug.ask(lambda daemon: daemon.process)}), flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
