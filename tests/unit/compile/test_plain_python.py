"""Plain Python in programs: helpers, while, early returns, several names at once; and what of it is refused."""

import importlib.util
import itertools
import linecache
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import programs
import pytest
from program_fuzzer.interpret import interpreted
from program_fuzzer.ways import Way

import arcflux as af
from arcflux.compile.cpu.module import source
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError

GRAPH = af.load("kron:5,weights=1-9")
WAYS = ({}, {"direction": "push"}, {"deterministic": True}, {"parts": 3}, {"parts": 2, "exchange": "owners"})
_names = itertools.count()


def loaded(folder: Path, text: str) -> ModuleType:
    """A module of a text."""
    name = f"plain_{next(_names)}"
    path = folder / f"{name}.py"
    path.write_text(f"import math\nimport arcflux as af\n{text}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def program_of(body: str, before: str = "") -> str:
    """The text of a program whose update has a body."""
    lines = "\n".join("        " + line for line in body.splitlines())
    return f"""{before}
@af.program
class P:
    k: int = 3
    x: af.f64
    n: af.i64
    f: af.f64[3]

    def start(v):
        v.x = 1.0 * v.number
        return True

    def compute(v, u):
        v.n = max(v.n, u.n)

    def update(v, old, p, step):
{lines}
"""


def same_everywhere(program: object, ways: tuple[dict[str, object], ...] = WAYS, **parameters: object) -> af.Result:
    """The result in plain Python, which kernels have to give in every way to run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = af.run(program, GRAPH, debug=True, **parameters)
        with interpreted():
            for way in ways:
                other = af.run(program, GRAPH, **way, **parameters)
                for name, values in plain.values.items():
                    np.testing.assert_allclose(other.values[name], values, rtol=1e-12, err_msg=f"{way} {name}")
    return plain


def test_all_of_it_is_the_same_in_every_way_to_run() -> None:
    same_everywhere(programs.Plain)


# What update does, after which v.x is something for certain.
DONE = {
    "a, b = 1.0, 2.0\na, b = b, a\nv.x = 10 * a + b": lambda n: 21.0,
    "a = b = v.number\na += 1\nv.x = 10.0 * a + b": lambda n: 11.0 * n + 10,
    "v.x, v.n = v.n + 1.0, v.number\nv.x += v.n": lambda n: n + 1.0,
    "a, b = (v.number, 2) if v.number > 3 else (7, v.number)\nv.x = 10.0 * a + b": lambda n: (
        10.0 * n + 2 if n > 3 else 70.0 + n
    ),
    "q, r = divmod(v.number - 7, 5)\nv.x = 100.0 * q + r": lambda n: 100.0 * ((n - 7) // 5) + (n - 7) % 5,
    "v.x = 1.0 * divmod(v.number, 4)[1]": lambda n: float(n % 4),
    "v.f[0], v.f[1], v.f[2] = 1.0, 2.0, 3.0\na, b, c = v.f\nv.x = a + 10 * b + 100 * c": lambda n: 321.0,
    "k = 0\nwhile k * k <= v.number:\n    k += 1\nv.x = 1.0 * k": lambda n: float(int(n**0.5) + 1),
    "x = 0\nfor k in range(10):\n    if k == v.number:\n        break\n"
    "    if k % 2:\n        continue\n    x += k\nv.x = x": (
        lambda n: float(sum(k for k in range(min(n, 10)) if k % 2 == 0))
    ),
    "x = 0\nwhile x < 3:\n    x = x + 0.5\nv.x = x": lambda n: 3.0,
    "v.x = 1.0 * round(v.number / 2) + round(2.5) - round(-0.5)": lambda n: float(round(n / 2) + 2),
    "v.x = math.fmod(-1.0 * v.number, 3.0) + math.trunc(-0.5 * v.number)": lambda n: -float(n % 3) - n // 2,
    "v.x = twice(v.number) + twice(0.25)": lambda n: 2.0 * n + 0.5,
    "v.x = 1.0 * ends(v)[1]": lambda n: float(n + 1),
    "low, high = ends(v)\nv.x = low - high": lambda n: -1.0,
    "v.x = found(1.0 * v.number)": lambda n: float(max(n, 8)),
    "v.f = twice(v.f + 1.0)\nv.x = third(v.f)": lambda n: 2.0,
    "v.x = named(b=1, a=v.number)": lambda n: 10.0 * n + 1,
    "v.x = tools.sqrt(1.0 * v.number ** 2)": lambda n: float(n),
    "v.x = powers(2.0)": lambda n: 4.0,
    "v.x = 1.0 * twice(step)": lambda n: 0.0,
    "v.x = half(3)": lambda n: 1.5,
    "v.x = jitted(v.x)": lambda n: n + 0.5,
    "v.n = State.OUTSIDE if v.number == State.INSIDE else State.INSIDE\nv.x = v.n + State.SHARE": (
        lambda n: 2.5 if n == 1 else 1.5
    ),
}
BEFORE = """
import enum
import math as tools
import numba
from math import floor

def twice(x):
    return x + x

def ends(v):
    low = v.number
    return low, low + 1

def found(x):
    while True:
        if x >= 8:
            return x
        x = x + 1 if x + 1 < 8 else 8.0

def third(f):
    return f[2]

def named(a, b, *, ten=10.0):
    return a * ten + b

class State(enum.IntEnum):
    INSIDE = 1
    OUTSIDE = 2

State.SHARE = 0.5

def powers(x, k=2):
    '''A local that has the name of an argument of programs.'''
    step = 1.0
    for v in range(k):
        step *= x
    return step

@numba.njit
def jitted(x):
    return x + 0.5

def half(n):
    return n / 2 if floor(n) == n else 0.0
"""


@pytest.mark.parametrize("body", DONE)
def test_statements_do_what_python_does(body: str, tmp_path: Path) -> None:
    module = loaded(tmp_path, program_of(f"{body}\nreturn False", BEFORE))
    result = same_everywhere(module.P)
    assert result["x"].tolist() == [DONE[body](n) for n in range(GRAPH.vertices)]


LOOPED = {
    "compute(v, u)": "for k in range(u.in_degree):\n    v.n += k",
    "compute(v, u, step)": "for k in range(step, u.out_degree % 5, 2):\n    v.n += k",
    "around(v, edges)": "n = 0\nfor u in edges:\n    for k in range(u.in_degree % 5):\n        n += k\nv.n = n",
}


@pytest.mark.parametrize("head", LOOPED)
def test_a_neighbour_says_how_many_rounds_a_loop_takes(head: str, tmp_path: Path) -> None:
    """A range is no value that a message could carry, only its bounds are."""
    text = program_of("return step < 1").replace("compute(v, u)", head)
    module = loaded(tmp_path, text.replace("v.n = max(v.n, u.n)", LOOPED[head].replace("\n", "\n        ")))
    found = same_everywhere(module.P, WAYS[:4] if "around" in head else WAYS)["n"]
    rows = [GRAPH.out.neighbours[GRAPH.out.offsets[v] : GRAPH.out.offsets[v + 1]] for v in range(GRAPH.vertices)]
    degrees = GRAPH.out_degrees.astype(int)
    bounds = {"compute(v, u)": lambda d: [range(d)] * 2, "around(v, edges)": lambda d: [range(d % 5)],
              "compute(v, u, step)": lambda d: [range(step, d % 5, 2) for step in (0, 1)]}[head]  # fmt: skip
    assert found.tolist() == [sum(sum(k) for u in row for k in bounds(degrees[u])) for row in rows]


@pytest.mark.parametrize(
    ("promises", "body"),
    [("", "v.x = v.n % 7 + 1.0\nreturn step < 3"), ("sparse = True; monotone = True", "return v.n != old.n")],
)
def test_compute_reads_fields_of_v_that_only_start_and_update_write(promises: str, body: str, tmp_path: Path) -> None:
    """They are what they were before the superstep, as with old, also for a helper."""
    text = program_of(body, "def level(v):\n    return int(v.x)").replace("k: int", f"{promises}\n    k: int")
    text = text.replace("v.n = max(v.n, u.n)", "v.n = max(v.n, min(u.n + 1, 3 + level(v)) if v.x < 20.0 else u.n)")
    plain = text.replace("+ level(v)", "+ int(old.x)").replace("if v.x", "if old.x").replace("(v, u):", "(v, u, old):")
    here, there = (same_everywhere(loaded(tmp_path, each).P) for each in (text, plain))
    assert (here["n"] == there["n"]).all()
    assert here["n"].max() > 3


THREE = """
@af.program
class P:
    x: af.f64
    f: af.f64[3]
    low: af.total(af.f64, "min")

    def start(v):
        v.x = 7.0 + v.number
        v.f = 1.0 * v.number
        return True

    def compute(v, u, edge):
        v.x = {x}
        v.f = {f}

    def update(v, g, step):
        g.low = {low}
        return step < 2
"""


def test_min_and_max_reduce_by_several_values(tmp_path: Path) -> None:
    several = THREE.format(
        x="min(u.x + 1.0, v.x, edge.weight)", f="max(v.f, u.f, 2.5)", low="min(v.x, g.low, v.f[0] / 2)"
    )
    one = THREE.format(
        x="min(v.x, min(u.x + 1.0, edge.weight))", f="max(v.f, max(u.f, 2.5))", low="min(g.low, min(v.x, v.f[0] / 2))"
    )
    here, there = (same_everywhere(loaded(tmp_path, each).P) for each in (several, one))
    assert all((here[name] == there[name]).all() for name in ("x", "f"))
    assert here.totals == there.totals


STARTED = """
@af.program
class P:
    x: af.i64

    def start(v):
        if v.number % 2:
            v.x = 5
{phase}
    {indent}def init(v):
    {indent}    v.x = 1

    {indent}def compute(v, u):
    {indent}    v.x += u.x

    {indent}def update(v, step):
    {indent}    return step < 2
"""
PHASE = """
    def iteration(run):
        run.one()
        return run.iterations < 3

    @af.phase
    class one:
        def start(v):
            v.x = v.x + 1
"""


def test_a_start_that_returns_nothing_leaves_every_vertex_active(tmp_path: Path) -> None:
    texts = [STARTED.format(phase="", indent=""), STARTED.format(phase=PHASE, indent="    ")]
    for text in texts:
        said = text.replace("v.x = 5\n", "v.x = 5\n        return True\n")
        here, there = (same_everywhere(loaded(tmp_path, each).P) for each in (text, said))
        assert (here["x"] == there["x"]).all()


SILENT = {
    "sparse": STARTED.format(phase="", indent="").replace("x: af.i64", "x: af.i64\n    sparse = True"),
    "found to be sparse": "@af.program\nclass P:\n    x: af.i64\n    def start(v):\n        v.x = v.number\n"
    "    def compute(v, u):\n        v.x = max(v.x, u.x)\n",
    "a sparse phase": STARTED.format(phase=PHASE.replace("one:", "one:\n        sparse = True"), indent="    "),
    "mail": "@af.program\nclass P:\n    x: af.i64\n    m: af.mail(af.i64)\n    def start(v):\n        af.send(0, m=1)\n"
    "    def receive(v, m):\n        v.x += len(m)\n",
}  # fmt: skip


@pytest.mark.parametrize("what", SILENT)
def test_a_start_that_returns_nothing_is_refused_where_that_matters(what: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="start can end without a return, and not every vertex is active") as caught:
        af.run(loaded(tmp_path, SILENT[what]).P, GRAPH)
    assert "return True or False on every path" in str(caught.value)


def test_a_helper_that_changes_is_compiled_anew(tmp_path: Path) -> None:
    module = loaded(
        tmp_path,
        program_of(
            "v.x = outer(2.0)\nreturn False",
            """
SCALE = 3.0

def inner(x):
    return SCALE * x

def outer(x):
    return inner(x) + 1
""",
        ),
    )
    assert same_everywhere(module.P)["x"][0] == 7.0
    module.SCALE = 5.0
    assert same_everywhere(module.P)["x"][0] == 11.0
    exec(compile("def inner(x):\n    return -x\n", str(tmp_path / "other.py"), "exec"), module.__dict__)
    (tmp_path / "other.py").write_text("def inner(x):\n    return -x\n")
    assert same_everywhere(module.P)["x"][0] == -1.0
    module.inner.__code__ = module.outer.__code__.replace(co_names=("max",), co_firstlineno=1, co_name="gone")
    with pytest.raises(ProgramError, match="the source of inner cannot be found"):
        lower(module.P, {})


def test_helpers_of_other_modules_and_of_functions(tmp_path: Path) -> None:
    other = loaded(tmp_path, "BASE = 40.0\n\ndef shifted(x):\n    return x + BASE\n")
    body = "v.x = other.shifted(2.0)\nreturn False"
    module = loaded(tmp_path, f"import {other.__name__} as other\n" + program_of(body))
    assert same_everywhere(module.P)["x"][0] == 42.0
    other.BASE = 1.0
    assert same_everywhere(module.P)["x"][0] == 3.0

    offset = 5.0

    def local(x):
        return x + offset

    @af.program
    class Local:
        x: af.f64

        def start(v):
            return True

        def compute(v, u):
            v.x = max(v.x, u.x)

        def update(v):
            v.x = local(1.0)
            return False

    assert same_everywhere(Local)["x"][0] == 6.0


def test_helpers_of_other_cells_are_found_and_noticed_when_they_change() -> None:
    around: dict[str, object] = {"af": af}

    def cell(number: int, text: str) -> None:
        name = f"<cell {number} of test_plain_python>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), around)

    cell(1, "def shifted(x):\n    return x + 1\n")
    cell(2, program_of("v.x = shifted(2.0)\nreturn False"))
    assert same_everywhere(around["P"])["x"][0] == 3.0
    cell(3, "def shifted(x):\n    return x + 40\n")
    assert same_everywhere(around["P"])["x"][0] == 42.0


def test_a_local_without_a_value_is_told_in_plain_python(tmp_path: Path) -> None:
    module = loaded(tmp_path, program_of("if v.number == 3:\n    y = 1.0\nv.x = y\nreturn False"))
    with pytest.raises(ProgramError, match="'y'") as caught:
        af.run(module.P, GRAPH, debug=True)
    assert "v.x = y" in str(caught.value)
    assert "every path" in caught.value.remedy


@pytest.mark.parametrize("patch", ["blocks", "ranked blocks", "runs"])
def test_loops_that_look_whether_to_end_in_every_dense_kernel(patch: str, tmp_path: Path) -> None:
    body = "while v.n < step + v.number % 3:\n    v.n += 1\nv.x = 1.0 * v.n\nreturn step < 3"
    module = loaded(tmp_path, program_of(body))
    plain = af.run(module.P, GRAPH, debug=True)
    with Way({"threads": 1}, patches=(patch,)).active() as options:
        other = af.run(module.P, GRAPH, **options)
    assert np.array_equal(other["x"], plain["x"])
    assert other.supersteps == plain.supersteps


def test_one_helper_is_generated_for_each_kind_of_arguments(tmp_path: Path) -> None:
    body = "v.x = twice(1.0) + twice(v.x) + twice(2.0)\nv.n = twice(v.n)\nreturn False"
    text = source(lower(loaded(tmp_path, program_of(body, BEFORE)).P, {}))
    assert text.count("def call") == 3  # a number that takes any type, an f64, an i64


def test_a_loop_without_end_ends_with_the_time(tmp_path: Path) -> None:
    before = "def spin(x):\n    while True:\n        x = x * 0.5 + 1.0\n        if x < 0.0:\n            return x\n"
    module = loaded(tmp_path, program_of("v.x = spin(v.x)\nreturn True", before))
    with pytest.warns(UserWarning, match="before it converged"):
        result = af.run(module.P, GRAPH, timeout=0.3)
    assert not result.converged
    assert result.supersteps == 0
    assert result["x"].tolist() == list(range(GRAPH.vertices))


# What is refused: the body of update, with the line marked, what stands before the program, and the reason.
REFUSED = {
    "recursion": ("v.x = f(v.x)", "def f(x):\n    return f(x - 1) if x > 0 else x  # no", "f calls itself"),
    "mutual recursion": (
        "v.x = f(v.x)",
        "def f(x):\n    return h(x)\n\ndef h(x):\n    return f(x)  # no",
        "f calls itself",
    ),
    "a lambda": ("v.x = f(v.x)  # no", "f = lambda x: x", "f is a lambda"),
    "a helper that writes": ("v.x = f(v)", "def f(v):\n    v.x = 1.0  # no\n    return 1.0", "only returns a value"),
    "a helper without a return": ("v.x = f(v.x)", "def f(x):\n    y = x  # no", "can end without a return"),
    "a path without a return": (
        "v.x = f(v.x)",
        "def f(x):\n    if x > 0:  # no\n        return 1.0",
        "can end without a return",
    ),
    "an empty return": ("v.x = f(v.x)", "def f(x):\n    return  # no", "returns no value"),
    "two types": (
        "v.x = f(v.x)",
        "def f(x):\n    if x > 0:\n        return 1.0\n    return x > 0  # no",
        "returns flag here and float before",
    ),
    "two values for one": ("v.x = f(v.x)  # no", "def f(x):\n    return x, x", "f returns 2 values"),
    "numbers of values": (
        "a, b = f(v.x)  # no",
        "def f(x):\n    if x > 0:\n        return x, x\n    return x",
        "different numbers of values",
    ),
    "too many arguments": ("v.x = f(1, 2)  # no", "def f(x):\n    return x", "f takes 1 arguments"),
    "a missing argument": ("v.x = f()  # no", "def f(x):\n    return x", "f needs x"),
    "an unknown name": ("v.x = f(y=1)  # no", "def f(x):\n    return x", "f cannot be given y"),
    "stars": ("v.x = f(1.0)  # no", "def f(*x):\n    return 1.0", "any number of arguments"),
    "a decorator": (
        "v.x = f(1.0)  # no",
        "from functools import cache\n\n@cache\ndef f(x):\n    return x",
        "f cannot be called here",
    ),
    "a class": ("v.x = f(1.0)  # no", "class f:\n    pass", "f cannot be called here"),
    "a name within a helper": ("v.x = f(v.x)", "def f(x):\n    return x + y  # no", "nothing is known by the name y"),
    "text within a helper": ("v.x = f(v.x)", "def f(x):\n    return 'a'  # no", "'a' is not a number"),
    "an argument that is not given": ("v.x = f(v.x)", "def f(x):\n    return x + p.k  # no", "p is not an argument"),
    "an index in a helper": ("v.x = f(v.f, v.number)", "def f(a, k):\n    return a[k]  # no", "can be outside of"),
    "an index that grows": (
        "k = 0\nfor j in range(4):\n    v.x = v.f[k]  # no\n    k = k + 1",
        "",
        "the index k can be outside",
    ),
    "an index of the last round": (
        "for k in range(2):\n    v.x = 1.0\nfor i in range(2):\n    j = k\n    for k in range(8):\n        v.n = 1\n"
        "    v.x = v.f[j]  # no",
        "",
        "the index j can be outside",
    ),
    "too few names": ("a, b = 1, 2, 3  # no", "", "3 values for 2 names"),
    "one value for two": ("a, b = v.x  # no", "", "v.x is one value, for 2 names"),
    "two and three": ("a, b = (1, 2) if v.n > 0 else (1, 2, 3)  # no", "", "different numbers of values"),
    "names within names": ("(a, b), c = (1, 2), 3  # no", "", "names within names"),
    "a star": ("a, *b = 1, 2  # no", "", "names within names"),
    "a name and several": ("a = b, c = 1, 2  # no", "", "for a name and for several"),
    "a third of two": ("v.n = divmod(v.n, 3)[2]  # no", "", "gives 2 values"),
    "divmod for one": ("v.n = divmod(v.n, 3)  # no", "", "divmod gives two values"),
    "digits of round": ("v.x = round(v.x, 2)  # no", "", "round of 2 values"),
    "a base of log": ("v.x = math.log(v.x, 2)  # no", "", "math.log of 2 values"),
    "a missing exponent": ("v.x = math.pow(v.x)  # no", "", "math.pow of 1 values"),
    "else of a loop": ("while v.x > 9:\n    v.x -= 1\nelse:\n    v.x = 0.0  # no", "", "a loop with else"),
    "a loop over a vector": ("for x in v.f:  # no\n    v.x = x", "", "this loop cannot be compiled"),
    "a vector as a condition": ("while v.f:  # no\n    v.x = 1.0", "", "neither true nor false"),
    "a type that changes in a loop": (
        "y = 1\nwhile y < 3:\n    y = v.x > 0.0  # no",
        "",
        "the type of y changes",
    ),
    "a float that came later": (
        "y = 1\nfor k in range(3):\n    v.n = y  # no\n    y = y * 0.5",
        "",
        "the fraction would be lost",
    ),
    "a float for an index": ("y = 0\nwhile y < 2:\n    v.x = v.f[y]  # no\n    y = y + 0.5", "", "the index y can be"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_line_the_reason_and_a_remedy(what: str, tmp_path: Path) -> None:
    body, before, reason = REFUSED[what]
    text = program_of(f"{body}\nreturn False", before)
    module = loaded(tmp_path, text)
    with pytest.raises(ProgramError) as caught:
        lower(module.P, {})
    said = str(caught.value)
    assert reason in said
    (line,) = (line.strip() for line in text.splitlines() if line.endswith("# no"))
    assert f"\n    {line}" in said
    assert caught.value.remedy


def test_a_helper_of_another_file_is_named_with_it(tmp_path: Path) -> None:
    other = loaded(tmp_path, "def shifted(x):\n    return x + NOTHING\n")
    body = "v.x = other.shifted(2.0)\nreturn False"
    module = loaded(tmp_path, f"import {other.__name__} as other\n" + program_of(body))
    with pytest.raises(ProgramError, match="NOTHING") as caught:
        lower(module.P, {})
    assert f"{other.__file__}:4" in str(caught.value)
    assert "return x + NOTHING" in str(caught.value)
