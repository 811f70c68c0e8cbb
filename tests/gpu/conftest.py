"""Tests of the GPU back end: in the simulator, in a pytest process of its own, or on a GPU (`make test-gpu`).

What only compiles, for GPUs that are not here, runs without the simulator, which compiles nothing.
"""

import os
import shutil

import pytest

from arcflux.gpu import driver

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
COMPILED = (
    "test_cubin.py", "test_pipeline.py", "test_no_programs_ptx.py", "test_primitives_ptx.py", "test_around_ptx.py",
    "test_mail_ptx.py", "test_edge_fields_ptx.py", "test_long_vectors_ptx.py",
    "test_plug_blocks_ptx.py",
)  # fmt: skip
EITHER = ("test_account.py", "test_launch.py")

if not SIMULATED:
    collect_ignore = ["test_simulator.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name != "gpu" or item.path.name in EITHER:
            continue
        if item.path.name not in COMPILED:
            if not SIMULATED and driver.unavailable():
                why = "no GPU here, and not in the simulator: NUMBA_ENABLE_CUDASIM=1 pytest tests/gpu"
                item.add_marker(pytest.mark.skip(reason=why))
        elif SIMULATED:
            item.add_marker(pytest.mark.skip(reason="the simulator compiles nothing: run without NUMBA_ENABLE_CUDASIM"))
        elif shutil.which("ptxas") is None:
            item.add_marker(pytest.mark.skip(reason="needs ptxas of the CUDA toolkit"))
