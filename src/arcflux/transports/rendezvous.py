"""The meeting point and monitor of TCP ranks: a listener in the process that started them.

Every rank connects to the rendezvous, sends its number and where it listens and on which host, and gets the roster when
all have arrived. The connection stays open: the death of a rank is seen at once, and all others are told; if this
process ends, every rank knows. Ranks report their supersteps and, twice a second, that they are alive.

Ranks may come again: if an upper system repeats all of them, each with a higher attempt number than before, a new
generation begins, the earlier one is over, and stragglers of it are refused.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from arcflux import config
from arcflux.errors import RankError, UsageError
from arcflux.transports import handshake
from arcflux.transports.base import nodes_by_size
from arcflux.transports.board import DIED, HUNG, STUCK

__all__ = ["Rendezvous"]

# Seconds for a connected process to prove that it knows the token.
_HELLO = 5.0
_GLANCE, _NAP = 0.25, 0.005


@dataclass
class _Rank:
    """A rank that has joined."""

    connection: socket.socket
    hello: dict[str, Any]
    superstep: int = -1
    heard: float = field(default_factory=time.monotonic)
    waits: float = 0.0
    ended: bool = False


class Rendezvous:
    """A listener for `size` ranks.

    address, token: what ranks need (:func:`arcflux.transports.tcp.join`); failure: the alarm that ended the current
    generation: kind, rank, superstep, exit code, traceback; None without a failure.

    Examples
    --------
    >>> with Rendezvous(1) as meeting:
    ...     meeting.address[0], len(meeting.token)
    ('127.0.0.1', 32)
    """

    def __init__(
        self, size: int, *, host: str = "127.0.0.1", ranks_per_node: int | None = None, token: bytes | None = None,
        on_failure: Callable[[tuple[Any, ...]], None] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(size, int) or size < 1:
            raise UsageError(f"size is {size!r}", expected="a whole number of ranks, from 1 on")
        nodes_by_size(1, ranks_per_node)
        self.size, self.ranks_per_node = size, ranks_per_node
        self.token = token if token is not None else secrets.token_bytes(32)
        self.generation = 0
        self.failure: tuple[Any, ...] | None = None
        self._on_failure = on_failure
        self._ranks: dict[int, _Rank] = {}
        self._oldest = -1  # attempts up to this one belong to ended generations
        self._complete = self._closed = False
        self._lock = threading.RLock()
        self._limit = config.hang_seconds()
        self._guests = threading.BoundedSemaphore(2 * size + 16)
        self._listening = socket.create_server((host, 0), backlog=min(4 * size, 1024))
        self.address: tuple[str, int] = host, self._listening.getsockname()[1]
        for task in (self._accept, self._judge):
            threading.Thread(target=task, name="arcflux-rendezvous", daemon=True).start()

    def __enter__(self) -> Rendezvous:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, and disconnect all ranks: those that have not ended notice it."""
        with self._lock:
            self._closed = True
            with suppress(OSError):  # this also wakes accept
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._dismiss()

    def fail(self, kind: int, rank: int, superstep: int, code: int = RankError.exit_code, trace: str = "") -> None:
        """End the current generation, from here."""
        with self._lock:
            if self.failure is None:
                self.failure = kind, rank, superstep, code, trace
                self._tell({"alarm": self.failure})
                if self._on_failure is not None:
                    self._on_failure(self.failure)

    def wait_for_end(self) -> None:
        """Return when all ranks of the current generation have ended, or it has failed."""
        while self.failure is None and not (self._complete and all(each.ended for each in self._ranks.values())):
            time.sleep(_NAP)

    def lose(self, kind: int, rank: int) -> None:
        """End the current generation because a rank died or hangs, as seen by the process that started it."""
        with self._lock:
            known = self._ranks.get(rank)
            self.fail(kind, rank, -1 if known is None else known.superstep)

    def _dismiss(self) -> None:
        for each in self._ranks.values():
            with suppress(OSError):
                each.connection.shutdown(socket.SHUT_RDWR)
        self._ranks = {}

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if self._guests.acquire(blocking=False):
                threading.Thread(target=self._attend, args=(connection,), name="arcflux-rank", daemon=True).start()
            else:
                connection.close()

    def _attend(self, connection: socket.socket) -> None:
        """Handle the connection of one process, from its first message to its last."""
        rank: int | None = None
        mine: _Rank | None = None
        try:
            with connection:
                connection.settimeout(_HELLO)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if not handshake.admit(connection, self.token):
                    return
                hello = handshake.receive(connection)
                mine = self._seat(connection, hello)
                if mine is None:
                    return
                rank = int(hello["rank"])
                connection.settimeout(None)
                while True:
                    self._hear(rank, mine, handshake.receive(connection))
        except (OSError, EOFError, ValueError, KeyError, TypeError, json.JSONDecodeError):
            pass
        finally:
            self._guests.release()
            if rank is not None and mine is not None:
                self._leave(rank, mine)

    def _seat(self, connection: socket.socket, hello: dict[str, Any]) -> _Rank | None:
        """Register a rank, if it belongs to the current generation; when all have arrived, send the roster to all."""
        rank, attempt = int(hello["rank"]), int(hello["attempt"])
        with self._lock:
            if not 0 <= rank < self.size or attempt <= self._oldest or self._closed:
                handshake.send(connection, {"refused": f"rank {rank}, attempt {attempt}, is none of {self.size} ranks"})
                return None
            if rank in self._ranks or self.failure is not None:  # all of them come again
                self._oldest = max([self._oldest, *(int(each.hello["attempt"]) for each in self._ranks.values())])
                if attempt <= self._oldest:
                    handshake.send(connection, {"refused": f"rank {rank} has come twice with attempt {attempt}"})
                    return None
                self._dismiss()
                self.failure, self._complete = None, False
                self.generation += 1
            mine = self._ranks[rank] = _Rank(connection, hello)
            if len(self._ranks) == self.size:
                self._complete = True
                self._tell(self._roster())
            return mine

    def _roster(self) -> dict[str, Any]:
        hellos = [self._ranks[rank].hello for rank in range(self.size)]
        places = _nodes([hello["host"] for hello in hellos], self.ranks_per_node)
        crowd = {hello["host"]: 0 for hello in hellos}
        for hello in hellos:
            crowd[hello["host"]] += 1
        crowded = [crowd[hello["host"]] > hello["cores"] for hello in hellos]
        return {
            "generation": self.generation, "node_of": places, "crowded": crowded,
            "near": [crowd[hello["host"]] for hello in hellos],
            "cards": [[hello[word] for word in ("host", "addresses", "port", "near")] for hello in hellos],
        }  # fmt: skip

    def _tell(self, said: dict[str, Any]) -> None:
        """Send a message to all ranks, without waiting for one that does not receive: messages are short."""
        for each in self._ranks.values():
            with suppress(OSError):
                handshake.send(each.connection, said)

    def _hear(self, rank: int, mine: _Rank, said: dict[str, Any]) -> None:
        mine.heard = time.monotonic()
        if "at" in said:
            mine.superstep = int(said["at"])
        if "waits" in said:
            mine.waits = float(said["waits"])
        if "ended" in said:
            mine.ended = True
            with self._lock:
                if self._ranks.get(rank) is mine:
                    self._tell({"ended": rank})
        if "alarm" in said:
            kind, who, superstep, code, trace = said["alarm"]
            if self._ranks.get(rank) is mine:
                self.fail(int(kind), int(who), int(superstep), int(code), str(trace))

    def _leave(self, rank: int, mine: _Rank) -> None:
        with self._lock:
            if self._closed or self._ranks.get(rank) is not mine or mine.ended:
                return
            if self._complete:
                self.fail(DIED, rank, mine.superstep)
            else:  # it has not met the others, and may come again
                del self._ranks[rank]

    def _judge(self) -> None:
        """Check whether a rank is stopped, or all wait for each other."""
        while not self._closed:
            time.sleep(_GLANCE)
            with self._lock:
                if self.failure is not None or not self._complete:
                    continue
                now, alive = time.monotonic(), [(r, each) for r, each in self._ranks.items() if not each.ended]
                silent = [(now - each.heard, rank) for rank, each in alive]
                if silent and max(silent)[0] > self._limit:
                    rank = max(silent)[1]
                    self.fail(HUNG, rank, self._ranks[rank].superstep)
                elif alive and min(each.waits for _, each in alive) > self._limit:
                    self.fail(STUCK, alive[0][0], alive[0][1].superstep)


def _nodes(hosts: list[str], ranks_per_node: int | None) -> list[int]:
    """The node of every rank: hosts, or simulated nodes within hosts, numbered in the order of their first ranks."""
    mates: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        mates.setdefault(host, []).append(rank)
    places: list[tuple[str, int]] = [("", 0)] * len(hosts)
    for host, ranks in mates.items():
        for rank, inside in zip(ranks, nodes_by_size(len(ranks), ranks_per_node), strict=True):
            places[rank] = host, inside
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [numbers[place] for place in places]
