"""A calibration that nobody had to wait for: its numbers are made up, and known."""

import pytest

from arcflux.plan import calibrate as calibrating
from arcflux.plan import journal, rates
from arcflux.plan.fit import Curve, Fit

HIERARCHY = (
    {"bytes": 2.0**14, "regular": 60e9, "random": 4e9},
    {"bytes": 2.0**20, "regular": 40e9, "random": 2e9},
    {"bytes": 2.0**26, "regular": 20e9, "random": 0.5e9},
)


@pytest.fixture
def calibration(tmp_path, monkeypatch):
    """Kept as that of this machine, in a cache folder of its own."""
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARCFLUX_PLAN", raising=False)
    found = made()
    found.save(calibrating.path())
    return found


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The files of calibration and runs in a folder of their own, but compiled code where it is; the first of them."""
    monkeypatch.delenv("ARCFLUX_PLAN", raising=False)
    monkeypatch.setattr(calibrating, "path", lambda threads=None: tmp_path / "kept.json")
    monkeypatch.setattr(journal, "where", lambda: tmp_path / "runs.jsonl")
    monkeypatch.setattr(rates, "_current", None)
    journal.forget()
    yield tmp_path / "kept.json"
    journal.forget()
    rates._current = None


def made():
    """The calibration."""
    curve = Curve.of(HIERARCHY)
    table = {f"{way}_{what}": {"self": 10e9, "host": 20e9} for way in ("regular", "random")
             for what in ("read", "write", "update")}  # fmt: skip
    steps = {"skewed": (11.0, 0.0), "flat": (7.0, 0.0), "near": (28.0, 0.0)}
    fits = {
        "pagerank/pull": Fit((1e-4, 1e-6, 1e-9, 1e-9, 0.0, 0.5), True, curve, 8.0, 0.05, 0.2, 9, steps),
        "pagerank/push": Fit((1e-4, 1e-6, 1e-9, 4e-9, 0.0, 2.0), True, curve, 8.0, 0.10, 0.4, 9, steps),
        "bfs/auto": Fit((1e-3, 2e-6, 9e-9, 1e-10, 1e-9, 0.1), False, curve, 4.0, 0.1, 0.3, 9, {}),
    }
    return calibrating.Calibration(
        calibrating.machine(), calibrating.versions(), "2026-01-01T00:00:00+00:00", 30.0, table, table, HIERARCHY,
        1e-7, 1e-4, {"local": {"latency": 1e-5, "bandwidth": 1e10}}, fits,
    )  # fmt: skip
