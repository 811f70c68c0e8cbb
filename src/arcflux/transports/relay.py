"""Messages through a relay: for ranks that reach each other only through the driver, such as tasks of an upper system.

Every rank has one connection, to the relay, which forwards each message to its receiver. So all traffic between ranks
can be seen, and counted, in one process. For ranks that may connect to each other, tcp.py is faster.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from arcflux.transports import handshake
from arcflux.transports.tcp import HEAD

__all__ = ["Relay"]

_CHUNK = 1 << 20


class Relay:
    """A listener that forwards messages, for generations of ranks.

    messages, bytes: what has been forwarded so far.
    """

    def __init__(self, token: bytes, host: str = "127.0.0.1") -> None:
        self.token, self.messages, self.bytes = token, 0, 0
        self._listening = socket.create_server((host, 0), backlog=1024)
        self.address: tuple[str, int] = host, self._listening.getsockname()[1]
        self._lines: dict[tuple[int, int], tuple[socket.socket, threading.Lock]] = {}
        self._arrived = threading.Condition()
        self._closed = False
        threading.Thread(target=self._accept, name="arcflux-relay", daemon=True).start()

    def close(self) -> None:
        """Stop forwarding."""
        self._closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._arrived:
            for line, _ in self._lines.values():
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            self._arrived.notify_all()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(connection,), name="arcflux-relay", daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError, ValueError, KeyError):
            connection.settimeout(10.0)
            if not handshake.admit(connection, self.token):
                return
            hello = handshake.receive(connection)
            mine = int(hello["generation"]), int(hello["rank"])
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._arrived:
                self._lines[mine] = connection, threading.Lock()
                self._arrived.notify_all()
            while True:
                self._pass_on(connection, *mine)

    def _pass_on(self, connection: socket.socket, generation: int, sender: int) -> None:
        """Forward one message: its head names the receiver on arrival, and the sender when it leaves."""
        tag, size, receiver = HEAD.unpack(handshake.exactly(connection, HEAD.size))
        with self._arrived:
            while (line := self._lines.get((generation, receiver))) is None:
                if not self._arrived.wait(60.0) or self._closed:
                    raise EOFError("the receiver has not come")
        to, lock = line
        with lock:
            to.sendall(HEAD.pack(tag, size, sender))
            length = size
            while length:
                chunk = handshake.exactly(connection, min(length, _CHUNK))
                to.sendall(chunk)
                length -= len(chunk)
        with self._arrived:
            self.messages += 1
            self.bytes += size
