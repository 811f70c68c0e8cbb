"""Failures of the compiler on a program's kernels, reported in one line with the user's own names.

check/ refuses what cannot be a kernel. If Numba or LLVM still fails, users see the program, the function and the
reason, and never a traceback of generated code; the original error remains as ``error.__context__``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arcflux.compile.lower import Lowered
from arcflux.errors import ArcfluxError

__all__ = ["refusing_failures"]

_COMPILERS = ("numba", "llvmlite")
_SHOWN = {"v": "v", "u": "u", "o": "old", "e": "edge", "p": "p", "g": "g"}
_FUNCTIONS = ("start", "init", "update", "wants", "residual", "priority")
# Lines of Numba's messages with the location, not the reason.
_ASIDE = re.compile(r"Failed in |During: |File ")


@contextmanager
def refusing_failures(lowered: Lowered) -> Iterator[None]:
    """Turn what a compiler raises into a refusal of the program."""
    try:
        yield
    except ArcfluxError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or not _of_a_compiler(error):
            raise
        name = _function(str(error))
        functions = lowered.program.functions
        along = functions.get("compute") or functions.get("around") or functions["start"]
        place = functions.get(name, along)
        where = f"{name} cannot be compiled" if name else "the program cannot be compiled"
        remedy = "write it with fields, numbers and simple arithmetic; debug=True runs it in plain Python"
        raise lowered.program.refusal(place.line, f"{where}: {_reason(error)}", remedy) from None


def _of_a_compiler(error: BaseException) -> bool:
    """Whether an error comes from a compiler: by its class, or by the code that raised it."""
    if type(error).__module__.split(".")[0] in _COMPILERS:
        return True
    trace, names = error.__traceback__, [""]
    while trace is not None:
        names.append(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    simulated = any(name.startswith("numba.cuda.simulator") for name in names)
    return names[-1].split(".")[0] in _COMPILERS and not simulated


def _function(said: str) -> str:
    """The function of the program in which a compiler stopped; "" if unknown.

    The message names lines of the generated module, the innermost first, and functions whose calls were being compiled.
    """
    names = [_around(path, int(line)) for path, line in re.findall(r"(\w*arcflux_program_\w+)\.py\W+line (\d+)", said)]
    names += re.findall(r"<function (\w+) at", said)
    for name in names:
        if name in _FUNCTIONS:
            return name
        if name in ("edge", "push_edge") or name.startswith("source_"):
            return "compute"
        if name == "around" or re.match(r"each\d+$", name):
            return "around"
    return ""


def _around(module: str, line: int) -> str:
    """The function that contains a line of a generated module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    before = Path(file).read_text(encoding="utf-8").splitlines()[:line] if file else []
    heads = [text for text in before if text.startswith("def ")]
    return heads[-1].removeprefix("def ").partition("(")[0] if heads else ""


def _reason(error: Exception) -> str:
    """The line of an error with the reason, in the names that the user wrote."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip() and not _ASIDE.match(line.strip())]
    reason = re.sub(r", defined at .*|^\w+Error: ", "", lines[0] if lines else type(error).__name__)
    call = re.search(r">>> (.*)", plain)
    if reason.endswith("found for signature:") and call:
        reason = f"there is no {call[1]}"
    return re.sub(r"\b([vuoepg])_(\w+)", lambda m: f"{_SHOWN[m[1]]}.{m[2]}", reason).rstrip(".")
