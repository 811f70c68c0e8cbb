"""Six algorithms in four forms: what oracles say, in every way to run, and kernels of the same text."""

import numpy as np
import pytest
from dialect_cases import ALGORITHMS, FORMS, case, sample
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux.compile.cpu import module as cpu
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import Lowered, lower
from dialect_programs import forms

WAYS = [
    {}, {"debug": True}, {"direction": "push"}, {"direction": "pull", "threads": 3}, {"deterministic": True},
    {"parts": 3, "exchange": "readers"}, {"parts": 2, "exchange": "readers", "ranks_per_node": 1},
]  # fmt: skip
SMALL = sample(40, 70, 3)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_all_forms_give_what_the_oracle_says(name: str, way: dict[str, object]) -> None:
    expected = case(name, SMALL)
    results = [expected.check(form, **way) for form in FORMS]
    assert len({(result.supersteps, result.converged) for result in results}) == 1


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=8, deadline=None)
@given(n=st.integers(4, 60), edges=st.integers(0, 120), seed=st.integers(0, 99), way=st.sampled_from(WAYS[:2]))
def test_on_any_graph(name: str, n: int, edges: int, seed: int, way: dict[str, object]) -> None:
    expected = case(name, sample(n, edges, seed))
    for form in FORMS:
        expected.check(form, **way)


def lowered(name: str, form: str) -> Lowered:
    return lower(forms(name)[form], {"weight": np.dtype(np.float64)})


@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_kernels_are_those_of_the_native_form(name: str, form: str) -> None:
    """To the byte, for cores and for GPUs: a dialect costs nothing."""
    native, there = lowered(name, "native"), lowered(name, form)
    assert cpu.source(there) == cpu.source(native)
    assert cuda_source(there) == cuda_source(native)
    assert (there.sparse, there.in_place) == (native.sparse, native.in_place)
