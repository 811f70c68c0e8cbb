"""A failing case as a script to paste: the program, the graph, the run, and what it should have given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from program_fuzzer.compare import Case, expected
from program_fuzzer.shrink import fails
from program_fuzzer.ways import Way

__all__ = ["keep", "script"]


def script(case: Case, way: Way, note: str = "") -> str:
    """The script; one whose way has patches, or that fails only when interpreted, says so and needs the fuzzer."""
    compiled = replace(way, interpret=False)
    said = fails(case, way)
    head = [f"# {note}"] if note else []
    head += [f"# {said}", f"# {way}"]
    made = way.options.keys() & {"cancel", "checkpoint"}  # which active() makes of the numbers that are drawn
    plain = not (way.patches or made) and (not way.interpret or bool(fails(case, compiled)))
    if not plain:
        head.append("# PYTHONPATH=tests/fuzz" + ("" if way.patches else "; only interpreted kernels differ"))
    outcome = expected(case)
    wanted = {name: [list(x) if isinstance(x, tuple) else x for x in row] for name, row in outcome.fields.items()}
    lines = [*head, case.program.source, "import numpy as np", ""]
    if not plain:
        lines += ["from program_fuzzer.ways import Way", ""]
    lines += [f"graph = {case.graph.source()}", f"expected = {wanted!r}"]
    options = [f"max_supersteps={case.limit}", *(f"{k}={v!r}" for k, v in case.parameters.items())]
    if case.given:
        passed = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in case.passed().items()}
        options.append(f"given={passed!r}")
    if plain:
        options += [f"{name}={value!r}" for name, value in way.options.items()]
        if way.devices:
            options.append(f"devices=[{', '.join(_device(*each) for each in way.devices)}]")
        lines.append(f"result = af.run(Fuzzed, graph, {', '.join(options)})")
    else:
        lines += [
            f"with {way!r}.active() as options:",
            f"    result = af.run(Fuzzed, graph, {', '.join(options)}, **options)",
        ]
    lines += [
        "for name, values in expected.items():",
        "    print(name, result.values[name].tolist(), 'expected', values)",
    ]
    for name, row in outcome.edges.items():
        values = [list(x) if isinstance(x, tuple) else x for x in row]
        lines.append(f"print({name!r}, result.edges[{name!r}].tolist(), 'expected', {values!r})")
    lines.append(f"print([step.frontier for step in result.history], 'expected', {outcome.frontiers})")
    if any(outcome.residuals):
        lines.append(f"print([step.residual for step in result.history], 'expected', {outcome.residuals})")
    return "\n".join(lines) + "\n"


def _device(kind: str, size: int) -> str:
    return {
        "cpu": f"af.devices.CPU({size})",
        "virtual": f"af.devices.Virtual(memory={size or None})",
        "slow": f"af.devices.Virtual(slowdown={float(size)})",
        "cuda": f"af.devices.Cuda({size})",
    }[kind]


def keep(folder: Path, name: str, text: str, **more: Any) -> Path:
    """Write a script."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path
