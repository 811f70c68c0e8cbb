"""Messages between agent and daemon: a length, JSON, and file descriptors sent with it (SCM_RIGHTS).

No received data can be code: JSON is the request, descriptors are memory (memory.py). A message is 4 bytes of length,
most significant first, then that many bytes of UTF-8; its descriptors come with the first of these.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from contextlib import suppress
from typing import Any

from arcflux.errors import ArcfluxError

__all__ = [
    "AWAKE",
    "CORES",
    "MOST_DESCRIPTORS",
    "LostPeerError",
    "WireError",
    "close_all",
    "peer_of",
    "receive",
    "send",
]

_LENGTH = struct.Struct("!I")
# The kernel's limit is 253 descriptors per message.
MOST_DESCRIPTORS = 250
_MOST_BYTES = 64 << 20
_ROOM = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
# The size of most messages, and the nanoseconds that a side polls for the next one before it sleeps.
_USUAL, AWAKE = 16 << 10, 50_000
CORES = len(os.sched_getaffinity(0))
_CREDENTIALS = struct.Struct("3i")


class WireError(ArcfluxError):
    """The received bytes are no message."""


class LostPeerError(ArcfluxError, ConnectionError):
    """The other side of a connection is gone: it ended, or was killed."""


def send(connection: socket.socket, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    """Send a message; the descriptors stay open here."""
    text = json.dumps(message, separators=(",", ":")).encode()
    if len(text) > _MOST_BYTES:
        raise WireError(f"a message has {len(text):,} bytes", expected=f"at most {_MOST_BYTES:,}: data go as memory")
    given = list(descriptors or ())
    if len(given) > MOST_DESCRIPTORS:
        raise WireError(f"a message has {len(given)} descriptors", expected=f"at most {MOST_DESCRIPTORS}")
    whole = _LENGTH.pack(len(text)) + text
    try:
        done = socket.send_fds(connection, [whole], given) if given else connection.send(whole)
        if done < len(whole):
            connection.sendall(whole[done:])
    except (BrokenPipeError, ConnectionResetError) as error:
        raise _lost() from error


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message, and its descriptors, which are the caller's to close.

    A side waits for the reply before it sends more, so that received bytes are one message.
    """
    descriptors: list[int] = []
    try:
        came = _first(connection, descriptors)
        while len(came) < _LENGTH.size:
            came += _more(connection, _LENGTH.size - len(came), descriptors)
        (size,) = _LENGTH.unpack_from(came)
        if size > _MOST_BYTES:
            raise WireError(f"a message says that it has {size:,} bytes", expected=f"at most {_MOST_BYTES:,}")
        parts, missing = [came[_LENGTH.size :]], size + _LENGTH.size - len(came)
        if missing < 0:
            raise WireError("two messages have come at once", expected="an answer before the next request")
        while missing:
            parts.append(_more(connection, missing, descriptors))
            missing -= len(parts[-1])
        try:
            message = json.loads(b"".join(parts))
        except (ValueError, RecursionError) as error:
            raise WireError(f"a message is not JSON: {error}") from error
        if not isinstance(message, dict):
            raise WireError(f"a message is a {type(message).__name__}", expected="an object of JSON")
    except BaseException:
        close_all(descriptors)
        raise
    return message, descriptors


def _first(connection: socket.socket, descriptors: list[int]) -> bytes:
    """The next bytes: polled for as long as waking up would take, then waited for."""
    until = time.perf_counter_ns() + AWAKE
    while CORES > 1 and time.perf_counter_ns() < until:
        with suppress(BlockingIOError):
            return _more(connection, _USUAL, descriptors, socket.MSG_DONTWAIT)
    return _more(connection, _USUAL, descriptors)


def _more(connection: socket.socket, size: int, descriptors: list[int], how: int = 0) -> bytes:
    """Some bytes, at least one and at most `size`, and the descriptors sent with them."""
    try:
        data, beside, flags, _ = connection.recvmsg(min(size, 1 << 20), _ROOM, socket.MSG_CMSG_CLOEXEC | how)
    except ConnectionResetError as error:
        raise _lost() from error
    for level, kind, content in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found = array.array("i")
            found.frombytes(content[: len(content) - len(content) % found.itemsize])
            descriptors.extend(found)
    if flags & socket.MSG_CTRUNC:
        raise WireError("a message has more descriptors than fit", expected=f"at most {MOST_DESCRIPTORS}")
    if not data:
        raise _lost()
    return data


def _lost() -> LostPeerError:
    return LostPeerError(
        "the other side of a daemon's socket is gone", remedy="connect again: a daemon is started when there is none"
    )


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end, as reported by the kernel (SO_PEERCRED)."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(raw)
    return process, user


def close_all(descriptors: list[int]) -> None:
    """Close descriptors, and clear the list."""
    while descriptors:
        os.close(descriptors.pop())
