"""Vectors as values: loaded, computed with and kept as Python does it number by number."""

import operator
from collections.abc import Callable

import numpy as np
import pytest

from arcflux.spmd.jit import inner
from arcflux.spmd.lanes import (
    as_boolean,
    as_float32,
    as_float64,
    as_int64,
    as_uint64,
    keep,
    larger,
    load,
    magnitude,
    put,
    smaller,
    total,
)

SIGNED = ["f4", "f8", "i1", "i2", "i4", "i8"]
UNSIGNED = ["u1", "u4", "u8"]


def rows(dtype: str, length: int) -> np.ndarray:
    """Two rows of small numbers, in the middle of others that have to stay as they are."""
    random = np.random.default_rng(length)
    kind = np.dtype(dtype)
    low = 1 if kind.kind == "u" else -6
    values = random.integers(low, 7, (4, length + 2)).astype(kind)
    values[2][values[2] == 0] = 3
    return values


def arithmetic(length: int) -> Callable[..., None]:
    @inner
    def compute(a, out):  # type: ignore[no-untyped-def]
        x, y = load(a, 1, length), load(a, 2, length)
        keep(out, 0, x + y)
        keep(out, 1, x - y)
        keep(out, 2, x * y)
        keep(out, 3, x // y)
        keep(out, 4, x % y)
        keep(out, 5, smaller(x, y))
        keep(out, 6, larger(x, y))
        keep(out, 7, magnitude(x))
        keep(out, 8, -x)
        keep(out, 9, put(x, length - 1, y[0]))
        out[10, 0] = total(x)

    return compute


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("length", [1, 3, 16])
def test_arithmetic(dtype: str, length: int) -> None:
    given = rows(dtype, length)
    out = np.full((11, length + 1), 77, given.dtype)
    arithmetic(length)(given, out)
    x, y = (given[row, :length].astype(object) for row in (1, 2))
    functions = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, min, max)
    expected = [[function(p, q) for p, q in zip(x, y, strict=True)] for function in functions]
    expected += [[abs(p) for p in x], [-p for p in x], [*x[:-1], y[0]]]
    for row, wanted in zip(out, expected, strict=False):
        np.testing.assert_allclose(row[:length].astype(float), np.array(wanted, float), rtol=1e-6)
    assert out[10, 0] == pytest.approx(sum(x))
    assert (out[:10, length] == 77).all()


@inner
def _bits(a, out):  # type: ignore[no-untyped-def]
    x, y = load(a, 1, 5), load(a, 2, 5)
    keep(out, 0, x & y)
    keep(out, 1, x | y)
    keep(out, 2, x ^ y)
    keep(out, 3, smaller(x, y))
    keep(out, 4, larger(x, y))


@pytest.mark.parametrize("dtype", [*UNSIGNED, "i4", "?"])
def test_bits_and_order_without_signs(dtype: str) -> None:
    given = rows("u1", 5).astype(dtype) if dtype != "?" else rows("i4", 5) > 0
    given = given if dtype == "?" else given + np.array(np.iinfo(dtype).max - 9, dtype)  # the highest bit is set
    out = np.zeros((5, 6), given.dtype)
    _bits(given, out)
    x, y = given[1, :5], given[2, :5]
    for row, wanted in zip(out, [x & y, x | y, x ^ y, np.minimum(x, y), np.maximum(x, y)], strict=True):
        np.testing.assert_array_equal(row[:5], wanted)


@inner
def _converted(a, numbers, wholes, flags):  # type: ignore[no-untyped-def]
    x = load(a, 1, 4)
    keep(numbers, 0, as_float32(x, 4))
    keep(numbers, 1, as_float64(x, 4))
    keep(numbers, 2, as_float64(0.25, 4) + as_float64(as_float32(x, 4), 4))
    keep(numbers, 3, as_float64(2, 4) ** as_float64(x, 4))
    keep(wholes, 0, as_int64(x, 4))
    keep(wholes, 1, as_int64(as_uint64(5, 4), 4))
    keep(wholes, 2, as_int64(1, 4) << as_int64(3, 4))
    keep(flags, 0, as_boolean(True, 4))
    keep(numbers, 4, as_float64(load(flags, 0, 4), 4))


def test_conversions() -> None:
    for dtype in ("f4", "f8", "i2", "u1", "u8"):
        given = np.arange(20).reshape(4, 5).astype(dtype)
        numbers, wholes, flags = np.zeros((5, 4)), np.zeros((3, 4), np.int32), np.zeros((1, 4), np.bool_)
        _converted(given, numbers, wholes, flags)
        x = given[1, :4].astype(float)
        np.testing.assert_array_equal(numbers, [x, x, x + 0.25, 2**x, [1.0] * 4])
        np.testing.assert_array_equal(wholes, [x, [5] * 4, [8] * 4])
        assert flags.all()
