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
import http.client
import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import arcflux as af
from arcflux import config
from arcflux.jobs.accounts import Account
from arcflux.jobs.memory import Buffer, Copy, MemoryScheduler, Ready
from arcflux.jobs.slices import Done, KernelScheduler, Run
from measure import save

# Seconds that an application lasts at least, so that rounds are comparable.
_LASTS = 0.15
# Cores' seconds of others a second, above which a round does not count.
_FOREIGN = 0.1
# Searches of a road network wait for each other, superstep by superstep; the others for memory, or for arithmetic.
_PAIRS = (
    ("BFS", "BFS"), ("PR", "PR"), ("CF", "CF"), ("BFS@road", "BFS@road"), ("BFS", "PR"), ("BFS", "CF"), ("PR", "CF"),
    ("BFS@road", "PR"), ("BFS@road", "CF"),
)  # fmt: skip
_RAPL = Path("/sys/class/powercap/intel-rapl:0/energy_uj")


def energy() -> float | None:
    """Joules so far, where the counters can be read."""
    try:
        return int(_RAPL.read_text()) / 1e6
    except (OSError, ValueError):
        return None


def others() -> float:
    """Seconds of processor time that others than this process have had so far."""
    ticks = [int(one) for one in Path("/proc/stat").read_text().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK") - time.process_time()


# --- G21 on cores


def tasks(graph: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    source = int(graph.out.offsets[1:].astype(int).__sub__(graph.out.offsets[:-1].astype(int)).argmax())
    return {
        "BFS": ("bfs", {"source": source}),
        "PR": ("pagerank", {"tol": 0.0, "max_iter": 10, "method": "power"}),
        "CF": ("collaborative_filtering", {"iterations": 10}),
    }


@dataclass(frozen=True)
class Application:
    """A task on a graph, so many times one after the other."""

    name: str
    graph: Any
    count: int = 1

    def run(self) -> None:
        task, parameters = tasks(self.graph)[self.name]
        for _ in range(self.count):
            getattr(af, task)(self.graph, **parameters)

    def submit(self, jobs: af.Jobs) -> None:
        task, parameters = tasks(self.graph)[self.name]
        for _ in range(self.count):
            job = jobs.submit(task, graph=self.graph, **parameters)
            job.result()
            jobs.forget(job)
            del job  # or its arrays could not serve the next one, as they do in a call


def one_after_the_other(some: list[Application]) -> float:
    begun = time.perf_counter()
    for one in some:
        one.run()
    return time.perf_counter() - begun


def side_by_side(calls: list[Any]) -> tuple[float, list[float]]:
    """Seconds until all calls have ended, each in a thread, and until each has."""
    ends: list[float] = []
    begun = time.perf_counter()

    def called(call: Any) -> None:
        call()
        ends.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=called, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun, ends


def matched(some: list[Application]) -> list[Application]:
    """Each application so often that all of them last about as long, and long enough."""
    for one in some:
        one.run()  # compiles
    alone = [min(one_after_the_other([one]) for _ in range(3)) for one in some]
    lasts = max(_LASTS, *alone)
    return [replace(one, count=max(1, round(lasts / seconds))) for one, seconds in zip(some, alone, strict=True)]


def pair(some: list[Application], rounds: int) -> dict[str, Any]:
    """Two applications of equal length at once: one after the other, by threads that know nothing of each other, as
    jobs in turns alone, and as jobs. Jobs outlive the rounds, as those of a service do."""
    some = matched(some)
    taken: dict[str, list[float]] = {"sequence": [], "threads": [], "jobs w/o KS": [], "jobs": []}
    fairness, joules, foreign = [], [], []
    with af.Jobs() as jobs, af.Jobs(pairing=False) as turns:
        turn = -2  # the first rounds compile, and measure pairs
        while turn < rounds and len(foreign) < 3 * rounds:
            before, busy = energy(), others()
            row = {"sequence": one_after_the_other(some), "threads": side_by_side([one.run for one in some])[0],
                   "jobs w/o KS": side_by_side([partial(one.submit, turns) for one in some])[0]}  # fmt: skip
            row["jobs"], ends = side_by_side([partial(one.submit, jobs) for one in some])
            foreign.append((others() - busy) / sum(row.values()))
            if turn >= 0 and foreign[-1] > _FOREIGN:
                continue  # somebody else used the cores: once more
            turn += 1
            if turn <= 0:
                jobs.cores.deciding = 0.0
                continue
            for name, seconds in row.items():
                taken[name].append(seconds)
            fairness.append(min(ends) / max(ends))
            after = energy()
            if before is not None and after is not None:
                joules.append(after - before)
        share = jobs.cores.deciding / max(1e-9, sum(taken["jobs"])) / jobs.threads
        gains = {" beside ".join(kind.split()[0] for kind in pair): round(speed, 2)
                 for pair, (speed, _) in jobs.cores.scheduler.pairs._beside.items()}  # fmt: skip
    if not taken["jobs"]:
        return {"pair": "", "refused": "others use the cores", "foreign": round(statistics.median(foreign), 2)}
    medians = {name: statistics.median(one) for name, one in taken.items()}
    ratios = {f"jobs over {name}": medians[name] / medians["jobs"] for name in taken if name != "jobs"}
    return {
        "pair": " + ".join(f"{one.count} {one.name}" for one in some),
        **{f"{name} ms": round(1e3 * one, 1) for name, one in medians.items()},
        **{name: round(one, 3) for name, one in ratios.items()},
        "ends, first over last": round(statistics.median(fairness), 2), "scheduling %": round(100 * share, 2),
        "rounds": len(fairness),
        "others": round(statistics.median(foreign), 3), "speeds": gains,
        "joules": round(statistics.median(joules), 1) if joules else None,
    }  # fmt: skip


def pairs(options: argparse.Namespace) -> list[dict[str, Any]]:
    """G21 on cores."""
    import warnings

    warnings.simplefilter("ignore")
    graphs = {"": options.graph, "road": options.road, "CF": options.ratings}
    known: dict[str, Any] = {}

    def application(name: str) -> Application:
        task, _, where = name.partition("@")
        where = where or ("CF" if task == "CF" else "")
        if where not in known:
            known[where] = af.load(graphs[where])
        return Application(task, known[where])

    with config.measuring():  # each run has all threads, whatever runs on busy cores have taught the planner
        for names in _PAIRS:
            if not options.only or "+".join(names) in options.only:
                row = pair([application(name) for name in names], options.rounds)
                print(json.dumps({"on": "+".join(names), **row}), flush=True)
    return []


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
        for turn in range(4):  # the first ones compile, and fill pools of threads and arrays
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


@contextmanager
def serving(root: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """``arcflux serve`` as a process, on a free port of this machine: the port, and the headers of a request."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, "-m", "arcflux", "serve", "--graphs", str(root / "graphs"), "--state",
               str(root / "state"), "--port", str(port)]  # fmt: skip
    with open(root / "log", "w") as log:
        process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not (found := re.search(r"token .*: (\S+)$", (root / "log").read_text(), re.MULTILINE)):
            if time.monotonic() > end:
                raise SystemExit((root / "log").read_text())
            time.sleep(0.05)
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield port, {"Authorization": f"Bearer {found[1]}", "Content-Type": "application/json"}
    finally:
        process.terminate()
        process.wait(30)


def service(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Over HTTP: submissions a second, bytes of a result of a million rows a second; and a warm job from its
    submission to its first superstep."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "graphs").mkdir()
        af.load("kron:20,ef=2").save(root / "graphs" / "large.arcflux")
        af.load("kron:8").save(root / "graphs" / "small.arcflux")
        with serving(root) as (port, headers):
            wire = http.client.HTTPConnection("127.0.0.1", port)

            def asked(method: str, path: str, body: Any = None) -> Any:
                wire.request(method, path, json.dumps(body) if body else None, headers)
                answer = wire.getresponse()
                assert answer.status < 300, answer.read()
                return answer

            small = {"graph": "small.arcflux", "task": "bfs", "parameters": {"source": 0}}
            large = {"graph": "large.arcflux", "task": "pagerank"}
            ident = json.load(asked("POST", "/jobs", large))["id"]
            while json.load(asked("GET", f"/jobs/{ident}"))["state"] != "done":
                time.sleep(0.05)
            begun = time.perf_counter()
            for _ in range(400):
                asked("POST", "/jobs", small).read()
            rows = [{"submissions a second over HTTP": round(400 / (time.perf_counter() - begun))}]
            while json.load(asked("GET", "/jobs?state=queued"))["jobs"]:
                time.sleep(0.1)
            for form in ("arrow", "csv", "parquet", "json"):
                begun = time.perf_counter()
                answer = asked("GET", f"/jobs/{ident}/result?format={form}")
                size = sum(len(piece) for piece in iter(lambda answer=answer: answer.read(1 << 16), b""))
                rate = size / 1e6 / (time.perf_counter() - begun)
                count = int(answer.headers["x-rows"])
                rows.append({"format": form, "rows": count, "MB": round(size / 1e6), "MB a second": round(rate)})
    with af.Jobs("kron:10") as jobs:
        taken = []
        for k in range(40):
            begun = time.perf_counter()
            job = jobs.submit("bfs", source=0)
            while not job.history and not job.is_over:
                time.sleep(0)
            taken += [time.perf_counter() - begun] if k >= 20 else []
            job.result()
    return [*rows, {"submit to first superstep, warm, ms": round(1e3 * statistics.median(taken), 2)}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pairs", "ablations", "devices", "waits", "drift", "service"])
    parser.add_argument("--graph", default="kron:16")
    parser.add_argument("--road", default="grid:700x700")
    parser.add_argument("--ratings", default="ratings:100000x10000")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", help="Of the pairs, these: BFS+CF.")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="results/jobs-WHAT.json without it")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows = ablations() if options.what == "ablations" else globals()[options.what](options)
    for row in rows:
        print(json.dumps(row))
    save(options.out or f"jobs-{options.what}", {"what": options.what, "rows": rows})


if __name__ == "__main__":
    main()
