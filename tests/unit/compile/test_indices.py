"""An index into a vector is inside it whatever its operands are, also where arithmetic wraps around or has no sign."""

import itertools
import linecache
import sys
from types import ModuleType

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError

LENGTH = 300  # vectors as long as this are in memory, where an index outside would find something else
HEAD = """
import arcflux as af

def element(v, i):
    return v.x[i]

@af.program
class Indexed:
    n: int = 3
    big: int = 9223372036854775807
    small: af.i8
    whole: af.i64
    mass: af.u64
    x: af.i64[{length}]
    y: af.i64
    low: af.total(af.i64)
    row: af.total(af.i64[5])

    def start(v, g):
        for k in range({length}):
            v.x[k] = 7 + k
        g.low += -50
        return True

    def compute(v, u):
        v.whole += 0

    def update(v, p, g, old, step):
        {body}
        return False
"""
_numbers = itertools.count()


def indexed(body: str, length: int = LENGTH) -> type:
    text = HEAD.format(length=length, body=body.replace("\n", "\n        "))
    module = ModuleType(f"indexed_{next(_numbers)}")
    module.__file__ = f"/nowhere/{module.__name__}.py"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    sys.modules[module.__name__] = module
    exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
    return module.Indexed


OUTSIDE = [
    "v.y = v.x[min(v.number + 9223372036854775807, 3)]",
    "v.y = v.x[(v.small + 9223372036854775807) // 2305843009213693952]",
    "v.y = v.x[min(p.big * 3 + v.small, 3)]",
    "v.y = v.x[min(g.edges + 9223372036854775807, 3)]",
    "v.y = v.x[min(g.low, 3)]",
    "v.y = v.x[max(v.mass % 4 - 2, 0)]",
    "v.y = v.x[min(max(v.mass, v.small), 3)]",
    "v.y = v.x[min(v.mass, v.whole % 4)]",
    "v.y = v.x[max(v.mass % 4, p.n - 5)]",
    "i = v.number + 9223372036854775807\nv.y = v.x[min(i, 3)]",
    "i = v.mass % 4 - 2\nv.y = v.x[max(i, 0)]",
    "v.y = element(v, min(v.number + 9223372036854775807, 3))",
    "v.x[min(v.number + 9223372036854775807, 3)] = 5",
    "g.row[min(v.number + 9223372036854775807, 3)] += 1",
    "for k in range(v.mass, 5):\n    v.y += v.x[k]",
    "for k in range(4, v.mass, -1):\n    v.y += v.x[k]",
    "if v.number > 2:\n    i = 3\nv.y = v.x[i - 1]",
    "for k in range(2, 2 + v.number % 2):\n    v.y += 1\nv.y = v.x[k - 2]",
]


@pytest.mark.parametrize("body", OUTSIDE)
def test_an_index_that_can_be_outside_is_refused(body: str) -> None:
    with pytest.raises(ProgramError, match="can be outside of 0 to"):
        lower(indexed(body), {})


@pytest.mark.parametrize("length", [5, LENGTH])
def test_an_index_that_is_inside_by_arithmetic_is_taken(length: int) -> None:
    body = """\
v.y = v.x[(v.number + 9223372036854775807) % 5] + 1000 * v.x[max(min(v.whole * 5, 4), 0)]
for k in range(4, -1, -1):
    v.y += v.x[k] * 0
v.y += 1000000 * v.x[min(v.mass, 4)] + 1000000000 * v.x[(v.mass - 9) % 5]"""
    given = {"whole": np.array([0, 1, -1, 2**62]), "mass": np.array([0, 3, 2**64 - 1, 2**63], np.uint64)}
    found = af.run(indexed(body, length), af.load("path:4"), given=given, max_supersteps=1)
    first = [[(k + 2**63 - 1 + 2**63) % 2**64 - 2**63 for k in range(4)][k] % 5 for k in range(4)]
    second = [0, 4, 0, 4]  # 2**62 * 5 wraps around to 2**62
    third, fourth = [0, 3, 4, 4], [(m - 9) % 2**64 % 5 for m in given["mass"].tolist()]
    wanted = [
        sum((7 + k) * 1000**place for place, k in enumerate(row))
        for row in zip(first, second, third, fourth, strict=True)
    ]
    assert found["y"].tolist() == wanted


UNASSIGNED = {
    "if": "if v.number > 1:\n    i = 3\nv.y = v.x[i]",
    "loop": "for k in range(2 * (v.number // 2)):\n    v.y += 1\nv.y = 7 + k",
    "while": "left = 3 * (v.number // 2)\nwhile left > 0:\n    i = left\n    left -= 3\nv.y = 7 + i",
    "else": "if v.number > 1:\n    i = 3\nelif v.number > 5:\n    i = 4\nelse:\n    v.y = 1\nv.y = 7 + i",
}


@pytest.mark.parametrize("how", UNASSIGNED)
def test_a_local_that_is_not_assigned_is_0_in_kernels(how: str) -> None:
    """Also as an index; plain Python says where it is read."""
    program = indexed(UNASSIGNED[how])
    found = af.run(program, af.load("path:4"), max_supersteps=1)
    assert found["y"].tolist()[:2] == [7, 7]
    assert found["y"][3] > 7
    with pytest.raises(ProgramError, match=r"cannot access local variable.*vertex 0, superstep 0") as caught:
        af.run(program, af.load("path:4"), max_supersteps=1, debug=True)
    assert "in compiled code it is 0" in caught.value.remedy


def test_locals_of_every_type_begin_with_0() -> None:
    body = """\
if v.number > 1:
    count, share, found, row, mass, many = v.small, 0.5, True, v.x, v.mass, 2 ** (v.number + 1)
else:
    v.y = 100
v.y += count + int(share * 4) + int(found) + row[3] + mass % 8 + many"""
    given = {"small": np.array([9, 9, 9, -3]), "mass": np.array([5, 5, 5, 2**64 - 1], np.uint64)}
    found = af.run(indexed(body), af.load("path:4"), given=given, max_supersteps=1)
    assert found["y"].tolist() == [100, 100, 9 + 2 + 1 + 10 + 5 + 8, -3 + 2 + 1 + 10 + 7 + 16]


def test_what_is_assigned_on_every_path_has_no_beginning() -> None:
    body = """\
if v.number > 2:
    i = 3
elif v.number > 1:
    return True
else:
    i = 1
for k in range(i):
    j = k
    v.y += j
v.y += i"""
    assert indexed(body) is not None
    said = [type(node).__name__ for node in lower(indexed(body), {}).functions["update"].body]
    assert said == ["If", "For", "Assign", "Return"]


def test_a_loop_up_to_a_u64_that_has_no_sign_is_said_in_plain_python() -> None:
    """Kernels count with a sign, and go on below 0."""
    program = indexed("for k in range(v.mass, 2):\n    v.y += 1")
    given = {"mass": np.array([0, 2**64 - 3], np.uint64)}
    assert af.run(program, af.load("path:2"), given=given, max_supersteps=1)["y"].tolist() == [2, 5]
    with pytest.raises(ProgramError, match=r"18446744073709551613 in range is .* does not fit in 64 bits"):
        af.run(program, af.load("path:2"), given=given, max_supersteps=1, debug=True)
