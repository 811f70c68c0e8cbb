"""A calibration that nobody had to wait for: its numbers are made up, and known."""

import numpy as np
import pytest

from arcflux import config
from arcflux.plan import calibration as calibrations
from arcflux.plan import journal, this_machine
from arcflux.plan.fit import TERMS, Curve, Observation, terms
from arcflux.plan.journal import Run
from arcflux.plan.shape import grid, kronecker, uniform
from arcflux.plan.work import WORKS

HIERARCHY = (
    {"bytes": 2.0**14, "regular": 60e9, "random": 4e9},
    {"bytes": 2.0**20, "regular": 40e9, "random": 2e9},
    {"bytes": 2.0**26, "regular": 20e9, "random": 0.5e9},
)
CURVE = Curve.of(HIERARCHY)
SHAPES = [kronecker(scale) for scale in (10, 12, 14, 16, 18, 20)]
SHAPES += [uniform(1 << scale, degree << scale) for scale in (11, 13, 15, 17, 19) for degree in (6, 32)]
SHAPES += [grid(side, side) for side in (40, 100, 400, 1000)]
STEPS = {"kron": 11.0, "unif": 7.0, "grid": 28.0}
# By program and direction: what a launch, a superstep, a vertex, an arc and a read of another vertex take.
RATES = {
    "pagerank/pull": {"launch": 1e-4, "supersteps": 1e-6, "vertices": 1e-9, "arcs": 1e-9, "arc reads": 0.5},
    "pagerank/push": {"launch": 1e-4, "supersteps": 1e-6, "vertices": 1e-9, "arcs": 4e-9, "arc reads": 2.0},
    "bfs/auto": {"launch": 1e-3, "supersteps": 2e-6, "vertices": 9e-9, "arcs": 1e-10, "pushed arcs": 1e-9},
}


def vector(rates):
    """Rates by their names, in order."""
    return np.array([rates.get(name, 0.0) for name in TERMS])


def runs(key, threads, rates, noise=0.0):
    """Runs of a program on graphs of several families, which take what some rates say."""
    work, chance = WORKS[key.partition("/")[0]], np.random.default_rng(3)
    for shape in SHAPES:
        graph = shape.sketch()
        steps = STEPS[shape.name[:4]] if work.dense else max(1.0, graph.depth)
        seconds = float(terms(graph, steps, work, CURVE) @ vector(rates))
        seen = Observation(graph, steps, seconds * float(np.exp(noise * chance.standard_normal())))
        yield Run(key, threads, seen)


def made(rates=None, threads=None):
    """The calibration of so many threads."""
    table = {f"{way}_{what}": {"self": 10e9, "host": 20e9} for way in ("regular", "random")
             for what in ("read", "write", "update")}  # fmt: skip
    threads = threads or config.threads()
    every = [run for key, own in (rates or RATES).items() for run in runs(key, threads, own)]
    return calibrations.Calibration(
        {**journal.machine(), "threads": threads}, journal.versions(), "2026-01-01T00:00:00+00:00", 30.0, table, table,
        HIERARCHY, 1e-7, 1e-4, {"local": {"latency": 1e-5, "bandwidth": 1e10}}, tuple(every),
    )  # fmt: skip


@pytest.fixture
def calibration(tmp_path, monkeypatch):
    """Kept as that of this machine, in a cache folder of its own; compiled code is that of all."""
    (tmp_path / "cache").mkdir(mode=0o700)
    for code in ("kernels", "programs"):
        (tmp_path / "cache" / code).symlink_to(config.cache_folder(code))
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARCFLUX_PLAN", raising=False)
    found = made()
    found.save(calibrations.path())
    return found


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The files of calibration and runs in a folder of their own, but compiled code where it is; the first of them."""
    monkeypatch.delenv("ARCFLUX_PLAN", raising=False)
    monkeypatch.setattr(calibrations, "path", lambda threads=None: tmp_path / "kept.json")
    monkeypatch.setattr(journal, "journal_path", lambda: tmp_path / "runs.jsonl")
    monkeypatch.setattr(this_machine, "_current", None)
    journal.forget()
    yield tmp_path / "kept.json"
    journal.forget()
    this_machine._current = None
