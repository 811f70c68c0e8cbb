"""The memory command scheduler: which kernels have their data on a device (G2, section IV-C).

A pure state machine: events are calls, commands are their return values; no threads, no clock. Calls that would
allocate or copy only queue a command with their kernel and return. When a kernel has named all its buffers it is
*sealed*, and its commands run as one batch, which begins when all its allocations fit at once: a kernel never holds
memory while it waits for more, so there is no allocation deadlock. Batches begin in order of arrival, so none starves.

Copies go through page-locked memory as long as some is free, else through pageable memory. A *shared* buffer, such as a
part of the graph, is loaded once for all kernels that read it; it stays after the last of them, until its room is
needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from arcflux.errors import SpaceError, UsageError

__all__ = ["Allocate", "Buffer", "Command", "Copy", "Free", "Leave", "MemoryScheduler", "Ready"]


@dataclass(frozen=True)
class Buffer:
    """Device memory of a kernel: whether it is copied in before and out after, and shared with others."""

    name: str
    nbytes: int
    load: bool = True
    store: bool = False
    shared: bool = False


@dataclass(frozen=True)
class Allocate:
    """Take device memory for a buffer."""

    kernel: int
    buffer: str
    nbytes: int


@dataclass(frozen=True)
class Copy:
    """Copy a buffer in, or (`out`) back, through page-locked memory or not; `copied` says when it is done."""

    kernel: int
    buffer: str
    nbytes: int
    pinned: bool
    out: bool = False


@dataclass(frozen=True)
class Free:
    """Free device memory."""

    buffer: str
    nbytes: int


@dataclass(frozen=True)
class Ready:
    """All inputs of a kernel are on the device: it moves from the waiting queue to the ready queue."""

    kernel: int


@dataclass(frozen=True)
class Leave:
    """All outputs of a kernel are off the device, and it holds no memory any more."""

    kernel: int


Command = Allocate | Copy | Free | Ready | Leave


@dataclass
class _Kernel:
    number: int
    buffers: dict[str, Buffer] = field(default_factory=dict)
    state: str = "collecting"  # queued, loading, ready, storing, and gone
    copying: set[str] = field(default_factory=set)
    cancelled: bool = False


@dataclass
class _Held:
    """Allocated device memory: its owner, and whether its contents are resident."""

    nbytes: int
    users: set[int]
    loaded: bool
    shared: bool


class MemoryScheduler:
    """Decides when the memory commands of kernels run, on a device with this many bytes.

    Examples
    --------
    >>> memory = MemoryScheduler(100, pinned=64)
    >>> memory.submit(1, [Buffer("graph", 60, shared=True), Buffer("state", 40, load=False)])
    >>> memory.seal(1)
    [Allocate(kernel=1, buffer='graph', nbytes=60), Allocate(kernel=1, buffer='1/state', nbytes=40), \
Copy(kernel=1, buffer='graph', nbytes=60, pinned=True, out=False)]
    >>> memory.copied(1, "graph")
    [Ready(kernel=1)]
    >>> memory.executed(1)
    [Free(buffer='1/state', nbytes=40), Leave(kernel=1)]
    """

    def __init__(self, budget: int, pinned: int = 0) -> None:
        if budget < 1 or pinned < 0:
            raise UsageError(f"a memory of {budget} bytes, {pinned} of them pinned", expected="bytes, from 1 on")
        self.budget, self.pinned = budget, pinned
        self.held: dict[str, _Held] = {}
        self.used = 0
        self.pinned_used = 0
        self._kernels: dict[int, _Kernel] = {}
        self._line: deque[int] = deque()
        self._pins: dict[tuple[int, str], int] = {}

    # --- events

    def submit(self, kernel: int, buffers: Iterable[Buffer]) -> None:
        """Queue memory commands with their kernel: nothing runs before it is sealed."""
        one = self._kernels.setdefault(kernel, _Kernel(kernel))
        if one.state != "collecting":
            raise UsageError(f"kernel {kernel} is {one.state}", expected="memory commands before it is sealed")
        for buffer in buffers:
            if buffer.nbytes < 0:
                raise UsageError(f"buffer {buffer.name} has {buffer.nbytes} bytes", expected="0 or more")
            one.buffers[buffer.name if buffer.shared else f"{kernel}/{buffer.name}"] = buffer

    def seal(self, kernel: int) -> list[Command]:
        """All memory commands of a kernel are queued. A kernel that needs more than the whole device is refused."""
        one = self._kernels.setdefault(kernel, _Kernel(kernel))
        need = sum(buffer.nbytes for buffer in one.buffers.values())
        if need > self.budget:
            del self._kernels[kernel]
            raise SpaceError(
                f"the kernel needs {need:,} bytes of device memory", expected=f"at most {self.budget:,}, the budget",
                remedy="a larger budget, a smaller graph, or more devices",
            )  # fmt: skip
        one.state = "queued"
        self._line.append(kernel)
        return self._admit()

    def copied(self, kernel: int, name: str) -> list[Command]:
        """A copy is done."""
        one = self._kernels[kernel]
        one.copying.discard(name)
        self.pinned_used -= self._pins.pop((kernel, name), 0)
        if one.state == "storing":
            return self._left(one) if not one.copying else []
        self.held[name].loaded = True
        left = self._left(one) if one.cancelled and not one.copying else []
        return [*left, *self._ready()]

    def executed(self, kernel: int) -> list[Command]:
        """A kernel has run: its outputs are copied back, then its memory is freed."""
        one = self._kernels[kernel]
        if one.state != "ready":
            raise UsageError(f"kernel {kernel} is {one.state}", expected="a kernel that was ready")
        one.state = "storing"
        copies = [self._copy(one, name, buffer, out=True) for name, buffer in one.buffers.items() if buffer.store]
        return [*copies] if copies else self._left(one)

    def cancel(self, kernel: int) -> list[Command]:
        """Cancel a kernel; copies in progress end first."""
        one = self._kernels.get(kernel)
        if one is None or one.state == "storing":
            return []
        one.cancelled = True
        if one.state in ("collecting", "queued"):
            if one.state == "queued":
                self._line.remove(kernel)
            del self._kernels[kernel]
            return [Leave(kernel), *self._admit()]
        return [] if one.copying else self._left(one)

    # --- consequences of events

    def waiting(self) -> list[int]:
        """Kernels whose batch has not begun, in the order in which it will."""
        return list(self._line)

    def _admit(self) -> list[Command]:
        """Begin the batches at the head of the line, as long as each fits as a whole."""
        commands: list[Command] = []
        while self._line:
            one = self._kernels[self._line[0]]
            need = sum(buffer.nbytes for name, buffer in one.buffers.items() if name not in self.held)
            idle = [name for name, held in self.held.items() if not held.users and name not in one.buffers]
            if self.used + need - sum(self.held[name].nbytes for name in idle) > self.budget:
                break
            while self.used + need > self.budget:
                commands.append(self._free(idle.pop(0)))
            self._line.popleft()
            commands += self._begin(one)
        return commands

    def _begin(self, one: _Kernel) -> list[Command]:
        one.state = "loading"
        allocations: list[Command] = []
        copies: list[Command] = []
        for name, buffer in one.buffers.items():
            if name in self.held:
                self.held[name].users.add(one.number)
                continue
            self.held[name] = _Held(buffer.nbytes, {one.number}, not buffer.load, buffer.shared)
            self.used += buffer.nbytes
            allocations.append(Allocate(one.number, name, buffer.nbytes))
            if buffer.load:
                copies.append(self._copy(one, name, buffer))
        return [*allocations, *copies, *self._ready()]

    def _copy(self, one: _Kernel, name: str, buffer: Buffer, out: bool = False) -> Command:
        pinned = self.pinned_used + buffer.nbytes <= self.pinned
        if pinned:
            self.pinned_used += buffer.nbytes
            self._pins[one.number, name] = buffer.nbytes
        one.copying.add(name)
        return Copy(one.number, name, buffer.nbytes, pinned, out)

    def _ready(self) -> list[Command]:
        """Kernels all of whose buffers are loaded now."""
        commands: list[Command] = []
        for one in self._kernels.values():
            if one.state == "loading" and not one.cancelled and all(self.held[name].loaded for name in one.buffers):
                one.state = "ready"
                commands.append(Ready(one.number))
        return commands

    def _left(self, one: _Kernel) -> list[Command]:
        """A kernel releases its buffers; shared buffers stay, unless they were never loaded."""
        commands: list[Command] = []
        for name in one.buffers:
            held = self.held[name]
            held.users.discard(one.number)
            if not held.users and not (held.shared and held.loaded):
                commands.append(self._free(name))
        del self._kernels[one.number]
        return [*commands, Leave(one.number), *self._admit()]

    def _free(self, name: str) -> Free:
        held = self.held.pop(name)
        self.used -= held.nbytes
        return Free(name, held.nbytes)
