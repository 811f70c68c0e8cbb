"""What people write who know Python, NumPy and other systems: the line, the reason, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.engine.phases import lower_phases
from arcflux.errors import ProgramError, UsageError

# What is refused: the class, with the refused line marked, and what is said to write instead.
AROUND = "    x: af.f64\n    def around(v, edges):\n"
PHASED = "    x: af.f64\n    @af.phase\n    class one:\n        def compute(v, u): v.x += u.x\n"
COMPUTE = "    def compute(v, u): v.x += u.x\n"
REFUSED = {
    "a sorted list": (AROUND + "        v.x = sorted(u.x for u in edges)[0]  # no", "af.median, af.topk"),
    "a mean of NumPy": (AROUND + "        v.x = np.mean([u.x for u in edges])  # no", "sum.* / v.in_degree"),
    "a set of neighbours": (
        AROUND + "        a = set(u.x for u in edges)  # no\n        v.x = 1.0", "af.mode.*af.intersect"
    ),
    "the least of tuples": (
        AROUND + "        v.x, k = min(((u.x, u.number) for u in edges), default=(0.0, -1))  # no",
        "for u in edges, if u.x < least",
    ),
    "a place of the list": (AROUND + "        v.x = edges[0].x  # no", "for u in edges"),
    "enumerate": (AROUND + "        for k, u in enumerate(edges):  # no\n            v.x = k", "for u in edges"),
    "random numbers of Python": (
        "    x: af.f64\n    def compute(v, u): v.x += random.random()  # no", r"af\.random\(v, step\)"
    ),
    "random numbers of NumPy": (
        "    x: af.f64\n    def compute(v, u): v.x += np.random.rand()  # no", r"af\.random\(v, step\)"
    ),
    "the id of a vertex": ("    x: af.i64\n    def compute(v, u): v.x += u.id  # no", r"v\.number.*source: af\.vertex"),
    "a field with a slip": ("    total: af.f64\n    def compute(v, u): v.total += u.totl  # no", "did you mean total"),
    "an edge field in compute": (
        "    x: af.f64\n    w: af.edge(af.f64)\n    def compute(v, u, edge):\n"
        "        edge.w = u.x  # no\n        v.x += edge.w",
        r"edge\.w = \.\.\. in along\(edge, u, v\)",
    ),
    "mail that is not declared": (
        "    x: af.f64\n    def update(v):\n        af.send(v.number, walker=1)  # no\n        return True",
        r"walker: af\.mail\(af\.i64\)",
    ),
    "an unknown until": (
        PHASED + "    def iteration(run):\n        run.one(until='converged')  # no\n        return False",
        r"run\.one\(until='quiet'\)",
    ),
    "a count of calls": (
        PHASED + "    def iteration(run):\n        run.one(5)  # no\n        return False",
        r"run\.one\(\) for one superstep",
    ),
    "two ways to say until": (
        PHASED + "    def iteration(run):\n        run.one('quiet', until='quiet')  # no\n        return False",
        r"run\.one\(\) for one superstep",
    ),
    ":=": (
        "    x: af.f64\n    def compute(v, u):\n        if (y := u.x) > 3.0:  # no\n            v.x += y",
        "a line of its own",
    ),
    "a dictionary": (
        "    x: af.f64\n    def update(v):\n        d = {1: 2.0}  # no\n        v.x = d[1]\n        return True\n"
        + COMPUTE,
        "a vector",
    ),
    "text": (
        "    x: af.f64\n    def update(v):\n        v.x = f'{v.x}'  # no\n        return True\n" + COMPUTE, "debug=True"
    ),
}  # fmt: skip


def lowered(folder: Path, body: str) -> None:
    """Read and lower a class with this body."""
    text = f"import random\nimport numpy as np\nimport arcflux as af\n\n@af.program\nclass P:\n{body}\n"
    path = folder / "told.py"
    path.write_text(text)
    names = {"__name__": "told"}
    exec(compile(text, str(path), "exec"), names)
    first = lower(names["P"], {"weight": np.dtype("f8")})
    if first.program.phases:
        lower_phases(first, {}, debug=False)


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_what_to_write_instead(what: str, tmp_path: Path) -> None:
    body, remedy = REFUSED[what]
    with pytest.raises(ProgramError, match=f"(?s)# no.*try: .*{remedy}"):
        lowered(tmp_path, body)


@pytest.mark.parametrize("type", ["af.f64[5000]", "af.edge(af.f64[100, 100])", "af.total(af.i64[4097])"])
def test_a_long_vector_is_named_with_its_line(type: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"(?s)1 to 4096 elements.*try: ") as refused:
        lowered(tmp_path, f"    x: af.f64\n    long: {type}\n{COMPUTE}")
    assert "in line 8 of" in str(refused.value)
    assert str(refused.value).splitlines()[0].endswith(": long")


def test_what_a_phase_is_called_with_may_be_decided_in_the_run() -> None:
    @af.program
    class Quiet:
        x: af.i64

        @af.phase
        class one:
            def compute(v, u):
                v.x = max(v.x, u.x)

        def iteration(run):
            how = "quiet" if run.iterations < 2 else None
            run.one(until=how)
            return run.iterations < 3

    assert af.run(Quiet, "path:3", debug=True).iterations == 3
