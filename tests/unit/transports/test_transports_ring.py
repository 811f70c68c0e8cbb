"""The ring of connections between nodes: who was killed, who went by himself, and who does not belong there."""

import socket
import struct
import threading
import time

import pytest

from arcflux.transports import ring as module
from arcflux.transports.local import run_local
from arcflux.transports.ring import Ring


def heard(ring, seconds=5.0):
    """What a ring says when the connection has closed."""
    end = time.monotonic() + seconds
    while ring.previous is not None and time.monotonic() < end:
        found = ring.listen()
        time.sleep(0.01)
    return found


def closed(*rings):
    for ring in rings:
        for connection in (ring.previous, ring._next):
            if connection is not None:
                connection.close()


@pytest.mark.parametrize(("size", "per_node"), [(2, 1), (3, 1), (5, 2), (4, 2)])
def test_every_leader_watches_the_one_before(size, per_node):
    def work(t):
        ring = Ring(t)
        ring.at(10 + t.rank)
        t.barrier()
        before = t.leaders[(t.node - 1) % t.nodes]
        if t.place:
            assert (ring.previous, ring._next, ring.watched) == (None, None, -1)
        else:
            assert ring.watched == before
            end = time.monotonic() + 5
            while ring.listen() != (False, 10 + before):
                assert time.monotonic() < end
        t.barrier()
        closed(ring)

    run_local(size, work, ranks_per_node=per_node)


def test_one_node_needs_none():
    for ring in run_local(3, Ring):
        assert (ring.previous, ring._next) == (None, None)
        ring.at(1)
        ring.goodbye()
        assert ring.listen() == (False, -1)


@pytest.mark.parametrize("killed", [True, False])
def test_a_connection_that_closes_is_a_death_unless_goodbye_was_said(killed):
    first, second = run_local(2, Ring, ranks_per_node=1)
    for superstep in range(4):
        first.at(superstep)
    if not killed:
        first.goodbye()
    first._next.close()  # what the system does when a process is killed
    assert heard(second) == (killed, 3 if killed else module._GOODBYE)
    assert second.listen()[0] is False  # it is told once
    closed(first, second)


def test_a_neighbour_that_does_not_listen_holds_nobody_up():
    first, second = run_local(2, Ring, ranks_per_node=1)
    steps = 1
    while first._say(module._WORD.pack(steps)):  # until all buffers are full, maybe in the middle of a word
        steps += 1
    first.at(steps + 1)
    end = time.monotonic() + 5
    while second.listen()[1] < steps - 1 and time.monotonic() < end:
        pass
    first.at(7)
    first._next.close()
    assert heard(second) == (True, 7)
    closed(first, second)


def test_strangers_are_not_let_in():
    """Who connects without the token is turned away, and the right one is waited for."""
    token, listening = bytes(range(16)), module._listening(alone=True)
    port = listening.getsockname()[1]
    ring = object.__new__(Ring)
    ring.previous = None
    answering = threading.Thread(target=ring._answer, args=(listening, token))
    answering.start()
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"x" * 16)
        assert stranger.recv(1) == b""
    assert ring.previous is None
    made = module._connected(token + struct.pack("<H", port), near=True)
    answering.join()
    assert made is not None
    assert ring.previous is not None
    for each in (made, ring.previous, listening):
        each.close()


def test_where_nobody_answers_there_is_no_connection(monkeypatch):
    monkeypatch.setattr(module, "_ATTEMPT", 0.2)
    with module._listening(alone=True) as silent:  # connects, and is never answered
        port = silent.getsockname()[1]
        assert module._connected(bytes(16) + struct.pack("<H", port), near=True) is None
    assert module._connected(bytes(16) + struct.pack("<H", port), near=True) is None, "nobody listens any more"


def test_nodes_of_one_host_meet_within_it():
    rings = run_local(2, Ring, ranks_per_node=1)
    places = {place for ring in rings for place in (ring.previous.getsockname()[0], ring._next.getpeername()[0])}
    closed(*rings)
    assert places == {"127.0.0.1"}


def test_nodes_of_several_hosts_listen_outside(monkeypatch):
    """Pretended hosts: each says that it is another one, and has the one address that is tried."""
    mine = threading.local()
    names = iter(range(2))
    lock = threading.Lock()

    def host():
        with lock:
            mine.name = next(names)
        return f"host {mine.name}"

    monkeypatch.setattr(module, "host_id", host)
    monkeypatch.setattr(module, "addresses", lambda: ["127.0.0.1"])
    monkeypatch.setattr(module.socket, "gethostname", lambda: "127.0.0.1")
    for ring in run_local(2, Ring, ranks_per_node=1):
        assert ring.previous is not None
        assert ring._next is not None
        closed(ring)


def test_no_address_is_one_that_only_this_host_knows():
    assert not [address for address in module.addresses() if address.startswith("127.")]
