"""Every public algorithm and application on small awkward graphs, against oracles and other libraries, in all ways."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import library_walks  # noqa: F401  (its half of the table)
import numpy as np
import pytest
from library_model import Model, Refused, Skipped, drawn
from library_table import TABLE

import arcflux as af
from arcflux.errors import ArcfluxError

SEEDS = range(14)
NATIVE: list[dict[str, Any]] = [{"threads": 1}, {"threads": 2}, {"parts": 2}, {"parts": 3, "ranks_per_node": 1}]
RUN: list[dict[str, Any]] = [*NATIVE, {"deterministic": True}, {"direction": "push"}, {"direction": "pull", "parts": 2}]
# Those that are no algorithms of one graph, or are compared elsewhere.
ELSEWHERE = {
    "calibrate": "measures the machine", "estimate": "predicts", "plan": "predicts", "load": "reads a graph",
    "load_parts": "reads parts", "save": "writes a graph", "partition": "splits a graph, see tests/unit/partition",
    "run": "runs programs, see tests/fuzz", "spatial_median": "of points: test_geolocate.py, against scipy",
    "collaborative_filtering": "of ratings alone: test_collaborative_filtering.py, against NumPy",
}  # fmt: skip
WORDS = {
    "any", "dot", "edge", "emv", "first", "gas", "intersect", "last", "mail", "median", "mode", "msg", "neighbour",
    "out_edge", "phase", "program", "random", "send", "topk", "total",
}  # fmt: skip


def ways(name: str) -> list[dict[str, Any]]:
    """Where and how the function can run."""
    parameters = inspect.signature(getattr(af, name)).parameters
    programs = "options" in parameters and name != "connected_components"  # of which one method is no program
    return RUN if programs else NATIVE if {"where", "options"} & set(parameters) else []


def compare(m: Model, found: Any, expected: Any) -> None:
    if callable(expected):
        expected(found)
    elif isinstance(expected, dict):
        for field, values in expected.items():
            compare(m, found.numbers(field), values)
    elif isinstance(expected, list) and expected and not isinstance(expected[0], (int, float, np.number)):
        assert list(found) == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def ask(name: str, m: Model, way: dict[str, Any], seed: int) -> None:
    """Call it on the graph and compare; what the oracle refuses has to be refused by an error of ours."""
    call: Callable[..., Any] = getattr(af, name)
    graph = {"graph": m.graph} if "graph" in inspect.signature(call).parameters else {}
    try:
        given, expected = TABLE[name](m, np.random.default_rng([seed, 7]))
    except Refused as refused:
        given, expected = (refused.args[0] if refused.args else {}), Refused
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if expected is Refused:
                with pytest.raises(ArcfluxError):
                    call(**graph, **given, **way)
            else:
                compare(m, call(**graph, **given, **way), expected)
    except BaseException as error:
        error.add_note(f"{name} of drawn({seed}): {given}, {way}")
        raise


@pytest.mark.parametrize("name", TABLE)
def test_answers_are_those_of_others(name: str) -> None:
    for seed in SEEDS:
        for way in ({}, *ways(name)[seed % 5 :: 5]):
            with suppress(Skipped):
                ask(name, drawn(seed), way, seed)


def test_every_public_algorithm_is_asked() -> None:
    public = {name for name in af.__all__ if inspect.isfunction(getattr(af, name))}
    assert set(TABLE) | set(ELSEWHERE) == public - WORDS
    assert not set(TABLE) & set(ELSEWHERE)
