"""Forms that are written into random programs: all are drawn, the oracle knows them, and a fault in one is found."""

import random
from collections import Counter

import pytest
from program_fuzzer import campaign, compare
from program_fuzzer.campaign import Effort, Tally
from program_fuzzer.compare import Case, expected
from program_fuzzer.forms import FORMS, forms_of
from program_fuzzer.grammar import SHAPES, random_program
from program_fuzzer.graphs import GraphSpec
from program_fuzzer.oracle import Outcome
from program_fuzzer.rewriting import with_more_forms
from program_fuzzer.writing import ProgramSpec

from arcflux.program import completion


def test_every_form_is_drawn_often() -> None:
    draw, counted = random.Random(3), Counter[str]()
    for _ in range(1500):
        counted.update(forms_of(with_more_forms(draw, random_program(draw, draw.choice(SHAPES))).source))
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
