"""What commands print: JSON on stdout, errors and warnings on stderr."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import click

from arcflux.errors import ArcfluxError, FormatError

__all__ = ["INTERRUPTED", "describe_error", "print_json", "print_notice"]

# The exit code after Ctrl-C.
INTERRUPTED = 130


def describe_error(kind: str, text: str, code: int, error: ArcfluxError | None = None) -> dict[str, Any]:
    """What went wrong, ready for JSON."""
    parts = [error.what, error.expected, error.remedy] if error else [text, "", ""]
    place = {"path": error.path, "line": error.line} if isinstance(error, FormatError) else {}
    return {"class": kind, **dict(zip(("what", "expected", "remedy"), parts, strict=True)), **place, "exit_code": code}


def print_notice(text: str, kind: str = "error") -> None:
    """Print an error or a warning where a person looks for it."""
    print(f"arcflux: {kind}: {text}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON document; numbers that JSON does not know (NaN and the infinities) become null.

    Of a list of records, such as the supersteps of a run, each is a line.
    """
    click.echo(_json(value))


def _json(value: Any, margin: str = "") -> str:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        members = [f"{json.dumps(str(key))}: {_json(inside, inner)}" for key, inside in value.items()]
        return "{\n" + ",\n".join(inner + member for member in members) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        if not all(isinstance(each, dict) for each in value):
            return _line(value)
        return "[\n" + ",\n".join(inner + _line(each) for each in value) + f"\n{margin}]"
    return _line(value)


def _line(value: Any) -> str:
    """On one line, by the encoder that is written in C: a run has up to hundreds of thousands of supersteps."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:  # NaN, or an infinity
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
