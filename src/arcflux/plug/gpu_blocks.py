"""Blocks of triplets on a GPU: a chunk is copied there, and arrays that a kernel may have changed are copied back.

Chunks are shared with the agent, and vertices differ from block to block, so nothing stays on the device in between.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from arcflux.compile import cache
from arcflux.compile.cuda.triplets import refused_on_gpu, triplet_source_on_gpu
from arcflux.devices.cuda import Cuda
from arcflux.errors import ProgramError
from arcflux.gpu import api
from arcflux.gpu.launch import Shapes
from arcflux.plug.template import COUNT, VERTICES, WORDS, Template

__all__ = ["GpuBlocks"]

# Arrays with an entry per triplet or record; others have one per vertex of the block.
_EDGES = ("sources", "targets", "came", "c_", "x_")
# Arrays that no kernel writes.
_ONLY_READ = (*_EDGES, "numbers", "in_degrees", "out_degrees", "p_", "g_", "totals_")
_SIMULATED_THREADS = 32


class GpuBlocks:
    """The kernels of a template on a GPU."""

    def __init__(self, template: Template, device: Cuda) -> None:
        if reason := refused_on_gpu(template.lowered):
            raise ProgramError(f"it cannot run by blocks of triplets on a GPU: {reason}", program=template.program.name,
                               remedy="a daemon of cores, or run it whole: Connection.run")  # fmt: skip
        self.template, self.device = template, device
        with cache.one_at_a_time:
            source = triplet_source_on_gpu(template.lowered)
            self.module = cache.module(source)
        self.names = {name: given.split(", ")[2:] for name, given in WORDS.findall(source)}

    def run(self, kernel: str, size: int, step: int, given: Mapping[str, Any]) -> float:
        """Run a kernel on a block; returns the seconds, including the copies."""
        begun, header = time.perf_counter(), given["header"]
        known = {**self.template.constants, **given}
        rows = {True: int(header[COUNT]), False: int(header[VERTICES])}
        back = []
        with self.device.active():
            arguments = [step, size]
            for name in self.names[kernel]:
                value = known[name]
                if isinstance(value, np.ndarray):
                    part = value[: max(1, rows[name.startswith(_EDGES)])] if name in given else value
                    value = api.to_device(np.ascontiguousarray(part))
                    if name in given and not name.startswith(_ONLY_READ):
                        back.append((part, value))
                arguments.append(value)
            api.launch(getattr(self.module, f"triplet_{kernel}"), *self._shape(size), *arguments)
            for part, value in back:
                part[...] = value.copy_to_host()
        return time.perf_counter() - begun

    def _shape(self, size: int) -> tuple[int, int]:
        """Blocks and threads of a launch."""
        if api.simulated():  # it runs one lane at a time
            return (1 if size <= _SIMULATED_THREADS else 2), _SIMULATED_THREADS
        return (self.device.shapes or Shapes()).walking(size)
