"""Wake-ups between agent and daemon: event counters (eventfd) instead of polling, and a socket for a peer's end.

Messages are fields of one 64-bit counter, so that several may be pending and none is lost; the order in which those of
one side are read is the order in which that side can have sent them.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Iterator

from arcflux.plug.control import Message
from arcflux.plug.wire import AWAKE, CORES, LostPeerError

__all__ = ["Bell"]

_FIELD = 0xFFFF


class Bell:
    """One direction of the pipeline's messages, and the connection that shows the other side's end."""

    def __init__(self, descriptor: int, channel: socket.socket, *, expects: bool = False) -> None:
        """`expects`: the other side may also reply on the connection, before the pipeline has ended."""
        self.descriptor, self.channel = descriptor, channel
        self.answered, self._lost = False, select.POLLRDHUP | select.POLLHUP
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._expects = expects
        self.begin()

    def begin(self) -> None:
        """Reset for an iteration: no reply has come yet."""
        self.answered = False
        self._poll.register(self.channel, self._lost | (select.POLLIN if self._expects else 0))

    def ring(self, message: Message) -> None:
        """Send a message."""
        os.eventfd_write(self.descriptor, message.value)

    def also(self, descriptor: int) -> None:
        """Also wait for this descriptor, which other threads of this process write."""
        self._poll.register(descriptor, select.POLLIN)

    def _ready(self) -> list[tuple[int, int]]:
        """The ready descriptors: polled for as long as waking up would take, then waited for."""
        if CORES > 1 and not self._expects:
            until = time.perf_counter_ns() + AWAKE
            while time.perf_counter_ns() < until:
                if ready := self._poll.poll(0):
                    return ready
        return self._poll.poll()

    def wait(self) -> Iterator[Message]:
        """The pending messages, at least one; none if another descriptor was ready."""
        ready = dict(self._ready())
        if self.descriptor in ready:
            value = os.eventfd_read(self.descriptor)
            for message in Message:
                for _ in range(value // message.value & _FIELD):
                    yield message
        elif (said := ready.get(self.channel.fileno(), 0)) & self._lost:
            raise LostPeerError("the other side of the pipeline is gone", remedy="connect again")
        elif said & select.POLLIN:
            self.answered = True
            self._poll.register(self.channel, self._lost)
