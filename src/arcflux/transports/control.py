"""A rank's connection to the rendezvous: it reports its own state and receives that of the others; one thread per rank.

A received alarm is put on the node's board, which every wait polls, also within a kernel.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from arcflux.transports import handshake
from arcflux.transports.board import ORPHANED, Board

__all__ = ["Control"]

# Seconds between two signs of life.
_BEAT = 0.5


class Control:
    """The connection of one rank, after it has been admitted."""

    def __init__(self, connection: socket.socket, rank: int) -> None:
        connection.settimeout(None)
        self._connection, self._rank = connection, rank
        self._lock, self._moving = threading.Lock(), threading.Lock()
        self._board: Board | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def watch(self, board: Board) -> None:
        """Start to listen, and put what is received on this board."""
        self._board = board
        self._thread = threading.Thread(target=self._watch, name="arcflux-control", daemon=True)
        self._thread.start()

    def move(self, board: Board) -> None:
        """Switch to this board, and copy an alarm that was received before."""
        with self._moving:
            before, self._board = self._board, board
            if before is not None and before.alarmed:
                kind, rank, superstep, code, trace = before.alarm_words()
                board.raise_alarm(kind, rank, superstep, trace, code)

    def say(self, said: dict[str, Any]) -> None:
        """Send a message to the rendezvous, if it is there."""
        with self._lock, suppress(OSError):
            handshake.send(self._connection, said)

    def close(self) -> None:
        """End this rank's participation."""
        self.say({"ended": True})
        self.abandon()

    def abandon(self) -> None:
        """Close the connection without a message."""
        self._stopped = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        self._connection.close()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        beat = 0.0
        while not self._stopped:
            came = poll.poll(int(_BEAT * 1000))
            with self._moving:
                board = self._board
                assert board is not None
                if came and not self._heard(board):
                    return
            if (now := time.monotonic()) - beat >= _BEAT:
                beat, since = now, board.waits_since(self._rank)
                self.say({"waits": (time.monotonic_ns() - since) / 1e9 if since else 0.0})

    def _heard(self, board: Board) -> bool:
        """Process what was received; returns whether the rendezvous is still there."""
        try:
            self._hear(board, handshake.receive(self._connection))
            return True
        except (OSError, EOFError, ValueError, json.JSONDecodeError):
            if not self._stopped and not board.ended(self._rank):
                board.raise_alarm(ORPHANED, self._rank, board.superstep(self._rank))
            return False

    def _hear(self, board: Board, said: dict[str, Any]) -> None:
        if "ended" in said:
            board.end(int(said["ended"]))
        if "alarm" in said:
            kind, rank, superstep, code, trace = said["alarm"]
            board.raise_alarm(int(kind), int(rank), int(superstep), str(trace), int(code))
