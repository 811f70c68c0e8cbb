"""Run a program one way, and say how the result differs from what it has to be."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

import arcflux as af
from program_fuzzer.graphs import GraphSpec
from program_fuzzer.numbers import same
from program_fuzzer.oracle import Outcome, interpret
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way
from program_fuzzer.writing import ProgramSpec

__all__ = ["Case", "difference", "expected", "load_program"]

_numbers = itertools.count()
# Supersteps after which a run that should have come to its end has not.
_MOST = 400


@dataclass(frozen=True)
class Case:
    """A program, a graph, and the most supersteps."""

    program: ProgramSpec
    graph: GraphSpec
    limit: int | None

    @property
    def given(self) -> dict[str, list[Any]]:
        """What fields of vertices and edges are given before `start`; None for those that are not.

        They are numbers of their domain, one after another; edges are in the order of a graph's columns.
        """
        source, found = self.program.source, {}
        for name, bounds in self.program.given.items():
            declared = re.search(rf"    {name}: (af\.edge\()?af\.(\w+)(?:\[([^]]*)\])?", source)
            if declared is None or re.search(rf"    {name}: af\.total", source):
                continue
            numbers = self._given_arcs() if declared[1] else self._given_vertices()
            shape = [self._length(part) for part in declared[3].split(", ")] if declared[3] else []
            found[name] = [None if k is None else _value(bounds, declared[2] == "flag", shape, k) for k in numbers]
        return found

    def _given_vertices(self) -> list[int | None]:
        """A number for each vertex that is given."""
        return [k if not self.program.some or k % 3 else None for k in range(self.graph.vertices)]

    def _given_arcs(self) -> list[int | None]:
        """A number for each arc that is given: the same for all from one vertex to another."""
        pairs = sorted((u, v) for u, v, _, _ in self.graph.arcs())
        if not self.program.some:
            return list(range(len(pairs)))
        return [None if (u + v) % 3 == 0 else 5 * u + v for u, v in pairs]

    def _length(self, text: str) -> int:
        """A length that is a number, or the name of a parameter."""
        text = text.strip("'\"")
        if text.isdigit():
            return int(text)
        declared = re.search(rf"    {text}: int = (\d+)", self.program.source)
        if declared is None:
            raise IllDefined(f"there is no {text}")
        return int(self.program.parameters.get(text, declared[1]))

    def passed(self) -> dict[str, Any]:
        """What a run is given: arrays, or mappings from ids."""
        found: dict[str, Any] = {}
        ids = self.graph.ids or range(self.graph.vertices)
        pairs = sorted((u, v) for u, v, _, _ in self.graph.arcs())
        for name, row in self.given.items():
            if not self.program.some:
                found[name] = np.array(row) if row else self._nothing(name)
                continue
            of_edges = re.search(rf"    {name}: af\.edge\(", self.program.source)
            keys = [(ids[u], ids[v]) for u, v in pairs] if of_edges else list(ids)
            found[name] = {key: value for key, value in zip(keys, row, strict=True) if value is not None}
        return {name: values for name, values in found.items() if len(values) or not self.program.some}

    def _nothing(self, name: str) -> Any:
        """What a field of no vertices, or of no edges, is given."""
        length = re.search(rf"    {name}: [^\[\n]*\[([^]]*)\]", self.program.source)
        return np.zeros((0, *(self._length(part) for part in length[1].split(", "))) if length else 0, np.int8)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters with vertices by their ids."""
        chosen = dict(self.program.parameters)
        if "source" in chosen and self.graph.ids:
            chosen["source"] = self.graph.ids[chosen["source"]]
        if "some" in chosen:  # those that there are, by their ids
            numbers = [k for k in chosen["some"] if k < self.graph.vertices]
            chosen["some"] = [self.graph.ids[k] if self.graph.ids else k for k in numbers]
        return {name: value for name, value in chosen.items() if f"    {name}: " in self.program.source}


def _value(bounds: tuple[int, int, float | None], is_flag: bool, shape: list[int], k: int) -> Any:
    """The number that is given to the k-th, or the row, or the matrix."""
    if shape:
        return [_value(bounds, is_flag, shape[1:], k * shape[0] + i) for i in range(shape[0])]
    low, high, grain = bounds
    number = low + k % (high - low + 1)
    return k % 3 == 0 if is_flag else number if grain is None else float(number)


def expected(case: Case) -> Outcome:
    """What the oracle says."""
    numbers = {name: case.program.parameters[name] for name in case.parameters}
    return interpret(case.program.source, case.graph, numbers, case.given, case.limit)


@lru_cache(maxsize=64)
def load_program(source: str) -> Any:
    """The program of a source text, as if it stood in a file."""
    return load_module(source).Fuzzed


def load_module(source: str, names: dict[str, Any] | None = None) -> Any:
    """The module of a source text, with some names more."""
    name = f"fuzzed_{next(_numbers)}"
    module = ModuleType(name)
    module.__file__ = f"/nowhere/{name}.py"
    vars(module).update(names or {}, __name__=name)
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(keepends=True), module.__file__)
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))
    return module


def difference(case: Case, way: Way, outcome: Outcome) -> str:
    """How a run differs from what it has to give; "" when it does not."""
    graph = case.graph.build() if way.patches else case.graph.graph
    try:
        with warnings.catch_warnings(), way.active() as options:
            warnings.simplefilter("ignore")
            program = load_program(case.program.source)
            limit = _MOST if case.limit is None else case.limit
            try:
                result = af.run(program, graph, max_supersteps=limit, given=case.passed(), **options, **case.parameters)
            except af.errors.CancelledError as error:
                result = error.result
    except af.errors.ProgramError as error:
        return "" if outcome.faults and way.options.get("debug") else f"it raises ProgramError: {error}"
    except Exception as error:
        if "takes no checkpoint" in str(error) and "checkpoint" in way.options:
            return ""
        return f"it raises {type(error).__name__}: {error}"
    if way.cut_short and result is not None and outcome.ends:
        said = [_fields(end, result, way) or _history(end, result) for end in outcome.cut(result.supersteps)]
        return min(said, key=len, default=f"it is cut short after {result.supersteps} supersteps, which it has not")
    if way.cut_short and result is not None and not case.program.to_fixed_point:
        outcome = expected(replace(case, limit=result.supersteps))
        return _fields(outcome, result, way) or _edges(outcome, result) or _history(outcome, result)
    if way.cut_short:
        return ""
    if outcome.faults and way.options.get("debug"):
        return f"it does not refuse: {outcome.faults[0]}"
    if result.converged != outcome.converged:
        return f"converged is {result.converged}, not {outcome.converged}, after {result.supersteps} supersteps"
    return (
        _fields(outcome, result, way)
        or _edges(outcome, result)
        or ("" if case.program.to_fixed_point else _history(outcome, result))
    )


def _fields(outcome: Outcome, result: af.Result, way: Way) -> str:
    for name, wanted in outcome.fields.items():
        found = result.values[name]
        choices = None if way.exact else outcome.choices.get(name)
        for v, value in enumerate(wanted):
            have = found[v].tolist()
            if isinstance(value, tuple):
                have = tuple(have)
            if not same(have, value) and (choices is None or have not in choices[v]):
                said = f"{value!r}" if choices is None else f"one of {sorted(choices[v])!r}"
                return f"{name} of vertex {v} is {have!r}, not {said}"
    return ""


def _edges(outcome: Outcome, result: af.Result) -> str:
    for name, wanted in outcome.edges.items():
        rows = result.edges[name]
        found = [
            tuple(x) if isinstance(x, list) else x
            for x in (rows.reshape(len(rows), -1) if rows.ndim > 2 else rows).tolist()
        ]
        for place, (have, value) in enumerate(zip(found, wanted, strict=True)):
            if not same(have, value):
                ends = result.edges.source[place], result.edges.target[place]
                return f"{name} of the edge {ends[0]} -> {ends[1]} is {have!r}, not {value!r}"
    return ""


def _history(outcome: Outcome, result: af.Result) -> str:
    frontiers = [step.frontier for step in result.history]
    if frontiers != outcome.frontiers:
        return f"{frontiers} vertices send in its supersteps, not {outcome.frontiers}"
    residuals = [step.residual for step in result.history]
    if not same(tuple(residuals), tuple(outcome.residuals)):
        return f"the residuals are {residuals}, not {outcome.residuals}"
    for step, wanted in zip(result.history, outcome.totals, strict=True):
        found = {name: tuple(x.tolist()) if np.ndim(x) else x for name, x in step.totals.items()}
        if found != wanted:
            return f"the totals of superstep {step.number} are {found}, not {wanted}"
    return ""
