"""A standalone cluster on loopback, with executors of their own; and a driver that is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.chaos
SCRIPT = Path(__file__).with_name("spark_standalone.py")
# Of the default lease, and of a busy machine.
PATIENCE = 90.0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def answers(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def until(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a master with one worker, and the environment of its drivers."""
    import pyspark

    home, folder, port = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("cluster"), free_port()
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder), "ARCFLUX_PLUG": str(folder / "plug"), "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }  # fmt: skip
    deploy, address = [str(home / "bin/spark-class"), "org.apache.spark.deploy"], f"spark://127.0.0.1:{port}"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    lines = [
        [deploy[0], f"{deploy[1]}.master.Master", *here, "--port", str(port)],
        [deploy[0], f"{deploy[1]}.worker.Worker", *here, "-c", "2", "-m", "1g", address],
    ]
    started, nothing = [], subprocess.DEVNULL
    try:
        for line in lines:
            started.append(subprocess.Popen(line, env=environment, stdout=nothing, stderr=nothing))
            until(lambda: answers(port))
        yield address, environment
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def test_the_same_values(cluster):
    address, environment = cluster
    done = subprocess.run([sys.executable, str(SCRIPT), address, "values"], env=environment, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"attached": True, "barrier": True}


def test_a_daemon_outlives_its_driver_by_its_lease_alone(cluster):
    address, environment = cluster
    with subprocess.Popen([sys.executable, str(SCRIPT), address, "wait"], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as driver:  # fmt: skip
        said = next(line for line in driver.stdout if line.startswith("{"))
        daemon = json.loads(said)["daemon"]
        assert Path(f"/proc/{daemon}").exists()
        driver.send_signal(signal.SIGKILL)
        driver.wait(30)
    until(lambda: not Path(f"/proc/{daemon}").exists())
    assert not list(Path(environment["ARCFLUX_PLUG"]).glob("*.columns"))
