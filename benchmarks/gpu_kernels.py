"""What kernels for GPUs take: compiles every algorithm for three architectures, and writes the table of the docs.

No GPU is needed, but ``pip install 'arcflux[cuda]'`` and ptxas. ``python benchmarks/gpu_kernels.py`` rewrites the table
in docs/explanation/gpu.md between its two markers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import arcflux as af
from arcflux.compile.lower import Lowered, lower
from arcflux.gpu.account import cost, cpu_pull_cost
from arcflux.gpu.cubin import ARCHITECTURES, compiled, kernels
from arcflux.program import REF32, Program

PAGE = Path(__file__).parents[1] / "docs/explanation/gpu.md"
BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"
COLUMNS = {"weight": np.dtype("f8")}
PROGRAMS = ("PageRank", "BFS", "SSSP", "Components", "CollaborativeFiltering")


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
            cells = [f"{m.registers} ({m.occupancy:.0%}{', spills' if m.spilled else ''})" for m in made]
            price = cost(program, kernel, COLUMNS)
            vertex, edge = price.vertex_read + price.vertex_written, price.edge_read + price.edge_written
            lines.append(f"| {name} | `{kernel}` | {' | '.join(cells)} | {made[0].shared} | {vertex} | {edge} |")
        price = cpu_pull_cost(program, COLUMNS)
        vertex = price.vertex_read + price.vertex_written
        lines.append(f"| {name} | pull on cores | | | | | {vertex} | {price.edge_read} |")
    return "\n".join(lines)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
