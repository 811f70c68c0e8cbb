"""Jobs: G2's experiments on one and on several tasks (figures 3 and 4), the wait of small jobs, and the service.

    python benchmarks/jobs.py pairs --graph kron:18 --rounds 9   # G21: pairs, with ablations
    python benchmarks/jobs.py devices --graph kron:14            # G20: CPU only, GPU only, both, on virtual devices
    python benchmarks/jobs.py waits                              # a small job beside a large one
    python benchmarks/jobs.py service                            # submissions a second, MB of results a second
    python benchmarks/jobs.py drift --jobs 1000                  # memory of the process over many jobs

Throughput first, response time second (G2, section III-A); energy where the RAPL counters can be read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import arcflux as af
from arcflux.jobs.accounts import Account
from arcflux.jobs.memory import Buffer, Copy, MemoryScheduler, Ready
from arcflux.jobs.slices import Done, KernelScheduler, Run

_RAPL = Path("/sys/class/powercap/intel-rapl:0/energy_uj")


def energy() -> float | None:
    """Joules so far, where the counters can be read."""
    try:
        return int(_RAPL.read_text()) / 1e6
    except (OSError, ValueError):
        return None


# --- G21 on cores


def tasks(graph: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    source = int(graph.out.offsets[1:].astype(int).__sub__(graph.out.offsets[:-1].astype(int)).argmax())
    return {
        "BFS": ("bfs", {"source": source}),
        "PR": ("pagerank", {"tol": 0.0, "max_iter": 10, "method": "power"}),
        "CF": ("collaborative_filtering", {"iterations": 5}),
    }


def one_after_the_other(graph: Any, names: list[str], repeats: int) -> float:
    known = tasks(graph)
    begun = time.perf_counter()
    for name in names:
        task, parameters = known[name]
        for _ in range(repeats if name == "BFS" else 1):
            getattr(af, task)(graph, **parameters)
    return time.perf_counter() - begun


def naive_threads(graph: Any, names: list[str], repeats: int) -> float:
    threads = [threading.Thread(target=one_after_the_other, args=(graph, [name], repeats)) for name in names]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def as_jobs(graph: Any, names: list[str], repeats: int, pairing: bool = True) -> tuple[float, list[float]]:
    known = tasks(graph)
    with af.Jobs(graph, pairing=pairing) as jobs:
        begun = time.perf_counter()

        def chain(name: str, ends: list[float]) -> None:
            task, parameters = known[name]
            for _ in range(repeats if name == "BFS" else 1):
                jobs.submit(task, **parameters).result()
            ends.append(time.perf_counter() - begun)

        ends: list[float] = []
        threads = [threading.Thread(target=chain, args=(name, ends)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begun, ends


def pairs(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Two applications at once: one after the other, by threads that know nothing of each other, and as jobs."""
    import warnings

    warnings.simplefilter("ignore")
    graph = af.load(options.graph)
    ratings = af.load(options.ratings)
    rows = []
    for names, on in (
        (["BFS", "BFS"], graph), (["PR", "PR"], graph), (["BFS", "PR"], graph), (["BFS", "CF"], ratings),
        (["PR", "CF"], ratings),
    ):  # fmt: skip
        taken: dict[str, list[float]] = {"sequence": [], "threads": [], "jobs w/o KS": [], "jobs": []}
        fairness, joules = [], []
        for turn in range(options.rounds + 1):
            before = energy()
            taken["sequence"].append(one_after_the_other(on, names, options.repeats))
            taken["threads"].append(naive_threads(on, names, options.repeats))
            taken["jobs w/o KS"].append(as_jobs(on, names, options.repeats, pairing=False)[0])
            whole, ends = as_jobs(on, names, options.repeats)
            taken["jobs"].append(whole)
            fairness.append(min(ends) / max(ends))
            after = energy()
            if before is not None and after is not None:
                joules.append(after - before)
            if not turn:  # the first round compiles
                for one in (*taken.values(), fairness, joules):
                    one.clear()
        medians = {name: statistics.median(one) for name, one in taken.items()}
        ratios = {f"jobs over {name}": medians[name] / medians["jobs"] for name in taken if name != "jobs"}
        rows.append({"pair": "+".join(names), **{f"{name} s": round(one, 4) for name, one in medians.items()},
                     **{name: round(one, 3) for name, one in ratios.items()},
                     "ends, first over last": round(statistics.median(fairness), 2),
                     "joules": round(statistics.median(joules), 1) if joules else None})  # fmt: skip
    return rows


# --- G21 on a device: both state machines with a clock, and ablations


def simulated(kinds: list[str], memory: bool, slicing: bool, count: int = 12) -> float:
    """Seconds that kernels of two applications take on a modelled device: copies overlap, and kernels share it.

    Without the memory manager copies are synchronous and pageable (half the bandwidth), in the way of the kernels;
    without the kernel scheduler each kernel runs alone, whole.
    """
    accounts = {"BFS": Account("BFS", 1.0, 0.35), "PR": Account("PR", 0.55, 1.0)}
    work, copy = {"BFS": 0.008, "PR": 0.010}, 0.0015
    scheduler = MemoryScheduler(1 << 30, pinned=(1 << 30) if memory else 0)
    kernels = KernelScheduler(2, quantum=0.002, pairing=slicing)
    chunks = 8 if slicing else 1
    now, copies, running = 0.0, [], {}
    queue: list[Any] = []
    names = {k: kinds[k % 2] for k in range(count)}
    for k in range(count):
        scheduler.submit(k, [Buffer("input", 1 << 20), Buffer("output", 1 << 18, load=False, store=True)])
        queue += scheduler.seal(k)
    link_free = 0.0
    left = set(range(count))
    while left:
        while queue:
            command = queue.pop(0)
            if isinstance(command, Copy):
                seconds = copy * command.nbytes / (1 << 20) * (1 if command.pinned else 2)
                begin = max(now, link_free)
                if not memory and running:  # a synchronous copy waits for the device, and the device for it
                    begin = max(begin, *(end for end, *_ in running.values()))
                link_free = begin + seconds
                copies.append((link_free, command))
                if not memory:
                    for k in running:
                        running[k] = (running[k][0] + seconds, *running[k][1:])
            elif isinstance(command, Ready):
                queue += kernels.add(command.kernel, accounts[names[command.kernel]], chunks, now=now)
            elif isinstance(command, Run):
                beside = [names[k] for k in running]
                one = names[command.kernel]
                wanted = 1.0
                if beside:
                    other = accounts[beside[0]]
                    wanted = max(1.0, accounts[one].memory + other.memory, accounts[one].arithmetic + other.arithmetic)
                seconds = work[one] * (command.last - command.first) / chunks * wanted
                running[command.kernel] = (now + seconds, command, seconds)
            elif isinstance(command, Done):
                queue += scheduler.executed(command.kernel)
            elif type(command).__name__ == "Leave":
                left.discard(command.kernel)
        if not left:
            break
        ends = [(end, 0, command) for end, command in copies] + [(end, 1, k) for k, (end, *_) in running.items()]
        now, kind, what = min(ends, key=lambda one: one[:2])
        if kind == 0:
            copies.remove((now, what))
            queue += scheduler.copied(what.kernel, what.buffer)
        else:
            _, command, seconds = running.pop(what)
            queue += kernels.ended(what, command.last - command.first, seconds, now)
    return now


def ablations() -> list[dict[str, Any]]:
    rows = []
    for kinds in (["BFS", "BFS"], ["PR", "PR"], ["BFS", "PR"]):
        none = simulated(kinds, memory=False, slicing=False)
        both = simulated(kinds, memory=True, slicing=True)
        rows.append({
            "pair": "+".join(kinds), "neither": 1.0,
            "w/o MM": round(none / simulated(kinds, memory=False, slicing=True), 3),
            "w/o KS": round(none / simulated(kinds, memory=True, slicing=False), 3),
            "both": round(none / both, 3),
        })  # fmt: skip
    return rows


# --- G20


def devices(options: argparse.Namespace) -> list[dict[str, Any]]:
    """CPU only, GPU only and both, on virtual devices with the paper's ratio; and what algorithm 1 says of EC2."""
    graph = af.load(options.graph)
    ratio, slow = 1.4, 20.0  # slow enough that sleeping devices share the cores without a fight
    clock = time.thread_time
    kinds = {
        "CPU only": [ratio * slow], "GPU only": [slow], "CPU+GPU": [ratio * slow, slow],
    }  # fmt: skip
    rows = []
    for name, program, parameters in (
        ("PageRank", af.algorithms.PageRank, {}),
        ("BFS", af.algorithms.BFS, {"source": 0}),
    ):
        seconds = {}
        for kind, slowdowns in kinds.items():
            some = [af.devices.Virtual(slowdown, clock=clock) for slowdown in slowdowns]
            af.run(program, graph, devices=some, **parameters)
            seconds[kind] = statistics.median(
                af.run(program, graph, devices=some, **parameters).seconds for _ in range(options.rounds)
            )
        rows.append({"task": name, **{kind: round(seconds["CPU only"] / one, 2) for kind, one in seconds.items()}})
    sizes = (144_000_000, 8_000_000_000, "powerlaw"), (384_000_000, 21_000_000_000, "powerlaw")
    return rows + [modelled(size) for size in sizes]


def modelled(size: tuple[int, int, str]) -> dict[str, Any]:
    """Algorithm 1 for a graph of the paper on its EC2 machines: by the model, without communication."""
    from arcflux.jobs.placing import assign_on

    label = f"{size[0]:,} vertices on EC2, by the model"
    try:
        found = assign_on("pagerank", size, "ec2-m2050", 8).assignment
    except af.errors.SpaceError as error:
        return {"what": label, "refused": error.what}
    return {"what": label, "parts": len(found.owner), "over CPU only": round(found.speedup, 2)}


# --- waits, drift, service


def waits(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A small job alone, and beside a large one that began before."""
    graph, small = af.load(options.graph), af.load("kron:12")
    rows = []
    for large in ("pagerank", "triangles", "betweenness_centrality"):
        parameters = {"tol": 0.0, "max_iter": 200} if large == "pagerank" else {}
        with af.Jobs(graph) as jobs:
            jobs.submit("bfs", graph=small, source=0).result()
            jobs.submit(large, graph=small, **parameters).result()  # compiles
            alone, beside = [], []
            for _ in range(options.rounds):
                begun = time.perf_counter()
                jobs.submit("bfs", graph=small, source=0).result()
                alone.append(time.perf_counter() - begun)
            long = jobs.submit(large, **parameters)
            while not long.progress.seconds and long.progress.supersteps == 0 and time.perf_counter() - begun < 2:
                time.sleep(0.01)
            while len(beside) < options.rounds and not long.is_over:
                begun = time.perf_counter()
                jobs.submit("bfs", graph=small, source=0).result()
                beside.append(time.perf_counter() - begun)
            long.cancel()
            long.wait()
            share = jobs.cores.deciding / max(1e-9, long.progress.seconds)
        rows.append({"large": large, "alone ms": round(1e3 * statistics.median(alone), 2), "beside": len(beside),
                     "beside ms": round(1e3 * statistics.median(beside), 2) if beside else None,
                     "ratio": round(statistics.median(beside) / statistics.median(alone), 2) if beside else None,
                     "scheduling %": round(100 * share, 3)})  # fmt: skip
    return rows


def drift(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The memory of the process after many mixed jobs, of which some are cancelled."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    graph = af.load("kron:12,weights=1-255")
    rows = []
    with af.Jobs(graph) as jobs:
        before = 0
        for turn in range(2):
            states: dict[str, int] = {}
            for first in range(0, options.jobs, 20):
                batch = []
                for k in range(first, min(first + 20, options.jobs)):
                    task = ("bfs", "pagerank", "sssp", "connected_components", "triangles")[k % 5]
                    batch.append(jobs.submit(task, **({"source": k} if task in ("bfs", "sssp") else {})))
                    if k % 20 == 7:
                        batch[-1].cancel()
                for job in batch:
                    job.wait()
                    states[job.state] = states.get(job.state, 0) + 1
                    jobs.forget(job)
            rows.append({"turn": turn, **states, "resident MB": round(resident() / 1e6, 1),
                         "drift %": round(100 * (resident() - before) / before, 2) if before else None})  # fmt: skip
            before = resident()
    return rows


def service(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Submissions a second, from submission to the first superstep, and bytes of a large result a second."""
    from arcflux.jobs.catalogue import Catalogue
    from arcflux.jobs.service import Service

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "graphs").mkdir()
        af.load("kron:20,ef=2").save(root / "graphs" / "large.arcflux")
        af.load("kron:8").save(root / "graphs" / "small.arcflux")
        made = Service(Catalogue([root / "graphs"]), root / "state", bound=10**6, hold=True)
        body = {"graph": "small.arcflux", "task": "bfs", "parameters": {"source": 0}}
        begun = time.perf_counter()
        for _ in range(500):
            made.submit("owner", body)
        rate = 500 / (time.perf_counter() - begun)
        table = af.bfs(str(root / "graphs" / "large.arcflux"), 0)
        made.results.keep("1-a", table)
        rows = [{"submissions a second": round(rate)}]
        for form in ("arrow", "csv", "parquet"):
            begun, size = time.perf_counter(), 0
            for piece in made.results.stream("1-a", form):
                size += len(piece)
            rows.append(
                {
                    "format": form,
                    "rows": table.graph.vertices,
                    "MB a second": round(size / 1e6 / (time.perf_counter() - begun)),
                }
            )
        made.close()
    small = af.load("kron:10")
    with af.Jobs(small) as jobs:
        jobs.submit("bfs", source=0).result()
        taken = []
        for _ in range(20):
            job = jobs.submit("bfs", source=0)
            job.result()
            taken.append((job.finished or 0) - job.submitted)
        rows.append({"submit to end, warm, ms": round(1e3 * statistics.median(taken), 2)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pairs", "ablations", "devices", "waits", "drift", "service"])
    parser.add_argument("--graph", default="kron:16")
    parser.add_argument("--ratings", default="ratings:20000x2000")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=10, help="Searches of an application (G2: 10).")
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows = ablations() if options.what == "ablations" else globals()[options.what](options)
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
