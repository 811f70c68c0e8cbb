"""Forms that are written into random programs: all are drawn, the oracle knows them, and a fault in one is found."""

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from program_fuzzer import campaign, compare, interpret
from program_fuzzer.campaign import Effort, Tally
from program_fuzzer.compare import Case, difference, expected
from program_fuzzer.forms import FORMS, forms_of
from program_fuzzer.grammar import SHAPES, random_program
from program_fuzzer.graphs import GraphSpec, random_graph
from program_fuzzer.oracle import Outcome
from program_fuzzer.report import script
from program_fuzzer.rewriting import with_more_forms
from program_fuzzer.shrink import _less_given, fails, shrink
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way
from program_fuzzer.writing import ProgramSpec

from arcflux.compile import lower
from arcflux.compile.check.neighbourhoods import Neighbourhoods
from arcflux.compile.python import numbers, source
from arcflux.compile.python.around import Neighbour, shared
from arcflux.engine import edge_state
from arcflux.engine.fitting import fitting
from arcflux.program import completion


def test_every_form_is_drawn_often() -> None:
    draw, counted = random.Random(3), Counter[str]()
    for _ in range(1500):
        counted.update(forms_of(with_more_forms(draw, random_program(draw, draw.choice(SHAPES))).said))
    assert {name: counted[name] for name in FORMS if counted[name] < 5} == {}


def run(body: str, edges: list[tuple[int, int]], directed: bool = True) -> Outcome:
    text = "import math\nimport arcflux as af\n@af.program\nclass Fuzzed:\n"
    graph = GraphSpec(4, tuple(edges), (3,) * len(edges), (0.5,) * len(edges), directed)
    return expected(Case(ProgramSpec(text + body, "dense"), graph, 1))


def test_what_is_left_out_has_its_default() -> None:
    out = run("    x: af.i64\n    def compute(v):\n        v.x += 1\n", [(0, 1), (2, 1)])
    assert out.fields == {"x": [0, 2, 0, 0]}
    assert not out.converged


def test_several_fields_are_of_one_message() -> None:
    """Of two of the first sender, the lesser; a field by itself would take the lesser of each."""
    body = """    x: af.i64
    y: af.i64
    def compute(v, u, edge, g):
        v.x, v.y = af.first((u.number, 5 - u.number))
    def update(v):
        return False
"""
    assert run(body, [(2, 0), (1, 0)]).fields == {"x": [1, 0, 0, 0], "y": [4, 0, 0, 0]}


def test_an_edge_without_direction_has_one_random_number() -> None:
    body = "    x: af.i64\n    def compute(v, edge):\n        v.x += math.floor(af.random(edge, 7) * 1000)\n"
    x = run(body, [(0, 1), (3, 2)], directed=False).fields["x"]
    assert x[0] == x[1] != x[2] == x[3]
    one_way, back = (run(body, [ends]).fields["x"] for ends in ((0, 1), (1, 0)))
    assert one_way[1] in (x[0], x[1])
    assert back[0] != one_way[1]


def test_a_program_that_inherits_is_the_one_that_says_all() -> None:
    base = "@af.program\nclass Base:\n    k: int = 1\n    x: af.i64\n    def compute(v, p):\n        v.x += p.k\n"
    text = f"import arcflux as af\n{base}@af.program\nclass Fuzzed(Base):\n    k: int = 5\n"
    out = expected(Case(ProgramSpec(text, "dense"), GraphSpec(2, ((0, 1),), (1,), (1.0,)), 1))
    assert out.fields == {"x": [0, 5]}


PARAMETERS = {
    "p.row[1]": (7, 7), "p.grid[1, 0]": (3, 3), "1 if v in p.some else 2": (1, 2), "divmod(0 - 7, 2)[1]": (1, 1),
    "round(2.5) + math.trunc(0.0 - 1.5)": (1, 1),
}  # fmt: skip


def test_parameters_and_functions_mean_what_the_documentation_says() -> None:
    body = """    row: af.i64[2] = (6, 7)
    grid: af.i64[2, 2] = ((1, 2), (3, 4))
    some: af.vertices = (0,)
    x: af.f64
    def start(v, p):
        v.x = {said}
        return True
    def compute(v):
        v.x += 0.0
"""
    for said, wanted in PARAMETERS.items():
        assert run(body.format(said=said), []).fields["x"][:2] == list(wanted), said


def test_a_fault_in_a_form_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without update, what another field says would do."""
    monkeypatch.setattr(completion, "_changed", lambda made, along: "def update(v, old, p):\n    return False\n")
    compare.load_program.cache_clear()
    tally = Tally()
    for seed in range(200):
        if tally.failures:
            break
        campaign._check_forms(seed, Effort(interpreted=1), tally)
    text = campaign.small_script(tally.failures[0], 10.0)
    compare.load_program.cache_clear()
    assert "def update" not in text
    assert len(text.splitlines()) < 40


# --- faults in the forms that programs gained last


def _all_neighbours(self: Neighbourhoods, node: ast.For, call: ast.Call) -> ast.stmt:
    """A loop over what two vertices share, as one over all neighbours."""
    return self.for_loop(ast.copy_location(ast.For(node.target, ast.Name("edges", ast.Load()), node.body, []), node))


def _first_edge(a: Any, b: Any) -> Iterator[Neighbour]:
    """What two vertices share, with the first of all edges in place of each one's own."""
    listed = (a if isinstance(a, Neighbour) else b)._run.listed
    for each in shared(a, b):
        yield Neighbour(each._vertex, listed[0]._edge)


def _first_arc(graph: Any, name: str, ends: Any) -> Any:
    return arcs_between(graph, name, ends)[:1]


arcs_between = edge_state._arcs_between


# By the form: what is put where.
def _flags_unset(name: str, values: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """As `fitting`, but flags stay as they are without any given."""
    return np.zeros(shape, dtype) if np.dtype(dtype).kind == "b" else fitting(name, values, dtype, shape)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "given edges": (edge_state, "in_places", lambda graph: np.arange(graph.arcs)),
    "given some edges": (edge_state, "_arcs_between", _first_arc),
    "given flags of edges": (edge_state, "fitting", _flags_unset),
    "loops over intersect": (Neighbourhoods, "shared_loop", _all_neighbours),
    "edges of intersect": (source, "shared", _first_edge),
    "strides": (numbers, "range", lambda *bounds: range(*bounds[:2])),
    "copies of vectors": (source, "_own", lambda value: value),
}


@pytest.fixture
def forget() -> Iterator[Callable[[], None]]:
    """What was generated before a fault is planted, or with it, must not be used again."""

    def forgotten() -> None:
        lower._known.clear()
        compare.load_program.cache_clear()
        interpret._module.cache_clear()

    forgotten()
    yield forgotten
    forgotten()


def failing(form: str) -> tuple[Case, Way]:
    """The first random case with a form that fails, and how it is run."""
    assert form in FORMS
    draw = random.Random(form)
    for _ in range(4000):
        program = with_more_forms(draw, random_program(draw, draw.choice(SHAPES)))
        graph = random_graph(draw)
        if form not in forms_of(program.said) or (not graph.vertices and "source" in program.parameters):
            continue
        graph = replace(graph, directed=False) if ".reverse." in program.source else graph
        case = Case(program, graph, program.limit)
        try:
            outcome = expected(case)
        except IllDefined:
            continue
        for way in (Way({"debug": True}, interpret=False), Way({"direction": "pull", "threads": 1})):
            if difference(case, way, outcome):
                return case, way
    raise AssertionError(f"no fault is found in {form}")


@pytest.mark.parametrize("form", FAULTS)
def test_a_fault_in_a_new_form_is_found(form: str, forget: Callable[[], None]) -> None:
    owner, name, planted = FAULTS[form]
    with mock.patch.object(owner, name, planted, create=name == "range"):
        case, way = failing(form)
        small, way = shrink(case, way, 10.0)
        assert fails(small, way)
    assert form in forms_of(small.program.said)
    forget()
    assert fails(small, way) == ""
    assert "given=" in script(small, way) or not form.startswith("given")


def test_what_is_given_is_as_large_as_the_graph_and_by_ids_when_it_is_of_some() -> None:
    text = """
@af.program
class Fuzzed:
    x: af.i64[2]
    e: af.edge(af.f64[2, 2], 7.0)
    on: af.edge(af.flag)
    def compute(v, edge):
        v.x += 0
"""
    given = {"x": (1, 3, None), "e": (0, 1, 0.5), "on": (0, 1, None), "z": (0, 1, None)}
    program = ProgramSpec(text, "dense", given=given)
    graph = GraphSpec(3, ((1, 0), (0, 1), (0, 1), (2, 2)), (1,) * 4, (0.5,) * 4, ids=("a", "b", "c"))
    whole = Case(program, graph, 1)
    assert whole.given["x"] == [[1, 2], [3, 1], [2, 3]]
    assert whole.passed()["e"].shape == (4, 2, 2)
    assert whole.passed()["on"].tolist() == [True, False, False, True]
    some = Case(replace(program, some=True), graph, 1).passed()
    assert set(some["x"]) == {"b", "c"}
    assert set(some["on"]) == {("a", "b"), ("b", "a"), ("c", "c")}
    out = expected(Case(replace(program, some=True), graph, 1))
    assert out.fields["x"][0] == (0, 0)
    assert [len(row) for row in out.edges["e"]] == [4] * 4
    assert "# given some of e: af.edge(af.f64[2, 2], 7.0)" in replace(program, some=True).said


def test_of_what_is_given_only_what_matters_is_left_and_one_value_of_it() -> None:
    text = "@af.program\nclass Fuzzed:\n    x: af.i64\n    e: af.edge(af.i64)\n"
    given = {"x": (0, 3, None), "e": (0, 7, None)}
    case = Case(ProgramSpec(text, "dense", given=given, some=True), GraphSpec(2, ((0, 1),), (1,), (0.5,)), 1)
    assert _less_given(case, lambda other: True).program.given == {}
    small = _less_given(case, lambda other: "e" in other.program.given and other.program.given["e"][1] > 4)
    assert (small.program.given, small.program.some) == ({"e": (7, 7, None)}, False)
    assert _less_given(case, lambda other: False) == case
