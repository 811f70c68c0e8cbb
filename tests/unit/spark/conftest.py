"""One Spark session for all tests here: it takes seconds to start."""

import os
import shutil
import signal
import socket
import sys
import tempfile
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

JAVA = shutil.which("java") is not None or bool(os.environ.get("JAVA_HOME"))
PYSPARK = (find_spec("pyspark") or ModuleSpec("", None)).submodule_search_locations or ()
# PySpark 3.5 has no server of Spark Connect with it.
SERVERS = [jar for folder in PYSPARK for jar in Path(folder).glob("jars/spark-connect_*.jar")]
CONNECT = bool(SERVERS) and all(find_spec(name) for name in ("grpc", "grpc_status"))
if find_spec("pyspark") is None:  # the extra spark, which dev has
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items):
    here = os.path.dirname(__file__)
    for item in items:
        if not JAVA and str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason="Spark needs Java, which is not installed"))


@pytest.fixture(scope="session")
def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Spark's context takes Ctrl-C for itself; other tests of this process press it for what they run.
    handler = signal.getsignal(signal.SIGINT)
    with tempfile.TemporaryDirectory(prefix="arcflux-spark-") as folder:
        os.environ["ARCFLUX_PLUG"] = os.path.join(folder, "plug")
        builder = SparkSession.builder.master("local[2,4]").appName("arcflux tests")
        if CONNECT:  # a server of Spark Connect in the same JVM
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            builder = (
                builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
                .config("spark.connect.grpc.binding.address", "127.0.0.1")
                .config("spark.connect.grpc.binding.port", str(port))
            )
        made = (
            builder.config("spark.driver.memory", "2g")
            .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.shuffle.partitions", "2")
            .config("spark.local.dir", folder).config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .config("spark.stage.maxConsecutiveAttempts", "2").config("spark.log.level", "OFF").getOrCreate()
        )  # fmt: skip
        signal.signal(signal.SIGINT, handler)
        yield made
        import arcflux.spark

        arcflux.spark._close_all()
        made.stop()
        os.environ.pop("ARCFLUX_PLUG")


@pytest.fixture(scope="session")
def remote(session):
    """The same Spark by Spark Connect."""
    if not CONNECT:
        pytest.skip("Spark Connect needs grpcio and grpcio-status, which are not installed")
    from pyspark.sql.connect.session import SparkSession

    port = session.conf.get("spark.connect.grpc.binding.port")
    made = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    yield made
    import arcflux.spark

    arcflux.spark._close_all()
    made.stop()


@pytest.fixture(scope="session")
def frame_of(session):
    """A frame of edges: tuples, and a schema."""

    def made(rows, schema="src bigint, dst bigint", partitions=2):
        return session.createDataFrame(rows, schema).repartition(partitions)

    return made
