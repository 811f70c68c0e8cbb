"""The agent's side of the pipeline shuffle: download, compute and upload overlap, on three rotating chunks.

Download and upload are threads of the agent, compute is the daemon's; iteration control (control.py) decides what is
next. Without a pipeline the same blocks go one after another, each by a request and its reply.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from arcflux.plug.connection import Connection, raise_if_refused
from arcflux.plug.control import AgentControl, Download, End, Instruction, Send, Upload
from arcflux.plug.estimate import Estimate
from arcflux.plug.memory import map_shared
from arcflux.plug.program_text import text_of
from arcflux.plug.session import CHUNKS
from arcflux.plug.template import BLOCK, COUNT, NANOSECONDS, Template, Views
from arcflux.plug.wake import Bell
from arcflux.plug.wire import close_all, receive, send
from arcflux.program import vertex, vertices

__all__ = ["Fill", "Pipeline", "Take"]

# Fills a block into a chunk's arrays, and sets the header's counts; False if none is left.
Fill = Callable[[int, Views], bool]
# Uploads the results of a chunk's arrays.
Take = Callable[[Views], None]


class Pipeline:
    """A daemon's chunks as an agent uses them, and the measurements of the pipeline."""

    def __init__(self, connection: Connection, template: Template, capacity: int, threads: int | None = None) -> None:
        self.connection, self.template, self.capacity = connection, template, capacity
        program = template.program
        parameters = {name: one.value for name, one in program.parameters.items()
                      if one.value is not None and one.kind not in (vertex, vertices)}  # fmt: skip
        reply, back = connection.request(
            "open", program={"text": text_of(program), "name": program.name}, parameters=parameters,
            columns={name: kind.str for name, kind in template.columns.items()}, counts=list(template.counts),
            numbers=template.numbers, capacity=capacity, threads=threads,
        )  # fmt: skip
        memory, *self.descriptors = back
        whole, size = map_shared(memory, write=True), int(reply["size"])
        os.close(memory)
        self.chunks = [whole[k * size : (k + 1) * size] for k in range(CHUNKS)]
        rung, heard = self.descriptors
        self.ring = Bell(rung, connection.channel)
        self.heard = Bell(heard, connection.channel, expects=True)
        self._early: Any = None
        self.done = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.heard.also(self.done)
        self.estimates: dict[str, Estimate] = {}
        self.blocks = 0
        self._finished: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._work: dict[str, SimpleQueue[Any]] = {}
        self._threads: list[threading.Thread] = []
        for name in ("download", "upload"):
            inbox: SimpleQueue[Any] = SimpleQueue()
            self._work[name] = inbox
            thread = threading.Thread(target=self._serve, args=(name, inbox), name=f"arcflux-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def estimate(self, operation: str) -> Estimate:
        """The measurements of an operation's blocks so far."""
        return self.estimates.setdefault(operation, Estimate())

    def run(
        self, operation: str, fill: Fill, take: Take, *, step: int, totals: Any, pipelined: bool = True,
        single: bool = False,
    ) -> Any:  # fmt: skip
        """Run all blocks of an operation on the daemon; returns contributions to totals, and how many vertices changed.

        A `single` block has nothing to overlap with, so one request suffices.
        """
        message = {"what": operation, "step": step, "totals": totals}
        if pipelined and not single:
            return self._pipelined(operation, fill, take, message)
        # The time of a single block does not predict that of overlapping ones.
        return self._one_by_one(operation, fill, take, message, Estimate() if pipelined else self.estimate(operation))

    # --- without a pipeline -----------------------------------------------------------------------------------------

    def _one_by_one(
        self, operation: str, fill: Fill, take: Take, message: dict[str, Any], seen: Estimate
    ) -> Any:  # fmt: skip
        views, number = self.template.views(operation, self.capacity, self.chunks[0]), 0
        replies: list[Any] = []
        while True:
            views["header"][:] = 0
            views["header"][BLOCK] = number
            begun = time.perf_counter()
            if not fill(number, views):
                return self._brought(replies)
            filled, size = time.perf_counter(), int(views["header"][COUNT])
            replies.append(self.connection.request("compute", **message)[0]["totals"])
            computed = time.perf_counter()
            take(views)
            seen.download.note(size, filled - begun)
            seen.compute.note(size, views["header"][NANOSECONDS] * 1e-9)
            seen.upload.note(size, time.perf_counter() - computed)
            seen.note_cycle(computed - filled, float(views["header"][NANOSECONDS]) * 1e-9)
            number += 1
            self.blocks += 1

    def _brought(self, replies: list[Any]) -> Any:
        return {
            **{name: value.tolist() for name, value in self.template.combined(replies).items()},
            "residual": sum(one["residual"] for one in replies), "changed": sum(one["changed"] for one in replies),
        }  # fmt: skip

    # --- with one ---------------------------------------------------------------------------------------------------

    def _pipelined(self, operation: str, fill: Fill, take: Take, message: dict[str, Any]) -> Any:
        views = [self.template.views(operation, self.capacity, chunk) for chunk in self.chunks]
        for one in views:
            one["header"][:] = 0
        self.heard.begin()
        self._early = None
        send(self.connection.channel, {"op": "iterate", **message})
        cycle = _Cycle(self.estimate(operation), views)
        control, self._number = AgentControl(), 0
        ready: list[Instruction] = control.begin()
        while True:
            for instruction in ready:
                if isinstance(instruction, Send):
                    cycle.turn(control.chunks.computed)
                    self.ring.ring(instruction.message)
                elif isinstance(instruction, Download):
                    self._work["download"].put((fill, views[instruction.chunk], cycle))
                elif isinstance(instruction, Upload):
                    self._work["upload"].put((take, views[instruction.chunk], cycle))
                elif isinstance(instruction, End):
                    return self._reply()
            ready = [after for event in self._events() for after in self._after(control, event)]

    def _events(self) -> list[Any]:
        """The events that have occurred, at least one: messages of the daemon, and threads that have ended."""
        events: list[Any] = []
        while not events:
            events += self.heard.wait()
            _drained(self.done)
            if self.heard.answered and self._early is None:
                self._early = self._answer()  # raises if the daemon could not continue
            while not self._finished.empty():
                events.append(self._finished.get())
        return events

    def _after(self, control: AgentControl, event: Any) -> list[Instruction]:
        if not isinstance(event, tuple):
            return control.receive(event)
        name, outcome = event
        if isinstance(outcome, BaseException):
            self.connection.close()  # the daemon is within an iteration that will not end
            raise outcome
        return control.upload_finished() if name == "upload" else control.download_finished(outcome)

    def _answer(self) -> Any:
        reply, back = receive(self.connection.channel)
        close_all(back)
        raise_if_refused(reply)
        return reply

    def _reply(self) -> Any:
        reply = self._early or self._answer()
        self.blocks += int(reply["blocks"])
        return reply["totals"]

    def _serve(self, name: str, inbox: SimpleQueue[Any]) -> None:
        """A thread that downloads, or uploads, on request."""
        while (job := inbox.get()) is not None:
            work, views, cycle = job
            begun = time.perf_counter()
            try:
                outcome: Any = None
                if name == "download":
                    views["header"][:] = 0
                    views["header"][BLOCK] = self._number
                    outcome = work(self._number, views)
                    if not outcome:
                        views["header"][COUNT] = 0
                    self._number += 1
                else:
                    work(views)
            except BaseException as error:
                outcome = error
            cycle.note(name, int(views["header"][COUNT]), time.perf_counter() - begun)
            self._finished.put((name, outcome))
            os.eventfd_write(self.done, 1)

    def close(self) -> None:
        """Release the daemon's memory, after the threads' current blocks."""
        for inbox in self._work.values():
            inbox.put(None)
        for thread in self._threads:
            thread.join()
        close_all(self.descriptors)
        os.close(self.done)
        self.chunks = []


def _drained(descriptor: int) -> None:
    """Reset an event counter, if it is set."""
    try:
        os.eventfd_read(descriptor)
    except BlockingIOError:
        return


class _Cycle:
    """The current cycle: the times of its stages, for the estimate."""

    def __init__(self, estimate: Estimate, views: list[Views]) -> None:
        self.estimate, self.views = estimate, views
        self.begun, self.slowest, self.turns = time.perf_counter(), 0.0, 0

    def note(self, name: str, size: int, seconds: float) -> None:
        """A thread has completed its block."""
        stage = self.estimate.download if name == "download" else self.estimate.upload
        stage.note(size, seconds)
        self.slowest = max(self.slowest, seconds)

    def turn(self, chunk: int) -> None:
        """All stages have ended, compute in this chunk: the next cycle begins."""
        now, computed = time.perf_counter(), self.views[chunk]["header"]
        if self.turns and computed[COUNT] and computed[NANOSECONDS]:
            seconds = float(computed[NANOSECONDS]) * 1e-9
            self.estimate.compute.note(int(computed[COUNT]), seconds)
            self.estimate.note_cycle(now - self.begun, max(self.slowest, seconds))
        self.begun, self.slowest, self.turns = now, 0.0, self.turns + 1
