"""Run the generated kernels as plain Python, so that thousands of programs need no compiler.

Compiling takes seconds a program, and nearly all faults of push, pull and exchange are in the text of the kernels. So
that text is executed as it stands: arrays hand out Python numbers, atomics hold a lock, a barrier gives its core away,
and vectors are tuples. What Numba and LLVM make of the same text is seen by the ways that compile.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial, reduce, wraps
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from arcflux.compile import cache
from arcflux.spmd import reductions
from arcflux.spmd.counter import drawn
from arcflux.spmd.layout import GENERATION
from arcflux.spmd.pool import BRIEF, STOP, TORN
from program_fuzzer.machine import (
    F32,
    IEEE,
    NAMES,
    U64,
    Lanes,
    clamped,
    inverted,
    least,
    magnitude,
    most,
    narrowed,
    negated,
    operated,
    power,
    tested,
    wrapping,
)

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


class _Kernels(SimpleNamespace):
    """A module of plain functions."""


# By their names, as those import them that call their kernels.
_modules: weakref.WeakValueDictionary[str, _Kernels] = weakref.WeakValueDictionary()
_IMPORTED = re.compile(r"^from (interpreted_\w+) import (\w+) as (\w+)$", re.MULTILINE)


@lru_cache(maxsize=64)
def _module(source: str) -> _Kernels:
    """The kernels of a generated source, as plain functions."""
    called = {name: getattr(_modules[module], kernel) for module, kernel, name in _IMPORTED.findall(source)}
    source = source.replace("u + distances[i]", "u64(u + distances[i])")  # the only sum that wraps around
    text = "\n".join(line for line in source.splitlines() if not line.startswith(("from ", "import ")))
    names: dict[str, Any] = {**_names(), "np": _numbers(), "math": IEEE, "operated": operated}
    names |= {"negated": negated, "inverted": inverted, ".tested": tested, ".min": least, ".max": most, **called}
    names["__name__"] = f"interpreted_{hashlib.sha256(source.encode()).hexdigest()}"
    tree = ast.fix_missing_locations(_Arithmetic().visit(ast.parse(text)))
    exec(compile(tree, "<interpreted kernels>", "exec", dont_inherit=True), names)
    made = _modules[names["__name__"]] = _Kernels(**names)
    return made


_FUNCTIONS = (
    "start", "init", "wants", "along", "edge", "around", "update", "residual", "stop", "priority", "receive",
)  # fmt: skip


_TESTS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


class _Arithmetic(ast.NodeTransformer):
    """In the functions of the program numbers are as machines have them; kernels around them count in Python's own."""

    def __init__(self) -> None:
        self.within = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.within = node.name.removesuffix("_count") in _FUNCTIONS or node.name.startswith(
            ("source_", "push_edge", "call", "each")
        )
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = type(node.op).__name__
        if not self.within or name not in NAMES:
            return node
        return ast.Call(ast.Name("operated", ast.Load()), [ast.Constant(name), node.left, node.right], [])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if not self.within or any(type(op) not in _TESTS for op in node.ops):
            return node
        sides = [node.left, *node.comparators]
        tests: list[ast.expr] = [
            ast.Call(ast.Name(".tested", ast.Load()), [ast.Constant(_TESTS[type(op)]), *sides[k : k + 2]], [])
            for k, op in enumerate(node.ops)
        ]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if self.within and name in ("min", "max") and len(node.args) > 1:
            node.func = ast.Name(f".{name}", ast.Load())  # which is no name of a kernel
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        name = {ast.USub: "negated", ast.Invert: "inverted"}.get(type(node.op))
        if not self.within or name is None or isinstance(node.operand, ast.Constant):
            return node
        return ast.Call(ast.Name(name, ast.Load()), [node.operand], [])


def _names() -> dict[str, Any]:
    """What generated modules import."""
    into = reductions.define(lambda function: _locked(function), _swap)
    found = {name: getattr(into, name) for name in vars(into)}
    found |= {"fetch_add": _fetch_add, "compare_and_swap": _compare_and_swap, "trailing_zeros": _trailing_zeros}
    found |= {"prefetch": _nothing, "prefetch_to_read": _nothing, "ticks": time.perf_counter_ns, "all_here": _all_here}
    found |= {"patience": lambda control: 1 << 16, "halted": _halted, "brief_is_over": _brief_is_over}
    found |= {"truncated": clamped(int), "floored": clamped(math.floor), "raised": clamped(math.ceil)}
    found |= {"random_of": lambda seed, number, step, k: drawn(seed, (number,), step, k), "random_between": _between}
    found |= {"rounded": clamped(round), "remainder": IEEE.fmod}
    found |= {"added": lambda a, b: a + b, "lesser": lambda a, b: b if b < a else a}
    found |= {"greater": lambda a, b: b if b > a else a}
    found |= {"power": power, "abs": magnitude}
    found |= {"quotient": partial(operated, "FloorDiv"), "modulo": partial(operated, "Mod")}
    found |= {"compared": lambda unsigned, signed: (unsigned > signed) - (unsigned < signed)}
    found |= {"fragment": lambda function: function, "kernel": _kernel}
    return found | _lanes() | _votes()


def _votes() -> dict[str, Any]:
    """What neighbourhoods count and select with, in lists: the arrays that they are given stay as they are."""
    kept: dict[int, list[Any]] = {}

    def weigh(table: _View, used: Any, weights: Any, shift: Any, found: int, name: Any, weight: Any) -> int:
        row = kept.setdefault(threading.get_ident(), [])
        if found == 0:
            row.clear()
        row.append((name, weight))
        return found + 1

    def leading(table: Any, used: Any, found: int) -> Any:
        row = kept[threading.get_ident()]
        sums = {name: sum(weight for other, weight in row if other == name) for name, _ in row}
        return min(sums, key=lambda name: (-sums[name], name))

    def middle(values: _View, count: int) -> float:
        row = sorted(float(values[k]) for k in range(count))
        return row[len(row) // 2] * 0.5 + row[~(len(row) // 2)] * 0.5

    def common(offsets: _View, neighbours: _View, a: int, b: int) -> int:
        rows = [{neighbours[i] for i in range(offsets[v], offsets[v + 1])} for v in (a, b)]
        return len(rows[0] & rows[1])

    def shares(offsets: _View, neighbours: _View, row: _View, first: int, i: int, a: int) -> bool:
        seen = any(row[k] == row[i] for k in range(first, i))
        return not seen and any(neighbours[k] == row[i] for k in range(offsets[a], offsets[a + 1]))

    return {"weigh": weigh, "vote": lambda *given: weigh(*given[:2], None, *given[2:], 1), "leading": leading,
            "heaviest": lambda table, used, weights, found: leading(table, used, found), "middle": middle,
            "common": common, "shares": shares, "table_shift": lambda voters: 0}  # fmt: skip


def _between(seed: int, u: int, v: int, both: bool, step: int, k: int) -> float:
    return drawn(seed, (min(u, v), max(u, v)) if both else (u, v), step, k)


def _numbers() -> SimpleNamespace:
    """The types that kernels convert to: Python's own numbers, of the range of each type."""
    made: dict[str, Any] = {"float64": float, "float32": narrowed, "bool_": bool, "bool": bool}
    made |= {f"uint{bits}": wrapping(bits, False) for bits in (8, 16, 32, 64)}
    made |= {f"int{bits}": wrapping(bits, True) for bits in (8, 16, 32, 64)}
    return SimpleNamespace(**made)


class _View:
    """An array as a kernel sees it: its elements are Python's numbers, its rows are views."""

    def __init__(self, array: Any, typed: bool = False) -> None:
        self.array = array
        self.size = array.size
        self.read = (_TYPED.get(array.dtype.name) if typed else None) or _as_it_is
        self.written = _LOW_BITS.get(array.dtype.name)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _View(self.array[index], self.read is not _as_it_is)
        found = self.array[self._place(index)]
        return _View(found, self.read is not _as_it_is) if isinstance(found, np.ndarray) else self.read(found.item())

    def __setitem__(self, index: int, value: Any) -> None:
        self.array[self._place(index)] = value if self.written is None else self.written(value)

    def _place(self, index: Any) -> Any:
        """An index that has to be inside: kernels do not count from the end."""
        for place, length in zip(index if isinstance(index, tuple) else (index,), self.array.shape, strict=False):
            if not 0 <= place < length:
                raise IndexError(f"a kernel reads or writes at {place} of {length}")
        return index


def _as_it_is(value: Any) -> Any:
    return value


# Types of fields that arithmetic tells from others, and what becomes of integers that are too large for an array.
_TYPED: dict[str, Callable[[Any], Any]] = {"uint64": U64, "float32": F32}
_LOW_BITS = {f"{sign}int{bits}": wrapping(bits, not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)}
_LOW_BITS["float32"] = narrowed


def _kernel(function: Callable[..., None]) -> Any:
    names = list(inspect.signature(function).parameters)
    of_mail = [name.startswith("in_") and name not in ("in_offsets", "in_neighbours") for name in names]
    typed = [name.startswith(("f_", "a_", "s_", "c_", "ci_", "co_")) or own
             for name, own in zip(names, of_mail, strict=True)]  # fmt: skip

    @wraps(function)
    def launched(*arguments: Any) -> None:
        given = zip(map(_number, arguments), typed, strict=True)
        try:
            with np.errstate(all="ignore"):
                function(*(_View(_plain(a), own) if isinstance(a, np.ndarray | _View) else a for a, own in given))
        except BaseException:
            _failed.set()
            raise

    launched.ready = _nothing  # type: ignore[attr-defined]
    return launched


def _plain(given: Any) -> Any:
    """The array of what a kernel is given, by Python or by another kernel."""
    return given.array if isinstance(given, _View) else given


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


def _brief_is_over(control: _View, begun: int) -> int:
    now = time.perf_counter_ns()
    control[BRIEF + 1] = control[BRIEF + 1] or begun
    return int(control[BRIEF] != 0 and now - control[BRIEF + 1] > control[BRIEF])


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


def _lanes() -> dict[str, Any]:
    def to(convert: Callable[[Any], Any]) -> Callable[..., Any]:
        def lanes(value: Any, length: int) -> Any:
            return Lanes(map(convert, value)) if isinstance(value, Lanes) else Lanes([convert(value)] * length)

        return lanes

    def keep(array: _View, row: int, lanes: Any) -> None:
        for k, value in enumerate(lanes):
            array[row, k] = value

    def put_here(lanes: Any, index: int, value: Any) -> Any:
        lanes[index] = value
        return lanes

    whole = wrapping(64, True), wrapping(64, False)
    return {
        "as_boolean": to(bool), "as_float32": to(narrowed), "as_float64": to(float), "as_int64": to(whole[0]),
        "as_uint64": to(whole[1]), "copied": Lanes, "put_here": put_here, "keep": keep, "magnitude": magnitude,
        "load": lambda array, row, length: Lanes(array[row, k] for k in range(length)),
        "put": lambda lanes, index, value: Lanes(value if k == index else x for k, x in enumerate(lanes)),
        "smaller": lambda a, b: Lanes(map(min, a, b)), "larger": lambda a, b: Lanes(map(max, a, b)),
        "total": lambda a: reduce(lambda x, y: operated("Add", x, y), a),
    }  # fmt: skip
