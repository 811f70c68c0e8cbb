"""Compile the kernels of a program for an architecture without having the GPU: to PTX, and by ptxas to machine code.

The figures of ptxas for a kernel (registers, shared memory, spills) decide how many of its threads a multiprocessor can
hold at once; `arcflux doctor --gpu`, the table in docs/explanation/gpu.md and the tests get them here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from arcflux.compile import cache
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.cuda.vectors import tile_threads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import scratch
from arcflux.errors import MissingExtraError
from arcflux.gpu import api
from arcflux.gpu.launch import asked, bounds, occupancy
from arcflux.program import FieldType

__all__ = ["ARCHITECTURES", "Compiled", "compiled", "compiled_kernel", "kernels", "ptx"]

ARCHITECTURES = (80, 90, 100)
_THREADS = 256


@dataclass(frozen=True)
class Compiled:
    """A kernel as compiled by ptxas; `shared` and `spilled` are bytes."""

    name: str
    architecture: int
    registers: int
    shared: int
    spilled: int
    threads: int
    ptx: str

    @property
    def occupancy(self) -> float:
        """The share of a multiprocessor's threads that can be resident at once."""
        return occupancy(self.registers, self.shared, self.threads, self.architecture)


def kernels(lowered: Lowered) -> list[str]:
    """The names of a program's kernels."""
    return re.findall(r"^def part_(\w+)\(", cuda_source(lowered), re.MULTILINE)


def compiled(lowered: Lowered, name: str, architecture: int, columns: dict[str, np.dtype[Any]]) -> Compiled:
    """A kernel of a program in machine code for an architecture; `columns` are the types of edge columns."""
    threads = tile_threads(lowered) or _THREADS if name in ("pull_thread", "pull_warp") else _THREADS
    return _assembled(name, ptx(lowered, name, architecture, columns), architecture, threads)


def compiled_kernel(name: str, kernel: Any, types: Sequence[str], architecture: int) -> Compiled:
    """A kernel that belongs to no part; `types` are NumPy's, with [] for each dimension of arrays ("u4[]")."""
    names = [(np.dtype(said.rstrip("[]")), said.count("[]")) for said in types]
    signature = tuple(api.array_type(kind, count) if count else api.number_type(kind) for kind, count in names)
    return _assembled(name, _ptx(kernel, signature, architecture), architecture, _THREADS)


def _assembled(name: str, made: str, architecture: int, threads: int) -> Compiled:
    """Compile PTX with ptxas."""
    assembler = shutil.which("ptxas")
    if assembler is None:
        raise MissingExtraError("ptxas", "", "turning PTX into machine code")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(made, encoding="utf-8")
        command = [assembler, "-v", f"-arch=sm_{architecture}", str(path), "-o", str(path.with_suffix(".cubin"))]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    numbers = {word: int(found.group(1)) if (found := re.search(rf"(\d+) {word}", output)) else 0
               for word in ("registers", "bytes smem", "bytes spill stores", "bytes stack frame")}  # fmt: skip
    spilled = numbers["bytes spill stores"] + numbers["bytes stack frame"]
    return Compiled(name, architecture, numbers["registers"], numbers["bytes smem"], spilled, threads, made)


def ptx(lowered: Lowered, name: str, architecture: int, columns: dict[str, np.dtype[Any]]) -> str:
    """The PTX of a kernel of a program."""
    generated = cache.module(cuda_source(lowered))
    kernel = getattr(generated, f"part_{name}")
    code = kernel.py_func.__code__
    words = code.co_varnames[: code.co_argcount]
    types = tuple(_type(lowered, name, word, columns) for word in words)
    return _ptx(kernel, types, architecture)


def _ptx(kernel: Any, types: tuple[Any, ...], architecture: int) -> str:
    capability = divmod(architecture, 10)
    with _pretended(capability):
        made, _ = api.cuda().compile(
            kernel.py_func,
            types,
            device=False,
            cc=capability,
            output="ptx",
            abi="numba",
            launch_bounds=bounds(asked(kernel.py_func), architecture),
        )
    return str(made)


@contextmanager
def _pretended(capability: tuple[int, int]) -> Iterator[None]:
    """Let inner functions be compiled for a device of this capability."""
    from arcflux.gpu.api import dispatching

    there = dispatching()
    before = there.get_current_device
    there.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        there.get_current_device = before


_ARRAYS = {
    "mine": "u4", "targets": "u4", "rows": "u4", "neighbours": "u4", "bits": "u4", "queue": "u4", "scan": "u8",
    "stamp": "u1", "reached": "u4", "counts": "i8", "told": "u4", "heads": "i8", "in_offsets": "u8",
    "out_offsets": "u8", "in_neighbours": "u4", "moves": "?", "pending": "?", "residuals": "f8", "which": "u4",
}  # fmt: skip
_NUMBERS = {"step": "i8", "shift": "u8", "lowest": "u8", "size": "i8", "whole": "?", "mark": "u1", "queues_too": "?"}


def _type(lowered: Lowered, name: str, word: str, columns: dict[str, np.dtype[Any]]) -> Any:
    """The type of an argument as in a launch."""
    kind, rest = word[:2], word[2:]
    if word == "tally":
        return api.array_type(np.dtype("f8"), 2)
    collected = {f"{one.name}s": one.dtype for one in scratch(lowered)}
    if word in collected:
        return api.array_type(collected[word], 1)
    if word in _ARRAYS:
        return api.array_type(np.dtype(_ARRAYS[word]), 1)
    if word in _NUMBERS:
        return api.number_type(np.dtype(_NUMBERS[word]))
    if word in (mailed := _of_mail(lowered, columns)):
        return mailed[word]
    of_total, _, total = word.partition("_")
    if of_total in ("totals", "sums", "each"):
        measure = lowered.totals[total]
        return api.array_type(measure.dtype, 1 if measure.length is None else 2)
    if kind == "g_":
        return api.number_type(np.dtype("i8"))
    if kind == "p_":
        wanted = lowered.program.parameters[rest].kind
        if isinstance(wanted, FieldType):
            return api.array_type(wanted.dtype, 2)
        return api.number_type(np.dtype("f8" if wanted is float else "?" if wanted is bool else "i8"))
    if kind == "c_":
        return api.array_type(columns[rest], 1)
    if kind in ("s_", "r_"):
        message = next(message for message in lowered.messages if message.name == rest)
        return api.array_type(message.dtype, 1 if message.length is None else 2)
    if kind == "x_":
        known = {"reverse": "u4", "place": "u4", "turn": "i8"}
        if rest in known:
            return api.array_type(np.dtype(known[rest]), 1)
        assert lowered.edge_state is not None
        field = lowered.edge_state.fields[rest]
        return api.array_type(field.stored, 1 if field.length is None else 2)
    dtype, length = lowered.fields[rest]
    return api.array_type(dtype, 1 if length is None else 2)


def _of_mail(lowered: Lowered, columns: dict[str, np.dtype[Any]]) -> dict[str, Any]:
    """The types of the additional arguments of kernels with mail."""
    types: dict[str, Any] = {f"columns_{column}": api.array_type(columns[column], 1) for column in lowered.out_columns}
    if lowered.mails:
        types |= {"low": api.number_type(np.dtype("u8")), "out_neighbours": api.array_type(np.dtype("u4"), 1)}
    for name, declared in lowered.mails.items():
        types |= dict.fromkeys((f"box_{name}", f"cursor_{name}"), api.array_type(np.dtype("u8"), 1))
        types[f"to_{name}"] = api.array_type(np.dtype("i8"), 1)
        for part, kind in declared.parts.items():
            types |= dict.fromkeys((f"in_{name}_{part}", f"out_{name}_{part}"), api.array_type(kind.dtype, 1))
    return types
