"""The compiler of our kernels: shorter for them, as ever for kernels of others in the same process."""

import gc
import re
from types import FunctionType

import numpy as np
import pytest

from arcflux.gpu import api


def _closing(array: object) -> None:
    """A kernel with a closure, which ours never have."""

    def more(value: object) -> object:
        return value + 1.0

    array[0] = more(array[0])


def _made(function: object, module: str, kind: str = "f8") -> str:
    """Its PTX, as a function of that module, without the name that every compilation has for it."""
    own = FunctionType(function.__code__, {"np": np, "__name__": module}, function.__name__)
    own.__module__ = module
    given = (api.array_type(np.dtype(kind), 1),)
    made, _ = api.cuda().compile(own, given, device=False, cc=(8, 0), abi="numba")
    return re.sub(r"_Z\w+", "name", made)


def test_kernels_of_others_are_compiled_with_all_passes() -> None:
    assert "add.f64" in _made(_closing, "somebody.elses")
    with pytest.raises(Exception, match=r"make_function|more|closure"):
        _made(_closing, "arcflux_of_ours")


def test_the_collector_of_garbage_is_back_after_compiling() -> None:
    def plain(array: object) -> None:
        array[0] = array[1] * 2.0

    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            assert "mul.f64" in _made(plain, "arcflux_of_ours") or "add.f64" in _made(plain, "arcflux_of_ours")
            with pytest.raises(Exception, match=r"make_function|more|closure"):
                _made(_closing, "arcflux_of_ours")
            assert gc.isenabled() == enabled
        finally:
            gc.enable()


def test_what_is_remembered_of_an_operation_is_of_its_types() -> None:
    def plain(array: object) -> None:
        array[0] = array[1] + array[2]

    from arcflux.gpu import pipeline

    expected = {"f8": "add.f64", "f4": "add.f32", "i8": "add.s64"}
    for kind, addition in expected.items():
        first, second = (_made(plain, "arcflux_of_ours", kind) for _ in range(2))
        assert first == second
        assert addition in first.replace("add.rn", "add")
    assert pipeline._known
    assert all(found is not None for found in pipeline._known.values())
