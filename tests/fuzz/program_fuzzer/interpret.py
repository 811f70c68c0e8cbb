"""Run the generated kernels as plain Python, so that thousands of programs need no compiler.

Compiling takes seconds a program, and nearly all faults of push, pull and exchange are in the text of the kernels. So
that text is executed as it stands: arrays hand out Python numbers, atomics hold a lock, a barrier gives its core away,
and vectors are tuples. What Numba and LLVM make of the same text is seen by the ways that compile.
"""

from __future__ import annotations

import ast
import math
import operator
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from arcflux.compile import cache
from arcflux.spmd import reductions
from arcflux.spmd.layout import GENERATION
from arcflux.spmd.pool import STOP, TORN

__all__ = ["interpreted"]

_lock = threading.RLock()
_failed = threading.Event()  # a worker raised an exception: others must not wait for it


@contextmanager
def interpreted() -> Iterator[None]:
    """Within, every program runs on cores without being compiled."""
    _failed.clear()
    compiled = cache.module

    def module(source: str) -> Any:
        return compiled(source) if "cuda" in source.split("def ")[0] else _module(source)

    with mock.patch.object(cache, "module", module):
        yield


@lru_cache(maxsize=64)
def _module(source: str) -> SimpleNamespace:
    """The kernels of a generated source, as plain functions."""
    source = source.replace("u + distances[i]", "u64(u + distances[i])")  # the only sum that wraps around
    text = "\n".join(line for line in source.splitlines() if not line.startswith(("from arcflux", "import numpy")))
    names: dict[str, Any] = {**_names(), "np": _numbers(), "math": math, "divided": _divided}
    exec(
        compile(
            ast.fix_missing_locations(_Divisions().visit(ast.parse(text))),
            "<interpreted kernels>",
            "exec",
            dont_inherit=True,
        ),
        names,
    )
    return SimpleNamespace(**names)


class _Divisions(ast.NodeTransformer):
    """Divisions by zero are no errors in kernels: messages are made of all vertices, those that nobody reads, too."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)) or isinstance(node.right, ast.Constant):
            return node
        return ast.Call(
            ast.Name("divided", ast.Load()), [ast.Constant(type(node.op).__name__), node.left, node.right], []
        )


def _divided(how: str, a: Any, b: Any) -> Any:
    if isinstance(b, _Lanes) or b != 0:
        return {"Div": operator.truediv, "FloorDiv": operator.floordiv, "Mod": operator.mod}[how](a, b)
    return 0 if how != "Div" and isinstance(a, int) and isinstance(b, int) else math.nan


def _names() -> dict[str, Any]:
    """What generated modules import."""
    into = reductions.define(lambda function: _locked(function), _swap)
    found = {name: getattr(into, name) for name in vars(into)}
    found |= {"fetch_add": _fetch_add, "compare_and_swap": _compare_and_swap, "trailing_zeros": _trailing_zeros}
    found |= {"prefetch": _nothing, "prefetch_to_read": _nothing, "ticks": time.perf_counter_ns, "all_here": _all_here}
    found |= {"patience": lambda control: 1 << 16, "halted": _halted}
    found |= {"truncated": _clamped(int), "floored": _clamped(math.floor), "raised": _clamped(math.ceil)}
    found |= {"power": lambda base, exponent, one: base**exponent if exponent >= 0 else 0}
    found |= {"compared": lambda unsigned, signed: (unsigned > signed) - (unsigned < signed)}
    found |= {"fragment": lambda function: function, "kernel": _kernel}
    return found | _lanes()


def _numbers() -> SimpleNamespace:
    """The types that kernels convert to: Python's own numbers, of the range of each type."""
    made: dict[str, Any] = {"float64": float, "float32": _rounded, "bool_": bool, "bool": bool}
    made |= {f"uint{bits}": _wrapping(bits, False) for bits in (8, 16, 32, 64)}
    made |= {f"int{bits}": _wrapping(bits, True) for bits in (8, 16, 32, 64)}
    return SimpleNamespace(**made)


def _rounded(value: Any) -> Any:
    return float(np.float32(value))


def _wrapping(bits: int, signed: bool) -> Callable[[Any], int]:
    least = -(1 << (bits - 1)) if signed else 0
    mask = (1 << bits) - 1

    def wrapped(value: Any) -> int:
        return ((int(value) - least) & mask) + least

    return wrapped


def _clamped(round_off: Callable[[float], int]) -> Callable[[float], int]:
    """What kernels make of a float: the nearest integer of 64 bits, 0 for NaN."""

    def rounded(value: float) -> int:
        if value != value:
            return 0
        return -(1 << 63) if value < -(2.0**63) else (1 << 63) - 1 if value >= 2.0**63 else round_off(value)

    return rounded


class _View:
    """An array as a kernel sees it: its elements are Python's numbers, its rows are views."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.size = array.size

    def __getitem__(self, index: int) -> Any:
        found = self.array[self._place(index)]
        return _View(found) if isinstance(found, np.ndarray) else found.item()

    def __setitem__(self, index: int, value: Any) -> None:
        if isinstance(index, int) and self.array.dtype.kind in "iu":
            kind = self.array.dtype
            value = _wrapping(8 * kind.itemsize, kind.kind == "i")(value)
        self.array[self._place(index)] = value

    def _place(self, index: Any) -> Any:
        """An index that has to be inside: kernels do not count from the end."""
        for place, length in zip(index if isinstance(index, tuple) else (index,), self.array.shape, strict=False):
            if not 0 <= place < length:
                raise IndexError(f"a kernel reads or writes at {place} of {length}")
        return index


def _kernel(function: Callable[..., None]) -> Any:
    def launched(*arguments: Any) -> None:
        try:
            function(*(_View(a) if isinstance(a, np.ndarray) else a for a in map(_number, arguments)))
        except BaseException:
            _failed.set()
            raise

    launched.ready = _nothing  # type: ignore[attr-defined]
    return launched


def _number(argument: Any) -> Any:
    return argument.item() if isinstance(argument, np.generic) else argument


def _nothing(*arguments: Any) -> None:
    """What only makes kernels faster."""


# --- atomics and barriers


def _locked(function: Callable[..., Any]) -> Callable[..., Any]:
    def alone(*arguments: Any) -> Any:
        with _lock:
            return function(*arguments)

    return alone


def _swap(array: _View, place: int, expected: Any, new: Any) -> bool:
    array[place] = new
    return True


@_locked
def _fetch_add(array: _View, place: int, value: int) -> Any:
    before = array[place]
    array[place] = before + value
    return before


@_locked
def _compare_and_swap(array: _View, place: int, expected: Any, new: Any) -> Any:
    before = array[place]
    if before == expected:
        array[place] = new
    return before


def _all_here(barrier: _View, worker: int, workers: int) -> bool:
    if workers == 1:
        return True
    with _lock:
        generation = barrier[GENERATION]
        barrier[0] += 1
        if barrier[0] == workers:
            barrier[0] = 0
            barrier[GENERATION] = generation + 1
            return True
    while barrier[GENERATION] == generation:
        time.sleep(0)
        if _failed.is_set():
            raise RuntimeError("another worker failed")
    return True


def _halted(control: _View) -> bool:
    if control[STOP]:
        control[TORN] = 1
    return bool(control[STOP])


def _trailing_zeros(word: int) -> int:
    return (word & -word).bit_length() - 1 if word else 64


# --- vectors


class _Lanes(tuple):
    """A vector of numbers; both sides of an operation are vectors, as in kernels."""

    __slots__ = ()

    def _with(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        assert isinstance(other, _Lanes)
        return _Lanes(function(a, b) for a, b in zip(self, other, strict=True))

    def __neg__(self) -> Any:
        return _Lanes(-a for a in self)


def _operators() -> None:
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
        function = getattr(operator, f"__{name}__")
        setattr(_Lanes, f"__{name}__", lambda a, b, f=function: a._with(b, f))


_operators()


def _lanes() -> dict[str, Any]:
    def to(convert: Callable[[Any], Any]) -> Callable[..., Any]:
        def lanes(value: Any, length: int) -> Any:
            return _Lanes(map(convert, value)) if isinstance(value, _Lanes) else _Lanes([convert(value)] * length)

        return lanes

    def keep(array: _View, row: int, lanes: Any) -> None:
        for k, value in enumerate(lanes):
            array[row, k] = value

    whole = _wrapping(64, True), _wrapping(64, False)
    return {
        "as_boolean": to(bool), "as_float32": to(_rounded), "as_float64": to(float), "as_int64": to(whole[0]),
        "as_uint64": to(whole[1]), "keep": keep, "magnitude": lambda a: _Lanes(map(abs, a)),
        "load": lambda array, row, length: _Lanes(array[row, k] for k in range(length)),
        "put": lambda lanes, index, value: _Lanes(value if k == index else x for k, x in enumerate(lanes)),
        "smaller": lambda a, b: _Lanes(map(min, a, b)), "larger": lambda a, b: _Lanes(map(max, a, b)), "total": sum,
    }  # fmt: skip
