"""Outputs compared with reference outputs, by the match rules of LDBC Graphalytics.

An output has a line "id value" for each vertex. BFS and CDLP match exactly, WCC up to the names of the components, and
PR, LCC and SSSP when a value is within 0.0001 of the reference, relative to the reference.

"The LDBC Graphalytics Benchmark", section "Output validation": https://arxiv.org/abs/2011.15028
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import checked, text
from arcflux.checks import path as path_rule
from arcflux.errors import FormatError, UsageError
from arcflux.validate.arguments import unknown_choice
from arcflux.validate.report import Offence, Report, Rule

__all__ = ["EPSILON", "Output", "ldbc", "read_ldbc_output"]

Array = NDArray[Any]

EPSILON = 1e-4
_EXACT, _EQUIVALENT, _CLOSE = "exact", "equivalent", "close"
_MATCH = {"bfs": _EXACT, "cdlp": _EXACT, "wcc": _EQUIVALENT, "pr": _CLOSE, "lcc": _CLOSE, "sssp": _CLOSE}


class Output(NamedTuple):
    """Lines of an output in their order: ids: int64[lines], values: int64|float64[lines]."""

    ids: Array
    values: Array


@checked(algorithm=text)
def ldbc(algorithm: str, got: Any, expected: Any) -> Report:
    """Check an output by the match rule of a Graphalytics algorithm: bfs, cdlp, wcc, pr, lcc or sssp.

    Parameters
    ----------
    got, expected
        The output and the reference: each the path of a file of lines "id value", an :class:`Output`, or a mapping
        from ids to values. An unreached vertex is 9223372036854775807 in bfs, and infinity in sssp.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.ldbc("wcc", {1: 1, 2: 1, 3: 3}, {1: 20, 2: 20, 3: 10}))
    True
    >>> print(af.validate.ldbc("sssp", {1: 0.0, 2: 0.5}, {1: 0.0, 2: float("inf")})["values"].offences[0])
    Offence(vertex=2, found='0.5', expected='inf')
    """
    if algorithm not in _MATCH:
        raise unknown_choice("algorithm", algorithm, tuple(_MATCH))
    mine, reference = (_output(name, given, algorithm) for name, given in (("got", got), ("expected", expected)))
    ids, at_mine, at_reference = np.intersect1d(mine.ids, reference.ids, return_indices=True)
    matches = {_EXACT: _exact_rules, _EQUIVALENT: _equivalence_rules, _CLOSE: _epsilon_rules}[_MATCH[algorithm]]
    rules = (
        _once_rule("got-once", "the output", mine.ids),
        _once_rule("expected-once", "the reference", reference.ids),
        _subset_rule("missing", "every vertex of the reference is in the output", reference.ids, mine.ids),
        _subset_rule("extra", "every vertex of the output is in the reference", mine.ids, reference.ids),
        *matches(ids, mine.values[at_mine], reference.values[at_reference]),
    )
    return Report(f"ldbc {algorithm}", rules)


def _once_rule(name: str, whose: str, ids: Array) -> Rule:
    unique, counts = np.unique(ids, return_counts=True)
    often = dict(zip(unique[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True))
    return Rule.checked(
        name,
        f"every vertex of {whose} is there once",
        list(often),
        lambda v: Offence(v, f"{often[v]:,} lines", "1 line"),
    )


def _subset_rule(name: str, sentence: str, ids: Array, among: Array) -> Rule:
    found, wanted = ("no line", "1 line") if name == "missing" else ("a line", "none")
    return Rule.checked(name, sentence, np.setdiff1d(ids, among), lambda v: Offence(v, found, wanted))


def _exact_rules(ids: Array, got: Array, expected: Array) -> list[Rule]:
    return [_values_rule("every value equals the reference", got != expected, ids, got, expected)]


def _epsilon_rules(ids: Array, got: Array, expected: Array) -> list[Rule]:
    finite = np.isfinite(got) & np.isfinite(expected)
    near = np.zeros(len(ids), bool)
    near[finite] = np.abs(got[finite] - expected[finite]) <= EPSILON * np.abs(expected[finite])
    sentence = f"every value is within {EPSILON} of the reference, relative to it; infinity where it is infinity"
    return [_values_rule(sentence, ~near & ~(np.isinf(expected) & (got == expected)), ids, got, expected)]


def _values_rule(sentence: str, wrong: Array, ids: Array, got: Array, expected: Array) -> Rule:
    return Rule.checked(
        "values", sentence, np.flatnonzero(wrong), lambda i: Offence(ids[i], str(got[i]), str(expected[i]))
    )


def _equivalence_rules(ids: Array, got: Array, expected: Array) -> list[Rule]:
    """The partitions are the same when each label of one occurs with a single label of the other, both ways."""
    return [
        _partition_rule("merged", "vertices with one label have one in the reference", ids, got, expected),
        _partition_rule("split", "vertices with one label in the reference have one", ids, expected, got),
    ]


def _partition_rule(name: str, sentence: str, ids: Array, group: Array, label: Array) -> Rule:
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    leader = first[member]
    apart, together = ("reference", "output") if name == "merged" else ("output", "reference")

    def tell(i: int) -> Offence:
        other = ids[leader[i]]
        return Offence(
            ids[i],
            f"{apart} label {label[i]}, that of {other} is {label[leader[i]]}",
            f"equal labels, as in the {together}",
        )

    return Rule.checked(name, sentence, np.flatnonzero(label != label[leader]), tell)


def _output(name: str, given: Any, algorithm: str) -> Output:
    if isinstance(given, (str, os.PathLike)):
        return read_ldbc_output(given, algorithm)
    if isinstance(given, Output):
        ids, values = np.asarray(given.ids), np.asarray(given.values)
    elif isinstance(given, Mapping):
        ids, values = np.array(list(given)), np.array(list(given.values()))
    else:
        raise UsageError(
            f"{name} is of type {type(given).__name__}", expected="a path, a mapping of ids to values, or an Output"
        )
    if ids.ndim != 1 or ids.shape != values.shape:
        raise UsageError(
            f"{name} has ids of shape {ids.shape} and values of shape {values.shape}", expected="a value for each id"
        )
    return Output(_numbers(name, "ids", ids), _numbers(name, "values", values, _MATCH[algorithm] == _CLOSE))


def _numbers(name: str, part: str, given: Array, real: bool = False) -> Array:
    """`given` as int64, or as float64 when `real`."""
    fits = given.dtype != np.uint64 or given.max(initial=0) < 1 << 63
    if len(given) and (given.dtype.kind not in ("iuf" if real else "iu") or not fits):
        raise UsageError(
            f"the {part} of {name} are {given.dtype}",
            expected="numbers" if real else "integers of 64 bits, the largest where a vertex is not reached",
        )
    return given.astype(np.float64 if real else np.int64)


@checked(path=path_rule, algorithm=text)
def read_ldbc_output(path: str | os.PathLike[str], algorithm: str = "") -> Output:
    """The lines "id value" of a Graphalytics output, in their order.

    The values are int64 or float64 as the algorithm has them; without it, float64 when one is not a whole number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix="-SSSP") as file:
    ...     _ = file.write("1 0.0\\n2 infinity\\n")
    ...     file.flush()
    ...     read_ldbc_output(file.name).values.tolist()
    [0.0, inf]
    """
    if algorithm and algorithm not in _MATCH:
        raise unknown_choice("algorithm", algorithm, tuple(_MATCH))
    kinds: tuple[type, ...] = (int, float)
    if algorithm:
        kinds = (float,) if _MATCH[algorithm] == _CLOSE else (int,)
    try:
        for kind in kinds:
            found = _read_fast(path, kind)
            if found is not None:
                return found
        return _read_lines(path, kinds[-1])
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot be read: {error}", path=path, expected='a text file of lines "id value"') from error


def _read_fast(path: str | os.PathLike[str], kind: type) -> Output | None:
    """The lines by Arrow's parser; None when it rejects them, so that the slow reader reports why."""
    import pyarrow as pa
    from pyarrow import csv

    types = {"id": pa.int64(), "value": pa.int64() if kind is int else pa.float64()}
    try:
        with open(path, "rb") as file:
            table = csv.read_csv(
                file,
                read_options=csv.ReadOptions(column_names=list(types)),
                parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
            )
    except pa.ArrowInvalid:
        return None
    return Output(table["id"].to_numpy(), table["value"].to_numpy())


def _read_lines(path: str | os.PathLike[str], kind: type) -> Output:
    """The lines one by one, with any white space between id and value."""
    ids, values = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            parts = line.split()
            if not parts:
                continue
            try:
                if len(parts) != 2:
                    raise ValueError
                ids.append(_parsed(parts[0], int))
                values.append(_parsed(parts[1], kind))
            except ValueError:
                raise FormatError(
                    f"{line.rstrip()[:80]!r} is not a vertex and its value",
                    path=path,
                    line=number,
                    expected="an integer id and " + ("an integer" if kind is int else "a number or infinity"),
                ) from None
    return Output(np.array(ids, np.int64), np.array(values, np.int64 if kind is int else np.float64))


def _parsed(text: str, kind: type) -> Any:
    """A number; ValueError for spellings that only Python accepts, and for integers of more than 64 bits."""
    value = kind(text)
    if "_" in text or not text.isascii() or (kind is int and not -(1 << 63) <= value < 1 << 63):
        raise ValueError
    return value
