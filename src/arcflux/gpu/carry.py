"""Messages that go from the memory of one node's GPU to that of another's, without a stop in the node's own memory.

If every rank has a GPU and a node to itself, its vertices' messages exist on the GPU alone. The hosts settle which
values go to which rank (engine/exchange/telling.py), and the values follow on a link (links.py): gathered on one side,
scattered on the other.
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
    """Carries rows of `messages`, arrays of the host whose copies on the device are the current ones.

    They have two halves, a row for each vertex: the current messages of vertices, and the next ones.
    """

    def __init__(self, link: links.Link, state: State, messages: list[Array], queue: Any, shapes: Shapes) -> None:
        self.link, self.state, self.messages, self.queue, self.shapes = link, state, messages, queue, shapes
        self.n = len(messages[0]) // 2 if messages else 0
        self._sent: list[Any] = []
        self._expected: list[tuple[Array, Any, Any]] = []

    def differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something other than they send now."""
        size = len(vertices)
        if not size:
            return np.zeros(0, bool)
        places, flags = api.to_device(vertices), api.to_device(np.zeros(size, np.uint8))
        for message in self.messages:
            device = self.state.device(message, writes=False)
            kernel = walk.differing_values if message.ndim == 1 else walk.differing_vectors
            api.launch(kernel, *self.shapes.walking(size), places, size, device, self.n, flags, on=self.queue)
        api.synchronize()
        differs: Array = flags.copy_to_host().astype(bool)
        return differs

    def send(self, peer: int, vertices: Array, later: bool) -> int:
        """Send the messages of these vertices, the current or the next ones; returns the bytes."""
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
        """Expect the messages of these vertices; they have arrived after finish."""
        if not len(vertices):
            return
        places = api.to_device(vertices)
        for message in self.messages:
            room = api.empty((len(vertices), *message.shape[1:]), message.dtype)
            self.link.receive(room, peer)
            self._expected.append((message, places, room))

    def finish(self) -> None:
        """Wait until everything is sent and received, and scatter what arrived."""
        self.link.finish()
        for message, places, room in self._expected:
            primitives.scatter(room, places, self.state.device(message[: self.n]), on=self.queue)
        self._sent, self._expected = [], []
