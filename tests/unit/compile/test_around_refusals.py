"""What a neighbourhood cannot say is refused before anything runs: the line, the reason, and what to write instead."""

import importlib.util
import itertools
import sys
from pathlib import Path
from textwrap import dedent, indent

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError

PARTS = {
    "fields": "x: af.f64\nn: af.i64\non: af.flag\ntop: af.f64[3]",
    "start": "def start(v):\n    v.x = 0.0\n    return True",
    "around": "def around(v, edges):\n    v.x = sum(u.x for u in edges)",
    "update": "def update(v, old):\n    return v.x != old.x",
}
_names = itertools.count()


def made(folder: Path, **parts: str) -> object:
    """Lower a program in which some parts are replaced."""
    name = f"refused_around_{next(_names)}"
    body = "\n".join(indent(dedent(part).strip(), "    ") + "\n" for part in {**PARTS, **parts}.values())
    path = folder / f"{name}.py"
    path.write_text(f"import math\nimport arcflux as af\n\n@af.program\nclass P:\n{body}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return lower(module.P, {"weight": np.dtype("f8")})
    finally:
        del sys.modules[name]


# By what is refused: the body of around with the refused line marked, the reason, and what to write instead.
REFUSED = {
    "a write to u": ("for u in edges:\n    u.x = 1.0  # no", "u is read-only", "write to a field of v"),
    "a write to another name": ("for w in edges:\n    w.x = 1.0  # no", "u is read-only", "write to a field of v"),
    "a write to the edge": ("for u, e in edges:\n    e.weight = 1.0  # no", "edges never change", "a field of v"),
    "edges with an index": ("v.x = edges[0].x  # no", "cannot be compiled", "name fields directly"),
    "edges kept": ("kept = edges  # no", "a list to go through", "for u in edges"),
    "the length of edges": ("v.n = len(edges)  # no", "len cannot be called", "v.in_degree"),
    "a loop over something else": ("for u in v:  # no\n    v.x = u.x", "v is no list of edges", "for u in edges"),
    "a generator over something else": ("v.x = sum(u.x for u in old)  # no", "old is no list of edges", "in edges"),
    "a generator of numbers": ("v.x = sum(1.0 for k in range(3))  # no", "no list of edges", "for u in edges"),
    "three names": ("for u, e, x in edges:  # no\n    v.x = u.x", "or a neighbour and", "u, edge in"),
    "a loop with else": ("for u in edges:\n    v.x = u.x\nelse:\n    v.x = 0.0  # no", "with else", "set a flag"),
    "u after its loop": ("for u in edges:\n    v.x = u.x\nv.n = u.n  # no", "inside a loop over", "in edges"),
    "u without a field": ("for u in edges:\n    v.x = u  # no", "u by itself has no value", "u.number"),
    "the same name twice": ("for u in edges:\n    for u in edges:  # no\n        v.x = u.x", "meaning", "another"),
    "a name of a local": ("u = 1.0\nfor u in edges:  # no\n    v.x = u.x", "has a meaning here", "another name"),
    "a mode of floats": ("v.n = af.mode(u.x for u in edges)  # no", "af.mode of float64", "integers"),
    "a mode of triples": ("v.n = af.mode((u.n, 1, 2) for u in edges)  # no", "more than pairs", "edge.weight)"),
    "a mode of a number": ("v.n = af.mode(3)  # no", "takes a generator", "af.mode(u.x for"),
    "a mode with flags as weights": ("v.n = af.mode((u.n, u.on) for u in edges)  # no", "with weights bool", "numbers"),
    "a median of vectors": ("v.x = af.median(u.top for u in edges)  # no", "median of vectors", "elements"),
    "a minimum of flags": ("v.on = min(u.on for u in edges)  # no", "min of flags", "any(...)"),
    "two loops in a generator": ("v.x = sum(u.x + w.x for u in edges for w in edges)  # no", "two loops", "inside"),
    "a key of min": ("v.x = min((u.x for u in edges), key=abs)  # no", "only default= is known", "leave it out"),
    "a start of sum": ("v.x = sum((u.x for u in edges), start=1.0)  # no", "takes a generator alone", "leave it out"),
    "a second argument of sum": ("v.x = sum((u.x for u in edges), 1.0)  # no", "a generator alone", "sum(..."),
    "a default of another type": ("v.n = af.mode((u.n for u in edges), default=0.5)  # no", "default is float", "type"),
    "a top of v.n": ("v.top = af.topk(v.n, (u.x for u in edges))  # no", "known before the run", "af.topk(3"),
    "a top of another length": ("v.top = af.topk(2, (u.x for u in edges))  # no", "this is float64[2]", "same length"),
    "an intersection with a number": ("for u in edges:\n    v.n = af.intersect(v, 3)  # no", "two vertices", "(v, u)"),
    "an edge column that is not there": ("v.x = sum(e.cost for u, e in edges)  # no", "no edge column", "weight"),
    "a field that is not there": ("v.x = sum(u.rank for u in edges)  # no", "no vertex field 'rank'", "one of"),
    "a list": ("kept = [u.x for u in edges]  # no", "a list cannot be compiled", "a generator"),
    "a sum of a list": ("v.x = sum([u.x for u in edges])  # no", "sum of a list", "sum(u.x for u in edges)"),
    "a minimum of pairs": ("v.n = min((u.x, u.n) for u in edges)  # no", "min of tuples", "write a loop that keeps"),
    "a top whose number comes last": ("v.top = af.topk((u.x for u in edges), 4)  # no", "takes a number", "topk(3, (u"),
    "edges by number": ("for k, u in enumerate(edges):  # no\n    v.n = k", "this loop", "write for u in edges"),
    "edges the other way round": ("for u in reversed(edges):  # no\n    v.n = 1", "this loop", "write for u in edges"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    """Each is refused on its line."""
    body, reason, remedy = REFUSED[name]
    code = f"def around(v, edges, old):\n{indent(body, '    ')}"
    with pytest.raises(ProgramError) as caught:
        made(tmp_path, around=code)
    assert reason in str(caught.value)
    assert remedy in caught.value.remedy
    assert "# no" in str(caught.value)


# The same for what is wrong with the whole program.
WHOLE = {
    "compute and around": (
        {"compute": "def compute(v, u):\n    v.x += u.x"}, "compute and around stand in one program", "keep one"
    ),
    "around that writes nothing": ({"around": "def around(v, edges):\n    x = 1.0"}, "writes nothing into v", "v.x ="),
    "priority": ({"priority": "def priority(v):\n    return v.x"}, "priority takes them in turn", "leave priority out"),
    "around without edges": ({"around": "def around(v):\n    for u in edges:\n        v.x = 1.0"}, "edges", ""),
    "a mode in update": (
        {"update": "def update(v, old):\n    v.n = af.mode(u.n for u in edges)\n    return True"},
        "only around has edges", "for u in edges",
    ),
    "a median in compute": (
        {"around": "def compute(v, u):\n    v.x += af.median(u.x)"}, "compute has no edges", "write it in around",
    ),
    "an intersection in update": (
        {"update": "def update(v, old):\n    return af.intersect(v, old) > 0"}, "stands in update", "in around",
    ),
    "u as an argument": ({"around": "def around(v, u, edges):\n    v.x = 1.0"}, "cannot have an argument 'u'", "edges"),
    "edges of update": ({"update": "def update(v, edges):\n    return True"}, "cannot have an argument 'edges'", "old"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_refused_as_a_whole(name: str, tmp_path: Path) -> None:
    """Each says why, and what to write."""
    parts, reason, remedy = WHOLE[name]
    with pytest.raises(ProgramError) as caught:
        made(tmp_path, **parts)
    assert reason in str(caught.value)
    assert remedy in caught.value.remedy


def test_plain_functions_outside_of_programs() -> None:
    """The built-ins are functions of iterables; an intersection needs the graph of a run."""
    assert af.mode([2, 1, 2, 1]) == 1
    assert af.mode([(1, 0.5), (2, 0.75)]) == 2
    assert af.median([3, 1]) == 2.0
    assert af.topk(2, [1, 3, 2]) == [3, 2]
    for function in (af.mode, af.median):
        with pytest.raises(ValueError, match="of nothing"):
            function([])
    with pytest.raises(af.errors.UsageError, match="outside of a program"):
        af.intersect(1, 2)
