"""The daemon as a process: one for all who ask, gone with its lease, and nothing left behind when a side is killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from plug_daemons import daemons_of

import arcflux as af
from arcflux.errors import ArcfluxError, DeviceError, IdError, UsageError
from arcflux.plug import daemon as daemon_module
from arcflux.plug.connection import Connection
from arcflux.plug.place import Place, reached_by_descriptor
from arcflux.plug.wire import LostPeerError, receive, send


def test_ten_who_ask_at_once_get_one_daemon(folder):
    found, failed = [], []

    def ask():
        try:
            with Connection.open("cpu", folder) as connection:
                found.append(connection.process)
                together.wait(60)
        except Exception as error:
            failed.append(error)

    together = threading.Barrier(10)
    threads = [threading.Thread(target=ask) for _ in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    assert len(found) == 10
    assert set(found) == set(daemons_of(folder, "cpu"))
    assert len(set(found)) == 1


def test_a_killed_daemon_is_noticed_at_once_and_another_one_comes(folder):
    with Connection.open("cpu", folder) as connection:
        assert connection.alive
        os.kill(connection.process, signal.SIGKILL)
        begun = time.monotonic()
        with pytest.raises(LostPeerError, match="gone"):
            connection.stats()
        assert time.monotonic() - begun < 2
        assert not connection.alive
        with Connection.open("cpu", folder) as again:
            assert again.process != connection.process
            assert again.stats()["runs"] == 0


def test_a_daemon_ends_with_its_lease_and_leaves_no_socket_nor_shared_memory(folder):
    before = set(os.listdir("/dev/shm"))
    with Connection.open("cpu", folder, lease=0.3) as connection:
        connection.put("g", {"source": np.arange(1000), "target": np.arange(1000)})
        time.sleep(0.8)  # it does not end while somebody is there
        assert connection.alive
    until = time.monotonic() + 5
    while daemons_of(folder, "cpu") and time.monotonic() < until:
        time.sleep(0.05)
    assert not daemons_of(folder, "cpu")
    assert not Place.of("cpu", folder).socket.exists()
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "arcflux" in name}


def test_an_agent_that_is_killed_leaves_nothing_and_the_daemon_goes_on(lasting_folder):
    script = f"""
import os, signal
import numpy as np
from arcflux.plug.connection import Connection
c = Connection.open("cpu", {lasting_folder!r})
c.put("killed", {{"source": np.arange(10), "target": np.arange(10)}})
print(c.process, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Connection.open("cpu", lasting_folder) as connection:
        assert connection.process == int(done.stdout)
        assert connection.stats()["slices"] == {"killed": 1}
        connection.drop(graph="killed")


def test_a_daemon_has_a_session_of_its_own_and_files_for_its_owner_alone(lasting_folder):
    with Connection.open("cpu", lasting_folder) as connection:
        assert os.getsid(connection.process) != os.getsid(0)
        for path in Path(lasting_folder).iterdir():
            assert path.lstat().st_mode & 0o077 == 0, path


def test_who_has_no_token_is_refused_and_told_nothing(lasting_folder):
    with Connection.open("cpu", lasting_folder):
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with stranger, reached_by_descriptor(Place.of("cpu", lasting_folder).socket) as path:
            stranger.connect(path)
            send(stranger, {"token": "0" * 64})
            assert receive(stranger)[0]["ok"] is False
            with pytest.raises(LostPeerError):
                receive(stranger)


def test_another_user_is_not_even_answered(folder, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = daemon_module._Daemon(Place.of("cpu", folder), 1.0)
        made.listener.close()
        send(theirs, {"token": made.token})
        monkeypatch.setattr(daemon_module, "peer_of", lambda _: (1, os.getuid() + 1))
        assert not made._knows(ours)
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)
        monkeypatch.undo()
        assert made._knows(ours)


def test_noise_on_the_socket_ends_that_connection_alone(lasting_folder):
    place = Place.of("cpu", lasting_folder)
    with Connection.open("cpu", lasting_folder) as connection:
        for noise in (b"", b"\0\0\0\4nope", b"\xff\xff\xff\xff", b"\0\0\0\2[]", b"\0\1\0\0" + b"[" * 65536):
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with stranger, reached_by_descriptor(place.socket) as path:
                stranger.connect(path)
                stranger.sendall(noise)
        assert connection.stats()["device"] == "cpu"


def test_a_graph_of_slices_runs_and_hands_its_results_back(lasting_folder):
    graph = af.load("kron:8,weights=1-9")
    source, target, columns = graph.edge_list()
    with Connection.open("cpu", lasting_folder) as connection:
        connection.put("kron", {"source": [0], "target": [1], "weight": [1]}, number=1)
        half = len(source) // 2
        for number, part in enumerate((slice(0, half), slice(half, None))):
            rows = {"source": source[part], "target": target[part], "weight": columns["weight"][part]}
            connection.put("kron", rows, number=number)
        with pytest.raises(UsageError, match="slice 2 of graph 'kron' has not come"):
            connection.build("kron", slices=3)
        about = connection.build("kron", slices=2, columns=["weight"], directed=False, vertices=graph.vertices)
        assert about["edges"] == graph.edges
        connection.run("kron", "sssp", result="paths", source=3)
        expected = af.sssp(graph, 3)
        found = connection.fetch("paths")
        assert np.array_equal(found["vertex"], expected.ids)
        assert np.array_equal(found["distance"], expected["distance"])
        with pytest.raises(IdError, match="999"):
            connection.run("kron", "bfs", source=999)
        connection.drop(graph="kron", result="paths")
        with pytest.raises(UsageError, match="no graph 'kron'"):
            connection.run("kron", "pagerank")


def test_text_ids_and_a_program_of_ones_own(lasting_folder):
    with Connection.open("cpu", lasting_folder) as connection:
        connection.put("names", {"from": ["ada", "bob", "eve"], "to": ["bob", "eve", "zoë"]})
        connection.build("names", source="from", target="to")
        said = connection.run("names", Reach, result="reach", source="bob")
        found = connection.fetch("reach")
        assert said["supersteps"] == 3
        assert dict(zip(found["vertex"].to_pylist(), found["hops"].tolist(), strict=True)) == {
            "ada": FAR, "bob": 0, "eve": STEP, "zoë": 2 * STEP,
        }  # fmt: skip
        connection.drop(graph="names", result="reach")


FAR, STEP = 1000, 2


def further(hops):
    return min(hops + STEP, FAR)


@af.program
class Reach:
    source: af.vertex
    hops: af.i32

    def start(v, p):
        v.hops = 0 if v.number == p.source else FAR
        return v.number == p.source

    def compute(v, u):
        v.hops = min(v.hops, further(u.hops))

    def update(v, old):
        return v.hops < old.hops


def test_a_daemon_that_is_not_there_and_one_that_cannot_be(folder):
    with pytest.raises(DeviceError, match="no daemon 'cpu'"):
        Connection.open("cpu", folder, start=False)
    with pytest.raises(UsageError, match="a daemon is called"):
        Connection.open("../cpu", folder)
    assert issubclass(LostPeerError, ArcfluxError)
