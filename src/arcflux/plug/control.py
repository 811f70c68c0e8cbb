"""Runtime control and iteration control as pure state machines: events in, instructions out, no threads, no sockets.

Iteration control is algorithms 1 and 2 of GX-Plug with their four messages, with two corrections. As printed, the
daemon computes only on a message that is not ExchangeFinished, and the agent sends no other; and the agent checks once
whether its threads have ended, and then waits forever for a daemon that waits for it. Here the daemon computes after
each rotation, and the agent sends ExchangeFinished as soon as upload, download *and* compute have ended, whichever is
last.

Three chunks rotate: the new one (n) is computed next (c), then uploaded (u), and then filled anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from arcflux.errors import UsageError

__all__ = ["ORDERS", "AgentControl", "Compute", "DaemonControl", "Download", "End", "Instruction", "Message",
           "RuntimeControl", "Send", "Upload"]  # fmt: skip


class Message(Enum):
    """The four messages of the pipeline; the values are added to an event counter (wake.py)."""

    EXCHANGE_FINISHED = 1
    ROTATE_FINISHED = 1 << 16
    COMPUTE_FINISHED = 1 << 32
    COMPUTE_ALL_FINISHED = 1 << 48


@dataclass(frozen=True)
class Instruction:
    """The next action for the driver of a state machine."""


@dataclass(frozen=True)
class Send(Instruction):
    """Send a message to the other side."""

    message: Message


@dataclass(frozen=True)
class Download(Instruction):
    """Fill a chunk with the next block."""

    chunk: int


@dataclass(frozen=True)
class Compute(Instruction):
    """Compute the block in a chunk."""

    chunk: int


@dataclass(frozen=True)
class Upload(Instruction):
    """Upload the results of a chunk."""

    chunk: int


@dataclass(frozen=True)
class End(Instruction):
    """The iteration is over."""


@dataclass
class _Rotating:
    """Three chunks, by their roles."""

    new: int = 0
    computed: int = 1
    uploaded: int = 2
    filled: list[bool] = field(default_factory=lambda: [False] * 3)

    def rotate(self) -> None:
        """n becomes c, c becomes u, u becomes n: pointers move, nothing is copied."""
        self.new, self.computed, self.uploaded = self.uploaded, self.new, self.computed


@dataclass
class DaemonControl:
    """Algorithm 1: rotate when agent and daemon are done with their chunks, compute the new c, and report it.

    Examples
    --------
    >>> daemon = DaemonControl()
    >>> daemon.exchange_finished(filled=True)
    [Send(message=<Message.ROTATE_FINISHED: 65536>), Compute(chunk=0)]
    >>> daemon.compute_finished()
    [Send(message=<Message.COMPUTE_FINISHED: 4294967296>)]
    """

    chunks: _Rotating = field(default_factory=_Rotating)
    computing: bool = False
    ended: bool = False

    def exchange_finished(self, filled: bool) -> list[Instruction]:
        """The agent has filled n (or had nothing left for it) and emptied u."""
        if self.computing or self.ended:
            raise UsageError("ExchangeFinished came while a block was computed", expected="ComputeFinished before it")
        self.chunks.filled[self.chunks.new] = filled
        self.chunks.filled[self.chunks.uploaded] = False
        self.chunks.rotate()
        rotated = Send(Message.ROTATE_FINISHED)
        if self.chunks.filled[self.chunks.computed]:
            self.computing = True
            return [rotated, Compute(self.chunks.computed)]
        self.ended = True
        return [rotated, Send(Message.COMPUTE_ALL_FINISHED), End()]

    def compute_finished(self) -> list[Instruction]:
        """The device is done with c."""
        self.computing = False
        return [Send(Message.COMPUTE_FINISHED)]


@dataclass
class AgentControl:
    """Algorithm 2: download into n and upload from u at once, while the daemon computes c.

    Examples
    --------
    >>> agent = AgentControl()
    >>> agent.begin(), agent.download_finished(filled=True)
    ([Download(chunk=0)], [Send(message=<Message.EXCHANGE_FINISHED: 1>)])
    """

    chunks: _Rotating = field(default_factory=_Rotating)
    downloading: bool = False
    uploading: bool = False
    computing: bool = False
    exhausted: bool = False
    last: bool = False
    ended: bool = False

    def begin(self) -> list[Instruction]:
        """The first block is downloaded before there is anything to compute."""
        self.downloading = True
        return [Download(self.chunks.new)]

    def download_finished(self, filled: bool) -> list[Instruction]:
        """n has a block; or there was none left, and it stays empty."""
        self.downloading = False
        self.exhausted = not filled
        self.chunks.filled[self.chunks.new] = filled
        return self._next()

    def upload_finished(self) -> list[Instruction]:
        """The results in u have been taken over."""
        self.uploading = False
        self.chunks.filled[self.chunks.uploaded] = False
        return self._next()

    def receive(self, message: Message) -> list[Instruction]:
        """A message of the daemon."""
        if message is Message.ROTATE_FINISHED:
            self.chunks.rotate()
            self.computing = True
            made: list[Instruction] = []
            if self.chunks.filled[self.chunks.uploaded]:
                self.uploading = True
                made.append(Upload(self.chunks.uploaded))
            if not self.exhausted:
                self.downloading = True
                made.append(Download(self.chunks.new))
            return made
        self.computing = False
        self.last = message is Message.COMPUTE_ALL_FINISHED
        return self._next()

    def _next(self) -> list[Instruction]:
        """The next instructions, once upload, download and compute have all ended, whichever was last."""
        if self.downloading or self.uploading or self.computing or self.ended:
            return []
        if self.last:
            self.ended = True
            return [End()]
        self.computing = True  # until the daemon reports otherwise
        return [Send(Message.EXCHANGE_FINISHED)]


# The computation models, by the order in which an iteration calls the operations; None: in any order.
ORDERS: dict[str, tuple[str, ...] | None] = {
    "bsp": ("gen", "merge", "apply"),
    "gas": ("merge", "apply", "gen"),
    "async": None,
}


@dataclass
class RuntimeControl:
    """Which operation may be called next: the upper system chooses the order, and keeps to it (GX-Plug, IV-A and IV-B).

    Examples
    --------
    >>> control = RuntimeControl("bsp")
    >>> for operation in ("connect", "transfer", "update", "gen", "merge", "apply", "update", "gen"):
    ...     control.call(operation)
    >>> control.iterations
    1
    """

    order: str = "bsp"
    connected: bool = False
    transferred: bool = False
    place: int = 0
    iterations: int = 0

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UsageError(f"order is {self.order!r}", expected=" or ".join(map(repr, ORDERS)))

    def call(self, operation: str) -> None:
        """Record the call of an operation, or refuse it if it is out of order."""
        if operation == "connect":
            self._require(not self.connected, "connect() is called twice", "disconnect() in between")
            self.connected, self.transferred, self.place = True, False, 0
            return
        self._require(self.connected, f"{operation} is called without a daemon", "connect() before it")
        if operation == "disconnect":
            self.connected = False
        elif operation == "transfer":
            self.transferred = True
        else:
            self._require(self.transferred, f"{operation} is called without a graph", "transfer() before it")
            if operation != "update":
                self._take_turn(operation)

    def _take_turn(self, operation: str) -> None:
        turns = ORDERS[self.order]
        if turns is None:
            self.iterations += operation == "apply"
            return
        wanted = turns[self.place]
        self._require(
            operation == wanted, f"request{operation.capitalize()}() is called out of turn",
            f"request{wanted.capitalize()}() next: the order of {self.order} is {', '.join(turns)}",
        )  # fmt: skip
        self.place = (self.place + 1) % len(turns)
        self.iterations += not self.place

    @staticmethod
    def _require(right: bool, what: str, expected: str) -> None:
        if not right:
            raise UsageError(what, expected=expected)
