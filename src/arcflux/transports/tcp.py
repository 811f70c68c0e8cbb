"""Ranks that communicate over sockets: buffers only, nothing is pickled, and no call blocks.

Every rank has a connection to each other one, within a host by a Unix socket, which takes half as long; ranks of a host
also share pages of memory (pages.py). A message is sent at once as far as the other side receives it, and the rest
while this rank waits; arriving bytes are received into the array that is returned. The rendezvous reports deaths
(rendezvous.py). processes.py describes how a rank waits.
"""

from __future__ import annotations

import hashlib
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from arcflux.errors import RankError
from arcflux.spmd.memory import Array
from arcflux.transports import handshake
from arcflux.transports.board import Board, error_of
from arcflux.transports.control import Control
from arcflux.transports.processes import Office, ProcessTransport
from arcflux.transports.rendezvous import Rendezvous
from arcflux.transports.ring import addresses, host_id

__all__ = ["HEAD", "TcpTransport", "join", "run_tcp"]

Answer = TypeVar("Answer")
# The head of a message: its tag, how many bytes follow, and its sender (to the relay: its receiver).
HEAD = struct.Struct("<QQQ")
# Seconds for all ranks to come to the rendezvous, and for one attempt to connect.
_MEETING, _ATTEMPT = 120.0, 10.0
_BUFFER = 4 << 20
# Seconds between two checks of an alarm that is being written.
_NAP = 0.001
# The most buffers of one system call.
_PIECES = 64


class _Line:
    """The connection to one rank, or (`peer` is -1) to the relay, with its pending data in both directions."""

    def __init__(self, connection: socket.socket, peer: int, inbox: dict[tuple[int, int], deque[Array]]) -> None:
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                with suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, buffer, _BUFFER)
        self.connection, self.peer, self.inbox = connection, peer, inbox
        self.out: deque[memoryview] = deque()
        self.gone = False
        self._head = bytearray(HEAD.size)
        self._into, self._at = memoryview(self._head), 0
        self._body: Array | None = None
        self._tag, self._sender = 0, peer

    def push(self) -> None:
        """Send what the other side receives now."""
        out = self.out
        while out and not self.gone:
            pieces = [out[k] for k in range(min(len(out), _PIECES))]
            try:
                count = self.connection.sendmsg(pieces)
            except BlockingIOError:
                return
            except OSError:
                self.gone = True
                break
            while out and count >= len(out[0]):
                count -= len(out.popleft())
            if count:
                out[0] = out[0][count:]
        if self.gone:
            out.clear()

    def pull(self) -> None:
        """Receive what has arrived; complete messages go to the inbox."""
        while not self.gone:
            try:
                count = self.connection.recv_into(self._into[self._at :])
            except BlockingIOError:
                return
            except OSError:
                count = 0
            if not count:
                self.gone = True
                return
            self._at += count
            if self._at == len(self._into):
                self._turn()

    def _turn(self) -> None:
        """A head, or a body, is complete."""
        if self._body is None:
            self._tag, length, named = HEAD.unpack(self._head)
            self._sender = named if self.peer < 0 else self.peer
            self._body = np.empty(length, np.uint8)
            if length:
                self._into, self._at = memoryview(self._body.data), 0
                return
        self.inbox.setdefault((self._sender, self._tag), deque()).append(self._body)
        self._body, self._into, self._at = None, memoryview(self._head), 0


class _Office(Office):
    """The connections of a rank, and what its transports share."""

    def __init__(self, connections: dict[int, socket.socket], control: Control, relayed: bool) -> None:
        super().__init__(1 << 32)
        made = {each: _Line(each, peer, self.inbox) for peer, each in connections.items()}
        if relayed:
            for line in made.values():
                line.peer = -1
        self.lines = {peer: made[each] for peer, each in connections.items()}
        self.control = control
        self.poll = select.poll()
        for line in made.values():
            self.poll.register(line.connection, select.POLLIN)
        self.by_descriptor = {line.connection.fileno(): line for line in self.lines.values()}


class TcpTransport(ProcessTransport):
    """A rank that reaches the others over sockets."""

    kind = "tcp"
    office: _Office

    def __init__(
        self, rank: int, node_of: Sequence[int], connections: dict[int, socket.socket], control: Control,
        crowded: bool = False, relayed: bool = False,
    ) -> None:  # fmt: skip
        """The transport over all ranks; :meth:`split` creates those of groups. See :func:`join`."""
        size = len(node_of)
        super().__init__(rank, node_of, Board(np.zeros(Board.bytes(size), np.uint8), size), crowded=crowded)
        control.watch(self.board)  # the board until the node's own board exists
        self._settle(_Office(connections, control, relayed))
        control.move(self.board)

    def _at(self, superstep: int) -> None:
        super()._at(superstep)
        self.office.control.say({"at": superstep})

    def fail(self, error: BaseException) -> bool:
        """This rank has failed: end the waiting of all others, on all nodes.

        A rank that only follows another of its node sends the other's alarm as well: it may end before that one has
        sent it, and would be taken for the lost one.
        """
        first = super().fail(error)
        while not (words := self.board.alarm_words())[0]:  # the rank that raises it is still writing
            time.sleep(_NAP)
        kind, rank, superstep, code, trace = words
        self.office.control.say({"alarm": [kind, rank, superstep, code, trace]})
        return first

    def _give(self, peer: int, raw: list[Array], tag: int) -> None:
        name, whole = self.names[peer], self._first_tag + tag
        if name == self.names[self.rank]:
            copy = np.concatenate(raw) if raw else np.empty(0, np.uint8)
            self.office.inbox.setdefault((name, whole), deque()).append(copy)
            return
        line = self.office.lines[name]
        idle = not line.out
        line.out.append(memoryview(HEAD.pack(whole, sum(map(len, raw)), name)))
        line.out.extend(memoryview(part.data) for part in raw if len(part))
        if idle:
            line.push()

    def _take(self, peer: int, tag: int) -> Array:
        office, key = self.office, (self.names[peer], self._first_tag + tag)
        line = office.lines.get(key[0])

        def arrived() -> bool:
            if office.inbox.get(key):
                return True
            if line is not None:
                line.pull()
                line.push()
            return bool(office.inbox.get(key))

        self._until(arrived, peer)
        return office.inbox[key].popleft()

    def finish(self) -> None:
        """Wait until the arrays of all messages that were posted may change again."""
        if any(line.out for line in self.office.lines.values()):
            self._until(self._emptied, None)

    def _emptied(self) -> bool:
        self._advance()
        return not any(line.out for line in self.office.lines.values())

    def _advance(self) -> None:
        """Let messages progress, in both directions and of all groups, while this rank waits for something else."""
        for line in self.office.lines.values():
            if line.out:
                line.push()
        for descriptor, _ in self.office.poll.poll(0):
            line = self.office.by_descriptor[descriptor]
            line.pull()
            if line.gone:
                self.office.poll.unregister(descriptor)

    def _rest(self, seconds: float) -> None:
        """Sleep until something arrives, or pending data can be sent, and no longer than this."""
        office = self.office
        waiting = [line.connection for line in office.lines.values() if line.out and not line.gone]
        for connection in waiting:
            office.poll.modify(connection, select.POLLIN | select.POLLOUT)
        office.poll.poll(max(1, int(seconds * 1000)))
        for connection in waiting:
            office.poll.modify(connection, select.POLLIN)

    def _left(self, peer: int) -> bool:
        line = self.office.lines.get(self.names[peer])
        return super()._left(peer) or (line is not None and line.gone)

    def close(self) -> None:
        """End this rank's participation."""
        super().close()
        self.office.control.close()
        self.abandon()

    def abandon(self) -> None:
        """Close all connections, whatever is in transit: the others see that this rank is gone."""
        self.office.control.abandon()
        for line in self.office.lines.values():
            line.connection.close()


def join(
    address: tuple[str, int], token: bytes, rank: int, *, attempt: int = 0, meeting: float = _MEETING,
    relay: tuple[str, int] | None = None,
) -> TcpTransport:  # fmt: skip
    """Join the ranks that meet at `address` as this rank, given their token; waits for the others, `meeting` seconds.

    `attempt` is higher when all ranks come again; `relay`: the address of a relay (relay.py), if messages do not go
    from rank to rank.
    """
    from arcflux import config

    connection = handshake.dial([address], token, _ATTEMPT, "the rendezvous of the ranks")
    near = connection.getpeername()[0] in ("127.0.0.1", "::1")
    listening = [socket.create_server(("127.0.0.1" if near else "", 0), backlog=1024), handshake.listen_here(1024)]
    try:
        card = {"host": host_id(), "port": listening[0].getsockname()[1], "addresses": ["127.0.0.1"] if near else
                [*addresses(), socket.gethostname()], "near": handshake.place_of(listening[1]),
                "cores": config.cores()}  # fmt: skip
        handshake.send(connection, {"rank": rank, "attempt": attempt, **card})
        roster = _roster(connection, rank, meeting)
        secret = hashlib.sha256(token + f"mesh {roster['generation']}".encode()).digest()
        if relay is None:
            connections = _mesh(listening, roster["cards"], rank, secret)
        else:
            line = handshake.dial([relay], token, _ATTEMPT, "the relay of messages")
            handshake.send(line, {"generation": roster["generation"], "rank": rank})
            connections = {peer: line for peer in range(len(roster["cards"])) if peer != rank}
    except BaseException:
        connection.close()
        raise
    finally:
        for one in listening:
            one.close()
    return TcpTransport(
        rank,
        roster["node_of"],
        connections,
        Control(connection, rank),
        crowded=roster["crowded"][rank],
        relayed=relay is not None,
    )


def _roster(connection: socket.socket, rank: int, meeting: float) -> dict[str, Any]:
    """The roster of all ranks, when they have arrived."""
    connection.settimeout(meeting)
    try:
        roster: dict[str, Any] = handshake.receive(connection)
    except TimeoutError:
        raise RankError(
            f"has waited {meeting:g} s for the other ranks, and not all have come,", rank=rank,
            remedy="as many processes as there are ranks have to be able to run at once",
        ) from None  # fmt: skip
    except (OSError, EOFError) as error:
        raise RankError(f"was left at the rendezvous ({error}),", rank=rank) from None
    if "refused" in roster:
        raise RankError(f"was refused at the rendezvous: {roster['refused']},", rank=rank)
    if "alarm" in roster:  # a rank is lost before all have met
        kind, lost, superstep, _, trace = roster["alarm"]
        raise error_of(kind, lost, superstep, trace)
    return roster


def _mesh(listening: list[socket.socket], cards: list[Any], rank: int, secret: bytes) -> dict[int, socket.socket]:
    """A connection to every other rank: this one connects to those below it, and accepts those above it."""
    connections: dict[int, socket.socket] = {}
    failed: list[BaseException] = []

    def call() -> None:
        try:
            for peer in range(rank):
                host, names, port, near = cards[peer]
                places: list[Any] = [(name, port) for name in names]
                if host == cards[rank][0]:
                    places.insert(0, near)
                connection = handshake.dial(places, secret, _ATTEMPT, f"rank {peer}")
                handshake.send(connection, {"rank": rank})
                connections[peer] = connection
        except BaseException as error:
            failed.append(error)

    caller = threading.Thread(target=call, name="arcflux-mesh", daemon=True)
    caller.start()
    called: dict[int, socket.socket] = {}
    try:
        end = time.monotonic() + 6 * _ATTEMPT
        while len(called) < len(cards) - 1 - rank:
            for peer, connection in _answered(listening, secret, end - time.monotonic()):
                if rank < peer < len(cards) and peer not in called:
                    called[peer] = connection
        caller.join()
        if failed:
            raise failed[0]
    except BaseException:
        for connection in (*connections.values(), *called.values()):
            connection.close()
        raise
    return connections | called


def _answered(
    listening: list[socket.socket], secret: bytes, seconds: float
) -> Iterator[tuple[int, socket.socket]]:  # fmt: skip
    """The ranks that connect next, if they know the secret."""
    if seconds <= 0:
        raise RankError("other ranks have not connected", remedy="see that hosts let each other connect")
    poll, by_descriptor = select.poll(), {one.fileno(): one for one in listening}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    for descriptor, _ in poll.poll(seconds * 1000):
        made, _ = by_descriptor[descriptor].accept()
        try:
            made.settimeout(_ATTEMPT)
            if handshake.admit(made, secret):
                yield int(handshake.receive(made)["rank"]), made
                continue
        except (OSError, EOFError, ValueError, KeyError):
            pass
        made.close()


def run_tcp(
    size: int, work: Callable[[Any], Answer], *, ranks_per_node: int | None = None, ends: bool = False
) -> list[Answer]:
    """Run ``work(transport)`` on `size` ranks, threads of this process that communicate over local sockets.

    For ranks as processes, of this host or of several: ``arcflux run ... --hosts a,b``, and :func:`join`.

    Examples
    --------
    >>> run_tcp(3, lambda t: int(t.reduce(np.array([t.rank]), "sum")[0]), ranks_per_node=1)
    [3, 3, 3]
    """
    from arcflux.transports.local import run_threads

    with Rendezvous(size, ranks_per_node=ranks_per_node) as meeting:
        return run_threads(size, lambda rank: join(meeting.address, meeting.token, rank), work, ends)
