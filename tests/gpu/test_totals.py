"""Totals on a GPU: each operation against NumPy, alone, beside cores and beside another GPU, and to the bit."""

import warnings

import numpy as np
import pytest
from totalling import Everything, Reached, compare, everything, reached

import arcflux as af
from arcflux.devices.cuda import Cuda

GRAPH = "kron:4,ef=3,directed=true"
WAYS = {
    "alone": {"devices": lambda: [Cuda(0)]},
    "pushing": {"devices": lambda: [Cuda(0)], "direction": "push"},
    "deterministic": {"devices": lambda: [Cuda(0)], "deterministic": True},
    "beside cores": {"devices": lambda: [Cuda(0), af.devices.CPU(1)]},
    "two of them": {"devices": lambda: [Cuda(0), Cuda(0)]},
    "owners": {"devices": lambda: [Cuda(0), Cuda(0)], "exchange": "owners"},
}


def run(program: object, **options: object) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {name: value() if callable(value) else value for name, value in options.items()}
        return af.run(program, af.load(GRAPH), **made)


@pytest.mark.parametrize("way", WAYS)
def test_every_operation_is_that_of_numpy(way: str) -> None:
    fields, past, residuals = everything(af.load(GRAPH), 5)
    result = run(Everything, **WAYS[way])
    assert result.converged
    compare(result, past)
    np.testing.assert_allclose(result["x"], fields["x"], rtol=1e-9)
    np.testing.assert_array_equal(result["n"], fields["n"])
    np.testing.assert_allclose(result.column("residual"), residuals, rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_totals_of_sparse_programs_are_of_those_that_received(way: str) -> None:
    hops, past = reached(af.load(GRAPH))
    result = run(Reached, source=0, **WAYS[way])
    compare(result, past)
    np.testing.assert_array_equal(result["hops"], hops)


@pytest.mark.parametrize("program", [Everything, Reached], ids=lambda p: p.name)
def test_deterministic_totals_have_the_bits_of_cores(program: object) -> None:
    source = {"source": 0} if program is Reached else {}
    cores = run(program, deterministic=True, threads=1, **source)
    for devices in ([Cuda(0)], [Cuda(0), af.devices.CPU(1)], [Cuda(0), Cuda(0)]):
        there = run(program, deterministic=True, devices=devices, **source)
        for name in cores.totals:
            a, b = (np.array([step.totals[name] for step in each.history]) for each in (cores, there))
            assert a.tobytes() == b.tobytes(), (name, devices)
