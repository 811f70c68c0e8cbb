"""A rank's line to the rendezvous: what it says of itself, and what it is told of the others; one thread in each rank.

An alarm that arrives here is put on the node's board, where every wait, also one within a kernel, looks.
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
    """The line of one rank, whose connection has been admitted."""

    def __init__(self, connection: socket.socket, rank: int) -> None:
        connection.settimeout(None)
        self._connection, self._rank = connection, rank
        self._lock, self._moving = threading.Lock(), threading.Lock()
        self._board: Board | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def watch(self, board: Board) -> None:
        """Listen from now on, and put what is heard on this board."""
        self._board = board
        self._thread = threading.Thread(target=self._watch, name="arcflux-control", daemon=True)
        self._thread.start()

    def move(self, board: Board) -> None:
        """Put it on this board from now on, and what was heard before as well."""
        with self._moving:
            before, self._board = self._board, board
            if before is not None and before.alarmed:
                kind, rank, superstep, code, trace = before.alarm_words()
                board.raise_alarm(kind, rank, superstep, trace, code)

    def say(self, said: dict[str, Any]) -> None:
        """Tell the rendezvous, if it is there."""
        with self._lock, suppress(OSError):
            handshake.send(self._connection, said)

    def close(self) -> None:
        """This rank needs the others no more."""
        self.say({"ended": True})
        self.abandon()

    def abandon(self) -> None:
        """Close the line, without a word."""
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
        """Put down what has come; whether the rendezvous is still there."""
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
