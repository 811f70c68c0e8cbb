"""Neighbourhoods give on a GPU what plain Python gives, on one of them and on several."""

import warnings

import around_programs as around
import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cuda import cuda_source
from arcflux.compile.lower import lower
from arcflux.devices.cuda import Cuda

SMALL, _ = around.scattered(24, 40, 7)
WEIGHTED = around.weighted(around.scattered(20, 60, 8, directed=True)[0])
CASES = {
    "labels": (around.Labels, SMALL, {}),
    "sparse labels": (around.SparseLabels, SMALL, {"max_supersteps": 5}),
    "closing": (around.Closing, SMALL, {}),
    "everything": (around.Everything, WEIGHTED, {"rounds": 2}),
    "hops": (around.Hops, SMALL, {"source": 5}),
    "settling": (around.Settling, SMALL, {}),
}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_a_gpu_gives_what_plain_python_gives(case: str, devices: int) -> None:
    program, graph, more = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = af.run(program, graph, debug=True, **more)
        there = af.run(program, graph, devices=[Cuda(0) for _ in range(devices)], **more)
    for name, values in plain.values.items():
        np.testing.assert_array_equal(there[name], values, name)
    assert there.supersteps == plain.supersteps


def test_rows_are_taken_by_threads_alone() -> None:
    """A kernel has no way to reduce or push: a vertex looks around where all its edges are."""
    text = cuda_source(lower(around.Everything, {"weight": np.dtype("f8")}))
    assert "def part_pull_thread(" in text
    assert not any(f"def part_{name}(" in text for name in ("pull_warp", "push", "gather", "apply"))
