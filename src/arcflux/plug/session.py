"""An agent's blocks at a daemon: three chunks of shared memory, the kernels of a program, and the pipeline over them.

The daemon allocates the memory, sends it once, and from then on is woken by event counters only. It computes one block
at a time, on its cores, on a virtual device that takes its time, or on a GPU (gpu_blocks.py).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from arcflux import config
from arcflux.devices.choose import named
from arcflux.devices.cpu import CPU
from arcflux.devices.cuda import Cuda
from arcflux.devices.virtual import Virtual
from arcflux.engine.scratch import scratch_for
from arcflux.errors import UsageError
from arcflux.plug.control import Compute, DaemonControl, Send
from arcflux.plug.gpu_blocks import GpuBlocks
from arcflux.plug.memory import map_shared, shared_pages
from arcflux.plug.program_text import program_of
from arcflux.plug.template import BLOCK, CHANGED, COUNT, NANOSECONDS, OPERATIONS, VERTICES, Template
from arcflux.plug.wake import Bell
from arcflux.program import vertex, vertices

__all__ = ["CHUNKS", "BlockSession"]

Reply = tuple[dict[str, Any], list[int]]

CHUNKS = 3


class BlockSession:
    """The state of one agent at a daemon; `requests`: those besides requests on whole graphs."""

    def __init__(self, device: str, channel: socket.socket) -> None:
        self.channel = channel
        self.template: Template | None = None
        self.gpu: GpuBlocks | None = None
        self.capacity, self.step, self.threads = 0, 0, 1
        self.chunks: list[Any] = []
        self.descriptors: list[int] = []
        self.totals: dict[str, Any] = {}
        self.requests: dict[str, Callable[[dict[str, Any], list[int]], Reply]] = {
            "open": self._open, "iterate": self._iterate, "compute": self._compute,
        }  # fmt: skip
        found = named(device)
        self.device = found[0] if found else CPU(config.threads())
        if isinstance(self.device, Virtual):  # other users of the cores do not slow it down further
            self.device.clock = time.thread_time

    def _open(self, message: dict[str, Any], _: list[int]) -> Reply:
        """Prepare a program, and allocate memory for its blocks."""
        program = program_of(message["program"]["text"], message["program"]["name"])
        given = {name: value for name, value in message["parameters"].items()
                 if program.parameters[name].kind not in (vertex, vertices)}  # fmt: skip
        self.template = Template(
            program(**given), message["columns"], tuple(message["counts"]), message["numbers"]
        )  # fmt: skip
        self.gpu = GpuBlocks(self.template, self.device) if isinstance(self.device, Cuda) else None
        self.capacity = int(message["capacity"])
        if not 1 <= self.capacity <= 1 << 28:
            raise UsageError(f"blocks of {self.capacity:,} triplets are asked for", expected="from 1 to 2^28")
        self.threads = min(message.get("threads") or self.device.threads, self.device.threads)
        self._free()
        size = self.template.size(self.capacity)
        memory = shared_pages(CHUNKS * size, name="arcflux-blocks")
        whole = map_shared(memory, write=True)
        self.chunks = [whole[k * size : (k + 1) * size] for k in range(CHUNKS)]
        self.descriptors = [os.eventfd(0, os.EFD_CLOEXEC), os.eventfd(0, os.EFD_CLOEXEC)]
        self.totals = self.template.totals(self.threads)
        self._prepare()
        return {"size": size, "threads": self.threads}, [memory, *(os.dup(one) for one in self.descriptors)]

    def _prepare(self) -> None:
        """Compile all kernels, once, before anything is measured."""
        assert self.template is not None
        for operation in OPERATIONS:
            if not (self.template.lists and operation == "merge"):
                views = self.template.views(operation, self.capacity, self.chunks[0])
                views["header"][:] = 0
                self._work(operation, views, measured=False)

    def _set(self, message: dict[str, Any]) -> str:
        """The beginning of an iteration: its number, and the totals of the one before."""
        operation = message["what"]
        if self.template is None or operation not in OPERATIONS:
            raise UsageError(f"blocks of {operation!r} are asked for", expected="open, then one of: "
                             + ", ".join(OPERATIONS))  # fmt: skip
        self.step = int(message.get("step", 0))
        for name, value in message.get("totals", {}).items():
            self.totals[f"totals_{name}"][0] = value
        return str(operation)

    def _iterate(self, message: dict[str, Any], _: list[int]) -> Reply:
        """Compute blocks of one operation until the agent has no more: the daemon's side of the pipeline."""
        operation = self._set(message)
        assert self.template is not None
        views = [self.template.views(operation, self.capacity, chunk) for chunk in self.chunks]
        heard, answer = (Bell(one, self.channel) for one in self.descriptors)
        control, brought = DaemonControl(), []
        while not control.ended:
            for _message in heard.wait():
                new = views[control.chunks.new]["header"]
                for instruction in control.exchange_finished(bool(new[COUNT])):
                    if isinstance(instruction, Send):
                        answer.ring(instruction.message)
                    elif isinstance(instruction, Compute):
                        brought.append(self._work(operation, views[instruction.chunk]))
                        for after in control.compute_finished():
                            assert isinstance(after, Send)
                            answer.ring(after.message)
        return {"totals": self._listed(brought), "blocks": len(brought)}, []

    def _compute(self, message: dict[str, Any], _: list[int]) -> Reply:
        """Compute the block in the first chunk: no pipeline, one request per block."""
        operation = self._set(message)
        assert self.template is not None
        brought = self._work(operation, self.template.views(operation, self.capacity, self.chunks[0]))
        return {"totals": self._listed([brought])}, []

    def _work(self, operation: str, views: dict[str, Any], measured: bool = True) -> dict[str, Any]:
        """Compute one block; returns its contributions to totals. Unless `measured`, a device takes no extra time."""
        template = self.template
        assert template is not None
        header, tally = views["header"], np.zeros((self.threads, 2))
        count, rows = int(header[COUNT]), int(header[VERTICES])
        for name, one in template.totals(self.threads).items():
            if name.startswith("sums_"):
                self.totals[name][:] = one
        self.device.transfer(sum(array.nbytes for array in views.values()) if self.device.bandwidth else 0)
        begun = time.perf_counter()
        with self.device.timed() if measured else nullcontext():
            kernel = operation
            given: dict[str, Any] = {**views, **self.totals, "tally": tally}
            if operation == "gen" and template.lists:
                kernel = "list"
            elif operation in ("gen", "merge"):
                template.empty("a", views, rows)
                views["hit"][:rows] = 0
            elif operation == "apply" and template.lists:
                longest = int(np.diff(views["rows"][: count + 1].astype(np.int64)).max(initial=0))
                given |= scratch_for(template.lowered, max(longest, 1), self.threads)
                given["neighbours"] = np.arange(int(views["rows"][count]) if count else 0, dtype=np.uint32)
            if self.gpu is not None:
                self.gpu.run(kernel, count, self.step, given)
            else:
                template.run(kernel, count, self.step, given, self.threads)
        header[NANOSECONDS] = int((time.perf_counter() - begun) * 1e9)
        header[CHANGED] = int(tally[:, 0].sum())
        brought = {name: [self.totals[f"sums_{name}"][k] for k in range(self.threads)]
                   for name in template.lowered.totals}  # fmt: skip
        return template.combined([{name: values[k] for name, values in brought.items()} for k in range(self.threads)]
                                 ) | {"residual": float(tally[:, 1].sum()), "changed": int(tally[:, 0].sum()),
                                      "block": int(header[BLOCK])}  # fmt: skip

    def _listed(self, brought: list[dict[str, Any]]) -> dict[str, Any]:
        """The contributions of blocks, in order, as JSON values."""
        assert self.template is not None
        totals = self.template.combined(brought)
        return {
            **{name: np.asarray(value).tolist() for name, value in totals.items()},
            "residual": sum(one["residual"] for one in brought), "changed": sum(one["changed"] for one in brought),
        }  # fmt: skip

    def _free(self) -> None:
        for one in self.descriptors:
            os.close(one)
        self.descriptors = []

    def close(self) -> None:
        """The agent has disconnected: its memory is freed with the last mapping of it."""
        self._free()
        self.chunks, self.template, self.gpu = [], None, None
