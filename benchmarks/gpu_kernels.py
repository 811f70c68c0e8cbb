"""What kernels for GPUs take: compiles every algorithm for three architectures, and writes the table of the docs.

No GPU is needed, but ``pip install 'arcflux[cuda]'`` and ptxas. ``python benchmarks/gpu_kernels.py`` rewrites the table
in docs/explanation/gpu.md between its two markers; with ``--time`` it prints how long each program takes to compile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import arcflux as af
from arcflux.algorithms import cuda_kernels
from arcflux.compile.lower import Lowered, lower
from arcflux.gpu.account import cost, cpu_pull_cost
from arcflux.gpu.cubin import ARCHITECTURES, Compiled, compiled, compiled_kernel, kernels
from arcflux.program import REF32, Program

PAGE = Path(__file__).parents[1] / "docs/explanation/gpu.md"
BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"
MORE_BEGIN, MORE_END = "<!-- more kernels: begin -->", "<!-- more kernels: end -->"
COLUMNS = {"weight": np.dtype("f8")}
PROGRAMS = ("PageRank", "BFS", "SSSP", "Components", "CollaborativeFiltering")


@af.program
class Another:
    """Another program, so that all modules are loaded when time is taken."""

    value: af.f64

    def start(v):
        v.value = 0.0
        return True

    def compute(v, u):
        v.value = max(v.value, u.value)

    def update(v, old):
        return v.value > old.value


def lowered(program: Program) -> Lowered:
    found = lower(program.retyped(**dict.fromkeys(program.references, REF32)), COLUMNS)
    return found.unordered() if found.ordered else found


def table() -> str:
    """The table, a line for each kernel."""
    heads = " | ".join(f"sm_{a}" for a in ARCHITECTURES)
    lines = [f"| program | kernel | {heads} | shared | bytes a vertex | bytes an edge |", "|---|---|" + "---|" * 6]
    for name in PROGRAMS:
        program = lowered(getattr(af.algorithms, name))
        for kernel in kernels(program):
            made = [compiled(program, kernel, a, COLUMNS) for a in ARCHITECTURES]
            cells = [cell(m) for m in made]
            price = cost(program, kernel, COLUMNS)
            vertex, edge = price.vertex_read + price.vertex_written, price.edge_read + price.edge_written
            lines.append(f"| {name} | `{kernel}` | {' | '.join(cells)} | {made[0].shared} | {vertex} | {edge} |")
        price = cpu_pull_cost(program, COLUMNS)
        vertex = price.vertex_read + price.vertex_written
        lines.append(f"| {name} | pull on cores | | | | | {vertex} | {price.edge_read} |")
    return "\n".join(lines)


def cell(made: Compiled) -> str:
    """Registers and occupancy."""
    return f"{made.registers} ({made.occupancy:.0%}{', spills' if made.spilled else ''})"


def more_table() -> str:
    """The table of what is no vertex program; atomics are those of sm_80."""
    heads = " | ".join(f"sm_{a}" for a in ARCHITECTURES)
    lines = [f"| algorithm | kernel | {heads} | shared | atomics |", "|---|---|" + "---|" * 5]
    for name, (kernel, types) in cuda_kernels.kernels().items():
        made = [compiled_kernel(name, kernel, types, a) for a in ARCHITECTURES]
        found = set(re.findall(r"(?<![.\w])(?:atom|red)\.([\w.]+)", made[0].ptx))
        atomics = ", ".join(sorted({".".join(atomic.split(".")[-2:]) for atomic in found}))
        algorithm, what = name.split(": ", 1)
        lines.append(f"| {algorithm} | {what} | {' | '.join(map(cell, made))} | {made[0].shared} | {atomics} |")
    return "\n".join(lines)


def timed(name: str, architecture: int = 80) -> str:
    """Seconds from a program to the machine code of all its kernels, in a process that has loaded the compiler."""
    kernel, types = cuda_kernels.kernels()["components: flattened"]
    compiled_kernel("another", kernel, types, architecture)
    kernels(lowered(Another))
    begun, used = time.perf_counter(), sum(os.times()[:4])
    program = lowered(getattr(af.algorithms, name))
    made = [compiled(program, kernel, architecture, COLUMNS) for kernel in kernels(program)]
    took, used = time.perf_counter() - begun, sum(os.times()[:4]) - used
    return f"{name}: {len(made)} kernels in {took:.2f} s, {used:.2f} s of a core"


def main() -> None:
    if sys.argv[1:2] == ["--time"]:
        for name in sys.argv[2:] or PROGRAMS:
            if sys.argv[2:]:
                print(timed(name))
            else:  # each in a process of its own: what one has compiled, the next need not
                subprocess.run([sys.executable, __file__, "--time", name], check=True)
        return
    text = PAGE.read_text(encoding="utf-8")
    for begin, end, made in ((BEGIN, END, table()), (MORE_BEGIN, MORE_END, more_table())):
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{made}\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
