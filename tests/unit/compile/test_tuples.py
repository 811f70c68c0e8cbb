"""Reductions of several fields at once, and of the first and the last message, in every way to run."""

import math
from pathlib import Path

import numpy as np
import programs
import pytest
from test_plain_python import GRAPH, loaded, same_everywhere

import arcflux as af
from arcflux.compile.check.tuples import better
from arcflux.compile.cpu.module import parts_source, source
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError


@af.program
class Bucketed(programs.Parents):
    """The same, the nearest first."""

    delta: float = 0.0

    def priority(v):
        return v.dist


PROGRAMS = {each.name: each for each in (programs.Parents, programs.Triples, programs.Ends)}
MORE = (
    {"direction": "pull"}, {"threads": 2, "direction": "push"}, {"parts": 3, "exchange": "owners", "ranks_per_node": 1},
    {"parts": 3, "exchange": "allreduce", "ranks_per_node": 1}, {"parts": 3, "exchange": "mixed", "ranks_per_node": 1},
    {"parts": 4, "partition": "grid", "ranks_per_node": 1},
)  # fmt: skip


def given(program: object) -> dict[str, object]:
    return {"source": 1} if "source" in program.parameters else {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_in_every_way_to_run(name: str) -> None:
    program = PROGRAMS[name]
    result = same_everywhere(program, ways=MORE, **given(program))
    assert set(result.values) == set(program.fields)
    same_everywhere(program, **given(program))


@af.program
class Undefined:
    """Of every other vertex NaN, of which no number is more or less: it keeps what it has beside it."""

    x: af.f64
    y: af.f64

    def start(v):
        v.x = math.nan if v.number % 2 == 0 else 0.0
        v.y = 1.0 * v.number
        return True

    def compute(v, u):
        v.x, v.y = max((v.x, v.y), (0.5, -5.0 - u.number))


@pytest.mark.parametrize("how", ["duplicate", "ranges", "degree"])
@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
@pytest.mark.filterwarnings("ignore:.*before it converged")
def test_a_vertex_keeps_what_is_beside_its_own_nan(how: str, exchange: str) -> None:
    way = {"parts": 3, "partition": how, "exchange": exchange, "ranks_per_node": 1, "max_supersteps": 1}
    graph = af.load("complete:8")
    found = af.run(Undefined, graph, **way)
    assert found["y"].tolist() == [0.0, -5.0, 2.0, -5.0, 4.0, -5.0, 6.0, -5.0]
    assert np.isnan(found["x"][::2]).all()


def test_distances_with_the_smallest_parent() -> None:
    result = same_everywhere(programs.Parents, source=1)
    distances = af.sssp(GRAPH, 1, debug=True, predecessors=False)["distance"]
    assert np.array_equal(result["dist"], distances)
    offsets, neighbours = GRAPH.into
    weights = GRAPH.in_columns["weight"]
    for v in range(GRAPH.vertices):
        near = [neighbours[i] for i in range(int(offsets[v]), int(offsets[v + 1]))
                if distances[neighbours[i]] + weights[i] == distances[v] < np.inf]  # fmt: skip
        if near and v != 1:
            assert result.values["parent"][v] == min(near)


def test_the_nearest_first_gives_the_same() -> None:
    plain = same_everywhere(programs.Parents, source=1)
    for way in ({}, {"direction": "pull"}, {"parts": 2}):
        other = same_everywhere(Bucketed, ways=(way,), source=1)
        for name, values in plain.values.items():
            assert np.array_equal(other.values[name], values)


def test_the_test_of_tuples() -> None:
    for sign, operation in (("<", "least"), (">", "most")):
        for new in np.ndindex(2, 2, 2):
            for old in np.ndindex(2, 2, 2):
                test = better(operation, list(map(str, new)), list(map(str, old)))
                found = eval(test)  # noqa: S307
                assert found == (new < old if sign == "<" else new > old)


@pytest.mark.parametrize("name", [*PROGRAMS, "Bucketed"])
def test_compiled_kernels_on_threads_that_meet(name: str) -> None:
    program = {**PROGRAMS, "Bucketed": Bucketed}[name]
    graph = af.load("star:400,weights=1-3") if name != "Ends" else af.load("kron:7,weights=1-3")
    plain = af.run(program, graph, debug=True, **given(program))
    for way in ({"direction": "push", "threads": 2}, {"direction": "pull"}, {"parts": 2, "direction": "push"}):
        other = af.run(program, graph, **way, **given(program))
        for field, values in plain.values.items():
            assert np.array_equal(other.values[field], values), (way, field)


def test_a_program_without_tuples_has_no_lock() -> None:
    for text in (source, parts_source):
        assert "unlock" not in text(lower(af.algorithms.SSSP, {"weight": np.dtype("f8")}))


BASE = """@af.program
class P:
    x: af.f64
    y: af.i64
    f: af.f64[2]
    on: af.flag
    def start(v):
        return True
    def compute(v, u{more}):
        {line}  # no
        {second}
    def update(v, old):
        return v.x < old.x
"""
REFUSED = {
    "v.x, v.y = u.x, u.y": "overwrites v.x, v.y",
    "v.x, v.y = min((v.y, v.x), (u.x, u.y))": "overwrites v.x, v.y",
    "v.x, v.y = min((v.x, v.y), (u.x, u.y, 1))": "3 values for 2 fields",
    "v.x, v.y = min((v.x, v.y), (u.x, u.x))": "the fraction would be lost",
    "v.x, v.on = min((v.x, v.on), (u.x, u.y))": "v.on is a flag",
    "v.x, v.x = min((v.x, v.x), (u.x, u.x))": "a field twice",
    "v.x, v.f = min((v.x, v.f), (u.x, u.f))": "v.f is a vector",
    "v.x, v.f[0] = min((v.x, v.f[0]), (u.x, u.x))": "v.f is a vector",
    "u.x, v.y = min((u.x, v.y), (u.x, u.y))": "u is read-only",
    "v.x, v.y = af.first(u.x)": "1 values for 2 fields",
    "v.x, v.y = sum((v.x, v.y), (u.x, u.y))": "overwrites v.x, v.y",
    "v.x = af.first(u.x, u.y)": "overwrites v.x",
    "v.y = 1 + af.first(u.y)": "may only reduce into v",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused_with_the_line_the_reason_and_a_remedy(line: str, tmp_path: Path) -> None:
    text = BASE.format(line=line, second="pass", more="")
    with pytest.raises(ProgramError) as caught:
        lower(loaded(tmp_path, text).P, {})
    assert REFUSED[line] in str(caught.value)
    assert f"\n    {line}" in str(caught.value)
    assert caught.value.remedy


def test_one_field_is_reduced_in_one_way(tmp_path: Path) -> None:
    both = "v.x, v.y = min((v.x, v.y), (u.x, u.y))"
    for second in ("v.x += u.x", "v.y, v.x = min((v.y, v.x), (u.y, u.x))", "v.x, v.y = max((v.x, v.y), (u.x, u.y))"):
        for line, other in ((both, second), (second, both)):
            with pytest.raises(ProgramError, match=r"is reduced (in two ways|by sum here)|by least on line"):
                lower(loaded(tmp_path, BASE.format(line=line, second=other, more="")).P, {})
    outside = BASE.format(line="v.x += 1.0", second="pass", more="").replace(
        "return v.x < old.x", "v.x = af.first(1.0)\n        return True"
    )
    with pytest.raises(ProgramError, match="stands for a reduction"):
        lower(loaded(tmp_path, outside).P, {})


def test_a_priority_rules_out_what_would_be_seen_half_done(tmp_path: Path) -> None:
    order = "    def priority(v):\n        return v.x\n"
    tuples = "v.x, v.y = min((v.x, v.y), (u.x + 1.0, u.number))"
    assert lower(loaded(tmp_path, BASE.format(line=tuples, second="pass", more="") + order).P, {}).ordered
    halves = tuples.replace("u.number", "u.y")
    with pytest.raises(ProgramError, match=r"half of a change of u\.x and u\.y"):
        lower(loaded(tmp_path, BASE.format(line=halves, second="pass", more="") + order).P, {})
    with pytest.raises(ProgramError, match="the first or the last"):
        lower(loaded(tmp_path, BASE.format(line="v.x = af.first(u.x)", second="pass", more="") + order).P, {})
