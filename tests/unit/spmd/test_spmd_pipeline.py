"""The compiler of kernels: the code is that of Numba's own, and typing is left as it was found."""

import numba
import numpy as np
import pytest

from arcflux.spmd.jit import inner, kernel


@inner
def _twice(x):
    return x + x


def _mixed(worker, workers, control, integers, floats, maybe):
    """The same operations on many types, calls that are compiled on the way, and a branch that types decide."""
    for i in range(integers.size):
        total = np.uint64(integers[i]) * np.uint64(3) + np.uint64(i)
        floats[i] = floats[i] * np.float32(0.5) + np.float64(total) - integers[i] + _twice(floats[i])
        integers[i] = _twice(integers[i]) // 3 + (total & np.uint64(7)) % np.int64(5)
        if maybe is not None:
            floats[i] += maybe[i]


def _arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(-50, 50), np.linspace(-1, 1, 100).astype(np.float32)


@pytest.mark.parametrize("given", [False, True])
def test_it_computes_what_numba_does(given: bool) -> None:
    maybe = np.arange(100) / 7 if given else None
    ours, theirs = _arrays(), _arrays()
    kernel(_mixed)(0, 1, np.zeros(16, np.int64), *ours, maybe)
    numba.njit(error_model="numpy")(_mixed)(0, 1, np.zeros(16, np.int64), *theirs, maybe)
    for a, b in zip(ours, theirs, strict=True):
        assert a.tobytes() == b.tobytes()


def test_typing_forgets_when_it_is_done() -> None:
    from numba.core.registry import cpu_target

    kernel(_mixed)(0, 1, np.zeros(16, np.int64), *_arrays(), None)
    assert "resolve_function_type" not in vars(cpu_target.typing_context)


def test_also_after_what_cannot_be_typed() -> None:
    from numba.core.registry import cpu_target

    def wrong(worker, workers, control, x):
        x[0] = "no number"

    with pytest.raises(numba.TypingError):
        kernel(wrong)(0, 1, np.zeros(16, np.int64), np.zeros(1))
    assert "resolve_function_type" not in vars(cpu_target.typing_context)
