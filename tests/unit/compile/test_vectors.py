"""Vector fields: what is sent of them, what results and debug runs look like, and push when every vertex sends."""

import ast
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError


@af.program
class Spread:
    k: int = 3
    rounds: int = 2
    x: af.f32["k"]
    kinds: af.i32[4]

    def start(v, p):
        for k in range(p.k):
            v.x[k] = v.number + k * 0.5
        v.kinds[v.number % 4] = 1
        return True

    def init(v):
        v.x = 0.0
        v.kinds = 0

    def compute(v, u):
        share = u.x / u.out_degree
        v.x += share
        v.kinds[u.number % 4] += u.kinds[3]
        v.kinds += u.kinds

    def update(v, step, p):
        return step + 1 < p.rounds


def test_vectors_are_sent_whole_and_computed_by_who_sends() -> None:
    found = lower(Spread, {})
    assert {m.name: (ast.unparse(m.source), str(m.dtype), m.length) for m in found.messages} == {
        "m0": ("u_x / u_out_degree", "float32", 3),
        "m1": ("u_kinds[3]", "int32", None),
        "m2": ("u_kinds", "int32", 4),
    }
    assert [ast.unparse(node) for node in found.edge] == [
        "reduce_sum(v_x, m0)",
        "reduce_sum(v_kinds[u_number % 4], m1)",
        "reduce_sum(v_kinds, m2)",
    ]


def test_results_have_a_row_a_vertex(tmp_path: Path) -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
    result = af.run(Spread, graph, k=2, rounds=1)
    np.testing.assert_array_equal(result["x"], [[0.5, 0.75], [2.0, 3.0], [0.5, 0.75]])
    assert result["kinds"].tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]]
    assert result.to_dict("x")["b"] == [2.0, 3.0]
    assert result.to_pandas()["kinds"][1].tolist() == [1, 0, 1, 0]
    assert "x" in str(result)
    result.save(tmp_path / "out.parquet")
    assert af.run(Spread, graph, k=7)["x"].shape == (3, 7)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_whole_numbers_are_pushed_exactly(threads: int) -> None:
    graph = af.load("kron:11")
    pulled = af.run(Spread, graph, direction="pull", threads=1)
    pushed = af.run(Spread, graph, direction="push", threads=threads)
    np.testing.assert_array_equal(pushed["kinds"], pulled["kinds"])
    np.testing.assert_allclose(pushed["x"], pulled["x"], rtol=1e-4)
    assert [step.direction for step in pushed.history] == ["push", "push"]
    assert {step.direction for step in af.run(Spread, graph).history} == {"pull"}


def test_pagerank_can_push() -> None:
    graph = af.load("kron:10")
    pulled, pushed = (af.algorithms.pagerank(graph, direction=way, threads=2) for way in ("pull", "push"))
    np.testing.assert_allclose(pushed["rank"], pulled["rank"], rtol=1e-9)
    assert abs(pushed.supersteps - pulled.supersteps) <= 1


@af.program
class Wrong:
    """Makes an element that its field cannot keep."""

    limit: int = 100
    far: af.i8[2]
    x: af.f64[2]

    def start(v, p):
        v.far[1] = v.number * p.limit
        return True

    def compute(v, u):
        v.x += u.x

    def update(v):
        v.x = v.x * math_inf
        return False


math_inf = float("inf")


def test_debug_reports_elements_with_their_vertex() -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"])
    with pytest.raises(ProgramError, match="far becomes 200 at vertex c, in start, outside int8"):
        af.run(Wrong, graph, debug=True)
    with pytest.raises(ProgramError, match="x becomes NaN at vertex a, superstep 0"):
        af.run(Wrong, graph, debug=True, limit=1)


def test_debug_vectors_are_copies_and_show_their_numbers() -> None:
    from arcflux.compile.python.vectors import Vector

    vector = Vector([1, -2])
    assert repr(3 - vector * 2) == "[1, 7]"
    assert abs(vector) == Vector([1, 2])
    assert +vector == vector != Vector([1, 2])
    with pytest.raises(ValueError, match="zip"):
        vector + Vector([1, 2, 3])


@af.program
class Flags:
    """Vectors of flags, also of a single one, which LLVM cannot have as a vector."""

    k: int = 1
    seen: af.flag[k]
    parity: af.i64[k]
    low: af.i64

    def start(v, p):
        v.seen = v.number % 3 == 0
        v.low = v.number
        return True

    def compute(v, u, p):
        if u.low < 100:
            v.seen |= (u.out_degree if u.seen[0] else 7) > u.low
        v.low = min(v.low, u.low)

    def update(v, old, p):
        for i in range(p.k):
            v.parity[i] = 1 if v.seen[i] else 0
        return v.low < old.low or v.seen[0] != old.seen[0]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_vectors_of_flags_of_any_length(k: int) -> None:
    graph = af.load("grid:3x4")
    plain = af.run(Flags, graph, k=k, debug=True)
    assert plain["seen"].any()
    assert not plain["seen"].all() or plain["parity"].all()
    for direction in ("push", "pull"):
        fast = af.run(Flags, graph, k=k, direction=direction)
        for name, values in plain.values.items():
            np.testing.assert_array_equal(fast[name], values, err_msg=f"{name} by {direction}")
