"""What phases cannot say with neighbourhoods, tuples and vectors: the line, the reason, and what to write instead."""

import importlib.util
import itertools
import sys
from pathlib import Path
from textwrap import indent

import pytest

import arcflux as af
from arcflux.errors import ProgramError

_names = itertools.count()
LOOK = "def around(v, edges):\n    v.n = sum(u.n for u in edges)"
TAKE = "def compute(v, u):\n    v.n += u.n"
UPDATE = "def update(v, old):\n    return v.n != old.n"

# By what is refused: the edges of the phase, its functions with the refused line marked, the reason, what to write.
REFUSED = {
    "compute and around": ("along", f"{TAKE}\n{LOOK}".replace("edges):", "edges):  # no"), "in one", "two phases"),
    "around on no edges": (None, f"{LOOK}\n{UPDATE}".replace("edges):", "edges):  # no"), "is on no edges", "v takes"),
    "a degree on both sides": (
        "both", "def around(v, edges):\n    v.n = v.in_degree  # no", "reads in_degree", "keep it in a field",
    ),
    "around that writes nothing": (
        "along", "def around(v, edges):  # no\n    n = 0\n    for u in edges:\n        n += u.n",
        "around writes nothing", "max(u.x for u in edges)",
    ),
    "stop in a phase": (
        "along", f"{TAKE}\ndef stop(g):  # no\n    return True", "has a function stop", "a phase has start",
    ),
    "priority in a phase": (
        "along", f"{TAKE}\ndef priority(v):  # no\n    return v.n", "has a function priority", "a phase has start",
    ),
    "a mode of floats": (
        "against", "def around(v, edges):\n    v.n = af.mode(u.x for u in edges)  # no", "af.mode of", "integers",
    ),
    "a vector in a tuple": (
        "along", "def compute(v, u):\n    v.row, v.n = min((v.row, v.n), (u.row, u.n))  # no",
        "is a vector, and tuples are of single values", "reduce it by itself",
    ),
    "fewer values than fields": (
        "both", "def compute(v, u):\n    v.x, v.n = max((v.x, v.n), (u.x, u.n, 1))  # no", "3 values for 2", "as many",
    ),
    "a field in two tuples": (
        "along",
        "def compute(v, u):\n    v.x, v.n = min((v.x, v.n), (u.x, u.n))\n    v.n = af.first(u.n)  # no",
        "reduced in two ways", "one reduction a field",
    ),
    "the first of nobody": (
        "along", "def compute(v):\n    v.n = af.first(v.n)  # no", "ask for the sender", "list u",
    ),
    "the k largest of another length": (
        "against", "def around(v, edges):\n    v.row = af.topk(3, (u.x for u in edges))  # no",
        "v.row is float64[4], and this is float64[3]", "the same length",
    ),
}  # fmt: skip


def run(folder: Path, edges: str | None, functions: str) -> af.Result:
    """Run a program with one phase of these functions."""
    name = f"refused_phase_{next(_names)}"
    path = folder / f"{name}.py"
    fields = "n: af.i64\nx: af.f64\nrow: af.f64[4]\n"
    phase = f"@af.phase(edges={edges!r})\nclass go:\n{indent(functions, '    ')}\n"
    calls = "def iteration(run):\n    run.go()\n    return False\n"
    body = indent(fields + phase + calls, "    ")
    path.write_text(f"import arcflux as af\n\n@af.program\nclass P:\n{body}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return af.run(module.P, "path:4", debug=True)
    finally:
        del sys.modules[name]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    """Each names its line, says why, and what to write."""
    edges, functions, reason, remedy = REFUSED[name]
    with pytest.raises(ProgramError) as caught:
        run(tmp_path, edges, functions)
    assert reason in str(caught.value)
    assert remedy in caught.value.remedy
    (path,) = tmp_path.glob("*.py")
    assert path.read_text().splitlines()[caught.value.line - 1].endswith("# no")


def test_what_is_said_otherwise_runs(tmp_path: Path) -> None:
    """The same program in two of its allowed forms."""
    assert run(tmp_path, "along", f"{LOOK}\n{UPDATE}").supersteps == 1
    assert run(tmp_path, None, UPDATE).supersteps == 1
