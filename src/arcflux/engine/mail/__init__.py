"""The mail of a rank: records are counted, written, sent to the owners of their receivers, and sorted.

A kernel that sends runs twice: first it counts the records of each vertex, then it writes them at offsets from the
prefix sum of these counts. So there is always room, and records are in the order of their senders. A stable sort by
receiver keeps that order, so a vertex receives the same on any number of workers, parts and devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.mail_parts import TALLIED_SHORT
from arcflux.engine.exchange.base import Meter
from arcflux.engine.mail.boxes import Box
from arcflux.engine.mail.routes import Routes
from arcflux.engine.mail.sorting import first_outside, sort_by
from arcflux.engine.part_worker import PartWorker
from arcflux.errors import ProgramError

__all__ = ["Mailroom"]

Array = NDArray[Any]


class Mailroom:
    """What a rank sends and receives, for each kind of mail.

    under_way: how many records all ranks have sent for the next superstep; delivered: how many arrived in the last one.
    """

    def __init__(self, worker: PartWorker, meter: Meter) -> None:
        own = worker.own.mine
        self.worker, self.meter = worker, meter
        self.low = np.uint64(own.min() if len(own) else 0)
        boxes = int(own.max()) + 1 - int(self.low) if len(own) else 0
        self.boxes = {
            name: Box(name, declared, len(own), boxes, worker.device) for name, declared in worker.lowered.mails.items()
        }
        self.routes = Routes(worker, meter) if worker.transport.size > 1 else None
        self.under_way = self.delivered = 0

    @property
    def given(self) -> list[Any]:
        """The kernel arguments for mail (compile/cpu/mail_parts.py: mail_given)."""
        return [self.low, *(array for box in self.boxes.values() for array in box.arrays)]

    def prepare(self, kernel: str, step: int, *given: Any) -> None:
        """Compile what `post` will run, before its first run. Collective."""
        for name in (f"{kernel}_count", kernel):
            self.worker.calls.prepare(name, step, *given, *self.given)

    def post(self, kernel: str, step: int, *given: Any) -> None:
        """Run a kernel that sends: count, make room, write. A torn superstep sends nothing."""
        calls, watch = self.worker.calls, self.worker.watch
        calls.run(f"{kernel}_count", step, *given, *self.given)
        if not watch.torn:
            for box in self.boxes.values():
                calls.fetch(box.cursor)
                box.make_room()
                calls.changed(box.cursor)
            calls.run(kernel, step, *given, *self.given)
        if watch.torn:  # only some vertices have counted or written
            for box in self.boxes.values():
                box.sent = 0
            return
        self._fetch_sent()

    def _fetch_sent(self) -> None:
        worker = self.worker
        worker.calls.fetch(worker.state.tally, *(array for box in self.boxes.values() for array in box.outbox))
        if worker.state.tally[:, TALLIED_SHORT].any():
            raise ProgramError(
                "a vertex sent another number of records than it had counted", program=worker.lowered.program.name,
                remedy="this is an error of Arcflux's: please report it, with the program",
            )  # fmt: skip

    def deliver(self, step: int) -> None:
        """Send all records to the owners of their receivers, in the order of their senders. Collective."""
        threads, calls = self.worker.threads, self.worker.calls
        self.delivered, self.under_way = self.under_way, 0
        for box in self.boxes.values():
            self._check(box, step)
            if self.routes is None:
                to, parts, total = box.to[: box.sent], [array[: box.sent] for array in box.out], box.sent
            else:
                to, parts, total = self.routes.bring(box)
            box.expect(len(to))
            sort_by(to, int(self.low), box.begins, list(zip(parts, box.into, strict=True)), threads)
            calls.changed(box.begins, *box.into)
            self.under_way += total

    def _check(self, box: Box, step: int) -> None:
        """Refuse a record for a vertex that does not exist."""
        graph = self.worker.graph
        place = first_outside(box.to[: box.sent], graph.vertices, self.worker.threads)
        if place < 0:
            return
        sender = int(self.worker.own.mine[int(np.searchsorted(box.cursor, place, "right")) - 1])
        when = "in start" if step < 0 else f"in superstep {step}"
        raise ProgramError(
            f"vertex {graph.ids.to_ids([sender])[0]} sends {box.name} to {int(box.to[place])} {when}, and the numbers "
            f"of vertices are 0 to {graph.vertices - 1}",
            program=self.worker.lowered.program.name,
            remedy="send to a vertex's number, such as u.number or a field of af.ref; af.neighbour(v, k) is -1 "
            "unless k is from 0 to before v.out_degree",
        )  # fmt: skip

    def close(self) -> None:
        """Release the device memory of mail."""
        for box in self.boxes.values():
            box.release()
