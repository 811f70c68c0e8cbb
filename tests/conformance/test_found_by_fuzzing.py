"""What random programs found: small programs on which ways to run them once differed (tests/fuzz)."""

import math
import warnings

import numpy as np
import pytest
from program_fuzzer.ways import Way

import arcflux as af


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


@af.program
class Rounds:
    """Sparse without a promise, and every vertex that receives sends again, changed or not."""

    low: af.i64

    def start(v):
        v.low = v.number
        return True

    def compute(v, u):
        v.low = min(v.low, 0)

    def update(v):
        return True


@af.program
class Lowest:
    """With a priority, and not without `wants`: who is in the frontier matters, by supersteps too."""

    low: af.i64

    def start(v):
        v.low = 1 + v.number
        return v.number == 2

    def wants(v):
        return v.low > 0

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.low < old.low

    def priority(v):
        return v.low


@af.program
class Measured:
    """Sparse, with a residual: who was measured once, and then received nothing, has not moved."""

    sparse = True
    x: af.i64

    def start(v):
        v.x = 100 - 10 * v.number
        return v.number < 2

    def compute(v, u):
        v.x = min(v.x, u.x - 30)

    def update(v, old):
        if v.x == old.x:
            return False
        return v.number == 2

    def residual(v, old):
        return abs(v.x - old.x)


@af.program
class Choosy:
    """Every vertex sends; some want nothing after the first superstep, and are not measured any more."""

    x: af.i64

    def start(v):
        return True

    def wants(v, step):
        return step == 0 or v.number > 1

    def init(v):
        v.x = 0

    def compute(v, u, step):
        v.x += step + 1

    def update(v, step):
        return step < 2

    def residual(v, old):
        return abs(v.x - old.x)


WAYS = [
    {"direction": "push"}, {"direction": "pull"}, {"direction": "auto"}, {"deterministic": True},
    {"parts": 2, "ranks_per_node": 1}, {"parts": 2, "ranks_per_node": 1, "direction": "pull"},
    {"parts": 2, "ranks_per_node": 1, "deterministic": True}, {"parts": 2, "exchange": "owners", "direction": "pull"},
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("program", [Rounds, Lowest, Measured, Choosy], ids=lambda p: p.name)
def test_ways_agree(program: object, way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = af.run(program, graph, debug=True, max_supersteps=6)
        found = af.run(program, graph, max_supersteps=6, **way)
    assert {name: values.tolist() for name, values in found.values.items()} == {
        name: values.tolist() for name, values in plain.values.items()
    }
    assert found.converged == plain.converged
    if program is not Lowest:  # buckets are no supersteps
        assert [step.frontier for step in found.history] == [step.frontier for step in plain.history]
        assert [step.residual for step in found.history] == [step.residual for step in plain.history]


def test_what_they_give() -> None:
    """Plain Python is right, too."""
    graph = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    rounds = af.run(Rounds, graph, debug=True)
    assert [step.frontier for step in rounds.history] == [5, 4, 3, 2, 1]
    assert af.run(Lowest, graph, debug=True)["low"].tolist() == [1, 2, 3, 3, 3]
    assert [step.residual for step in af.run(Measured, graph, debug=True).history] == [40.0, 40.0]


# --- numbers that do not fit, and NaN

# Ways that share few kernels: what differs is the arithmetic, not who sends.
COMPILED = [{"direction": "push"}, {"direction": "pull"}, {"parts": 2, "ranks_per_node": 1, "direction": "pull"}]


@af.program
class Unequal:
    """NaN is not what it was: update says so of a vertex that no message changed."""

    x: af.f32
    low: af.flag

    def start(v):
        v.x = 0 / v.out_degree
        return True

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.x != old.x


@af.program
class Narrow:
    """Sums of 8 bits, of which update sees what the field keeps; the least of numbers that it cannot hold."""

    total: af.i8
    row: af.u8[2]
    low: af.i8
    some: af.i8
    seen: af.i64

    def start(v):
        v.total = 100
        v.row = 200
        return True

    def compute(v, u):
        v.total += 100
        v.row += 100
        v.low = min(v.low, 0 - 300 - u.number)
        v.some = af.any(300)

    def update(v):
        v.seen = 1000000 * v.total + 1000 * v.row[1] + v.some
        v.total = v.total + 200
        v.seen = 1000 * v.seen + v.total
        return False


@af.program
class Columns:
    """Columns without a sign: their differences have one."""

    x: af.i64
    below: af.i64
    turned: af.i64

    def start(v):
        return True

    def compute(v, u, edge):
        v.x += (edge.weight - edge.cap) // 2
        v.below += 1 if edge.weight - edge.cap < 0 else 0
        v.turned += -edge.weight

    def update(v):
        return False


@af.program
class Overflowing:
    """Sums and products beyond 64 bits wrap around, whatever a compiler could conclude if they never did."""

    large: af.i64
    least: af.i8
    turned: af.i64
    size: af.i64
    total: af.i64
    cube: af.i64
    rounded: af.i64

    def start(v):
        v.least = -128
        v.total = 9223372036854775807
        return True

    def compute(v, u):
        v.total += u.number + 1

    def update(v):
        v.large = min(max(v.number + 9223372036854775807, 0), 4294967295)
        v.turned = -v.least
        v.size = abs(v.least)
        v.cube = (v.number + 3000000000) ** 3
        v.total = min(v.total, 0)
        v.rounded = math.floor(math.log(0 * v.number))
        return False


COLUMNS = {name: np.array(row, np.uint8) for name, row in {"weight": [3, 5], "cap": [5, 3]}.items()}
NUMBERS = [
    (Narrow, {"total": [-112, -112], "row": [[44, 44]] * 2, "low": [-128, -128], "some": [44, 44],
              "seen": [(1000000 * -56 + 1000 * 44 + 44) * 1000 - 112] * 2}),
    (Columns, {"x": [1, -1], "below": [0, 1], "turned": [-5, -3]}),
    (Overflowing, {"large": [4294967295, 0], "turned": [128, 128], "size": [128, 128],
                   "total": [-(2**63) + 1, -(2**63)], "cube": [_wrapped(3000000000**3), _wrapped(3000000001**3)],
                   "rounded": [-(2**63)] * 2}),
]  # fmt: skip


@pytest.mark.parametrize("way", COMPILED, ids=str)
@pytest.mark.parametrize(("program", "wanted"), NUMBERS, ids=lambda p: getattr(p, "name", ""))
def test_numbers_that_do_not_fit(program: object, wanted: dict[str, object], way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 0], columns=COLUMNS)
    found = af.run(program, graph, **way)
    assert {name: found.values[name].tolist() for name in wanted} == wanted


@pytest.mark.parametrize("way", COMPILED, ids=str)
def test_nan_is_sent_on_by_an_update_that_sees_it(way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = af.run(Unequal, graph, max_supersteps=3, **way)
    assert [step.frontier for step in found.history] == [3, 1]


@af.program
class Scaled:
    """A narrow float meets a wide one, from an edge column: what comes of them is wide."""

    x: af.f32
    above: af.i64

    def start(v):
        v.x = 1.0
        return True

    def compute(v, u, edge):
        v.above += 1 if u.x * edge.part > 0.1 else 0

    def update(v):
        return False


@pytest.mark.parametrize("way", [{"debug": True}, *COMPILED], ids=str)
@pytest.mark.parametrize(("dtype", "above"), [("f8", 0), ("f4", 1)])
def test_a_column_of_floats_has_its_own_width(way: dict[str, object], dtype: str, above: int) -> None:
    graph = af.Graph.from_edges([0], [1], columns={"part": np.array([0.1], dtype)})
    assert af.run(Scaled, graph, **way)["above"].tolist() == [0, above]


HALF = 0.5


@af.program
class Quotients:
    """A float that stands in the program, or in the module, by a whole number that is 0."""

    x: af.i64
    y: af.f64
    z: af.f64

    def start(v):
        return True

    def compute(v, u):
        v.y += 1.0 / u.x
        v.z += HALF / u.x

    def update(v):
        return False


@pytest.mark.parametrize("way", [{"debug": True}, {"direction": "pull"}], ids=str)
def test_a_float_by_a_whole_number_that_is_0_is_infinite(way: dict[str, object]) -> None:
    found = af.run(Quotients, af.Graph.from_edges([0], [1]), **way)
    assert found["y"].tolist() == found["z"].tolist() == [0.0, math.inf]


@af.program
class Mixed:
    """What is below 0 does not fit where it meets a u64: compiled code wraps around, plain Python says so."""

    x: af.u64

    def start(v):
        v.x = 3
        return True

    def compute(v, u):
        v.x += max(u.number - 2, u.x)

    def update(v):
        return False


def test_the_largest_of_a_number_below_0_and_a_u64() -> None:
    graph = af.Graph.from_edges([0], [1])
    assert af.run(Mixed, graph, direction="pull")["x"].tolist() == [3, 1]  # 3 - 2, modulo 2 ** 64
    with pytest.raises(af.errors.ProgramError, match="-2 in max is -2, which does not fit in 64 bits without a sign"):
        af.run(Mixed, graph, debug=True)


@af.program
class Unheard:
    """A sparse program on one vertex, which sends to nobody: no vertex brings anything to the superstep's total."""

    sparse = True
    heard: af.flag
    mass: af.total(af.f64)

    def start(v, g):
        g.mass += 0.25
        return True

    def compute(v, u):
        v.heard = af.first(True)

    def update(v, g):
        g.mass += 1
        return False


@pytest.mark.parametrize("nodes", [{}, {"ranks_per_node": 1}])
@pytest.mark.parametrize(
    "way", [{"debug": True}, {"threads": 2}, {"parts": 2, "exchange": "readers", "direction": "pull"}]
)
def test_a_single_vertex_brings_nothing_without_a_message(way: dict[str, object], nodes: dict[str, object]) -> None:
    graph = af.Graph.from_edges(np.array([], np.int64), np.array([], np.int64), vertices=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {**way, **(nodes if "parts" in way else {}), "deterministic": "debug" not in way}
        result = af.run(Unheard, graph, max_supersteps=1, **options)
    assert [step.totals for step in result.history] == [{"mass": 0.0}]


@af.program
class Kept:
    """A monotone program, whose promise debug checks by a second run; on no vertices there is nothing to compare."""

    monotone = True
    least: af.f64
    several: af.i32[3]

    def compute(v, u):
        v.least = min(v.least, u.least)
        v.several = min(v.several, u.several)


@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 2}, {"parts": 2, "ranks_per_node": 1}])
def test_a_monotone_program_on_no_vertices(way: dict[str, object]) -> None:
    graph = af.Graph.from_edges(np.array([], np.int64), np.array([], np.int64), vertices=0, directed=True)
    result = af.run(Kept, graph, **way)
    assert result["least"].shape == (0,)
    assert result["several"].shape == (0, 3)


def lessened(number, by=1):
    number = number - by
    return number


@af.program
class Asked:
    """Mail that is combined is a number, also for a helper."""

    x: af.i64
    parts: af.mail(af.i64, "sum")

    def start(v):
        for k in range(3):
            af.send(0, parts=v.number + k)
        return False

    def receive(v, parts):
        v.x = lessened(parts) + lessened(by=parts, number=0)


@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 2}, {"parts": 2, "ranks_per_node": 1}])
def test_a_helper_is_given_mail_that_is_combined(way: dict[str, object]) -> None:
    graph = af.Graph.from_edges(np.array([0, 1]), np.array([1, 2]))
    assert af.run(Asked, graph, **way)["x"].tolist() == [-1, 0, 0]


@af.program
class Narrow:
    """What does not fit becomes the nearest number that does, and vectors of narrow floats are added up."""

    low: af.i8
    high: af.i8
    wide: af.i64
    same: af.i8
    lows: af.i8[2]
    wides: af.i64[2]
    halves: af.f32[2]

    def start(v):
        v.low = -7
        v.high = 7
        v.wide = (100 * v.number + 1000) * (-1 if v.number == 2 else 1)
        v.wides[0] = v.wide
        v.wides[1] = -v.wide
        v.halves = 0.5
        return True

    def compute(v, u):
        v.low = min(v.low, u.wide)
        v.high = max(v.high, u.wide)
        v.lows = min(v.lows, u.wides)
        v.same = min(v.same, u.low)
        v.halves += u.halves

    def update(v):
        return False


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("parts", [{}, {"parts": 2, "ranks_per_node": 1, "exchange": "readers"}], ids=str)
def test_the_nearest_number_that_a_narrow_field_holds(direction: str, parts: dict[str, object]) -> None:
    graph = af.Graph.from_edges(np.array([0, 1, 2]), np.array([1, 2, 0]))
    with warnings.catch_warnings(), Way({"direction": direction, **parts}).active() as options:
        warnings.simplefilter("ignore")
        result = af.run(Narrow, graph, max_supersteps=1, **options)
    assert result["low"].tolist() == [-128, -7, -7]
    assert result["high"].tolist() == [7, 127, 127]
    assert result["same"].tolist() == [-7, -7, -7]
    assert result["lows"].tolist() == [[-128, 0], [0, -128], [0, -128]]
    assert result["halves"].tolist() == [[1.0, 1.0]] * 3


@af.program
class Even:
    """Its residual is the tolerance, and a run ends when it is less."""

    tolerance: float = 2.0
    x: af.i64

    def compute(v, u):
        v.x += 1

    def update(v, step):
        return step < 2

    def residual(v):
        return 1.0


@pytest.mark.parametrize(
    "way", [Way({"debug": True}, interpret=False), Way({"direction": "pull", "threads": 2})], ids=str
)
def test_a_residual_that_is_the_tolerance_goes_on(way: Way) -> None:
    graph = af.Graph.from_edges(np.array([0, 1]), np.array([1, 0]))
    with way.active() as options:
        assert af.run(Even, graph, **options).supersteps == 3
        assert af.run(Even, graph, tolerance=2.5, **options).supersteps == 1
