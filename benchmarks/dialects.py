"""What does a dialect cost? Six algorithms in four forms, side by side: seconds, and whether the kernels are the same.

    python benchmarks/dialects.py [--graph kron:16,weights=1-9,directed=false] [--trials 31] [--threads 1] [--json out]

Forms take turns, so that a noisy minute hits all of them, and what is compared is the fastest run of each: a run of a
millisecond that loses its core for one slice of the scheduler takes five, and then medians tell how often that was.
A form whose kernels are to the byte those of the native form, for cores and for GPUs, cannot be slower: what its times
differ by is the noise of the measurement. With two threads on cores that others use as well, that noise is what one
waits for the other at barriers: five times a search of kron:14, for any form.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import arcflux as af
from arcflux.compile.cpu import module as cpu
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import lower
from dialect_programs import ALGORITHMS, FORMS, forms
from measure import rounds, save

__all__ = ["compare", "same_kernels", "table"]

TARGET = 1.05


def parameters(name: str, graph: af.Graph) -> dict[str, Any]:
    """What an algorithm is given: searches begin at the vertices with most edges."""
    largest = np.argsort(-graph.out_degrees.astype(np.int64), kind="stable")[:4]
    if name == "bfs":
        return {"source": graph.ids.to_ids(largest[:1])[0]}
    if name == "sssp, four sources":
        return {"sources": tuple(int(number) for number in np.resize(largest, 4))}
    return {}


def same_kernels(name: str, graph: af.Graph) -> dict[str, bool]:
    """Of each form, whether its generated code for cores and for GPUs is that of the native one."""
    columns = {column: values.dtype for column, values in graph.columns.items()}
    texts = {form: lower(program, columns) for form, program in forms(name).items()}
    written = {form: (cpu.source(each), cuda_source(each)) for form, each in texts.items()}
    return {form: written[form] == written["native"] for form in FORMS}


def timed(name: str, form: str, graph: af.Graph, threads: int) -> Callable[[], float]:
    """A call that gives the seconds of a run, without compiling."""
    program, given = forms(name)[form], parameters(name, graph)
    return lambda: af.run(program, graph, threads=threads, **given).seconds


def compare(graph: af.Graph, trials: int, threads: int) -> dict[str, dict[str, dict[str, Any]]]:
    """By algorithm and form: the fastest run, the median, all seconds, how many times the native one's fastest, and
    whether kernels are the same."""
    found = {}
    for name in ALGORITHMS:
        same = same_kernels(name, graph)
        seconds = rounds({form: timed(name, form, graph, threads) for form in FORMS}, trials)
        best = {form: min(taken) for form, taken in seconds.items()}
        found[name] = {
            form: {
                "best": best[form], "median": statistics.median(seconds[form]), "all": seconds[form],
                "times_native": best[form] / best["native"], "same_kernels": same[form],
            }
            for form in FORMS
        }  # fmt: skip
    return found


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """What was measured, a line for each algorithm."""
    lines = [f"{'milliseconds':<20}" + "".join(f"{form:>16}" for form in FORMS) + "  kernels"]
    for name, row in found.items():
        cells = [f"{row['native']['best'] * 1e3:16.2f}"]
        cells += [f"{row[form]['best'] * 1e3:9.2f} x{row[form]['times_native']:5.2f}" for form in FORMS[1:]]
        different = [form for form in FORMS if not row[form]["same_kernels"]]
        lines.append(
            f"{name:<20}" + "".join(cells) + ("  differ: " + ", ".join(different) if different else "  the same")
        )
    worst = max(row[form]["times_native"] for row in found.values() for form in FORMS)
    lines.append(f"the slowest form takes {worst:.3f} times the native one (target: {TARGET})")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="kron:16,weights=1-9,directed=false")
    parser.add_argument("--trials", type=int, default=31)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", default="")
    chosen = parser.parse_args(arguments)
    found = compare(af.load(chosen.graph), chosen.trials, chosen.threads)
    print(f"{chosen.graph}, {chosen.threads} threads, {chosen.trials} trials\n{table(found)}")
    if chosen.json:
        save(chosen.json, {"graph": chosen.graph, "threads": chosen.threads, "algorithms": found})


if __name__ == "__main__":
    main()
