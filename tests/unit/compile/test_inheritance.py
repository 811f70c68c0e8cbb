"""Programs that inherit, leave start or update out, take sets of vertices, and arrays as parameters."""

from pathlib import Path

import numpy as np
import pytest
from test_plain_python import GRAPH, loaded, same_everywhere

import arcflux as af
from arcflux.applications.target import find_target, split_settings, with_ids
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError, UsageError


@af.program
class Hops:
    """How many edges away the source is."""

    most: int = 3
    source: af.vertex
    hops: af.i64

    def start(v, p):
        v.hops = 0 if v.number == p.source else 1000
        return v.number == p.source

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old):
        return v.hops < old.hops


@af.program
class Near(Hops):
    """The same, but not further than `most`."""

    def update(v, old, p):
        return v.hops < old.hops and v.hops < p.most


@af.program
class Nearer(Near):
    most: int = 1
    hops: af.i32
    also: af.f32

    def init(v):
        v.also = 1.0


def test_a_program_has_what_it_does_not_say_from_its_base() -> None:
    assert list(Nearer.fields) == ["hops", "also"]
    assert Nearer.fields["hops"] == af.i32
    assert Nearer.parameters["most"].value == 1
    assert Nearer.functions["compute"] is Hops.functions["compute"]
    assert Nearer.functions["update"] is Near.functions["update"]
    assert Hops.parameters["most"].value == 3
    assert Nearer.doc == Near.doc
    far = same_everywhere(Hops, source=3)["hops"]
    near = same_everywhere(Near, source=3, most=2)["hops"]
    assert near.tolist() == [h if h <= 2 else 1000 for h in far]
    assert set(same_everywhere(Nearer, source=3)["hops"].tolist()) == {0, 1, 1000}


def test_an_algorithm_is_a_base_too() -> None:
    @af.program
    class Doubled(af.algorithms.PageRank):
        damping: float = 0.5

        def residual(v, old):
            return 2.0 * abs(v.rank - old.rank)

    ours, theirs = (af.run(p, "kron:5", debug=True) for p in (Doubled, af.algorithms.PageRank(damping=0.5)))
    assert ours.history[0].residual == 2 * theirs.history[0].residual
    assert np.array_equal(ours["rank"], theirs["rank"])


def test_a_promise_can_be_taken_back() -> None:
    @af.program
    class Promising(Hops):
        sparse = True

    @af.program
    class Silent(Promising):
        sparse = False

    assert "sparse" in Promising.promises
    assert "sparse" not in Silent.promises


def test_a_base_of_another_file_is_named_when_it_is_refused(tmp_path: Path) -> None:
    base = loaded(
        tmp_path,
        """
LIMIT = 5

@af.program
class Base:
    x: af.f64
    def start(v):
        return True
    def compute(v, u):
        v.x = max(v.x, u.x)
    def update(v, old):
        v.y = LIMIT
        return False
""",
    )
    mine = loaded(tmp_path, f"from {base.__name__} import Base\nLIMIT = 'text'\n"
                  "@af.program\nclass Mine(Base):\n    y: af.f64\n")  # fmt: skip
    assert same_everywhere(mine.Mine)["y"][0] == 5.0
    with pytest.raises(ProgramError) as caught:
        lower(base.Base, {})
    assert f"{base.__file__}:14" in str(caught.value)
    worse = loaded(tmp_path, f"from {base.__name__} import Base\n@af.program\nclass Mine(Base):\n    z: af.f64\n")
    with pytest.raises(ProgramError, match="no vertex field 'y'") as caught:
        lower(worse.Mine, {})
    assert f"{base.__file__}:14" in str(caught.value)
    assert "v.y = LIMIT" in str(caught.value)


BASE = "@af.program\nclass B:\n    k: int = 3\n    x: af.f64\n    def compute(v, u):\n        v.x += u.x\n"
REFUSED = {
    "class P(B, B2):\n    pass": "P inherits from several programs",
    "class P(dict):\n    pass": "P inherits from dict, which is no program",
    "class P(B):\n    k: af.f64": "k is one of the fields here, and one of the parameters of B",
    "class P(B):\n    x: float = 1.0": "x is one of the parameters here, and one of the fields of B",
    "class P(B):\n    def scatter(v):\n        pass": "a program has no function 'scatter'",
    "class P(B):\n    def update(v):\n        return super().update(v)": "super().update cannot be called here",
    "class P:\n    x: af.f64": "the function compute is missing",
    "class P:\n    a: af.f64[2] = (1, 2, 3)\n    x: af.f64\n    def compute(v, u):\n        v.x += u.x": "is (1, 2, 3)",
    "class P:\n    a: af.i64[2] = (1.5, 2)\n    x: af.f64\n    def compute(v, u):\n        v.x += u.x": "is (1.5, 2)",
    "class P:\n    a: af.f64[2] = 3\n    x: af.f64\n    def compute(v, u):\n        v.x += u.x": "is 3",
    "class P:\n    s: af.vertices = 5\n    x: af.f64\n    def compute(v, u):\n        v.x += u.x": "is 5",
    "class P(B):\n    a: af.f64[2] = (1, 2)\n    def init(v, p):\n        v.x = p.a[p.k]": "the index p.k can be",
    "class P(B):\n    a: af.f64[2] = (1, 2)\n    def init(v, p):\n        v.x = p.a": "and this is float64[2]",
    "class P(B):\n    a: af.f64[2] = (1, 2)\n    def init(v, p):\n        p.a[0] = 1.0": "parameters never change",
    "class P(B):\n    m: af.f64[2, 2]": "m is a matrix, and fields are numbers or vectors",
    "class P(B):\n    m: af.f64[2, 2] = ((1, 2), (3, 4))\n    def init(v, p):\n        v.x = p.m[1]": "p.m is a matrix",
    "class P(B):\n    m: af.f64[2, 2] = ((1, 2), (3, 4))\n    def init(v, p):\n        v.x = p.m[1, 2]": "index 2",
    "class P(B):\n    m: af.f64[2, 2] = ((1, 2), (3, 4))\n    def init(v, p):\n        v.x = p.m[p.k, 1]": "index p.k",
    "class P(B):\n    m: af.f64[2, 2] = (1, 2, 3, 4)": "is (1, 2, 3, 4)",
    "class P(B):\n    s: af.vertices\n    def init(v, p):\n        v.x = p.s": "p.s is a set of vertices",
    "class P(B):\n    s: af.vertices\n    def update(v, p):\n        return v.number in p.s": "v.number is no vertex",
    "class P(B):\n    s: af.vertices\n    def update(v, p):\n        return v in p.k": "in and is cannot be",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        lower(loaded(tmp_path, f"{BASE}\nB2 = B\n@af.program\n{text}\n").P, {})
    assert REFUSED[text] in str(caught.value)
    assert caught.value.line > 0
    assert caught.value.remedy


def test_without_start_all_are_active_and_without_update_a_reduced_field_says_who_changed() -> None:
    @af.program
    class Largest:
        x: af.f64
        f: af.i64[2]

        def compute(v, u):
            v.x = max(v.x, u.x)
            v.f = max(v.f, u.f)

    given = {"x": np.arange(32.0), "f": np.arange(64).reshape(32, 2)}
    plain = af.run(Largest, GRAPH, debug=True, given=given)
    assert same_everywhere(Largest, given=given).supersteps == plain.supersteps > 1
    assert plain.converged

    @af.program
    class Degree:
        n: af.i64

        def compute(v, u):
            v.n += 1

    assert np.array_equal(same_everywhere(Degree, max_supersteps=1)["n"], GRAPH.in_degrees)


@af.program
class FromSome:
    """Hops from the nearest of several."""

    sources: af.vertices
    hops: af.i64
    told: af.i64

    def start(v, p):
        v.hops = 0 if v in p.sources else 1000
        return v in p.sources

    def compute(v, u, p):
        v.hops = min(v.hops, u.hops + 1)
        v.told = max(v.told, 1 if u in p.sources and v not in p.sources else 0)

    def update(v, old):
        return v.hops < old.hops


def test_sets_of_vertices() -> None:
    result = same_everywhere(FromSome, sources=[3, 9])
    assert set(result.values) == {"hops", "told"}
    assert np.flatnonzero(result["hops"] == 0).tolist() == [3, 9]
    assert same_everywhere(FromSome, sources=np.array([], np.int64))["hops"].min() == 1000
    named = af.Graph.from_edges(["a", "b"], ["b", "c"])
    assert af.run(FromSome, named, sources={"b"}, debug=True)["hops"].tolist() == [1000, 0, 1]
    with pytest.raises(UsageError, match="needs sources="):
        af.run(FromSome, GRAPH)
    with pytest.raises(UsageError, match="sources is 3"):
        af.run(FromSome, GRAPH, sources=3)
    with pytest.raises(af.errors.IdError):
        af.run(FromSome, GRAPH, sources=[99])
    with pytest.raises(UsageError, match="is given and no field"):
        af.run(FromSome, GRAPH, sources=[1], given={"sources": [True] * 32})


def weighted(p, k):
    """A helper that has the array."""
    return p.weights[k] + af.dot(p.weights, p.weights)


@af.program
class Weighing:
    k: int = 3
    weights: af.f64[3] = (1.0, 0.5, 0.25)
    shift: af.i32["k"] = (1, 2, 3)
    x: af.f64[3]
    y: af.f64

    def start(v, p):
        v.x = p.weights * 2.0
        v.y = weighted(p, v.number % 3)
        return True

    def compute(v, u, p):
        v.y = max(v.y, u.y + p.weights[u.number % 3])
        v.x = max(v.x, u.x * p.weights)

    def update(v, p, step):
        for k in range(p.k):
            v.y += p.shift[k]
        return step < 2


def test_arrays_as_parameters() -> None:
    result = same_everywhere(Weighing)
    other = same_everywhere(Weighing, weights=[3, 2, 1])
    assert not np.array_equal(result["y"], other["y"])
    assert lower(Weighing, {}).sources is lower(Weighing(weights=(0, 0, 0)), {}).sources
    with pytest.raises(UsageError, match="weights is"):
        Weighing(weights=(1, 2))
    with pytest.raises(UsageError, match="has 3 elements"):
        lower(Weighing(k=2), {})


@af.program
class Chain:
    """One step of a Markov chain of three states along each edge."""

    step: af.f64[3, 3] = ((0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.25, 0.25, 0.5))
    x: af.f64[3]

    def start(v):
        v.x[v.number % 3] = 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u, p):
        for i in range(3):
            for j in range(3):
                v.x[j] += u.x[i] * p.step[i, j]

    def update(v, step):
        return step < 2


def test_matrices_as_parameters() -> None:
    same_everywhere(Chain)
    turned = same_everywhere(Chain, step=np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), max_supersteps=1)["x"]
    still = same_everywhere(Chain, step=np.eye(3), max_supersteps=1)["x"]
    assert np.array_equal(turned, still[:, [2, 0, 1]])
    with pytest.raises(UsageError, match="3 rows of 3 numbers of f64"):
        Chain(step=np.eye(2))


def test_the_command_line_reads_sets_and_arrays(tmp_path: Path) -> None:
    text = "@af.program\nclass P:\n    s: af.vertices\n    a: af.f64[2] = (1, 2)\n    x: af.f64\n"
    module = loaded(tmp_path, f"{text}    def compute(v, u, p):\n        v.x = max(v.x, p.a[0])\n")
    target = find_target(f"{module.__file__}:P")
    values, ids = split_settings(target, ("s=1,2", "a=4,5"), None)
    assert (values, with_ids(target, GRAPH, ids)) == ({"a": [4.0, 5.0]}, {"s": [1, 2]})
    with pytest.raises(UsageError, match="P needs s"):
        split_settings(target, ("a=4,5",), None)
