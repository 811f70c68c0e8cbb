"""A device that pretends: it takes the commands of both schedulers, and lets random events answer them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from arcflux.jobs.accounts import Account
from arcflux.jobs.memory import Allocate, Buffer, Copy, Free, Leave, MemoryScheduler, Ready
from arcflux.jobs.slices import Done, KernelScheduler, Run

KINDS = (Account("bfs", 1.0, 0.2), Account("filter", 0.2, 1.0), Account("pagerank", 0.9, 0.4))


@dataclass
class Device:
    """Both schedulers, what they have asked for and not yet heard of, and the memory as the device sees it."""

    memory: MemoryScheduler
    kernels: KernelScheduler
    random: Random
    now: float = 0.0
    copies: list[Copy] = field(default_factory=list)
    running: dict[int, Run] = field(default_factory=dict)
    allocated: dict[str, int] = field(default_factory=dict)
    chunks: dict[int, int] = field(default_factory=dict)
    ran: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)
    cancelled: set[int] = field(default_factory=set)
    began: list[int] = field(default_factory=list)
    most_running: int = 0
    weights: dict[int, float] = field(default_factory=dict)

    def submit(self, kernel: int, buffers: list[Buffer], chunks: int, weight: float) -> None:
        self.chunks[kernel] = chunks
        self.weights[kernel] = weight
        self.memory.submit(kernel, buffers)
        self.obey(self.memory.seal(kernel))

    def obey(self, commands: list[Any]) -> None:
        queue = deque(commands)
        while queue:  # what follows of a command comes after what was said before
            command = queue.popleft()
            if isinstance(command, Allocate):
                assert command.buffer not in self.allocated
                self.allocated[command.buffer] = command.nbytes
                if command.kernel not in self.began:
                    self.began.append(command.kernel)
            elif isinstance(command, Free):
                assert self.allocated.pop(command.buffer) == command.nbytes
            elif isinstance(command, Copy):
                assert command.buffer in self.allocated
                self.copies.append(command)
            elif isinstance(command, Ready):
                kind = KINDS[command.kernel % len(KINDS)]
                number, weight = command.kernel, self.weights[command.kernel]
                queue += self.kernels.add(number, kind, self.chunks[number], weight, self.now)
            elif isinstance(command, Run):
                assert command.kernel not in self.running
                assert command.first == sum(last - first for first, last in self.ran.get(command.kernel, []))
                self.running[command.kernel] = command
            elif isinstance(command, Done):
                if command.kernel in self.cancelled:
                    queue += self.memory.cancel(command.kernel)
                else:
                    queue += self.memory.executed(command.kernel)
            elif isinstance(command, Leave):
                self.left.append(command.kernel)
        self.check()

    def check(self) -> None:
        assert sum(self.allocated.values()) == self.memory.used <= self.memory.budget
        assert sum(copy.nbytes for copy in self.copies if copy.pinned) == self.memory.pinned_used <= self.memory.pinned
        assert sum(run.workers for run in self.running.values()) <= self.kernels.workers
        self.most_running = max(self.most_running, len(self.running))

    def happen(self) -> bool:
        """One of the things that are under way ends; False when nothing is."""
        under_way: list[Any] = [*self.copies, *self.running.values()]
        if not under_way:
            return False
        what = self.random.choice(under_way)
        seconds = self.random.uniform(0.0, 0.03)
        self.now += seconds
        if isinstance(what, Copy):
            self.copies.remove(what)
            self.obey(self.memory.copied(what.kernel, what.buffer))
        else:
            del self.running[what.kernel]
            count = self.random.randint(1, what.last - what.first)  # it may have been told to end before
            self.ran.setdefault(what.kernel, []).append((what.first, what.first + count))
            self.obey(self.kernels.ended(what.kernel, count, seconds, self.now))
        return True

    def cancel(self, kernel: int) -> None:
        if kernel in self.left:
            return
        self.cancelled.add(kernel)
        if kernel in self.kernels.kernels:
            self.obey(self.kernels.remove(kernel, self.now))
        else:
            self.obey(self.memory.cancel(kernel))
