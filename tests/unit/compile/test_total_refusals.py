"""Programs that say something about totals that has no meaning: the line, the reason, and what to write instead."""

import re
from pathlib import Path

import pytest
from test_program_refusals import PARTS, made

from arcflux.errors import ProgramError

TOTALS = "lost: af.total(af.f64)\ncount: af.total(af.i64)\nlow: af.total(af.f64, 'min')\nsome: af.total(af.flag, 'or')"
BASE = {**PARTS, "parameters": f"{PARTS['parameters']}\n{TOTALS}\nrow: af.total(af.f64[3])"}
UPDATE = "def update(v, old, g):\n    {}  # no\n    return v.x != old.x"

# The parts with the refused line marked, the reason, and a piece of the remedy.
REFUSED = {
    "a write in compute": (
        {"compute": "def compute(v, u, g):\n    v.x += u.x\n    g.lost += u.x  # no"},
        "compute contributes to the total lost",
        r"write g\.lost \+= \.\.\. in update",
    ),
    "a write in init": (
        {"init": "def init(v, g):\n    v.x = 0.0\n    g.lost += 1.0  # no"},
        "init contributes to the total lost",
        "in update",
    ),
    "a write in residual": (
        {"extra": "def residual(v, g):\n    g.lost += 1.0  # no\n    return 1.0"},
        "residual contributes to the total lost",
        "in update",
    ),
    "a write in stop": (
        {"extra": "def stop(g):\n    g.lost += 1.0  # no\n    return True"},
        "stop contributes to the total lost",
        "in update",
    ),
    "another operator": (
        {"update": UPDATE.format("g.lost |= 1")},
        r"g\.lost is declared as a total by sum, and this line is none",
        r"write g\.lost \+= \.\.\., or declare",
    ),
    "a difference": ({"update": UPDATE.format("g.count -= 1")}, "a total by sum", r"write g\.count \+="),
    "a product": ({"update": UPDATE.format("g.count *= 2")}, "a total by sum", r"write g\.count \+="),
    "max of a min": (
        {"update": UPDATE.format("g.low = max(g.low, v.x)")},
        "a total by min",
        r"write g\.low = min\(g\.low, \.\.\.\)",
    ),
    "a sum of a min": ({"update": UPDATE.format("g.low += v.x")}, "a total by min", r"write g\.low = min"),
    "an overwrite": (
        {"update": UPDATE.format("g.lost = v.x")},
        r"may only contribute to g\.lost, and this line overwrites it",
        r"write g\.lost \+=",
    ),
    "a minimum without itself": (
        {"update": UPDATE.format("g.low = min(v.x, old.x)")},
        "overwrites it",
        r"write g\.low = min",
    ),
    "a read in start": (
        {"start": "def start(v, g):\n    v.x = g.lost  # no\n    return True"},
        r"start reads g\.lost, which is known once start was called for every vertex",
        "in the first superstep it is what start contributed",
    ),
    "a float in a whole number": (
        {"update": UPDATE.format("g.count += v.x")},
        "this is a float: the fraction would be lost",
        r"declare count as af\.total\(af\.f64\)",
    ),
    "a number in a flag": ({"update": UPDATE.format("g.some |= v.n")}, "g.some is bool", "compare"),
    "a flag in a number": ({"update": UPDATE.format("g.count += v.on")}, "g.count is int64", r"write int\(\.\.\.\)"),
    "a vector in a number": (
        {"fields": PARTS["fields"] + "\nw: af.f64[3]", "update": UPDATE.format("g.lost += v.w")},
        r"this is float64\[3\]",
        "same length",
    ),
    "an index of a number": ({"update": UPDATE.format("g.lost[0] += 1.0")}, "a single value", "leave the index out"),
    "an index outside": ({"update": UPDATE.format("g.row[v.n] += 1.0")}, "can be outside of 0 to 2", "% 3"),
    "text": ({"update": UPDATE.format("g.lost += 'x'")}, "'x' is not a number", "use numbers"),
    "an unknown total": (
        {"update": UPDATE.format("g.gain += 1.0")},
        "g has no 'gain'",
        r"declare `gain: af\.total\(af\.f64\)`",
    ),
    "an unknown total read": (
        {"update": UPDATE.format("v.x = g.gain")},
        "g has no 'gain'",
        "g has vertices, edges, arcs, lost",
    ),
    "without g": (
        {"update": "def update(v, old):\n    g.lost += 1.0  # no\n    return v.x != old.x"},
        "g is not an argument of update|the graph never changes",
        "",
    ),
    "stop without an answer": (
        {"extra": "def stop(g):\n    return g.lost  # no"},
        "stop returns float64",
        "comparison",
    ),
    "stop of a vertex": (
        {"extra": "def stop(v, g):  # no\n    return g.lost > 1.0"},
        "stop cannot have an argument 'v'",
        "may ask for: g, p, step",
    ),
    "a name of the graph": (
        {"parameters": "vertices: af.total(af.f64)  # no"},
        r"g\.vertices is known of every graph",
        "vertices_total",
    ),
    "a name of a function": (
        {"parameters": "residual: af.total(af.f64)  # no"},
        "residual is a function of programs",
        "another name",
    ),
    "a value": (
        {"parameters": "lost: af.total(af.f64) = 1.0  # no"},
        "the total lost has a value",
        "first value in start",
    ),
    "a narrow float": ({"parameters": "lost: af.total(af.f32)  # no"}, "would not fit", r"af\.total\(af\.f64\)"),
    "a narrow integer": ({"parameters": "lost: af.total(af.u8)  # no"}, "would not fit", r"af\.total\(af\.u64\)"),
    "a reference": ({"parameters": "lost: af.total(af.ref)  # no"}, "would not fit", r"af\.total\(af\.i64\)"),
    "no type": ({"parameters": "lost: af.total(float)  # no"}, "no type of numbers", r"af\.total\(af\.f64\)"),
    "an unknown operation": (
        {"parameters": "lost: af.total(af.f64, 'mean')  # no"},
        "a total of f64 by 'mean'",
        '"sum" or "min" or "max"',
    ),
    "bits of a float": ({"parameters": "lost: af.total(af.f64, 'or')  # no"}, "a total of f64 by 'or'", '"sum"'),
    "a sum of flags": (
        {"parameters": "lost: af.total(af.flag)  # no"},
        "a total of flag by 'sum'",
        r"to count vertices, af\.total\(af\.i64\)",
    ),
    "an unknown norm": (
        {"parameters": 'norm = "L2"  # no', "extra": "def residual(v):\n    return v.x"},
        "norm is 'L2'",
        'norm = "max"',
    ),
    "a norm of nothing": ({"parameters": 'norm = "max"  # no'}, "there is no residual", "def residual"),
    "a total with priority": (
        {
            "parameters": "lost: af.total(af.f64)  # no",
            "init": "",
            "compute": "def compute(v, u):\n    v.x = min(v.x, u.x)",
            "extra": "def priority(v):\n    return v.x",
        },
        "with priority there are no supersteps, and the total lost is of one",
        "leave priority out",
    ),
    "stop with priority": (
        {
            "parameters": "",
            "init": "",
            "compute": "def compute(v, u):\n    v.x = min(v.x, u.x)",
            "extra": "def priority(v):\n    return v.x\n\ndef stop(step):  # no\n    return step > 1",
        },
        "with priority there are no supersteps, and stop is of one",
        "leave priority out",
    ),
    "init of a sparse program": (
        {"fields": PARTS["fields"] + "\nsparse = True", "init": "def init(v, g):  # no\n    v.x = g.lost"},
        r"a vertex rests with what init gave it until a message comes, and g\.lost would have gone on",
        r"read g\.lost in compute or update",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_with_its_line(what: str, tmp_path: Path) -> None:
    parts, reason, remedy = REFUSED[what]
    with pytest.raises(ProgramError, match=reason) as caught:
        made(tmp_path, **{**BASE, **parts})
    marked = [line.strip() for part in parts.values() for line in part.splitlines() if line.endswith("# no")]
    assert [line in str(caught.value) for line in marked] == [True]
    assert caught.value.remedy
    assert re.search(remedy, caught.value.remedy)


def test_the_program_without_them_is_lowered(tmp_path: Path) -> None:
    update = UPDATE.format("g.row += v.x").replace("  # no", "")
    lowered = made(tmp_path, **{**BASE, "update": update})
    assert [each.name for each in lowered.measures] == ["row"]
    assert set(lowered.totals) == {"lost", "count", "low", "some", "row"}
