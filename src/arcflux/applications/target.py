"""What `arcflux run` runs: an algorithm by its name, or a vertex program in a user's file; and its settings."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from arcflux import Result, run
from arcflux.algorithms.registry import Algorithm, Argument, run_options
from arcflux.applications.registry import find
from arcflux.errors import ArcfluxError, FormatError, ProgramError, SpaceError, UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.io.npy import read_npy, read_npz
from arcflux.program import FieldType, Parameter, Program, vertex, vertices

__all__ = ["Target", "find_target", "program_target", "programs_in", "split_settings", "with_ids"]

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Target:
    """Something to run: the function to call with a graph, its arguments, and the fields of its result."""

    name: str
    call: Callable[..., Result]
    arguments: Mapping[str, Argument]
    options: frozenset[str]
    fields: tuple[str, ...]
    algorithm: Algorithm | None = None
    unordered: frozenset[str] = frozenset()


def find_target(named: str) -> Target:
    """The target of a name such as ``pagerank`` or ``my_program.py:MyProgram``."""
    file, _, cls = named.rpartition(":") if re.search(r"\.py:\w*$", named) else (named, "", "")
    if file.endswith(".py"):
        return program_target(_program(Path(file), cls))
    entry = find(named)
    return Target(
        entry.name, entry.call, entry.arguments, entry.options, entry.fields, entry, frozenset(entry.unordered)
    )


def program_target(program: Program) -> Target:
    """A vertex program as something to run."""

    def call(graph: Graph, **given: Any) -> Result:
        return run(program, graph, **given)

    arguments = {
        name: Argument(
            name, *_kind(one), required=one.kind in (vertex, vertices) and one.value is None, default=one.value
        )
        for name, one in program.parameters.items()
    }
    vectors = {name for name, kind in program.fields.items() if kind.length is not None}
    unordered = program.references | vectors
    return Target(program.name, call, arguments, run_options(), tuple(program.fields), unordered=unordered)


def _kind(one: Parameter) -> tuple[type, bool]:
    """The type of a parameter's values, and whether it is a list."""
    if isinstance(one.kind, FieldType):
        return {"f": float, "b": bool}.get(one.kind.dtype.kind, int), True
    return (vertex, True) if one.kind is vertices else (one.kind, False)


def _program(path: Path, cls: str) -> Program:
    module, programs, own = programs_in(path)
    known = ", ".join(own) or "none: a program is a class with @af.program above it"
    if not cls and len(own) == 1:
        return next(iter(own.values()))
    if not cls:
        several = f"{path} has {len(own)} programs" if own else f"{path} has no program"
        raise UsageError(several, expected=f"FILE:PROGRAM with one of: {known}")
    if cls in programs:
        return programs[cls]
    if hasattr(module, cls):
        raise UsageError(f"{cls} in {path} is not a program", expected=f"one of: {known}",
                         remedy="put @af.program above the class")  # fmt: skip
    raise UsageError(f"{path} has no program {cls!r}", expected=f"one of: {known}",
                     remedy=did_you_mean(cls, own, form=f"{path}:{{}}"))  # fmt: skip


def programs_in(path: Path) -> tuple[ModuleType, dict[str, Program], dict[str, Program]]:
    """The module of a file, the programs that it names, and those of them that it defines."""
    module = _imported(path)
    programs = {name: value for name, value in vars(module).items() if isinstance(value, Program)}
    own = {name: value for name, value in programs.items() if Path(value.path) == path.resolve()} or programs
    return module, programs, own


def _imported(path: Path) -> ModuleType:
    """The module of a file, which can import its neighbours like a script; errors are reported with their line."""
    if not os.path.isfile(path):
        raise FormatError("no such file", path=path, expected="a Python file with a vertex program")
    whole = path.resolve()
    name = f"arcflux_run_{whole.stem}"
    spec = importlib.util.spec_from_file_location(name, whole)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(whole.parent))
    try:
        spec.loader.exec_module(module)
    except ArcfluxError:
        raise
    except (Exception, SystemExit) as error:
        line = _line(error, str(whole))
        raise ProgramError(f"{type(error).__name__}: {error}", path=str(path), line=line) from error
    finally:
        sys.path.remove(str(whole.parent))
    return module


def _line(error: BaseException, path: str) -> int:
    """The line of a file where something was raised, the last one there."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return (lines[-1] if lines else 0) or 0


def split_settings(
    target: Target, settings: tuple[str, ...], source: str | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of ``--set name=value`` and ``--source``: ready to use, and texts that are ids of a graph."""
    texts: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {setting!r} has no value", expected="NAME=VALUE, such as damping=0.9")
        if name in texts:
            raise UsageError(f"{name} is given twice", expected=f"one --set {name}=")
        texts[name] = text
    if source is not None:
        name = "sources" if "sources" in target.arguments and "source" not in target.arguments else "source"
        if name in texts:
            raise UsageError(f"{name} is given twice", expected=f"--source, or --set {name}=")
        texts[name] = source
    for name in texts:
        if name not in target.arguments:
            known = ", ".join(target.arguments) or "none"
            raise UsageError(f"{target.name} has no parameter {name!r}", expected=f"one of its parameters: {known}",
                             remedy=did_you_mean(name, target.arguments))  # fmt: skip
    for name, argument in target.arguments.items():
        if argument.required and name not in texts:
            told = f"--{name} ID" if name == "source" else f"--set {name}={'ID,ID,...' if argument.many else 'VALUE'}"
            raise UsageError(f"{target.name} needs {name}", expected=told)
    ids = {name: text for name, text in texts.items() if target.arguments[name].kind is vertex}
    return {name: _read(target.arguments[name], text) for name, text in texts.items() if name not in ids}, ids


def _read(argument: Argument, text: str) -> Any:
    if argument.optional and text.lower() == "none":
        return None
    if argument.many and text.startswith("@"):
        return _from_file(argument, Path(text[1:]))
    if argument.many:
        return [_one(argument, part) for part in text.split(",")]
    return _one(argument, text)


def _from_file(argument: Argument, path: Path) -> Any:
    """Numbers in a file: an array of a .npy, the arrays of a .npz, else lines of numbers with commas."""
    if not os.path.isfile(path):
        raise FormatError("no such file", path=path, expected=f"numbers for {argument.name}: .npy, .npz or .csv")
    try:
        if path.suffix == ".npy":
            return read_npy(path)
        if path.suffix == ".npz":
            return read_npz(path)
        read: Any = np.loadtxt(path, dtype=np.int64 if argument.kind is int else np.float64, delimiter=",")
        return read
    except SpaceError:
        raise
    except (ValueError, OSError, EOFError) as error:
        raise FormatError(
            str(error),
            path=path,
            expected="numbers: .npy, .npz, or lines of them with commas, and no names",
        ) from error


def _one(argument: Argument, text: str) -> Any:
    try:
        return _WORDS[text.lower()] if argument.kind is bool else argument.kind(text)
    except (KeyError, ValueError) as error:
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[argument.kind]
        raise UsageError(f"{argument.name} is {text!r}", expected=expected) from error


def with_ids(target: Target, graph: Graph, ids: Mapping[str, str]) -> dict[str, Any]:
    """Ids given as text, converted to the type of the graph's ids: integers or text."""
    found: dict[str, Any] = {}
    for name, text in ids.items():
        argument = target.arguments[name]
        parts = text.split(",") if argument.many else [text]
        shares = [_parted_share(part) if argument.shares else (part, 1.0) for part in parts]
        values = [_id(graph, part) for part, _ in shares]
        graph.ids.to_numbers(values)  # a missing id is reported before anything runs
        found[name] = values if argument.many else values[0]
        if argument.shares:
            found[name] = {value: share for value, (_, share) in zip(values, shares, strict=True)}
    return found


def _parted_share(text: str) -> tuple[str, float]:
    """An id and its share from ``ada:2``; without a number it is 1."""
    name, _, number = text.rpartition(":")
    try:
        return (name, float(number)) if name else (text, 1.0)
    except ValueError:
        return text, 1.0


def _id(graph: Graph, text: str) -> Any:
    if graph.ids.kind == "text":
        return text
    try:
        return int(text)
    except ValueError:
        raise graph.ids.unknown(text) from None
