"""Mutual authentication of two processes by a token that is not sent: each answers the other's random number.

Frames follow on such a connection: four bytes of length, then JSON. Nothing is pickled.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
from collections.abc import Sequence
from typing import Any

from arcflux.errors import RankError

__all__ = ["admit", "dial", "exactly", "introduce", "listen_here", "place_of", "receive", "send"]

_MAGIC = b"arcflux1"
_NONCE = 16
_PROOF = 32
_LENGTH = struct.Struct("<I")
# The most bytes of a frame: a roster of some thousand ranks.
_MOST = 4 << 20


def _proof(token: bytes, side: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(token, side + first + second, "sha256")


def introduce(connection: socket.socket, token: bytes) -> None:
    """As the connecting side: prove knowledge of the token, and check the other side's proof."""
    mine = secrets.token_bytes(_NONCE)
    connection.sendall(_MAGIC + mine)
    answer = exactly(connection, _NONCE + _PROOF)
    theirs, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, _proof(token, b"listens", mine, theirs)):
        raise ConnectionRefusedError("the other side does not know the token")
    connection.sendall(_proof(token, b"connects", theirs, mine))


def admit(connection: socket.socket, token: bytes) -> bool:
    """As the accepting side: whether the other side knows the token."""
    hello = exactly(connection, len(_MAGIC) + _NONCE)
    theirs, mine = hello[len(_MAGIC) :], secrets.token_bytes(_NONCE)
    if not hello.startswith(_MAGIC):
        return False
    connection.sendall(mine + _proof(token, b"listens", theirs, mine))
    return hmac.compare_digest(exactly(connection, _PROOF), _proof(token, b"connects", mine, theirs))


def listen_here(backlog: int) -> socket.socket:
    """A socket for processes of this host, without a file: the kernel assigns its name, which ends with it."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen(backlog)
    return listener


def place_of(listening: socket.socket) -> str:
    """The address of such a socket for processes of this host, for :func:`dial`."""
    return bytes(listening.getsockname()).hex()


def _connected(place: tuple[str, int] | str, seconds: float) -> socket.socket:
    if not isinstance(place, str):
        connection = socket.create_connection(place, timeout=seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(bytes.fromhex(place))
    except BaseException:
        connection.close()
        raise
    return connection


def dial(places: Sequence[tuple[str, int] | str], token: bytes, seconds: float, whom: str) -> socket.socket:
    """A connection to the first of these addresses that answers and knows the token: host and port, or `place_of`."""
    why = "there is no address"
    for place in places:
        try:
            connection = _connected(place, seconds)
            try:
                introduce(connection, token)
                return connection
            except BaseException:
                connection.close()
                raise
        except OSError as error:  # noqa: PERF203
            why = f"{place if isinstance(place, str) else f'{place[0]}:{place[1]}'}: {error}"
    raise RankError(
        f"{whom} cannot be reached: {why}", expected="a process that listens there, with the same token",
        remedy="see that hosts let each other connect, and that the process that started the ranks still runs",
    )  # fmt: skip


def send(connection: socket.socket, said: Any) -> None:
    """Send a frame."""
    raw = json.dumps(said).encode()
    connection.sendall(_LENGTH.pack(len(raw)) + raw)


def receive(connection: socket.socket) -> Any:
    """The next frame; EOFError if the other side has closed the connection."""
    (length,) = _LENGTH.unpack(exactly(connection, _LENGTH.size))
    if length > _MOST:
        raise ConnectionAbortedError(f"a frame of {length:,} bytes")
    try:
        return json.loads(exactly(connection, length))
    except (ValueError, RecursionError) as error:
        raise ConnectionAbortedError(f"a frame is not JSON: {error}") from error


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; EOFError if the other side has closed the connection."""
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise EOFError("the other side has closed the connection")
        received += chunk
    return bytes(received)
