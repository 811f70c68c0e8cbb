"""Starting Numba without scipy.linalg, and a dot product all the same."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import arcflux as af

af.bfs(af.Graph.from_edges([0, 1], [1, 2]), 0)
print("scipy.linalg" in sys.modules)

import numba

@numba.njit
def product(a, b):
    return a @ b

print(product(np.arange(6.0).reshape(2, 3), np.ones((3, 2))).tolist())
"""


def test_no_run_needs_linear_algebra_and_others_still_have_it() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["False", "[[3.0, 3.0], [12.0, 12.0]]"]
