"""What a program allows its kernels to do is read from it: each fact of a small program, changed one word at a time."""

import ast
import linecache
import sys
from itertools import count
from types import ModuleType

import numpy as np
import pytest

import arcflux as af
from arcflux.compile import sparse
from arcflux.compile.changes import quiet, steady
from arcflux.compile.lower import Lowered, lower

# The smallest number that reaches a vertex, one line for each function.
PARTS = {
    "fields": "x: af.i64; y: af.f64; n: af.i64",
    "start": "v.x = v.number; return True",
    "compute": "v.x = min(v.x, u.x)",
    "update": "return v.x < old.x",
}
ARGUMENTS = {
    "start": "v", "init": "v", "wants": "v", "compute": "v, u, edge, old, p, step, g", "update": "v, old, step, g",
    "residual": "v, old", "priority": "v",
}  # fmt: skip
_names = count()


def small(deterministic: bool = False, **parts: str) -> Lowered:
    """The program with some parts replaced, or left out where they are empty."""
    parts = {**PARTS, **parts}
    lines = ["import arcflux as af", "@af.program", "class Small:", "    p0: float = 0.5"]
    lines += [f"    {line}" for line in parts.pop("fields").split("; ")]
    for name, body in parts.items():
        lines += [
            f"    def {name}({ARGUMENTS[name]}):",
            *(f"        {line.removeprefix(' ')}" for line in body.split(";")),
        ]
    name = f"small_{next(_names)}"
    module = ModuleType(name)
    module.__file__ = f"/nowhere/{name}.py"
    text = "\n".join(lines) + "\n"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    sys.modules[name] = module
    exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
    return lower(module.Small, {"weight": np.dtype("i4")}, deterministic=deterministic)


ANY = {"fields": "r: af.ref; level: af.i32", "start": "v.r = -1; return True", "compute": "v.r = af.any(u.number)"}
SEARCH = {**ANY, "fields": ANY["fields"] + "; sparse = True", "wants": "return v.r < 0",
          "update": "v.level = step + 1; return v.r != old.r"}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "holds"),
    [
        ({}, True),
        ({"compute": "v.x = max(v.x, u.x + edge.weight)"}, True),
        ({"compute": "v.x |= u.x"}, True),
        ({"compute": "v.x &= u.x"}, True),
        ({"compute": "v.x = min(v.x, u.x); v.n = max(v.n, u.n)"}, True),
        ({"compute": "v.x = min(v.x, u.x + old.in_degree)"}, True),  # which no superstep changes
        ({"compute": "v.x = min(v.x, u.x + old.number)"}, True),
        ({"compute": "v.x = min(v.x, u.x + g.vertices)"}, True),
        ({"compute": "v.x += u.x"}, False),
        ({"compute": "v.x *= u.x"}, False),
        ({"compute": "v.x = min(v.x, u.x); v.n += u.n"}, False),
        ({**ANY, "update": "return v.r != old.r"}, False),  # the next may be another
        ({"compute": "v.x = min(v.x, u.x + old.n)"}, False),
        ({"compute": "v.x = min(v.x, u.x + step)"}, False),
        (
            {
                "fields": PARTS["fields"] + "; lost: af.total(af.i64)",
                "compute": "v.x = min(v.x, u.x + g.lost)",
                "update": "g.lost += 1; return v.x < old.x",
            },
            False,
        ),  # a total is another in every superstep
        ({"init": "v.x = 9"}, False),
        ({"update": "v.n = 1; return v.x < old.x"}, False),
        ({"wants": "return v.x > 3"}, False),
    ],
)
def test_a_message_that_comes_again_changes_nothing(parts: dict[str, str], holds: bool) -> None:
    found = small(**parts)
    assert found.idempotent is holds
    assert found.sparse is holds
    promised = {**parts, "fields": parts.get("fields", PARTS["fields"]) + "; sparse = True"}
    assert small(**promised).sparse


def test_a_priority_makes_a_program_sparse_and_ordered() -> None:
    found = small(priority="return v.x")
    assert (found.ordered, found.sparse) == (True, True)
    without = found.unordered()
    assert (without.ordered, without.sparse, set(found.functions) - set(without.functions)) == (
        False, True, {"priority"},
    )  # fmt: skip
    wanting = small(priority="return v.x", wants="return v.x > 3")  # not idempotent: sparse by the promise alone
    assert wanting.sparse
    assert wanting.unordered().sparse
    assert without.program.fields == found.program.fields


@pytest.mark.parametrize(
    ("parts", "only"),
    [
        ({}, False),
        ({"compute": "v.x += u.x"}, False),
        ({"compute": "v.y = min(v.y, u.y)"}, False),
        ({"compute": "v.y = max(v.y, u.y)"}, False),
        ({"compute": "v.y += u.y"}, True),
        ({"compute": "v.y *= u.y"}, True),
        ({"compute": "v.x += u.x; v.y += u.y"}, True),
        ({"compute": "v.x += u.x; v.y = min(v.y, u.y)"}, False),
        ({**ANY, "update": "return v.r != old.r"}, True),
        ({"residual": "return 0.5 * abs(v.x - old.x)"}, True),
    ],
)
def test_what_depends_on_the_order_of_messages_is_pulled_when_deterministic(parts: dict[str, str], only: bool) -> None:
    assert small(deterministic=True, **parts).pull_only is only
    assert not small(**parts).pull_only


def test_deterministic_runs_see_no_new_values_and_look_at_every_message() -> None:
    monotone = {"fields": PARTS["fields"] + "; monotone = True"}
    assert small(**monotone).in_place
    assert not small(deterministic=True, **monotone).in_place
    assert not small().in_place
    assert small(**SEARCH).only_any
    assert not small(deterministic=True, **SEARCH).only_any
    assert not small(
        **{**SEARCH, "compute": "if u.level > 2:; v.r = af.any(u.number)".replace("; ", ";     ")}
    ).only_any
    both = {**SEARCH, "compute": "v.r = af.any(u.number); v.level = min(v.level, u.level)"}
    assert not small(**both).only_any


@pytest.mark.parametrize(
    ("compute", "messages", "edge"),
    [
        ("v.x = min(v.x, u.x)", ["u_x"], "reduce_min(v_x, m0)"),
        ("v.x += u.number", [], "reduce_sum(v_x, u_number)"),  # at hand at every edge
        ("v.x += u.number + u.x", ["u_number + u_x"], "reduce_sum(v_x, m0)"),
        ("v.x += u.x * step", ["u_x"], "reduce_sum(v_x, m0 * step)"),  # made when the superstep before ends
        ("v.x += u.x * old.x", ["u_x"], "reduce_sum(v_x, m0 * o_x)"),
        ("v.y += u.x * p.p0", ["u_x * p_p0"], "reduce_sum(v_y, m0)"),
        ("v.x += u.x * 3 + edge.weight", ["u_x * 3"], "reduce_sum(v_x, m0 + e_weight)"),
        ("v.x += 7", [], "reduce_sum(v_x, 7)"),
        ("v.x += u.x + 1; v.n += u.x + 1", ["u_x + 1"], "reduce_sum(v_x, m0)\nreduce_sum(v_n, m0)"),
        ("a = u.x + 1; v.x += a * a", ["(u_x + 1) * (u_x + 1)"], "reduce_sum(v_x, m0)"),
        ("a = u.x + 1; b = a * 2; v.x += b", ["(u_x + 1) * 2"], "reduce_sum(v_x, m0)"),
        ("a = u.x; a = a + edge.weight; v.x += a", ["u_x"], "l_a = m0\nl_a = l_a + e_weight\nreduce_sum(v_x, l_a)"),
        ("a = 5; v.x += u.x * a", ["u_x * 5"], "reduce_sum(v_x, m0)"),
        ("a = edge.weight; v.x += u.x * a", ["u_x"], "l_a = e_weight\nreduce_sum(v_x, m0 * l_a)"),
        ("a = u.x * step; v.x += a", ["u_x"], "reduce_sum(v_x, m0 * step)"),
    ],
)  # fmt: skip
def test_what_depends_on_the_sender_alone_is_a_message(compute: str, messages: list[str], edge: str) -> None:
    found = small(compute=compute, init="v.x = 0; v.n = 0; v.y = 0.0")
    assert [ast.unparse(message.source) for message in found.messages] == messages
    assert [message.name for message in found.messages] == [f"m{k}" for k in range(len(messages))]
    assert "\n".join(ast.unparse(node) for node in found.edge) == edge
    assert found.columns == (["weight"] if "weight" in compute else [])


def test_a_message_knows_which_field_it_is() -> None:
    found = small(compute="v.x += u.x; v.n += u.out_degree; v.x += u.in_degree; v.n += u.n + 1")
    assert [message.field for message in found.messages] == ["x", None, None, None]
    assert [message.name for message in sparse.precomputed(found)] == ["m1", "m2", "m3"]


def facts(lowered: Lowered) -> dict[str, object]:
    names = ("delays", "immediate", "claims", "buffers", "direct", "beamer", "extra")
    return {name: getattr(sparse, name)(lowered) for name in names}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # Others read x while it changes: pull keeps it aside.
        ({}, {"delays": True, "immediate": False, "buffers": ["x"], "direct": False, "extra": ["a_x"]}),
        # What is sent never changes: pull writes at once, and leaves bits.
        ({"compute": "v.n = max(v.n, u.x)"}, {"delays": False, "buffers": ["n"], "direct": True, "extra": ["a_n"]}),
        # ... unless messages have to be computed.
        ({"compute": "v.n = max(v.n, u.x + 1)"}, {"delays": False, "direct": False, "extra": ["a_n", "s_m0"]}),
        # In place, new values may be seen.
        ({"fields": PARTS["fields"] + "; monotone = True"}, {"delays": False, "direct": True, "buffers": ["x"]}),
        # What update writes is kept aside too, when it is sent.
        (
            {"fields": PARTS["fields"] + "; sparse = True", "compute": "v.x = min(v.x, u.n)",
             "update": "v.n = v.x; v.y = 0.5; return v.x < old.x"},
            {"delays": True, "buffers": ["n", "x", "y"], "direct": False},
        ),
        ({"priority": "return v.x", "compute": "v.x = min(v.x, u.x + 1)"}, {"buffers": [], "extra": []}),
        (SEARCH, {"delays": False, "immediate": True, "claims": "r", "buffers": [], "beamer": True, "direct": True}),
        # A search of which the next superstep reads what this one writes.
        ({**SEARCH, "compute": "v.r = af.any(u.r)"}, {"delays": True, "immediate": False, "claims": ""}),
    ],
)  # fmt: skip
def test_what_the_kernels_of_a_frontier_keep(parts: dict[str, str], expected: dict[str, object]) -> None:
    found = facts(small(**parts))
    assert {name: found[name] for name in expected} == expected
    assert found["beamer"] is ("wants" in parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"wants": "return v.r < 1"},
        {"wants": "return v.r <= 0"},
        {"wants": "return v.level < 0"},
        {"wants": "return v.r < 0 and v.level < 5"},
        {"compute": "v.r = af.any(u.number + 1)"},
        {"compute": "v.r = af.any(u.number); v.level = af.any(step)"},
        {"update": "v.r = v.r + 1; return v.r != old.r"},
        {"init": "v.r = -1"},
        {"init": "v.level = 0"},
    ],
)
def test_a_field_claims_a_vertex_only_when_it_is_negative_until_then(parts: dict[str, str]) -> None:
    assert sparse.claims(small(**SEARCH)) == "r"
    assert sparse.claims(small(**{**SEARCH, **parts})) == ""
    assert sparse.claims(small(deterministic=True, **SEARCH)) == ""  # the smallest is looked for


def test_a_search_without_wants_claims_nothing() -> None:
    parts = {name: text for name, text in SEARCH.items() if name != "wants"}
    found = facts(small(**parts))
    assert (found["claims"], found["immediate"], found["beamer"]) == ("", True, False)


@pytest.mark.parametrize(
    ("parts", "is_quiet", "is_steady"),
    [
        ({}, True, True),
        ({"update": "return v.x != old.x"}, True, True),
        ({"update": "return old.x > v.x"}, True, True),
        ({"update": "return v.x > old.x"}, True, False),  # a minimum falls: nobody would send again
        ({"update": "return v.x < old.x and v.number > 2"}, True, False),
        ({"update": "return v.x < old.x or v.n > old.n", "compute": "v.x = min(v.x, u.x); v.n = max(v.n, u.n)"},
         True, True),
        ({"update": "return v.x < old.x", "compute": "v.x = min(v.x, u.x); v.n = max(v.n, u.n)"}, True, False),
        ({"update": "return v.x <= old.x"}, False, False),
        ({"update": "return True"}, False, False),
        ({"update": "return False"}, True, False),
        ({"update": "return v.x < old.n"}, False, False),
        ({"start": "v.x = v.number; return v.number == 0"}, True, False),
        ({"residual": "return 1.0"}, False, False),
        ({"init": "v.n = 0"}, False, False),
    ],
)  # fmt: skip
def test_what_answers_of_update_show(parts: dict[str, str], is_quiet: bool, is_steady: bool) -> None:
    found = small(**parts)
    assert (quiet(found), steady(found)) == (is_quiet, is_steady)


def test_algorithms_keep_their_fast_paths() -> None:
    bfs = lower(af.algorithms.BFS, {})
    assert facts(bfs) == {
        "delays": False, "immediate": True, "claims": "parent", "buffers": [], "direct": True, "beamer": True,
        "extra": [],
    }  # fmt: skip
    assert steady(lower(af.algorithms.Components, {}))
