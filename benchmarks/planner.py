"""How good are predictions? Graphs drawn at random, which no calibration has seen, are run and held against plans.

    arcflux calibrate && python benchmarks/planner.py --seed 5

Families, sizes and edge factors are drawn by the seed (planner_graphs.py). Prints, for each program and direction, the
median and the 90th percentile of the relative error of seconds, by family too; how often the candidate that a run would
take was within 10 % of the fastest; predicted and measured peak memory; and how long planning takes. Every run is the
fastest of some, in rounds that take turns, since the speed of a machine that does other things too changes from one
minute to the next by more than the models are wrong. What was measured is kept, so that several calls add up; with
--clock cpu, runs on one thread are timed by what they used of a core, which others disturb less. --leave-out fits to
the graphs of this benchmark instead of the calibration: to those of all other families, or to so many of each.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux import config
from arcflux.plan.calibrate import observe
from arcflux.plan.calibration import Calibration, load_calibration
from arcflux.plan.fit import Fit, Observation, fit
from arcflux.plan.sketch import Sketch, sketch_graph
from arcflux.plan.this_machine import SWITCH_THRESHOLD
from arcflux.plan.work import WORKS
from measure import child, save
from planner_graphs import build, draws, name_of

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
[run(af.load(small)) for small in ("kron:8", "grid:80x80")]  # whose kernels are loaded then
g = af.load(store); [int(np.asarray(a).sum()) for a in g.out]; gc.collect()
before = held("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
run(g)
print(json.dumps(held("VmHWM") - before + g.memory))
"""

Seen = dict[str, dict[str, Any]]


def measure(drawn: dict[str, Any], options: argparse.Namespace, seen: Seen) -> None:
    """Every main program on a graph, on all threads and on one; what was faster before stays."""
    graph, weighted = build(drawn), build(drawn, weights=True)
    # A sketch before any search has shown how deep the graph is: what a first run is predicted by.
    row = seen.setdefault(
        json.dumps(drawn, sort_keys=True), {"draw": drawn, "graph": vars(sketch_graph(graph)), "runs": {}}
    )
    row["rounds"] = row.get("rounds", 0) + 1
    wall = time.perf_counter
    for work in WORKS.values():
        for direction in work.measured if work.main else ():
            for threads in options.threads:
                if options.clock == "cpu" and threads == 1:
                    time.perf_counter = time.process_time  # type: ignore[assignment]
                try:
                    one = observe(work, direction, weighted if work.weighted else graph, threads)
                finally:
                    time.perf_counter = wall
                name = f"{work.name}/{direction}/{threads}"
                before = row["runs"].get(name, [one.supersteps, one.seconds])
                row["runs"][name] = [one.supersteps, min(one.seconds, before[1])]


def observations(options: argparse.Namespace) -> Seen:
    """Runs on all graphs, in turns, as long as there is time; those of earlier calls are added, the fastest of each."""
    seen: Seen = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    until = time.monotonic() + options.seconds
    drawn = draws(options.seed, options.count, options.largest)
    names = [json.dumps(one, sort_keys=True) for one in drawn]
    with config.measuring():
        while time.monotonic() < until:
            least = min(range(len(drawn)), key=lambda k: seen.get(names[k], {}).get("rounds", 0))
            measure(drawn[least], options, seen)
            options.keep.write_text(json.dumps(seen))
    return {name: seen[name] for name in names if name in seen}


def fits(options: argparse.Namespace, seen: Seen, name: str, graph: str, machine: Calibration) -> Fit | None:
    """What a program on a graph is predicted by: the calibration, or other graphs of this benchmark."""
    program, direction, threads = name.split("/")
    if options.leave_out is None:
        return machine.fits.get((f"{program}/{direction}", int(threads)))
    family = seen[graph]["draw"]["family"]
    if options.leave_out == "family":
        others = [row for row in seen.values() if row["draw"]["family"] != family]
    else:
        chance, others = np.random.default_rng(options.seed), []
        for one in sorted({row["draw"]["family"] for row in seen.values()}):
            rows = [row for key, row in seen.items() if row["draw"]["family"] == one and key != graph]
            others += [rows[k] for k in chance.permutation(len(rows))[: int(options.leave_out)]]
    runs = [Observation(Sketch.of(row["graph"]), *row["runs"][name]) for row in others if name in row["runs"]]
    return fit(runs, WORKS[program], machine.curve) if runs else None


def rows(options: argparse.Namespace, machine: Calibration) -> list[dict[str, Any]]:
    """Every program on every graph: predicted and measured seconds, and supersteps."""
    seen, found = observations(options), []
    for key, row in seen.items():
        graph = Sketch.of(row["graph"])
        for name, (steps, seconds) in row["runs"].items():
            known = fits(options, seen, name, key, machine)
            if known is None:
                continue
            algorithm, direction, threads = name.split("/")
            predicted = known.seconds(graph)
            found.append({
                "graph": name_of(row["draw"]), "family": row["draw"]["family"], "algorithm": algorithm,
                "direction": direction, "threads": int(threads), "measured_seconds": seconds,
                "predicted_seconds": predicted, "error": predicted / seconds - 1, "measured_supersteps": steps,
                "predicted_supersteps": known.supersteps(graph),
            })  # fmt: skip
            print(f"  {name_of(row['draw']):<32} {name:<28} measured {1e3 * seconds:8.2f} ms, "
                  f"predicted {1e3 * predicted:8.2f} ms ({100 * found[-1]['error']:+.0f} %)")  # fmt: skip
    return found


def scores(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Errors by program and direction, by family, by threads, and of all."""
    groups: dict[str, list[float]] = {}
    for row in found:
        names = f"{row['algorithm']}/{row['direction']}", row["family"], f"{row['threads']} threads", "all"
        for name in names:
            groups.setdefault(name, []).append(abs(row["error"]))
    return {
        name: {"median": float(np.median(errors)), "p90": float(np.percentile(errors, 90)), "runs": len(errors)}
        for name, errors in groups.items()
    }


def chosen(ways: list[dict[str, Any]]) -> dict[str, Any]:
    """The candidate that a run would take: of those predicted to be about as fast as the fastest, the most usual."""
    least = min(row["predicted_seconds"] for row in ways)
    close = [row for row in ways if SWITCH_THRESHOLD * row["predicted_seconds"] <= least]
    return min(close, key=lambda row: (row["direction"] == "push", -row["threads"]))


def choices(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the candidate that would be chosen was within 10 % of the fastest, and where it was not."""
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
    """Seconds of a sketch of a large graph, of its shape, and of a plan and an estimate once they are known."""
    graph, found = af.load("kron:20"), {}
    for name, work in (("sketch_kron_20", lambda: sketch_graph(graph)),
                       ("shape_kron_20", lambda: af.estimate("bfs", graph)),
                       ("plan", lambda: af.plan("pagerank", graph, on="dgx1", nodes=4)),
                       ("estimate", lambda: af.estimate("pagerank", graph))):  # fmt: skip
        begun = time.perf_counter()
        work()
        found[name] = time.perf_counter() - begun
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=5, help="what graphs are drawn by")
    parser.add_argument("--count", type=int, default=35, help="how many graphs, families in turn")
    parser.add_argument("--largest", type=float, default=20.0, help="the largest graph, in powers of two of vertices")
    parser.add_argument("--seconds", type=float, default=300.0, help="measure so long, in turns; 0: score what is kept")
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, config.threads()}))
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--leave-out", help="family, or how many graphs of each family are fitted to")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/planner-observed.json"), help="what was measured so far"
    )
    parser.add_argument("--no-peaks", action="store_true", help="leave peak memory and planning time out")
    parser.add_argument("--folder", type=Path, default=Path("build"))
    parser.add_argument("--out", type=Path, default=Path("results/planner.json"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    machine = load_calibration()
    if machine is None:
        raise SystemExit("this machine has not been measured; run arcflux calibrate first")
    found = rows(options, machine)
    results = {"seed": options.seed, "clock": options.clock, "rows": found, "scores": scores(found),
               "choices": choices(found), "memory": [] if options.no_peaks else peaks(options.folder),
               "speed": {} if options.no_peaks else speed()}  # fmt: skip
    print("\nrelative error of predicted seconds")
    for name, one in results["scores"].items():
        print(f"  {name:<28} median {100 * one['median']:4.0f} %, 90th percentile {100 * one['p90']:4.0f} %")
    picked = results["choices"]
    good, cases = picked["within_10_percent"], picked["cases"]
    print(f"\nthe candidate that was chosen is within 10 % of the best in {good} of {cases} cases")
    for one in picked["lost"]:
        taken, best = one["taken"], one["best"]
        times = taken["measured_seconds"] / best["measured_seconds"]
        print(f"  {taken['algorithm']} on {taken['graph']}: {taken['direction']}, {taken['threads']} threads took "
              f"{times:.2f} times as long as {best['direction']}, {best['threads']}")  # fmt: skip
    for row in results["memory"]:
        print(f"  peak of {row['algorithm']} on {row['graph']}: measured {row['measured'] / 1e6:.0f} MB, "
              f"predicted {row['predicted'] / 1e6:.0f} MB ({100 * row['error']:+.0f} %)")  # fmt: skip
    if results["speed"]:
        print("  " + ", ".join(f"{name} {1e3 * taken:.1f} ms" for name, taken in results["speed"].items()))
    save(options.out, results)


if __name__ == "__main__":
    main()
