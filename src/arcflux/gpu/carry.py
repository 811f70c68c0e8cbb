"""Messages that go from the memory of one node's GPU to that of another's, without a stop in the node's own memory.

Where every rank has a GPU and a node to itself, what its vertices send lives on the GPU alone. Which values go to
which rank is settled between the hosts (engine/exchange/telling.py), and the values follow on a link (links.py):
gathered on one side, scattered on the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.gpu import api, links, primitives, walk
from arcflux.gpu.launch import Shapes
from arcflux.gpu.state import State

__all__ = ["Carrier", "linked"]

Array = NDArray[Any]


def linked(transport: Any) -> links.Link:
    """The link of these ranks; collective."""
    return links.chosen(transport, *(transport.apart() or (None, None)))


class Carrier:
    """Carries rows of `messages`, arrays of the host whose twins on the device are the ones that count.

    They have two halves, a row for each vertex: what vertices send now, and what they will send next.
    """

    def __init__(self, link: links.Link, state: State, messages: list[Array], queue: Any, shapes: Shapes) -> None:
        self.link, self.state, self.messages, self.queue, self.shapes = link, state, messages, queue, shapes
        self.n = len(messages[0]) // 2 if messages else 0
        self._sent: list[Any] = []
        self._expected: list[tuple[Array, Any, Any]] = []

    def differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something else than now."""
        size = len(vertices)
        if not size:
            return np.zeros(0, bool)
        places, flags = api.to_device(vertices), api.to_device(np.zeros(size, np.uint8))
        for message in self.messages:
            device = self.state.device(message, writes=False)
            kernel = walk.differing_values if message.ndim == 1 else walk.differing_vectors
            api.launch(kernel, *self.shapes.walking(size), places, size, device, self.n, flags, on=self.queue)
        api.synchronize()
        found: Array = flags.copy_to_host().astype(bool)
        return found

    def send(self, peer: int, vertices: Array, later: bool) -> int:
        """Send what these vertices send, now or next; the bytes of it."""
        if not len(vertices):
            return 0
        places, begin, rooms = api.to_device(vertices), self.n if later else 0, []
        for message in self.messages:
            values = self.state.device(message[begin : begin + self.n], writes=False)
            rooms.append(api.empty((len(vertices), *message.shape[1:]), message.dtype))
            primitives.gather(values, places, rooms[-1], on=self.queue)
        api.synchronize()
        for room in rooms:
            self.link.send(room, peer)
        self._sent += rooms
        return sum(len(vertices) * (message.nbytes // len(message)) for message in self.messages)

    def receive(self, peer: int, vertices: Array) -> None:
        """Expect what these vertices send from now on; it is there after finish."""
        if not len(vertices):
            return
        places = api.to_device(vertices)
        for message in self.messages:
            room = api.empty((len(vertices), *message.shape[1:]), message.dtype)
            self.link.receive(room, peer)
            self._expected.append((message, places, room))

    def finish(self) -> None:
        """All that was sent has gone, all that was expected has come, and is where it belongs."""
        self.link.finish()
        for message, places, room in self._expected:
            primitives.scatter(room, places, self.state.device(message[: self.n]), on=self.queue)
        self._sent, self._expected = [], []
