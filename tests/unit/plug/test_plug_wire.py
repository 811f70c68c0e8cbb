"""Messages on a socket: however their bytes come, whole ones are taken, and nothing else is."""

import json
import os
import socket
import struct

import pytest

from arcflux.plug.wire import LostPeerError, WireError, close_all, receive, send


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def message_of(content):
    text = json.dumps(content).encode()
    return struct.pack("!I", len(text)) + text


@pytest.mark.parametrize("cuts", [[], [2], [4], [1, 2, 3, 4, 5, 9]])
def test_a_message_that_comes_in_pieces(ends, cuts):
    ours, theirs = ends
    content, pieces = {"op": "drop", "result": "x" * 50}, []
    raw = message_of(content)
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        pieces.append(raw[begin:end])

    class Halting:
        """The connection, to which the next piece comes when something is received."""

        def recvmsg(self, *given):
            if pieces:
                theirs.send(pieces.pop(0))
            return ours.recvmsg(*given)

    assert receive(Halting())[0] == content


def test_long_messages_and_descriptors(ends):
    ours, theirs = ends
    read_end, write_end = os.pipe()
    content = {"text": "y" * (40 << 10)}
    send(theirs, content, [read_end])
    found, descriptors = receive(ours)
    assert found == content
    os.write(write_end, b"!")
    assert os.read(descriptors[0], 1) == b"!"
    close_all([*descriptors, read_end, write_end])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (message_of({}) + message_of({}), "two messages"),
        (struct.pack("!I", 1 << 30) + b"{}", "1,073,741,824 bytes"),
        (struct.pack("!I", 3) + b"{]}", "not JSON"),
        (message_of([1]), "is a list"),
    ],
)
def test_what_is_no_message(ends, raw, said):
    ours, theirs = ends
    theirs.send(raw)
    with pytest.raises(WireError, match=said):
        receive(ours)


def test_a_peer_that_ends_in_the_middle(ends):
    ours, theirs = ends
    theirs.send(message_of({"op": "run"})[:-2])
    theirs.close()
    with pytest.raises(LostPeerError):
        receive(ours)
