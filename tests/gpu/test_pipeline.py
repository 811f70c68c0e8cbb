"""The compiler of our kernels: shorter for them, as ever for kernels of others in the same process."""

import gc
import pickle
import re
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from arcflux import trace
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


def test_half_a_file_of_kept_machine_code_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import codegen
    from numba.cuda.descriptor import cuda_target

    from arcflux.gpu import primitives

    def version(*_: object) -> tuple[int, int]:
        return 13, 0

    there = SimpleNamespace(device=SimpleNamespace(compute_capability=(8, 0)))
    monkeypatch.setattr(codegen.devices, "get_context", lambda: there)
    monkeypatch.setattr(codegen.runtime.runtime, "get_version", version)
    kept, sig = primitives._fill._cache, (api.array_type(np.dtype("f8"), 1), api.number_type(np.dtype("f8")))
    index = Path(kept._cache_file._index_path)
    index.parent.mkdir(parents=True, exist_ok=True)
    for junk in (b"", b"half of it", pickle.dumps("0.0")):
        index.write_bytes(junk)
        said: list[str] = []
        with trace.listen(lambda event: said.append(event.text)):  # noqa: B023 - called within this round
            assert kept.load_overload(sig, cuda_target.target_context) is None
        assert said == ["compiling _fill (once per machine)"]
        index.unlink(missing_ok=True)
    monkeypatch.setattr(codegen.runtime.runtime, "get_version", lambda: 1 / 0)
    with trace.listen(lambda event: said.append(event.text)):
        kept.save_overload(sig, object())
    assert "could not be kept" in said[-1]
