"""How good are predictions? Graphs that the calibration has not seen: every way is run, and held against its estimate.

    arcflux calibrate && python benchmarks/planner.py

Prints, for each program and direction, the median and the 90th percentile of the relative error of seconds; how often
the way that was predicted to be fastest was within 10 % of the one that was; predicted and measured peak memory; and
how long planning takes. What is fitted to is measured anew, in turns with what is held out, for as long as --seconds
says, and the fastest run of each counts: the speed of a machine that does other things too changes from one minute to
the next by more than the models are wrong. What was measured is kept, so that several calls add up.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux import config
from arcflux.plan.advise import CLEARLY
from arcflux.plan.brief import brief
from arcflux.plan.calibrate import GRAPHS as SEEN
from arcflux.plan.calibrate import PROGRAMS, observed
from arcflux.plan.calibrate import kept as kept_calibration
from arcflux.plan.fit import Curve, Fit, Observation, fit
from arcflux.plan.programs import WEIGHTED
from arcflux.plan.sample import _measured, measured
from measure import child, save

GRAPHS = (
    "kron:13", "kron:15", "kron:17", "kron:19", "urand:14", "urand:16", "urand:17", "grid:200x200", "grid:700x700",
    "ws:100000,k=10,p=0.1", "worlds:100x1000,k=10,rewire=0.1",
)  # fmt: skip
PEAKS = (("bfs", "kron:19"), ("pagerank", "kron:19"), ("connected_components", "kron:19"), ("bfs", "grid:700x700"),
         ("pagerank", "grid:700x700"))  # fmt: skip
NEAR = 1.10
THREADS = sorted({1, config.threads()})
_PEAK = """
import gc, json, sys, numpy as np, arcflux as af
name, store = sys.argv[1:]
def run(g):
    return getattr(af, name)(g, int(g.out_degrees.argmax())) if name == "bfs" else getattr(af, name)(g)
def held(what):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(what))
[run(af.load(small)) for small in ("kron:8", "grid:80x80")]  # whose kernels are loaded then
g = af.load(store); [int(np.asarray(a).sum()) for a in g.out]; gc.collect()
before = held("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
run(g)
print(json.dumps(held("VmHWM") - before + g.memory))
"""


Seen = dict[str, dict[str, list[float]]]


def measure(spec: str, kept: Seen) -> None:
    """Every program on a graph, on all threads and on one; what was faster before stays."""
    graph, weighted = af.load(spec), af.load(f"{spec},weights=1-255")
    seen = kept.setdefault(spec, {})
    for program, form in PROGRAMS.items():
        for threads in THREADS if form.main else ():
            steps, seconds, _ = observed(*program, weighted if program[0] in WEIGHTED else graph, 3, threads)
            name = f"{'/'.join(program)}/{threads}"
            turns, before = seen.get(name, [0, 0.0, seconds])[::2]
            seen[name] = [turns + 1, steps, min(seconds, before)]


def observations(options: argparse.Namespace) -> Seen:
    """Runs on all graphs, in turns, as long as there is time; those of earlier calls are added, the fastest of each."""
    kept: Seen = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    until = time.monotonic() + options.seconds
    both = [spec for pair in zip_longest(options.graphs, SEEN) for spec in pair if spec is not None]
    with config.measuring():
        while time.monotonic() < until:
            turns = {spec: min((one[0] for one in kept.get(spec, {}).values()), default=0) for spec in both}
            measure(min(both, key=lambda spec: turns[spec]), kept)
            options.keep.write_text(json.dumps(kept))
    return kept


def fits(kept: Seen, curve: Curve) -> dict[str, Fit]:
    """What is fitted to the graphs of the calibration alone."""
    found = {}
    for program, form in PROGRAMS.items():
        for threads in THREADS:
            name = f"{'/'.join(program)}/{threads}"
            seen = [
                Observation(brief(measured(af.load(spec))), *kept[spec][name][1:])
                for spec in SEEN if name in kept.get(spec, {})
            ]  # fmt: skip
            if len(seen) > 5:
                found[name] = fit(seen, form.dense, curve, form.value, form.extra)
    return found


def rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every program on every graph that was held out: predicted and measured seconds, and supersteps."""
    calibration = kept_calibration()
    if calibration is None:
        raise SystemExit("this machine has not been measured; run arcflux calibrate first")
    kept = observations(options)
    known = fits(kept, Curve.of(calibration.hierarchy))
    found = []
    for spec in options.graphs:
        shape = brief(measured(af.load(spec)))
        for name, (_, steps, seconds) in kept.get(spec, {}).items():
            if name not in known:
                continue
            algorithm, direction, threads = name.split("/")
            predicted = known[name].seconds(shape)
            found.append({
                "graph": spec, "algorithm": algorithm, "direction": direction, "threads": int(threads),
                "measured_seconds": seconds, "predicted_seconds": predicted, "error": predicted / seconds - 1,
                "measured_supersteps": steps, "predicted_supersteps": known[name].rounds(shape),
            })  # fmt: skip
            print(f"  {spec:<32} {name:<28} measured {1e3 * seconds:8.2f} ms, "
                  f"predicted {1e3 * predicted:8.2f} ms ({100 * found[-1]['error']:+.0f} %)")  # fmt: skip
    return found


def scores(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Errors by program and direction, and by direction and by threads alone."""
    groups: dict[str, list[float]] = {}
    for row in found:
        threads = f"{row['direction']} on {row['threads']} threads"
        for name in (f"{row['algorithm']}/{row['direction']}", f"all {row['direction']}", threads):
            groups.setdefault(name, []).append(abs(row["error"]))
    return {
        name: {"median": float(np.median(errors)), "p90": float(np.percentile(errors, 90)), "runs": len(errors)}
        for name, errors in groups.items()
    }


def chosen(ways: list[dict[str, Any]]) -> dict[str, Any]:
    """The way that a run would take: of those predicted to be about as fast as the fastest, the most usual."""
    least = min(row["predicted_seconds"] for row in ways)
    close = [row for row in ways if CLEARLY * row["predicted_seconds"] <= least]
    return min(close, key=lambda row: (row["direction"] == "push", -row["threads"]))


def choices(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the way that would be chosen was within 10 % of the fastest, and where it was not."""
    cases: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found:
        cases.setdefault((row["graph"], row["algorithm"]), []).append(row)
    several = [ways for ways in cases.values() if len(ways) > 1]
    lost = []
    for ways in several:
        taken, best = chosen(ways), min(ways, key=lambda row: row["measured_seconds"])
        if taken["measured_seconds"] > NEAR * best["measured_seconds"]:
            lost.append({"taken": taken, "best": best})
    good = len(several) - len(lost)
    return {"cases": len(several), "within_10_percent": good, "share": good / max(1, len(several)), "lost": lost}


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
    parser.add_argument("--seconds", type=float, default=300.0, help="measure so long, in turns; 0: score what is kept")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/planner-observed.json"), help="what was measured so far"
    )
    parser.add_argument("--no-peaks", action="store_true", help="leave peak memory out")
    parser.add_argument("--folder", type=Path, default=Path("build"))
    parser.add_argument("--out", type=Path, default=Path("results/planner.json"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    found = rows(options)
    results = {"rows": found, "scores": scores(found), "choices": choices(found),
               "memory": [] if options.no_peaks else peaks(options.folder),
               "speed": speed()}  # fmt: skip
    print("\nrelative error of predicted seconds")
    for name, one in results["scores"].items():
        print(f"  {name:<28} median {100 * one['median']:4.0f} %, 90th percentile {100 * one['p90']:4.0f} %")
    picked = results["choices"]
    good, cases = picked["within_10_percent"], picked["cases"]
    print(f"\nthe way that was chosen is within 10 % of the best in {good} of {cases} cases")
    for one in picked["lost"]:
        taken, best = one["taken"], one["best"]
        times = taken["measured_seconds"] / best["measured_seconds"]
        print(f"  {taken['algorithm']} on {taken['graph']}: {taken['direction']}, {taken['threads']} threads took "
              f"{times:.2f} times as long as {best['direction']}, {best['threads']}")  # fmt: skip
    for row in results["memory"]:
        print(f"  peak of {row['algorithm']} on {row['graph']}: measured {row['measured'] / 1e6:.0f} MB, "
              f"predicted {row['predicted'] / 1e6:.0f} MB ({100 * row['error']:+.0f} %)")  # fmt: skip
    print("  " + ", ".join(f"{name} {1e3 * taken:.1f} ms" for name, taken in results["speed"].items()))
    save(options.out, results)


if __name__ == "__main__":
    main()
