"""How good are predictions? Graphs that the calibration has not seen: every way is run, and held against its estimate.

    arcflux calibrate && python benchmarks/planner.py

Prints, for each program and direction, the median and the 90th percentile of the relative error of seconds; how often
the way that was predicted to be fastest was within 10 % of the one that was; predicted and measured peak memory; and
how long planning takes. Run it on a machine that does nothing else. Where that cannot be had, the speed of a machine
changes from one minute to the next by more than the models are wrong; ``--fresh`` then measures what is fitted to in
turns with what is held out, so that both have the same luck.
"""

from __future__ import annotations

import argparse
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.plan.calibrate import GRAPHS as SEEN
from arcflux.plan.calibrate import PROGRAMS, kept, observed
from arcflux.plan.fit import Curve, Fit, Observation, fit
from arcflux.plan.sample import _measured, measured
from measure import child, save

GRAPHS = (
    "kron:13", "kron:15", "kron:17", "kron:19", "urand:14", "urand:16", "urand:17", "grid:200x200", "grid:700x700",
    "ws:100000,k=10,p=0.1", "worlds:100x1000,k=10,rewire=0.1",
)  # fmt: skip
PEAKS = (("bfs", "kron:19"), ("pagerank", "kron:19"), ("connected_components", "kron:19"), ("bfs", "grid:700x700"),
         ("pagerank", "grid:700x700"))  # fmt: skip
NEAR = 1.10
_PEAK = """
import gc, json, sys, numpy as np, arcflux as af
name, store = sys.argv[1:]
def run(g):
    return getattr(af, name)(g, int(g.out_degrees.argmax())) if name == "bfs" else getattr(af, name)(g)
def held(what):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(what))
small = af.load("kron:8"); run(small)
g = af.load(store); [int(np.asarray(a).sum()) for a in g.out]; gc.collect()
before = held("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
run(g)
print(json.dumps(held("VmHWM") - before + g.memory))
"""


def runs(spec: str) -> dict[tuple[str, str], Observation]:
    """Every program on a graph."""
    graph, weighted = af.load(spec), af.load(f"{spec},weights=1-255")
    shape = measured(graph)
    return {
        program: Observation(shape, *observed(*program, weighted if program[0] == "sssp" else graph))
        for program in PROGRAMS
    }


def observations(graphs: tuple[str, ...], fresh: bool) -> tuple[dict[str, Any], dict[tuple[str, str], Fit]]:
    """Runs on held-out graphs, and the fits to hold them against: kept, or made of runs that take turns with them."""
    calibration = kept()
    if calibration is None:
        raise SystemExit("this machine has not been measured; run arcflux calibrate first")
    if not fresh:
        return {spec: runs(spec) for spec in graphs}, {p: calibration.fits["/".join(p)] for p in PROGRAMS}
    held, seen = {}, []
    for theirs, ours in zip_longest(graphs, SEEN):
        if ours is not None:
            seen.append(runs(ours))
        if theirs is not None:
            held[theirs] = runs(theirs)
    curve = Curve.of(calibration.hierarchy)
    fits = {p: fit([one[p] for one in seen], dense, curve, value) for p, (dense, value) in PROGRAMS.items()}
    return held, fits


def rows(graphs: tuple[str, ...], fresh: bool) -> list[dict[str, Any]]:
    """Every program on every graph: predicted and measured seconds, and supersteps."""
    held, fits = observations(graphs, fresh)
    found = []
    for spec, programs in held.items():
        for program, one in programs.items():
            rate, shape, steps, seconds = fits[program], one.shape, one.supersteps, one.seconds
            predicted = rate.seconds(shape)
            found.append({
                "graph": spec, "algorithm": program[0], "direction": program[1], "measured_seconds": seconds,
                "predicted_seconds": predicted, "error": predicted / seconds - 1, "measured_supersteps": steps,
                "predicted_supersteps": rate.steps(shape),
            })  # fmt: skip
            print(f"  {spec:<32} {'/'.join(program):<26} measured {1e3 * seconds:8.2f} ms, "
                  f"predicted {1e3 * predicted:8.2f} ms ({100 * found[-1]['error']:+.0f} %)")  # fmt: skip
    return found


def scores(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Errors by program and direction, and by direction alone."""
    groups: dict[str, list[float]] = {}
    for row in found:
        for name in (f"{row['algorithm']}/{row['direction']}", f"all {row['direction']}"):
            groups.setdefault(name, []).append(abs(row["error"]))
    return {
        name: {"median": float(np.median(errors)), "p90": float(np.percentile(errors, 90)), "runs": len(errors)}
        for name, errors in groups.items()
    }


def choices(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the way that was predicted to be fastest was within 10 % of the fastest."""
    cases: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found:
        cases.setdefault((row["graph"], row["algorithm"]), []).append(row)
    several = [ways for ways in cases.values() if len(ways) > 1]
    good = 0
    for ways in several:
        taken = min(ways, key=lambda row: row["predicted_seconds"])
        good += taken["measured_seconds"] <= NEAR * min(row["measured_seconds"] for row in ways)
    return {"cases": len(several), "within_10_percent": good, "share": good / max(1, len(several))}


def peaks(folder: Path) -> list[dict[str, Any]]:
    """Predicted and measured peak memory, the latter in processes of their own."""
    found = []
    for name, spec in PEAKS:
        store = folder / f"{spec.replace(':', '-')}.arcflux"
        if not store.exists():
            af.load(spec).save(store)
        seen = child(_PEAK, name, str(store))
        expected = af.estimate(name, spec).memory
        found.append({"algorithm": name, "graph": spec, "measured": seen, "predicted": expected,
                      "error": expected / seen - 1})  # fmt: skip
    return found


def speed() -> dict[str, float]:
    """Seconds of the statistics of a large graph, and of a plan once they are known."""
    graph = af.load("kron:20")
    begun = time.perf_counter()
    shape = _measured(graph)
    statistics = time.perf_counter() - begun
    af.plan("pagerank", shape, on="dgx1", nodes=4)
    begun = time.perf_counter()
    af.plan("pagerank", shape, on="dgx1", nodes=4)
    planning = time.perf_counter() - begun
    af.estimate("pagerank", shape)
    begun = time.perf_counter()
    af.estimate("pagerank", shape)
    return {"statistics_kron_20": statistics, "plan": planning, "estimate": time.perf_counter() - begun}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--fresh", action="store_true", help="measure what is fitted to anew, in turns with the rest")
    parser.add_argument("--folder", type=Path, default=Path("build"))
    parser.add_argument("--out", type=Path, default=Path("results/planner.json"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    found = rows(tuple(options.graphs), options.fresh)
    results = {"rows": found, "scores": scores(found), "choices": choices(found), "memory": peaks(options.folder),
               "speed": speed()}  # fmt: skip
    print("\nrelative error of predicted seconds")
    for name, one in results["scores"].items():
        print(f"  {name:<28} median {100 * one['median']:4.0f} %, 90th percentile {100 * one['p90']:4.0f} %")
    picked = results["choices"]
    good, cases = picked["within_10_percent"], picked["cases"]
    print(f"\nthe way that was chosen is within 10 % of the best in {good} of {cases} cases")
    for row in results["memory"]:
        print(f"  peak of {row['algorithm']} on {row['graph']}: measured {row['measured'] / 1e6:.0f} MB, "
              f"predicted {row['predicted'] / 1e6:.0f} MB ({100 * row['error']:+.0f} %)")  # fmt: skip
    print("  " + ", ".join(f"{name} {1e3 * taken:.1f} ms" for name, taken in results["speed"].items()))
    save(options.out, results)


if __name__ == "__main__":
    main()
