"""Random numbers of programs: fixed values, the same everywhere, and without patterns."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from program_fuzzer.interpret import interpreted
from test_plain_python import GRAPH, loaded, program_of, same_everywhere

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError
from arcflux.spmd.counter import drawn

SIZE = 1 << 14


def numbers(**given: object) -> NDArray[np.float64]:
    """Random numbers of which one word runs through 0, 1, 2, ..."""
    (name,) = [name for name, value in given.items() if value is None]
    words = {"number": 5, "step": 2, "k": 0, "seed": 9, **given}
    made = []
    for x in range(SIZE):
        words[name] = x
        made.append(af.random(words["number"], words["step"], words["k"], words["seed"]))
    return np.array(made)


def test_known_values() -> None:
    assert [af.random(v, step) for v, step in itertools.product((0, 1), (0, 1))] == KNOWN
    assert af.random(3, 0, k=1) == drawn(0, (3,), 0, 1)
    assert drawn(7, (1, 2), 3, 4) == BETWEEN
    assert drawn(-1, (5,), 1 << 63, 0) == drawn((1 << 64) - 1, (5,), -(1 << 63), 0)


KNOWN = [0.1296456182997474, 0.591449498199162, 0.40888044555588665, 0.0840688972389676]
BETWEEN = 0.9967884018436424


@pytest.mark.parametrize("name", ["number", "step", "k", "seed"])
def test_they_are_spread_evenly_and_neighbours_are_independent(name: str) -> None:
    found = numbers(**{name: None})
    assert 0 <= found.min() < found.max() < 1
    cells = 64
    counts = np.bincount((found * cells).astype(int), minlength=cells)
    assert _chi_square(counts) < 120  # 63 degrees of freedom: one in 20,000 is larger
    pairs = np.bincount((found[:-1] * 8).astype(int) * 8 + (found[1:] * 8).astype(int), minlength=64)
    assert _chi_square(pairs) < 120
    for distance in (1, 2, 3, 16, 1024):
        assert abs(np.corrcoef(found[:-distance], found[distance:])[0, 1]) < 4.5 / SIZE**0.5
    bits = (found * 2.0**53).astype(np.uint64)
    for bit in range(53):
        assert abs(np.mean((bits >> np.uint64(bit)) & np.uint64(1)) - 0.5) < 2.5 / SIZE**0.5


@pytest.mark.parametrize(("one", "other"), [("number", "step"), ("step", "k"), ("number", "k"), ("number", "seed")])
def test_two_words_do_not_stand_for_each_other(one: str, other: str) -> None:
    first, second = (numbers(**{name: None, "number" if name != "number" else "step": 7}) for name in (one, other))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / SIZE**0.5
    rows = [drawn(0, (a,), b, 0) for a in range(40) for b in range(40)]
    assert len(set(rows)) == len(rows)


def _chi_square(counts: NDArray[np.int64]) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2).sum() / expected)


def tossed(v, step, p):
    """A helper that draws."""
    return af.random(v, step, k=5, seed=p.seed) < 0.5


@af.program
class Walk:
    """Draws for v, u, edges and numbers, with k and seed."""

    seed: int = -3
    rounds: int = 3
    x: af.f64
    y: af.f64
    heads: af.i64

    def start(v):
        v.x = af.random(v, -1)
        return True

    def compute(v, u, edge, p, step):
        v.x = max(v.x, af.random(u, step, seed=p.seed) * u.x)
        v.y = min(v.y, -af.random(edge, step) - af.random(u.number + v.number, 0, 1, 2))
        v.heads += int(tossed(u, step, p))

    def update(v, old, p, step):
        v.x = (v.x + af.random(old, step, k=v.number)) / 2
        return step + 1 < p.rounds


def test_they_are_the_same_in_every_way_to_run() -> None:
    result = same_everywhere(Walk)
    assert result["heads"].sum() > 0
    directed = af.load("kron:4,directed=1")
    assert not np.array_equal(af.run(Walk, directed, debug=True)["y"], np.zeros(directed.vertices))


def test_an_undirected_edge_has_one_number() -> None:
    @af.program
    class Seen:
        low: af.f64
        high: af.f64

        def compute(v, u, edge):
            v.low = min(v.low, -af.random(edge, 0))
            v.high = max(v.high, af.random(edge, 0))

    for directed in (True, False):
        graph = af.Graph.from_edges([0], [1], directed=directed)
        found = same_on(Seen, graph)
        both = graph if not directed else af.Graph.from_edges([0, 1], [1, 0])
        high = same_on(Seen, both)["high"]
        assert bool(high[0] == high[1]) is not directed
        assert found["high"][1] == drawn(0, (0, 1), 0, 0)


def same_on(program: object, graph: af.Graph) -> af.Result:
    """The result of kernels, which is that of plain Python."""
    plain = af.run(program, graph, debug=True)
    with interpreted():
        other = af.run(program, graph)
    for name, values in plain.values.items():
        assert np.array_equal(values, other[name])
    return other


def test_compiled_kernels_give_the_same_bits() -> None:
    plain = af.run(Walk, GRAPH, debug=True)
    for way in ({"threads": 2}, {"direction": "push"}):
        other = af.run(Walk, GRAPH, **way)
        for name, values in plain.values.items():
            assert np.array_equal(values, other[name])


REFUSED = {
    "v.x = af.random(v)": "without a vertex and a superstep",
    "v.x = af.random(v, 0.5)": "af.random of 0.5, which is float",
    "v.x = af.random(v.x, step)": "af.random of v.x, which is float64",
    "v.x = af.random(v, step, 1, 2, 3)": "takes v, step, k and seed",
    "v.x = af.random(v, step, salt=3)": "takes v, step, k and seed",
    "v.x = af.random(v, step, step=3)": "takes v, step, k and seed",
    "v.x = af.random(p, step)": "p by itself has no value",
    "v.x = af.random(v, step, k=v.f)": "af.random of v.f, which is float64[3]",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused_with_the_line_the_reason_and_a_remedy(line: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        lower(loaded(tmp_path, program_of(f"{line}\nreturn False")).P, {})
    assert REFUSED[line] in str(caught.value)
    assert f"\n    {line}" in str(caught.value)
    assert caught.value.remedy
