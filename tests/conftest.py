"""Tests see no settings of the user's, but those they make."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# Cores that others use make nothing wrong: neither a deadline nor slow drawing is a failure.
settings.register_profile("busy cores", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy cores")

# A shell that runs the tests in the background has them ignore Ctrl-C, and whatever they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCFLUX_GPU_MEMORY", "ARCFLUX_QUIET", "ARCFLUX_SIMULATED_GPUS", "ARCFLUX_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("ARCFLUX_KEEP_RUNS", "0")
    # On the small graphs of tests the planner takes one thread; they are to be run as large ones are.
    monkeypatch.setenv("ARCFLUX_PLAN", "0")
