"""The fused lasso: known answers, a slow oracle, its own certificate, and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

import arcflux as af
from arcflux.errors import FormatError, UsageError, WeightError


def oracle(edges: list[tuple[int, int]], prices: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """By the dual problem: min |y - D'z|^2 with |z| at most the price, which is a bounded least squares problem."""
    rows = np.zeros((len(edges), len(signal)))
    for k, (u, v) in enumerate(edges):
        rows[k, u] += 1
        rows[k, v] -= 1
    keep = prices > 0
    if not keep.any():
        return signal
    bounds = prices[keep]
    z = lsq_linear(rows[keep].T, signal, (-bounds, bounds), tol=1e-14, method="bvls").x
    return signal - rows[keep].T @ z


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_it_is_the_minimum(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 10))
    ends = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=25))
    weights = data.draw(st.lists(st.integers(0, 4), min_size=len(edges), max_size=len(edges)))
    signal = np.array(data.draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n))) / 3
    penalty = data.draw(st.sampled_from([0.0, 0.1, 0.7, 3.0, 1e9]))
    directed = data.draw(st.booleans())
    source, target = map(list, zip(*edges, strict=True))
    graph = af.Graph.from_edges(source, target, vertices=n, directed=directed, columns={"weight": weights})
    found = af.fused_lasso(graph, signal, penalty)
    assert found.validate().ok, found.validate()
    assert abs(found.gap) < 1e-9
    if penalty < 1e6:
        assert found["signal"] == pytest.approx(oracle(edges, penalty * np.array(weights), signal), abs=1e-6)


@pytest.mark.parametrize(("side", "seed"), [(30, 3), (40, 1)])
def test_a_grid_of_noise(side: int, seed: int) -> None:
    signal = np.random.default_rng(seed).normal(size=side * side)
    found = af.fused_lasso(f"grid:{side}x{side}", signal, 0.5)
    assert abs(found.gap) < 1e-9
    assert found.validate().ok


def test_two_blocks_on_a_path_draw_near() -> None:
    found = af.fused_lasso("path:20", [0] * 10 + [10] * 10, 3)
    assert found["signal"] == pytest.approx([0.3] * 10 + [9.7] * 10)
    assert found["region"].tolist() == [0] * 10 + [1] * 10


def test_prices_of_nothing_and_of_everything() -> None:
    graph = af.Graph.from_edges([0, 1, 3], [1, 2, 4], vertices=6, directed=False)
    signal = np.array([1.0, 5.0, 6.0, -2.0, 4.0, 9.0])
    assert af.fused_lasso(graph, signal, 0)["signal"] == pytest.approx(signal)
    assert af.fused_lasso(graph, signal, 1e6)["signal"] == pytest.approx([4, 4, 4, 1, 1, 9])


def test_shifts_scales_and_the_l1_term() -> None:
    graph = af.load("geometric:150,radius=0.15,weights=1-3")
    signal = np.random.default_rng(2).normal(size=150)
    plain = af.fused_lasso(graph, signal, 0.3)["signal"]
    assert af.fused_lasso(graph, signal + 1e3, 0.3)["signal"] == pytest.approx(plain + 1e3, abs=1e-9)
    assert af.fused_lasso(graph, 8 * signal, 2.4)["signal"] == pytest.approx(8 * plain)
    assert signal.min() <= plain.min() <= plain.max() <= signal.max()
    thin = af.fused_lasso(graph, signal, 0.3, l1=0.1)
    assert thin["signal"] == pytest.approx(np.sign(plain) * np.maximum(np.abs(plain) - 0.1, 0))
    assert thin.validate()


@pytest.mark.parametrize("method", ["highest", "rounds"])
def test_the_same_on_any_number_of_workers(method: str) -> None:
    graph = af.load("grid:12x15")
    signal = np.random.default_rng(5).normal(size=180)
    alone = af.fused_lasso(graph, signal, 0.5, method=method, threads=1)
    for where in ({"threads": 3}, {"parts": 2}, {"parts": 3, "ranks_per_node": 1}):
        other = af.fused_lasso(graph, signal, 0.5, method=method, **where)
        assert (other["signal"] == alone["signal"]).all(), where
        assert (other.dual == alone.dual).all()
    assert (other.sent.get("pushes", 0) > 0) == (method == "rounds")


@pytest.mark.parametrize("exponent", [-1060, -300, 300])
def test_signals_of_any_size(exponent: int) -> None:
    signal = np.ldexp([1.0, 0, 2, 0, 5], exponent)
    small = af.fused_lasso("cycle:5", signal, float(np.ldexp(0.25, exponent)))
    assert (small["signal"] == np.ldexp(af.fused_lasso("cycle:5", [1, 0, 2, 0, 5], 0.25)["signal"], exponent)).all()


def test_a_price_above_all_there_is_and_a_signal_without_differences() -> None:
    found = af.fused_lasso("path:4", [1, 2, 3, 4], 1e300)
    assert found["signal"].tolist() == [2.5] * 4
    assert abs(found.gap) < 1e-9
    assert found.validate().ok
    same = af.fused_lasso("path:4", [7, 7, 7, 7])
    assert same["region"].tolist() == [0] * 4
    assert same.validate().ok


def test_a_signal_from_a_file(tmp_path) -> None:
    np.save(tmp_path / "y.npy", [0.0, 9.0])
    (tmp_path / "y.txt").write_text("0\n9\n")
    expected = [1, 8]
    assert af.fused_lasso("path:2", str(tmp_path / "y.npy"))["signal"] == pytest.approx(expected)
    assert af.fused_lasso("path:2", str(tmp_path / "y.txt"))["signal"] == pytest.approx(expected)
    with pytest.raises(FormatError):
        af.fused_lasso("path:2", str(tmp_path / "nothing.npy"))


def test_bad_input_is_refused() -> None:
    for signal, match in (([1, 2, 3], "shape"), ([1, np.nan], "nan"), ([[1], [2]], "shape"), (["a", "b"], "holds")):
        with pytest.raises(UsageError, match=match):
            af.fused_lasso("path:2", signal)
    with pytest.raises(UsageError, match="squares sum to infinity"):
        af.fused_lasso("path:2", [1e300, 0])
    for wrong in (-1, np.inf, np.nan):
        with pytest.raises(UsageError, match="penalty is"):
            af.fused_lasso("path:2", [1, 2], wrong)
    negative = af.Graph.from_edges([0], [1], columns={"weight": [-1]})
    with pytest.raises(WeightError):
        af.fused_lasso(negative, [1, 2])


def test_the_validator_notices() -> None:
    found = af.fused_lasso("path:4", [0, 1, 5, 9], 1)
    check = af.validate.fused_lasso
    assert not check(found.graph, [0, 1, 5, 9], found["signal"] + 0.01, 1, found.dual)["gap"].passed
    assert not check(found.graph, [0, 1, 5, 9], found["signal"], 1, 3 * found.dual)["dual"].passed


@pytest.mark.parametrize("written", ["y.npy", "@y.npy"])
def test_a_signal_is_read_from_a_file_with_and_without_the_at_sign(tmp_path, monkeypatch, written: str) -> None:
    """On the command line other arrays are ``--set features=@x.npy``."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"y\.npy: signal: no such file"):
        af.fused_lasso("path:4", written)
    np.save("y.npy", np.array([0.0, 0, 9, 9]))
    np.testing.assert_allclose(af.fused_lasso("path:4", written, penalty=1.0)["signal"], [0.5, 0.5, 8.5, 8.5])
