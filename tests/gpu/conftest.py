"""Tests of the GPU back end: in the simulator, in a pytest process of its own, or on a GPU (`make test-gpu`)."""

import os

import pytest

from arcflux.gpu import driver

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name != "gpu":
            continue
        compiles = item.path.name in ("test_cubin.py", "test_primitives_ptx.py")
        if compiles and SIMULATED:
            item.add_marker(pytest.mark.skip(reason="the simulator compiles nothing: run without NUMBA_ENABLE_CUDASIM"))
        if not compiles and not SIMULATED and driver.unavailable():
            why = "no GPU here, and not in the simulator: NUMBA_ENABLE_CUDASIM=1 pytest tests/gpu"
            item.add_marker(pytest.mark.skip(reason=why))
