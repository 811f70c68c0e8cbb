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
    "a read in compute of what it reduces": (
        "def compute(v, u):\n    v.n += 1\n    v.x += v.n  # no",
        "compute reads v.n, which other edges are changing",
    ),
    "a read in compute of what init writes": (
        "def compute(v, u):\n    v.n += int(v.x)  # no",
        "compute reads v.x, which init writes in every superstep",
    ),
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
    "bits in a float": ("def compute(v, u):\n    v.x |= u.on  # no", "or of a float"),
    "steps of 0": (
        "def update(v):\n    for k in range(9, 0, 3 - 3):  # no\n        pass\n    return True",
        "steps of 0",
    ),
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


# Lines of update that Python knows and kernels do not: the reason, and what to write instead.
REMEDIES = {
    "v.x = sum(v.f)": ("sum cannot be called", "for k in range(3)"),
    "v.n = len(v.f)": ("len cannot be called", "for k in range(3)"),
    "for t in v.f:\n    v.x += t": ("this loop", "write for k in range(4), and v.f[k]"),
    "v.f[:2] = 0.0": ("a slice cannot", "write a loop"),
    "v.f = (1.0, 2.0, 3.0, 4.0)": ("a tuple cannot", "an element of a vector: v.x[0]"),
    "v.n = pow(2, 3)": ("pow cannot be called", "write a ** b"),
    "v.n = (lambda n: n)(2)": ("cannot be called", "functions of the module"),
    "key = lambda n: n": ("a function within a function", "a function of the module"),
    "v.x = w.x": ("nothing is known by the name w", "list it as an argument"),
    "v.n = math.floor": ("math.floor is not a number", "an IntEnum"),
    "v.x = p": ("p by itself has no value", "p.damping"),
}


@pytest.mark.parametrize("line", REMEDIES)
def test_what_python_has_is_refused_with_what_to_write(line: str, tmp_path: Path) -> None:
    reason, remedy = REMEDIES[line]
    with pytest.raises(ProgramError) as caught:
        made(
            tmp_path, fields=f"{PARTS['fields']}\nf: af.f64[4]",
            update=f"def update(v, p):\n{indent(line, '    ')}\n    return False",
        )  # fmt: skip
    assert reason in str(caught.value)
    assert remedy in caught.value.remedy


VECTORS = {
    "return v.f > 0": "neither true nor false",
    "return v.f[0.5] > 0": "an index that is no whole number",
    "return v.f[4] > 0": "the index 4 can be outside of 0 to 3",
    "return v.f[-1] > 0": "the index -1 can be outside",
    "return v.f[v.number] > 0": "the index v.number can be outside",
    "return v.f[v.number % 5] > 0": "can be outside",
    "return v.h[k] > 0": "nothing is known by the name k",
    "return math.sqrt(v.f) > 0": "math.sqrt of a vector",
    "return min(v.f, v.h) > 0": "min of vectors of different lengths",
    "return (v.f + v.h)[0] > 0": "have different lengths",
    "return af.dot(v.f, v.h) > 0": "two vectors of one length",
    "return af.dot(v.f, v.x) > 0": "two vectors of one length",
    "v.x = v.f": "v.x is float64, and this is float64[4]",
    "v.f = v.h": "v.f is float64[4], and this is float64[2]",
    "v.x[0] = 1.0": "v.x is a single value",
    "v.f[4] = 1.0": "can be outside of 0 to 3",
    "y = v.f\ny = v.h": "the type of y changes",
    "for k in range(5):\n    v.f[k] = 1.0": "the index k can be outside",
    "for k in range(p.k + 2):\n    v.f[k] = 1.0": "the index k can be outside",
    "for k in range(2):\n    v.f[k] = 1.0\n    k = 9": "the index k can be outside",
    "for k in range(-1, 2):\n    v.f[k] = 1.0": "the index k can be outside",
    "j = v.number\nv.f[j] = 1.0": "the index j can be outside",
    "v.f = ~v.f": "~ of a vector",
}


def with_vectors(folder: Path, statements: str, **parts: str) -> object:
    body = indent(statements if "return" in statements else f"{statements}\nreturn True", "    ")
    fields = "x: af.f64\nf: af.f64[4]\nh: af.f64[2]"
    return made(folder, fields=fields, update=f"def update(v, p):\n{body}", **parts)


@pytest.mark.parametrize("statements", VECTORS)
def test_vectors_that_cannot_compile(statements: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=re.escape(VECTORS[statements])) as caught:
        with_vectors(tmp_path, statements)
    assert caught.value.line > 0
    assert caught.value.remedy


@pytest.mark.parametrize(
    "statements",
    [
        "v.f[v.number % 4] = v.f[3]",
        "for k in range(p.k):\n    for j in range(k + 1):\n        v.f[(k + j) // 2] = v.f[3 - k]",
        "for k in range(8):\n    v.x += k\nfor k in range(2):\n    v.h[k] = 1.0",
        "for k in range(3, -1, -1):\n    v.f[k] = 1.0",
        "j = v.number & 3\nv.f[j] = v.f[min(v.number, 3)]",
        "v.f = max(v.f, 0.0) + abs(v.f)",
    ],
)
def test_indices_that_are_inside_are_taken(statements: str, tmp_path: Path) -> None:
    assert with_vectors(tmp_path, statements)


def test_any_of_vectors_and_lengths_that_no_kernel_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="any of several vectors"):
        with_vectors(tmp_path, "return True", compute="def compute(v, u):\n    v.f = af.any(u.f)")
    for length in (0, 4097):
        with pytest.raises(af.errors.UsageError, match=f"a vector of length {length}"):
            made(tmp_path, fields="x: af.f64\nf: af.f64['k']", parameters=f"k: int = {length}\nq: float = 0.5")


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
    with pytest.raises(ProgramError, match="the function compute is missing"):
        made(tmp_path, compute="")
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


# What a priority rules out: the parts of the program with the refused line marked, and the reason.
DISORDERED = {
    "a sum": ({"compute": "def compute(v, u):\n    v.x += u.x  # no"}, "twice and in any order, and sum would show it"),
    "any": ({"compute": "def compute(v, u):\n    v.x = af.any(u.x)  # no"}, "and any would show it"),
    "one of two": (
        {"compute": "def compute(v, u):\n    v.x = min(v.x, u.x)\n    v.n *= u.n  # no"},
        "and product would show it",
    ),
    "init that writes": ({"init": "def init(v):  # no\n    v.x = 0.0"}, "by messages alone, and init writes v.x"),
    "update that writes": (
        {"update": "def update(v, old):  # no\n    v.n = 1\n    return v.x < old.x"},
        "by messages alone, and update writes v.n",
    ),
    "step": (
        {"update": "def update(v, old, step):  # no\n    return v.x < old.x and step < 9"},
        "no supersteps after which update knows step",
    ),
    "old in compute": (
        {"compute": "def compute(v, u, old):  # no\n    v.x = min(v.x, u.x + old.x)"},
        "no supersteps after which compute knows old",
    ),
    "residual": ({"init": "def residual(v):  # no\n    return v.x"}, "no supersteps after which residual is measured"),
}


@pytest.mark.parametrize("what", DISORDERED)
def test_a_priority_rules_out_what_an_order_could_show(what: str, tmp_path: Path) -> None:
    parts, reason = DISORDERED[what]
    fine = {"init": "", "compute": "def compute(v, u):\n    v.x = min(v.x, u.x)", "extra": ORDER}
    assert made(tmp_path, **fine).ordered
    with pytest.raises(ProgramError, match=reason) as caught:
        made(tmp_path, **{**fine, **parts})
    (line,) = (line.strip() for part in parts.values() for line in part.splitlines() if line.endswith("# no"))
    assert f"\n    {line}" in str(caught.value)
    assert "leave priority out" in caught.value.remedy


ORDER = "def priority(v):\n    return v.x"


def test_a_sparse_vertex_rests_whatever_the_superstep(tmp_path: Path) -> None:
    parts = {"fields": PARTS["fields"] + "\nsparse = True", "init": "def init(v, step):\n    v.x = step * 1.0"}
    with pytest.raises(ProgramError, match="rests with what init gave it") as caught:
        made(tmp_path, **parts)
    assert "leave sparse out" in caught.value.remedy
