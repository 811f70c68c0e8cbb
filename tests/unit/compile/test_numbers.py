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
        elif p.which == 9 and v.number == 2:
            v.x = (v.n << 62) >> (v.x + 1)
        elif p.which == 10 and v.number == 2:
            v.n = (p.which - 11) % (v.n + 2)
        return False


@pytest.mark.parametrize(
    ("which", "said", "becomes"),
    [(0, "5 // 0: there is no division by 0", 0), (1, "5 % 0: there is no division by 0", 0),
     (2, "2 \\+ 9223372036854775806 is 9223372036854775808, which does not fit", -(2**63)),
     (3, "int\\(inf\\): there is no such integer", 2**63 - 1), (4, "2 \\*\\* -1: an integer to a power below 0", 0),
     (5, "1 << 63 is 9223372036854775808, which does not fit in 64 bits", -(2**63)),
     (6, "2 - 3 is -1, which does not fit in 64 bits without a sign", 2**64 - 1), (7, "y becomes NaN", None),
     (8, "9223372036854775808 in min is 9223372036854775808, which does not fit", -(2**63)),
     (9, "9223372036854775808 >> 1: an operand is 9223372036854775808, which does not fit in 64 bits", -(2**62)),
     (10, "-1 % 4: an operand is -1, which does not fit in 64 bits without a sign", 3)],
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
            assert int(fast["n" if which in (6, 10) else "x"][2]) == becomes


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


@af.program
class Meetings:
    """Flags, narrow floats and integers without a sign, where they meet others."""

    truth: bool = True
    three: int = 3
    large: af.u64
    yes: af.flag
    narrow: af.f32
    small: af.i16
    most: af.u64
    sum: af.u64
    less: af.u64
    times: af.u64
    bits: af.f64
    power: af.f64
    root: af.f64
    long: af.f64
    angle: af.f64
    either: af.i64
    one: af.f64
    floor: af.i64

    def start(v, p):
        v.most = max(v.large == v.large, v.large // p.truth)
        v.sum = v.large + (v.number > 3)
        v.less = v.large - v.yes
        v.times = v.large * p.truth
        v.bits = (v.yes | v.large) / 2
        v.power = 1.0 * math.pow(v.narrow, v.small)
        v.root = p.three**v.narrow + 0.0
        v.long = math.hypot(v.narrow, v.large)
        v.angle = math.atan2(v.narrow, v.small)
        v.floor = math.floor(9223372036854775807 - v.number) - math.ceil(9007199254740993 + v.number)
        v.one = float(v.yes) + float(p.truth) + float(v.large > 1)
        if (v.small and v.large) or not (v.yes or v.narrow):
            v.either = 1
        return True

    def compute(v, u):
        v.large = max(v.large, u.large)

    def update(v, step):
        return v.small and step < 1


def test_flags_and_narrow_floats_meet_others_as_in_plain_python() -> None:
    given = {
        "large": np.array([2**63 + 1, 2**64 - 1, 1, 2**53 + 1], np.uint64),
        "yes": [True, False, True, False], "narrow": [0.1, 2.5, 8.205903, 0.7], "small": [3, -1, 0, 2],
    }  # fmt: skip
    graph = af.load("path:4")
    plain = af.run(Meetings, graph, given=given, debug=True)
    assert plain["most"].tolist() == given["large"].tolist()
    assert plain["sum"].tolist() == given["large"].tolist()
    assert plain["power"][0] == np.float32(np.float32(0.1).astype(float) ** 3)
    fast = af.run(Meetings, graph, given=given)
    assert fast.supersteps == plain.supersteps
    for name, values in plain.values.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(fast[name], values, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(fast[name], values, err_msg=name)


@pytest.mark.parametrize("word", ["and", "or"])
def test_the_value_of_and_and_or_of_numbers_is_refused(word: str, tmp_path: Path) -> None:
    """Kernels would make one type of both; as a condition it is fine (Meetings)."""
    with pytest.raises(ProgramError, match=rf"v\.x is int64, and `{word}` gives flags") as caught:
        lower(odd(f"v.y = v.x {word} v.y", tmp_path), {})
    assert "v.x != 0" in caught.value.remedy


@af.program
class Narrowest:
    """The smallest numbers of narrow fields, as whole numbers whose sign is turned."""

    tiny: af.i8
    short: af.i16
    half: af.i32
    octet: af.u8
    pair: af.i8[2]
    sizes: af.i64[6]
    angle: af.f64
    nothing: af.f64
    summed: af.i64

    def compute(v, u):
        v.summed += abs(int(u.short)) - int(u.octet)

    def update(v):
        v.sizes[0] = abs(int(v.tiny))
        v.sizes[1] = abs(int(v.short))
        v.sizes[2] = -int(v.half)
        below = int(v.octet)
        v.sizes[3] = -below
        v.sizes[4] = abs(int(v.pair[0])) - int(v.pair[1])
        least = int(v.tiny)
        v.sizes[5] = -least
        v.angle = math.atan2(abs(int(v.short)), 1.0)
        v.nothing = int() + float() + bool()  # noqa: UP018 - what kernels make of them
        return False


@pytest.mark.filterwarnings("ignore:.*stopped after 1 superstep ")
@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 1}, {"direction": "push"}, {"parts": 2}])
def test_whole_numbers_have_64_bits_whatever_they_are_made_of(way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 0])
    given = {"tiny": [-128, 5], "short": [-32768, 5], "half": [-(2**31), 5], "octet": [200, 5]}
    given["pair"] = [[-128] * 2] * 2
    found = af.run(Narrowest, graph, given=given, max_supersteps=1, **way)
    assert found["sizes"].tolist() == [[128, 32768, 2**31, -200, 256, 128], [5, 5, -5, -5, 256, -5]]
    assert found["summed"].tolist() == [0, 32768 - 200]
    assert found["angle"].tolist() == [math.atan2(32768, 1), math.atan2(5, 1)]
    assert found["nothing"].tolist() == [0.0, 0.0]


def halves_below(n):
    """The sum of halves, each turned below 0."""
    total = 0.0
    for k in range(n):
        total += -k / 2
    return total


@af.program
class Counters:
    """Loops to bounds without a sign, whose counters have one all the same."""

    octet: af.u8
    word: af.u32
    long: af.u64
    half: af.i32
    x: af.f64[6]

    def compute(v, u):
        v.word = max(v.word, u.word)

    def update(v):
        for k in range(v.octet):
            v.x[0] += -k / 2
        for k in range(v.word):
            v.x[1] += (k - 5) / 2
        for k in range(v.long):
            v.x[2] += -k / 2
        for k in range(v.long, 0, -1):
            v.x[3] += -k / 2
        for k in range(v.half, -2147483646):
            v.x[4] += abs(k) / 2 - k
        v.x[5] = halves_below(v.octet)
        return False


@pytest.mark.filterwarnings("ignore:.*stopped after 1 superstep ")
@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 1}, {"parts": 2}])
def test_loops_count_with_a_sign_whatever_their_bounds(way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 0])
    given = {"octet": [200, 0], "word": [20, 20], "long": [5, 1], "half": [-(2**31), 0]}
    found = af.run(Counters, graph, given=given, max_supersteps=1, **way)
    far = sum(1.5 * k for k in (2**31, 2**31 - 1))
    assert found["x"].tolist() == [[-9950.0, 45.0, -5.0, -7.5, far, -9950.0], [0.0, 45.0, 0.0, -0.5, 0.0, 0.0]]


@af.program
class Near:
    """Integers beside floats that are near them, where not every integer is a float."""

    near: float = 9007199254740992.0
    count: af.i64
    mass: af.u64
    x: af.f64
    y: af.f32
    below: af.i64
    above: af.i64
    same: af.i64
    other: af.i64

    def compute(v, u):
        v.below += 0

    def update(v, p):
        v.below = int(v.count < v.x) + 2 * int(v.count <= v.x) + 4 * int(v.x > v.mass) + 8 * int(v.y >= v.count)
        v.above = int(v.count > v.x) + 2 * int(v.count >= v.x) + 4 * int(v.x < v.mass) + 8 * int(v.y <= v.count)
        v.same = int(v.count == v.x) + 2 * int(v.x == v.mass) + 4 * int(v.count == p.near) + 8 * int(v.y == v.count)
        v.other = int(v.count != v.x) + 2 * int(v.x != v.mass) + 4 * int(v.x != 9007199254740993)
        return False


@pytest.mark.parametrize("way", [{"debug": True}, {"direction": "pull"}, {"direction": "push"}, {"parts": 2}], ids=str)
def test_an_integer_is_compared_with_a_float_as_a_float(way: dict[str, object]) -> None:
    """2**53 + 1 is half way between two floats, and becomes the even one."""
    count = np.array([2**53, 2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**53) - 1, 2**24 + 1])
    x = np.array([2.0**53, 2.0**53, 2.0**53, 2.0**63, -(2.0**53), 2.0**24])
    given = {"count": count, "mass": np.abs(count).astype(np.uint64), "x": x, "y": x.astype(np.float32)}
    found = af.run(Near, af.Graph.from_edges([0], [1], vertices=6), given=given, **way)
    assert found["below"].tolist() == [2 + 8, 2 + 8, 0, 2 + 8, 2 + 8, 0]
    assert found["above"].tolist() == [2 + 8, 2 + 8, 1 + 2 + 4 + 8, 2 + 8, 2 + 4 + 8, 1 + 2 + 4 + 8]
    assert found["same"].tolist() == [15, 15, 0, 3 + 8, 1 + 8, 0]
    assert found["other"].tolist() == [0, 0, 3, 4, 2 + 4, 3 + 4]


@af.program
class Narrowed:
    """Integers that become floats of 32 bits, beside one, in a function and in a field."""

    count: af.i64
    mass: af.u64
    one: af.f32
    added: af.f32
    times: af.f32
    most: af.f32
    kept: af.f32
    row: af.f32[2]

    def compute(v, u):
        v.added += 0.0

    def update(v):
        v.added = v.one + v.count
        v.times = v.mass * v.one
        v.most = max(v.count, v.one)
        v.kept = v.count
        v.row = v.count
        return False


@pytest.mark.parametrize("way", [{"debug": True}, {"direction": "pull"}, {"direction": "push"}, {"parts": 2}], ids=str)
def test_an_integer_is_rounded_once_to_a_narrow_float(way: dict[str, object]) -> None:
    """2**60 + 2**36 + 1 is nearer to the float above; rounded to 64 bits first, it would be half way."""
    count = np.array([2**60 + 2**36 + 1, 2**53 + 2**29 + 1, 2**63 - 1, 2**24 + 1])
    nearest = [2.0**60 + 2.0**37, 2.0**53 + 2.0**30, 2.0**63, 2.0**24]
    given = {"count": count, "mass": count.astype(np.uint64), "one": np.ones(4, np.float32)}
    found = af.run(Narrowed, af.Graph.from_edges([0], [1], vertices=4), given=given, **way)
    for name in ("added", "times", "most", "kept"):
        assert found[name].tolist() == nearest, name
    assert found["row"].tolist() == [[x, x] for x in nearest]
