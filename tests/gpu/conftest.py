"""Tests of the GPU back end. What runs kernels here runs them in the simulator, in a pytest process of its own."""

import os

import pytest

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name != "gpu":
            continue
        compiles = item.path.name in ("test_cubin.py",)
        if compiles and SIMULATED:
            item.add_marker(pytest.mark.skip(reason="the simulator compiles nothing: run without NUMBA_ENABLE_CUDASIM"))
        if not compiles and not SIMULATED:
            item.add_marker(pytest.mark.skip(reason="runs in the simulator: NUMBA_ENABLE_CUDASIM=1 pytest tests/gpu"))
