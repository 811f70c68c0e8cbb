"""One meaning of numbers: compiled code gives what plain Python gives, or plain Python says what went astray."""

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))
import programs


def test_compiled_code_gives_what_plain_python_gives() -> None:
    graph, given = programs.numbers()
    plain = af.run(programs.Numbers, graph, given=given, debug=True)
    for how in ({"direction": "pull"}, {"direction": "push"}, {"parts": 2, "ranks_per_node": 1}):
        fast = af.run(programs.Numbers, graph, given=given, **how)
        for name, values in plain.values.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(fast[name], values, rtol=1e-15, err_msg=name)
            else:
                np.testing.assert_array_equal(fast[name], values, err_msg=name)


@af.program
class Sums:
    """What u sends is wider than its fields, and the minimum is taken in a narrow one."""

    level: af.i32
    far: af.i64
    mass: af.u64
    best: af.i32

    def start(v):
        v.level = 2147483647
        v.mass = 18446744073709551000 - v.number
        v.best = 5
        return True

    def compute(v, u):
        v.far = max(v.far, u.level * 2 + 1)
        v.mass = min(v.mass, u.mass // 2 + 9223372036854775807)
        v.best = min(v.best, u.level * 1000)

    def update(v, old):
        return v.far > old.far


def test_what_is_sent_has_64_bits_in_every_direction() -> None:
    graph = af.load("kron:5")
    plain = af.run(Sums, graph, debug=True)
    assert plain["far"].max() == 2**32 - 1
    for how in ({"direction": "pull"}, {"direction": "push"}, {"parts": 2, "exchange": "owners", "ranks_per_node": 1}):
        fast = af.run(Sums, graph, **how)
        for name, values in plain.values.items():
            np.testing.assert_array_equal(fast[name], values, err_msg=f"{name} {how}")


@af.program
class Odd:
    """Each `which` goes astray in another way, at the vertex 2 alone."""

    which: int = 0
    x: af.i64
    y: af.f64
    n: af.u64

    def start(v):
        v.x = 2 - v.number
        v.n = v.number
        return True

    def compute(v, u):
        v.y += 0.0

    def update(v, p):
        if p.which == 0:
            v.x = 5 // v.x
        elif p.which == 1:
            v.x = 5 % v.x
        elif p.which == 2 and v.number == 2:
            v.x = (v.number + 9223372036854775806) - v.x
        elif p.which == 3:
            v.x = int(math.inf) if v.number < 0 else int(v.number / (v.x * 1.0))
        elif p.which == 4:
            v.x = 2 ** (1 - v.number)
        elif p.which == 5:
            v.x = 1 << (61 + v.number)
        elif p.which == 6 and v.number == 2:
            v.n = v.n - 3
        elif p.which == 7:
            v.y = math.sqrt(1.0 - v.number)
        elif p.which == 8:
            v.x = min(v.x, v.n << 62)
        return False


@pytest.mark.parametrize(
    ("which", "said", "becomes"),
    [(0, "5 // 0: there is no division by 0", 0), (1, "5 % 0: there is no division by 0", 0),
     (2, "2 \\+ 9223372036854775806 is 9223372036854775808, which does not fit", -(2**63)),
     (3, "int\\(inf\\): there is no such integer", 2**63 - 1), (4, "2 \\*\\* -1: an integer to a power below 0", 0),
     (5, "1 << 63 is 9223372036854775808, which does not fit in 64 bits", -(2**63)),
     (6, "2 - 3 is -1, which does not fit in 64 bits without a sign", 2**64 - 1), (7, "y becomes NaN", None),
     (8, "9223372036854775808 in min is 9223372036854775808, which does not fit", -(2**63))],
)  # fmt: skip
def test_what_goes_astray_is_named_and_has_one_value(which: int, said: str, becomes: int | None) -> None:
    graph = af.load("path:3")
    with pytest.raises(ProgramError, match=f"{said}.* at vertex 2, superstep 0"):
        af.run(Odd, graph, which=which, debug=True)
    for direction in ("push", "pull"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = af.run(Odd, graph, which=which, direction=direction)
        assert fast.converged is (becomes is not None)  # never with NaN
        if becomes is not None:
            assert int(fast["n" if which == 6 else "x"][2]) == becomes


def odd(body: str, tmp_path: Path, start: str = "pass") -> object:
    """A program whose update has this line."""
    path = tmp_path / f"odd_{abs(hash(body + start))}.py"
    path.write_text(
        "import math\nimport arcflux as af\n\n\n@af.program\nclass Line:\n    x: af.i64\n    y: af.f64\n\n"
        f"    def start(v):\n        {start}\n        return True\n\n    def compute(v, u):\n        v.x += 0\n\n"
        f"    def update(v):\n        {body}\n        return False\n"
    )
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.Line


@pytest.mark.parametrize(
    ("body", "said"),
    [("v.x = 5 // 0", "5 // 0: integer"), ("v.x = 7 % 0", "7 % 0: integer"), ("v.y = 1.0 / 0", "1.0 / 0: "),
     ("v.x = v.x << 64", "a shift by 64"), ("v.x = v.x >> -1", "a shift by -1"), ("v.x = 2 ** 70", "does not fit"),
     ("v.x = 18446744073709551616", "does not fit in 64 bits"), ("v.y = (-8.0) ** 0.5", "no real number"),
     ("v.x = 2 ** 100000", "too large"), ("v.x = 2 ** -1", "float")],
)  # fmt: skip
def test_numbers_that_stand_there_are_refused_when_they_have_no_value(body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        lower(odd(body, tmp_path), {})
    assert said in str(caught.value)


def test_a_power_below_0_that_stands_there_is_a_float(tmp_path: Path) -> None:
    line = odd("v.y = 2 ** -1 + (v.x + 4) ** -2", tmp_path)
    assert af.run(line, af.load("path:2"), debug=True)["y"].tolist() == [0.5625, 0.5625]
    assert af.run(line, af.load("path:2"))["y"].tolist() == [0.5625, 0.5625]


@pytest.mark.parametrize("exponent", ["-1", "-3", "(v.number - 1)", "v.x"])
def test_0_to_a_power_below_0_is_infinite(exponent: str, tmp_path: Path) -> None:
    """Of floats: Numba's loops for whole exponents end in a raw ZeroDivisionError."""
    line = odd(f"v.x = -1; v.y = v.y ** {exponent}", tmp_path)
    plain = af.run(line, af.load("path:2"), debug=True)["y"].tolist()
    assert plain[0] == math.inf
    assert af.run(line, af.load("path:2"))["y"].tolist() == plain


@pytest.mark.parametrize(("body", "said"), [("v.y = 0.0 * math.inf", "y becomes NaN"), ("v.x = 5 // v.x", "5 // 0")])
def test_what_goes_astray_in_start_is_said_to_be_there(body: str, said: str, tmp_path: Path) -> None:
    line = odd("pass", tmp_path, start=body)
    with pytest.raises(ProgramError, match=rf"{said}.* at vertex 0, in start"):
        af.run(line, af.load("path:2"), debug=True)


@af.program
class Divided:
    """Numbers and vectors, divided by numbers that no compiler knows."""

    x: af.i64
    y: af.i64
    rows: af.i64[3]
    quotient: af.i64
    rest: af.i64
    inverse: af.i64
    quotients: af.i64[3]
    rests: af.i64[3]
    met: af.i64

    def compute(v, u):
        v.met += 1

    def update(v):
        v.quotient, v.rest = v.x // v.y, v.x % v.y
        v.inverse = v.x // -1
        v.quotients, v.rests = v.rows // v.y, v.rows % v.y
        return False


@pytest.mark.parametrize("y", [-1, 1, 0, 7, -7, -(2**63)])
def test_a_division_never_traps_and_wraps_around(y: int) -> None:
    """The smallest integer by -1 ends a process on most hardware, unless it is kept from it."""
    graph = af.load("path:6")
    x = np.array([-(2**63), 2**63 - 1, 0, 1, -5, -(2**63) + 1])
    given = {"x": x, "y": np.full(6, y), "rows": np.repeat(x, 3).reshape(6, 3)}
    found = af.run(Divided, graph, given=given, max_supersteps=1)
    wrapped = [(int(a) // y + 2**63) % 2**64 - 2**63 if y else 0 for a in x]
    rests = [int(a) % y if y else 0 for a in x]
    assert found["quotient"].tolist() == wrapped
    assert found["rest"].tolist() == rests
    assert found["inverse"].tolist() == [(-int(a) + 2**63) % 2**64 - 2**63 for a in x]
    assert found["quotients"].tolist() == [[a] * 3 for a in wrapped]
    assert found["rests"].tolist() == [[a] * 3 for a in rests]
