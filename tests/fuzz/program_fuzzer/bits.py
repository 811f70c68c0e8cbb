"""Deterministic runs of floats that are rounded: no oracle knows their last bits, but all ways have to agree on them.

What is compared is fields and residuals, bit by bit.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from program_fuzzer.compare import load_program
from program_fuzzer.graphs import GraphSpec, random_graph
from program_fuzzer.ways import Way, interpreted_ways

__all__ = ["difference_in_bits", "random_sums"]

_MESSAGES = (
    "u.x / u.out_degree", "0.1 * u.x + edge.length / 3.0", "math.sqrt(abs(u.x)) * 0.7",
    "(u.x + 0.3) / (1 + edge.weight)",
    "math.exp(-abs(u.x)) - 0.2 * old.x", "u.x * 1.1 if u.number % 3 else -u.x / 7.0",
)  # fmt: skip


def random_sums(draw: random.Random) -> str:
    """A program that adds or multiplies floats, of which every one is rounded; dense, or sparse by promise."""
    kind, sparse, vector = draw.choice(["f32", "f64"]), draw.random() < 0.4, draw.random() < 0.25
    message, measured = draw.choice(_MESSAGES), draw.random() < 0.6
    lines = ["import math", "", "import arcflux as af", "", "@af.program", "class Fuzzed:"]
    lines += ["    sparse = True"] if sparse else []
    totals = ["lost: af.total(af.f64)", "low: af.total(af.f64, 'min')", "row: af.total(af.f64[2])"]
    lines += [f"    {line}" for line in totals if measured]
    lines += ["    tolerance: float = 1e-30", f"    x: af.{kind}", "    got: af.i64", f"    y: af.{kind}"]
    lines += [f"    z: af.{kind}[3]"] if vector else []
    lines += ["    def start(v, g):", "        v.x = 1.0 / (3 + v.number % 11)", "        v.y = 1.0"]
    lines += ["        g.lost += 0.7 * v.x"] if measured else []
    lines += ["        return True"]
    lines += ["    def init(v, old):", "        v.got = 0", *(["        v.x = 0.15 * old.x"] if not sparse else [])]
    arguments = ", ".join(name for name in ("v", "u", "edge", "old") if f"{name}." in f"v.u.{message}")
    lines += [f"    def compute({arguments}):", f"        v.x += {message}", "        v.got += 1"]
    lines += ["        v.y *= 1.0 + u.x / 9.0"] if draw.random() < 0.4 else []
    lines += ["        v.z += 0.3 * u.x"] if vector else []
    lines += ["    def update(v, old, g, step):" if measured else "    def update(v, step):"]
    lines += ["        if v.got == 0:", "            return False"] if sparse else []
    lines += ["        v.x = v.x / 3.0" + (" - g.lost / 31.0 - g.row[1] / 97.0" if measured else "")]
    contributed = ["g.lost += 0.1 * v.x", "g.low = min(g.low, v.x)", "g.row[v.number % 2] += 0.3 * v.x", "g.row += v.y"]
    lines += [f"        {line}" for line in contributed if measured]
    lines += ["        return step < 4", "    def residual(v, old):", "        return abs(v.x - old.x)"]
    return "\n".join(lines) + "\n"


def difference_in_bits(seed: int, count: int = 4) -> str:
    """How two deterministic runs of a program differ; "" when all have the same bits, residuals too."""
    draw = random.Random(seed)
    source, graph = random_sums(draw), random_graph(draw)
    plain = _bits(source, graph, Way({"direction": "pull", "threads": 1}))
    for way in interpreted_ways(draw, count)[1:]:
        options = {k: v for k, v in way.options.items() if k not in ("timeout", "cancel")}
        # Chunks of another size add residuals up in another order; deterministic runs of narrow sums take no blocks.
        patches = tuple(patch for patch in way.patches if patch in ("runs", "patterns", "teams", "disturbed", "moving"))
        other = _bits(source, graph, replace(way, options=options, patches=patches))
        for name, bits in plain.items():
            if bits != other[name]:
                return (
                    f"seed {seed}: {name} of a deterministic run has other bits with {way}\n{source}\n{graph.source()}"
                )
    return ""


def _bits(source: str, graph: GraphSpec, way: Way) -> dict[str, Any]:
    with warnings.catch_warnings(), way.active() as options:
        warnings.simplefilter("ignore")
        options["deterministic"] = True
        result = af.run(load_program(source), graph.build(), max_supersteps=6, **options)
    found = {name: values.tobytes() for name, values in result.values.items()}
    totals = {name: np.array([step.totals[name] for step in result.history]).tobytes() for name in result.totals}
    return {**found, **totals, "residuals": np.array([step.residual for step in result.history]).tobytes()}
