"""What cannot compile is refused before anything runs: the line, the reason, and what to write instead."""

import importlib.util
import itertools
import re
import sys
from pathlib import Path
from textwrap import dedent, indent

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError

PARTS = {
    "fields": "x: af.f64\nn: af.i64\non: af.flag",
    "parameters": "k: int = 3\nq: float = 0.5",
    "start": "def start(v):\n    v.x = 0.0\n    return True",
    "init": "def init(v):\n    v.x = 0.0",
    "compute": "def compute(v, u):\n    v.x += u.x",
    "update": "def update(v, old):\n    return v.x != old.x",
}
_names = itertools.count()


def made(folder: Path, before: str = "", **parts: str) -> object:
    """Lower a program in which some parts are replaced."""
    name = f"refused_{next(_names)}"
    body = "\n".join(indent(dedent(part).strip(), "    ") + "\n" for part in {**PARTS, **parts}.values())
    path = folder / f"{name}.py"
    path.write_text(f"import math\nimport numpy as np\nimport arcflux as af\n{before}\n\n@af.program\nclass P:\n{body}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return lower(module.P, {"weight": np.dtype("f8")})
    finally:
        del sys.modules[name]


# What is refused: the code with the refused line marked, and the reason.
REFUSED = {
    "a write to u": ("def compute(v, u):\n    u.x += 1  # no", "u is read-only"),
    "a write to old": ("def update(v, old):\n    old.x = 1.0  # no\n    return True", "old is read-only"),
    "a write to the edge": (
        "def compute(v, u, edge):\n    edge.weight += 1  # no\n    v.x += u.x",
        "edges never change",
    ),
    "a write to a parameter": ("def update(v, p):\n    p.k = 1  # no\n    return True", "parameters never change"),
    "a write to the graph": ("def update(v, g):\n    g.vertices = 1  # no\n    return True", "the graph never changes"),
    "an overwrite in compute": ("def compute(v, u):\n    v.x = u.x  # no", "may only reduce"),
    "a difference": ("def compute(v, u):\n    v.x -= u.x  # no", "not a reduction"),
    "a quotient": ("def compute(v, u):\n    v.x /= u.x  # no", "not a reduction"),
    "a read of v in compute": ("def compute(v, u):\n    v.x += v.n  # no", "compute reads v.n"),
    "two reductions of a field": (
        "def compute(v, u):\n    v.x += u.x\n    v.x = min(v.x, u.x)  # no",
        "by sum on line",
    ),
    "nothing reduced": ("def compute(v, u):  # no\n    y = u.x", "reduces nothing"),
    "an unknown field": ("def compute(v, u):\n    v.x += u.y  # no", "no vertex field 'y'"),
    "an unknown column": ("def compute(v, u, edge):\n    v.x += edge.cost  # no", "no edge column 'cost'"),
    "an unknown parameter": ("def update(v, p):\n    return v.x > p.z  # no", "no parameter 'z'"),
    "an unknown count": ("def update(v, g):\n    return v.x > g.nodes  # no", "g has no 'nodes'"),
    "an unknown name": ("def update(v):\n    return v.x > limit  # no", "nothing is known by the name limit"),
    "an unlisted argument": ("def update(v):\n    return v.x > old.x  # no", "old is not an argument"),
    "an unsupported call": ("def update(v):\n    return sorted(v.x) > 1  # no", "sorted cannot be called"),
    "a print": ("def update(v):\n    print(v.x)  # no\n    return True", "result is not used"),
    "recursion": ("def update(v):\n    return update(v)  # no", "cannot call itself"),
    "a type that changes": ("def update(v):\n    y = 1\n    y = v.x > 0  # no\n    return y", "the type of y changes"),
    "a float for an integer": ("def update(v):\n    v.n = v.x  # no\n    return True", "the fraction would be lost"),
    "a number for a flag": ("def update(v):\n    v.on = v.n  # no\n    return True", "v.on is a flag"),
    "a missing return": ("def update(v):\n    if v.x > 0:  # no\n        return True", "can end without a return"),
    "an empty return": ("def update(v):\n    return  # no", "has to return a flag"),
    "a number returned": ("def update(v):\n    return v.x  # no", "returns float64, not a flag"),
    "a return from compute": ("def compute(v, u):\n    v.x += u.x\n    return True  # no", "compute returns nothing"),
    "a while loop": (
        "def update(v):\n    while v.x > 1:  # no\n        v.x = 0.0\n    return True",
        "while loops cannot",
    ),
    "a loop over a list": (
        "def update(v):\n    for k in [1, 2]:  # no\n        v.x = 1.0\n    return True",
        "this loop cannot",
    ),
    "text": ("def update(v):\n    return v.x == 'a'  # no", "'a' is not a number"),
    "a list": ("def update(v):\n    y = [v.x]  # no\n    return True", "a list cannot be compiled"),
    "a lambda": ("def update(v):\n    y = lambda: 1  # no\n    return True", "a function within a function"),
    "membership": ("def update(v, old):\n    return v.x in old.x  # no", "in and is cannot"),
    "a matrix product": ("def update(v, old):\n    return v.x @ old.x > 0  # no", "@ cannot be compiled"),
    "an index into a scalar": ("def update(v):\n    v.x[0] = 1.0  # no\n    return True", "not a vector"),
    "any outside compute": ("def update(v):\n    v.x = af.any(v.x)  # no\n    return True", "stands for a reduction"),
    "bits of a float": ("def compute(v, u):\n    v.x |= u.x  # no", "or of a float"),
    "a write in wants": ("def wants(v):\n    v.x = 1.0  # no\n    return True", "wants may not change v"),
    "an unknown function": ("def scatter(v):  # no\n    pass", "no function 'scatter'"),
    "an unknown argument": ("def init(v, u):  # no\n    v.x = 0.0", "cannot have an argument 'u'"),
    "a default argument": ("def init(v, old=1):  # no\n    v.x = 0.0", "plain arguments only"),
    "a parameter without default": ("z: int  # no", "has no default"),
    "a field with a value": ("x: af.f64 = 0.0  # no", "the field x has a value"),
    "a field called number": ("number: af.f64  # no", "there for every vertex"),
    "a strange type": ("x: str  # no", "declared as 'str'"),
    "a stray statement": ("x: af.f64\ny = 3  # no", "only fields, parameters, promises"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_line_the_reason_and_a_remedy(what: str, tmp_path: Path) -> None:
    code, reason = REFUSED[what]
    function = re.match(r"def (\w+)", code)
    with pytest.raises(ProgramError) as caught:
        made(tmp_path, **{function[1] if function else "fields": code})
    said = str(caught.value)
    assert reason in said
    (line,) = (line.strip() for line in code.splitlines() if line.endswith("# no"))
    assert f"\n    {line}" in said
    assert caught.value.line > 0
    assert caught.value.remedy


VECTORS = {
    "v.f > 0": "neither true nor false",
    "v.f[0.5] > 0": "an index that is no whole number",
    "abs(v.f) > 0": "abs of a vector",
    "af.dot(v.f, v.h) > 0": "two vectors of one length",
    "af.dot(v.f, v.f) > 0": "f is f64[4]: vector fields are not supported yet by this version",
    "v.x > 0": "vector fields are not supported yet",
}


@pytest.mark.parametrize("condition", VECTORS)
def test_vector_fields_are_checked_and_then_refused(condition: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=re.escape(VECTORS[condition])) as caught:
        made(tmp_path, fields="x: af.f64\nf: af.f64[4]\nh: af.f64[2]", update=f"def update(v):\n    return {condition}")
    if "not supported" in str(caught.value):
        assert "\n    f: af.f64[4]\n" in str(caught.value)
        assert "several scalar fields" in caught.value.remedy


def test_a_changed_line_keeps_its_number(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="nothing is known by the name y") as caught:
        made(tmp_path, update="def update(v):\n    y += 1\n    return True")
    assert "\n    y += 1" in str(caught.value)


def test_captured_arrays_and_objects_are_refused(tmp_path: Path) -> None:
    reads = {"update": "def update(v):\n    return v.x > TABLE"}
    with pytest.raises(ProgramError, match="an array of the module"):
        made(tmp_path, "TABLE = np.zeros(3)", **reads)
    with pytest.raises(ProgramError, match="is a dict, not a number"):
        made(tmp_path, "TABLE = {}", **reads)
    assert made(tmp_path, "TABLE = 0.25", **reads)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    for name in ("start", "compute", "update"):
        with pytest.raises(ProgramError, match=f"the function {name} is missing"):
            made(tmp_path, **{name: ""})
    with pytest.raises(ProgramError, match="no vertex field"):
        made(
            tmp_path,
            fields="",
            start="def start(v):\n    return True",
            init="",
            update="def update(v):\n    return True",
        )
    with pytest.raises(ProgramError, match="no int parameter"):
        made(tmp_path, fields="x: af.f64['width']")


def test_parameters_are_checked() -> None:
    with pytest.raises(af.errors.UsageError, match="no parameter 'dampin'"):
        af.algorithms.PageRank(dampin=0.9)
    with pytest.raises(af.errors.UsageError, match="is 'high'"):
        af.algorithms.PageRank(damping="high")


def test_what_is_to_come_is_refused_rather_than_ignored(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="priority is not supported yet"):
        made(tmp_path, init="def priority(v):\n    return v.x")
