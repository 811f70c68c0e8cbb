"""Failure detection between nodes: a ring of connections, by which leaders report their supersteps.

The system closes the connections of a killed process, so the process at the other end knows at once, and in which
superstep that was. A rank that ends by itself sends a message before, and is not blamed. Only leaders take part: the
ranks of a node monitor each other there (watch.py).
"""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arcflux.transports.base import Transport

__all__ = ["Ring", "addresses", "host_id"]

_LOOPBACK = "127.0.0.1"
_SIOCGIFADDR = 0x8915
_TOKEN, _WORD = 16, struct.Struct("<q")
# The message of a leader that ends by itself; supersteps are never so small.
_GOODBYE = -2
# Seconds for all connections to be made, and for each attempt.
_PATIENCE, _ATTEMPT = 10.0, 2.0


class Ring:
    """The two connections of a leader: from the leader before it, which it monitors, and to the one after it.

    Other ranks have none, but creating it is collective. If hosts cannot connect to each other, there is none either,
    and only mpiexec reports who was killed.
    """

    def __init__(self, transport: Transport) -> None:
        leaders, rank = transport.leaders, transport.rank
        self.watched, self._told = -1, -1
        self._heard = self._rest = b""
        self.previous: socket.socket | None = None
        self._next: socket.socket | None = None
        if transport.nodes < 2:
            return
        hosts = [host.tobytes() for host in transport.gather(np.frombuffer(host_id().encode(), np.uint8))]
        if transport.place:
            transport.gather(np.empty(0, np.uint8))
            return
        self.watched, following = (leaders[(transport.node + way) % len(leaders)] for way in (-1, 1))
        alone = len({hosts[leader] for leader in leaders}) == 1
        token, listening = secrets.token_bytes(_TOKEN), _listening(alone)
        places = [] if alone else [*addresses(), socket.gethostname()]
        card = token + struct.pack("<H", listening.getsockname()[1]) + "\n".join(places).encode()
        cards = transport.gather(np.frombuffer(card, np.uint8))
        answering = threading.Thread(target=self._answer, args=(listening, token), daemon=True)
        answering.start()
        self._next = _connected(cards[following].tobytes(), near=hosts[following] == hosts[rank])
        answering.join()
        listening.close()
        self.at(transport.board.superstep(rank))

    def _answer(self, listening: socket.socket, token: bytes) -> None:
        """Wait for the process that knows the token, and confirm the connection to it."""
        end = time.monotonic() + _PATIENCE
        while self.previous is None and (left := end - time.monotonic()) > 0:
            listening.settimeout(left)
            with suppress(OSError):
                found, _ = listening.accept()
                found.settimeout(_ATTEMPT)
                with suppress(OSError):
                    if secrets.compare_digest(_exactly(found, _TOKEN), token):
                        found.sendall(b"!")
                        found.setblocking(False)
                        self.previous = found
                        return
                found.close()

    def at(self, superstep: int) -> None:
        """Report to the next leader. A report that it does not receive at once may be dropped: a later one follows."""
        self._say(_WORD.pack(superstep))

    def goodbye(self) -> None:
        """Report that this rank ends by itself."""
        word, end = _WORD.pack(_GOODBYE), time.monotonic() + _ATTEMPT
        while self._next is not None and not self._say(word) and time.monotonic() < end:
            time.sleep(_ATTEMPT / 1000)

    def _say(self, word: bytes) -> bool:
        """Send the rest of the last word, and this one if some of it fits; returns whether all is sent."""
        if self._next is None:
            return False
        try:
            count = self._next.send(self._rest + word, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:  # the buffer is full, or the listener is gone
            return False
        begun = count > len(self._rest)
        self._rest = (self._rest + word)[count:] if begun else self._rest[count:]
        return begun and not self._rest

    def listen(self) -> tuple[bool, int]:
        """Whether the leader before was killed, and the last superstep that it reported."""
        if self.previous is None:
            return False, self._told
        closed = False
        try:
            while chunk := self.previous.recv(1 << 16):
                self._take(chunk)
            closed = True
        except BlockingIOError:
            pass
        except OSError:  # the connection was reset
            closed = True
        if closed:
            self.previous.close()
            self.previous = None
        return closed and self._told != _GOODBYE, self._told

    def _take(self, chunk: bytes) -> None:
        whole = self._heard + chunk
        count = len(whole) // _WORD.size
        self._heard = whole[count * _WORD.size :]
        if count:
            (self._told,) = _WORD.unpack_from(whole, (count - 1) * _WORD.size)


def host_id() -> str:
    """An id shared by processes that can reach each other within the machine: its boot, and its namespaces."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        spaces = (os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("net", "pid"))
        return " ".join([file.read().strip(), *map(str, spaces), str(os.getuid())])


def _listening(alone: bool) -> socket.socket:
    """A socket that others can connect to: at any address of this host, or only locally if it is alone."""
    if alone:
        return socket.create_server((_LOOPBACK, 0))
    if socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def addresses() -> list[str]:
    """The IPv4 addresses by which others reach this host."""
    found_addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                request = struct.pack("256s", name.encode()[:15])
                found_addresses.append(socket.inet_ntoa(fcntl.ioctl(any_socket, _SIOCGIFADDR, request)[20:24]))
    return [address for address in found_addresses if not address.startswith("127.")]


def _connected(card: bytes, near: bool) -> socket.socket | None:
    """A connection to the process of this card: its token, its port, and its addresses.

    A process on this host is reached locally.
    """
    token, (port,) = card[:_TOKEN], struct.unpack_from("<H", card, _TOKEN)
    for place in [_LOOPBACK] if near else card[_TOKEN + 2 :].decode().split("\n"):
        with suppress(OSError):
            connection = socket.create_connection((place, port), timeout=_ATTEMPT)
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(token)
                if _exactly(connection, 1) == b"!":
                    return connection
            connection.close()
    return None


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (chunk := connection.recv(size - len(data))):
        data += chunk
    return data
