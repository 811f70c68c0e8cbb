"""Every program gives on a GPU what plain Python gives, and bit for bit what cores give when a run is deterministic."""

import warnings

import numpy as np
import programs
import pytest
from samples import PROGRAMS, options, shapes

import arcflux as af
from arcflux import algorithms
from arcflux.devices.cuda import Cuda

SHAPES = shapes()


def _cases(names: list[str]) -> list[object]:
    """Every program on every directed shape; on the undirected one those that need it, and some that do not."""
    needs = (algorithms.Components, algorithms.CollaborativeFiltering)
    both = (*needs, algorithms.BFS, programs.Vectors, programs.Wanting)
    return [
        pytest.param(program, name, id=f"{program.name}-{name}")
        for program in PROGRAMS
        for name in names
        if (program not in needs if SHAPES[name].directed else program in both)
    ]


def run(program: object, graph: af.Graph, **more: object) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some are stopped before they converge
        return af.run(program, graph, **options(program, graph), **more)


def same(program: object, one: af.Result, other: af.Result) -> None:
    narrow = any(values.dtype == np.float32 for values in one.values.values())
    close = {"rtol": 1e-4, "atol": 1e-6} if narrow else {"rtol": 1e-9, "atol": 1e-15}
    for name, values in one.values.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(other[name], values, **close)
        elif (program.name, name) not in (("BFS", "parent"), ("Someone", "seen")):
            np.testing.assert_array_equal(other[name], values)


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize(("program", "shape"), _cases(list(SHAPES)))
def test_a_gpu_gives_what_plain_python_gives(program: object, shape: str, direction: str) -> None:
    graph = SHAPES[shape]
    plain = run(program, graph, debug=True)
    there = run(program, graph, devices=[Cuda(0)], direction=direction)
    assert there.converged == plain.converged
    if program is not programs.DeltaRank:
        assert there.supersteps == plain.supersteps
    same(program, plain, there)


@pytest.mark.parametrize(("program", "shape"), _cases(["star", "skewed", "undirected"]))
def test_deterministic_runs_give_the_bits_of_the_cores(program: object, shape: str) -> None:
    graph = SHAPES[shape]
    cores = run(program, graph, deterministic=True, threads=2)
    there = run(program, graph, deterministic=True, devices=[Cuda(0)])
    for name, values in cores.values.items():
        np.testing.assert_array_equal(there[name], values)
    assert there.supersteps == cores.supersteps or program is algorithms.SSSP
    assert [s.residual for s in there.history] == [s.residual for s in cores.history] or program is algorithms.SSSP
