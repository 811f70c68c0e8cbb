"""Kernels for blocks of edge triplets on a GPU: those of compile/cpu/triplets.py, with a thread for each triplet.

Each thread counts and reduces its own; the results of a kernel's threads are reduced by warps into one element.
"""

from __future__ import annotations

import re
from dataclasses import replace

from arcflux.compile.cpu.triplets import Style, given_to, of_blocks, triplet_kernels
from arcflux.compile.cuda.module import HEAD, POLLING
from arcflux.compile.cuda.push import CudaShared
from arcflux.compile.cuda.source import totalled
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.crossing import along_function
from arcflux.compile.pieces.edges import edge
from arcflux.compile.pieces.source import also, function, has_long_loops, helpers, inside, sources, totals_known

__all__ = ["refused_on_gpu", "triplet_source_on_gpu"]


def refused_on_gpu(lowered: Lowered) -> str:
    """Why blocks of a program do not run on a GPU, though they do on cores; "" if they do."""
    if lowered.around is not None:
        return "its vertices see lists of messages"
    return "it reduces several fields together" if lowered.groups else ""


def triplet_source_on_gpu(lowered: Lowered) -> str:
    """The module with the kernels of a program for blocks of triplets."""
    if "cuda triplets" not in lowered.sources:
        own = [name for name in lowered.functions if name not in ("along", "compute")]
        sections = [POLLING] if any(has_long_loops(lowered, name) for name in lowered.functions) else []
        sections += [*helpers(lowered), *(function(lowered, name) for name in own), sources(lowered)]
        sections += [*along_function(lowered), edge(replace(lowered, deterministic=True, facts={}))]
        sections += triplet_kernels(lowered, Style(_kernel, _each, CudaShared, _ended))
        head = HEAD.format(name=lowered.program.name, deterministic=False, bounds={}, also=also(sections, "gpu"))
        lowered.sources["cuda triplets"] = re.sub(r"\n{3,}", "\n\n\n", of_blocks("\n\n".join([head, *sections])))
    return lowered.sources["cuda triplets"]


def _kernel(lowered: Lowered, name: str, given: list[str], statements: list[str]) -> str:
    lines = "\n".join(inside([*totals_known(lowered), *statements]))
    return f"""@kernel
def triplet_{name}(step, size, {given_to(lowered, given)}):
    one, base = np.uint64(1), np.uint64(0)
    changed, residual_sum = np.int64(0), 0.0
{lines}
"""


def _each(name: str, body: list[str]) -> list[str]:
    return ["for turn in range(cuda.grid(1), size, cuda.gridsize(1)):", *inside([f"{name} = np.uint64(turn)", *body])]


def _ended(lowered: Lowered, function: str) -> list[str]:
    lines = totalled(lowered, function)
    if function == "update":
        lines += ["cuda.atomic.add(tally, (0, 0), np.float64(changed))", "cuda.atomic.add(tally, (0, 1), residual_sum)"]
    return lines
