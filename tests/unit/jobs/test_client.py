"""The client, against what is no server of jobs, or one that goes away: an error that names it, never a raw one."""

from __future__ import annotations

import json
import re
import socket
import threading

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import ServiceError, UsageError


@pytest.fixture
def said():
    """Clients of servers that answer every request with the same bytes, and what they were asked."""
    servers, asked = [], []

    def client(answer, **options):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve():
            while True:
                try:
                    wire, _ = server.accept()
                except OSError:
                    return
                with wire:
                    asked.append(_request(wire))
                    wire.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        found = af.Client(f"http://127.0.0.1:{server.getsockname()[1]}", "a-token-of-the-tests", **options)
        found.asked = asked
        return found

    yield client
    for server in servers:
        server.close()


def _request(wire):
    """A whole request: its head and its body may come in pieces."""
    raw = b""
    while piece := wire.recv(1 << 16):
        raw += piece
        head, found, body = raw.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if found and len(body) >= (int(length[1]) if length else 0):
            break
    return raw


def _answer(body, length=None):
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    "answer",
    [b"SSH-2.0-OpenSSH_9\r\n", b"", _answer("<html>"), _answer("[]"), _answer("{}"), _answer("{", 600)],
    ids=["ssh", "nothing", "html", "list", "object", "cut"],
)
def test_what_is_no_server_of_jobs(said, answer):
    client = said(answer)
    for call in (client.graphs, client.tasks, client.jobs, lambda: client.status("1-0"), lambda: client.cancel("1-0"),
                 lambda: client.submit("g", "t")):  # fmt: skip
        with pytest.raises(ServiceError, match=r"127\.0\.0\.1") as caught:
            call()
        assert caught.value.status == 0


def test_an_answer_that_is_cut_off_is_an_error_and_no_result(said):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    client = said(head + b'1a\r\nevent: status\ndata: {"a":1}\n\r\n5\r\nev')
    events = client.events("1-0")
    with pytest.raises(ServiceError, match="does not answer"):
        list(events)
    with pytest.raises(ServiceError, match="does not answer"):
        list(said(head + b"4\r\nabcd\r\n").pieces("1-0", "csv"))
    assert list(said(head + b"4\r\nabcd\r\n0\r\n\r\n").pieces("1-0", "csv")) == [b"abcd"]


def test_what_cannot_be_sent_is_told_before(said):
    client = said(_answer(json.dumps({"id": "1-0"})))
    with pytest.raises(UsageError, match="set is none of them"):
        client.submit("g", "t", x={1, 2})
    with pytest.raises(UsageError, match="timeout"):
        af.Client(client.url, "t", timeout="soon")
    with pytest.raises(ServiceError, match="control characters"):
        af.Client("http://a b", "t").graphs()
    assert client.asked == []
    assert client.submit("g", "t", source=np.int64(3), sources=np.arange(2)) == {"id": "1-0"}
    assert json.loads(client.asked[0].partition(b"\r\n\r\n")[2])["parameters"] == {"source": 3, "sources": [0, 1]}
