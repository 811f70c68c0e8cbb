"""What cannot be said of fields of edges is refused before anything runs: the line, the reason, and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_program_refusals import made

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError, UsageError

FIELDS = "x: af.f64\nm: af.edge(af.f64)\nk3: af.edge(af.f64[3], 0.5)\nw: af.edge(af.f64[2, 2])\nc: af.edge(af.i32)"
ALONG = "def along(edge, u):\n    edge.m = u.x"

# By what is refused: the parts of the program that say it, with the refused line marked; the reason; the remedy.
REFUSED: dict[str, tuple[dict[str, str], str, str]] = {
    "a write to v": ({"along": "def along(edge, v):\n    v.x = 1.0  # no"}, "along writes the edge", "in compute"),
    "a write to u": ({"along": "def along(edge, u):\n    u.x = 1.0  # no"}, "u is read-only", "a field of v"),
    "a write to the reverse": (
        {"along": "def along(edge):\n    edge.reverse.m = 1.0  # no"},
        "an edge has one writer",
        "edge.field = ...",
    ),
    "a write to a column": (
        {"along": "def along(edge):\n    edge.weight = 1.0  # no"},
        "is a column of the graph",
        "weight_now: af.edge",
    ),
    "a write to what is not declared": (
        {"along": "def along(edge):\n    edge.q = 1.0  # no"},
        "no edge field 'q'",
        "q: af.edge(af.f64)",
    ),
    "a write in compute": (
        {"compute": "def compute(v, u, edge):\n    v.x += u.x\n    edge.m = 1.0  # no"},
        "edges never change",
        "field of v",
    ),
    "a write of nothing": (
        {"along": "def along(edge, u):  # no\n    t = u.x"},
        "along writes no field",
        "edge.m = ...",
    ),
    "a float for an integer": (
        {"along": "def along(edge, u):\n    edge.c = u.x  # no"},
        "the fraction would be lost",
        "int(...)",
    ),
    "another length": (
        {"along": "def along(edge):\n    edge.m = edge.k3  # no"},
        "edge.m is float64 here",
        "of the same length",
    ),
    "an index outside": (
        {"along": "def along(edge, u):\n    edge.k3[u.number] = 1.0  # no"},
        "can be outside of 0 to 2",
        "% 3",
    ),
    "an index of a number": (
        {"along": "def along(edge):\n    edge.m[0] = 1.0  # no"},
        "edge.m is a single value",
        "leave the index out",
    ),
    "a matrix by one index": (
        {"along": "def along(edge):\n    edge.w[1] = 1.0  # no"},
        "edge.w is a matrix",
        "edge.w[i, j]",
    ),
    "a row outside": (
        {"along": "def along(edge):\n    edge.m = edge.w[2, 0]  # no"},
        "the index 2 can be outside of 0 to 1",
        "% 2",
    ),
    "the reverse alone": (
        {"along": "def along(edge):\n    edge.m = edge.reverse  # no"},
        "by itself has no value",
        "edge.reverse.m",
    ),
    "a column of the reverse": (
        {"along": "def along(edge):\n    edge.m = edge.reverse.weight  # no"},
        "is a column of the graph",
        "edge.kept =",
    ),
    "a field of the reverse that is none": (
        {"along": "def along(edge):\n    edge.m = edge.reverse.q  # no"},
        "no edge field 'q'",
        "m, k3, w, c",
    ),
    "an answer": (
        {"along": "def along(edge):\n    edge.m = 1.0\n    return True  # no"},
        "returns nothing",
        "return alone",
    ),
    "old": (
        {"along": "def along(edge, old):  # no\n    edge.m = old.x"},
        "cannot have an argument 'old'",
        "edge, u, v",
    ),
    "a total": (
        {
            "fields": FIELDS + "\nt: af.total(af.f64)",
            "along": "def along(edge, g):\n    edge.m = 1.0\n    g.t += 1.0  # no",
        },
        "is not called once for every vertex",
        "in update",
    ),
    "no field": (
        {"fields": "x: af.f64", "along": "def along(edge, u):  # no\n    edge.m = u.x"},
        "declares none",
        "af.edge",
    ),
    "a value in the class": (
        {"fields": "x: af.f64\nm: af.edge(af.f64) = 1.0  # no"},
        "has a value",
        "af.edge(af.f64, 1.0)",
    ),
    "a first value of another type": (
        {"fields": "x: af.f64\nm: af.edge(af.i8, 200)  # no"},
        "is 200, which is no i8",
        "given=",
    ),
    "no type": ({"fields": "x: af.f64\nm: af.edge(float)  # no"}, "no type of numbers", "af.edge(af.f64)"),
    "references": ({"fields": "x: af.f64\nm: af.edge(af.ref)  # no"}, "would refer to vertices", "af.edge(af.i64)"),
    "a field called reverse": (
        {"fields": "x: af.f64\nreverse: af.edge(af.f64)  # no"},
        "the other way",
        "another name",
    ),
    "a field called like a column": (
        {"fields": "x: af.f64\nweight: af.edge(af.f64)", "along": "def along(edge):\n    edge.weight = 1.0  # no"},
        "the graph has an edge column 'weight'",
        "another name",
    ),
    "around": (
        {"compute": "", "along": ALONG, "around": "def around(v, edges):  # no\n    v.x = sum(u.x for u in edges)"},
        "no fields of them",
        "write compute",
    ),
    "priority": (
        {"along": ALONG, "init": "", "priority": "def priority(v):  # no\n    return v.x"},
        "no supersteps",
        "leave priority out",
    ),
    "monotone": (
        {"along": "def along(edge, u):  # no\n    edge.m = u.x\nmonotone = True"},
        "as it was",
        "leave monotone out",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_line_the_reason_and_a_remedy(what: str, tmp_path: Path) -> None:
    parts, reason, remedy = REFUSED[what]
    with pytest.raises(ProgramError) as caught:
        made(tmp_path, **{"fields": FIELDS, **parts})
    said = str(caught.value)
    assert reason in said
    assert remedy in said
    (line,) = (line.strip() for code in parts.values() for line in code.splitlines() if line.endswith("# no"))
    assert f"\n    {line}" in said
    assert caught.value.line > 0


PHASES = {
    "both": ('edges="both"', "def along(edge, u):\n    edge.m = u.x", "crossed twice"),
    "none": ("edges=None", "def along(edge, u):\n    edge.m = u.x", "on no edges"),
    "seen both ways": ('edges="both"', "def wants(v):\n    return True", "cannot see their fields"),
}


@pytest.mark.parametrize("what", PHASES)
def test_phases_that_cannot_cross_edges(what: str, tmp_path: Path) -> None:
    edges, function, reason = PHASES[what]
    compute = "" if what == "none" else "def compute(v, edge):\n    v.x += edge.m\n"
    body = "".join(f"    {line}\n" for line in (compute + function + "\ndef update(v):\n    return True").splitlines())
    program = f"@af.phase({edges})\nclass one:\n{body}\ndef iteration(run):\n    run.one()\n    return False\n"

    def lowered() -> None:
        first = made(tmp_path, fields=FIELDS, init="", compute="", update="", phases=program)
        lower(first.program.phase_programs()["one"], {})  # type: ignore[attr-defined]

    with pytest.raises(ProgramError, match=reason) as caught:
        lowered()
    assert caught.value.line > 0
    assert caught.value.remedy


def test_a_helper_is_given_the_value_of_the_reverse(tmp_path: Path) -> None:
    helper = "def back(edge):\n    return edge.reverse.m\n"
    with pytest.raises(ProgramError, match=r"back is a helper, and reads edge\.reverse\.m") as caught:
        made(tmp_path, helper, fields=FIELDS, along="def along(edge):\n    edge.m = back(edge)")
    assert "back(edge.reverse.m)" in caught.value.remedy


def test_matrices_have_a_largest_size(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a vector of length 4160"):
        made(tmp_path, fields="x: af.f64\nm: af.edge(af.f64[64, 65])")


def test_a_program_without_edge_fields_has_nothing_of_them() -> None:
    from arcflux.compile.cpu import module as cpu
    from arcflux.compile.cuda.module import cuda_source

    for program in (af.algorithms.PageRank, af.algorithms.BFS):
        lowered = lower(program, {})
        for text in (cpu.source(lowered), cpu.parts_source(lowered), cuda_source(lowered)):
            assert not any(word in text for word in ("x_turn", "x_reverse", "def along"))
