"""A graph built the slow way, from dicts and lists, and strategies for edges to build it from."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

COLUMN_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool")
LOWEST, HIGHEST = -(2**63), 2**63 - 1
ID_POOLS = {
    "dense": list(range(8)),
    "from one": list(range(1, 9)),
    "negative": list(range(-5, 3)),
    "with gaps": [0, 3, 700, 40_000, 65_000, 65_535, 65_536, 65_600],
    "far off": [2**62 + k for k in (0, 1, 5, 9)],
    "sparse": [0, 7, 10**6, 10**12, 2**40, 2**31, 2**32, -(10**9)],
    "extremes": [LOWEST, LOWEST + 1, -1, 0, 1, HIGHEST - 1, HIGHEST],
    "lowest": [LOWEST, LOWEST + 1, LOWEST + 2, LOWEST + 4],
    "highest": [HIGHEST, HIGHEST - 1, HIGHEST - 2, HIGHEST - 4],
    "text": ["", " ", "a", "A", "a\0", "aa", "ä", "日本", "\uffff", "\U00010000"],
}


class DoesNotFitError(Exception):
    """An integer sum leaves the range of its column."""


@dataclass
class Plain:
    """``rows[v]``: (neighbour's number, values of the columns) in order; ids in the order of the numbers."""

    ids: list[Any]
    rows: list[list[tuple[int, tuple[Any, ...]]]]
    edges: int
    loops_dropped: int = 0
    merged: int = 0
    in_rows: list[list[tuple[int, tuple[Any, ...]]]] = field(default_factory=list)


def plain_graph(source, target, columns, *, vertices, directed, deduplicate, drop_self_loops, sort):
    """What ``Graph.from_edges`` has to make of the same arguments; `columns` are arrays."""
    if vertices is None:
        ids = sorted({*source, *target})
    else:
        ids = list(range(vertices)) if isinstance(vertices, int) else sorted(set(vertices))
    number = {name: k for k, name in enumerate(ids)}
    lists: dict[int, list[tuple[int, tuple[Any, ...]]]] = {v: [] for v in range(len(ids))}
    dropped = 0
    for i, (a, b) in enumerate(zip(source, target, strict=True)):
        u, v, values = number[a], number[b], tuple(column[i] for column in columns)
        if u == v and drop_self_loops:
            dropped += 1
            continue
        lists[u].append((v, values))
        if u != v and not directed:
            lists[v].append((u, values))
    rows = [sorted(row, key=lambda arc: arc[0]) if sort else row for row in lists.values()]
    if deduplicate:
        rows = [_merged(row, deduplicate) for row in rows]
    into: list[list[tuple[int, tuple[Any, ...]]]] = [[] for _ in ids]
    for u, row in enumerate(rows):
        for v, values in row:
            into[v].append((u, values))
    edges = sum(1 for u, row in enumerate(rows) for v, _ in row if directed or u <= v)
    return Plain(ids, rows, edges, dropped, len(source) - dropped - edges, into if directed else rows)


def _merged(row, how):
    groups: dict[int, list[tuple[Any, ...]]] = {}
    for v, values in row:
        groups.setdefault(v, []).append(values)
    return [(v, tuple(_reduced(column, how) for column in zip(*group, strict=True))) for v, group in groups.items()]


def _reduced(values, how):
    result = values[0]
    for value in values[1:]:
        if how == "sum":
            result = _sum(result, value)
        elif (how == "min" and not result <= value and result == result) or (
            how == "max" and not result >= value and result == result
        ):
            result = value
    return result


def _sum(a, b):
    kind = a.dtype
    if kind == np.bool_:
        return a or b
    if kind.kind in "iu":
        total = int(a) + int(b)
        if not np.iinfo(kind).min <= total <= np.iinfo(kind).max:
            raise DoesNotFitError
        return kind.type(total)
    with np.errstate(all="ignore"):
        return a + b


@dataclass
class Given:
    """Arguments of from_edges: the ends as plain lists, as they are passed, and the rest."""

    source: list[Any]
    target: list[Any]
    ends: tuple[Any, Any]
    columns: dict[str, Any]
    options: dict[str, Any]

    def plain(self) -> Plain:
        options = {key: value for key, value in self.options.items() if key != "threads"}
        return plain_graph(self.source, self.target, list(self.columns.values()), **options)


def _values(kind):
    if kind == "bool":
        return st.booleans()
    if kind.startswith("float"):
        return st.sampled_from([0.0, -0.0, 1.5, -2.25, 0.1, 1e30, float("inf"), float("-inf"), float("nan")])
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    return st.one_of(st.integers(max(low, -4), 4), st.integers(max(low, -4), 4), st.sampled_from([low, high]))


@st.composite
def given_edges(draw):
    """Arguments for from_edges: every kind of ids, columns and options together."""
    kind = draw(st.sampled_from(list(ID_POOLS)))
    pool = draw(st.lists(st.sampled_from(ID_POOLS[kind]), min_size=1, unique=True))
    size = draw(st.integers(0, 40))
    source, target = (draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size)) for _ in range(2))
    types = draw(st.lists(st.sampled_from(COLUMN_TYPES), max_size=3))
    columns = {
        f"c{k}": np.array(draw(st.lists(_values(t), min_size=size, max_size=size)), t) for k, t in enumerate(types)
    }
    choices = [None, ID_POOLS[kind] + pool]
    if kind in ("dense", "from one"):
        choices.append(max(ID_POOLS[kind]) + draw(st.integers(1, 3)))
    deduplicate = draw(st.sampled_from([None, "first", "sum", "min", "max"]))
    options = {
        "vertices": draw(st.sampled_from(choices)),
        "directed": draw(st.booleans()),
        "deduplicate": deduplicate,
        "drop_self_loops": draw(st.booleans()),
        "sort": deduplicate is not None or draw(st.booleans()),
        "threads": draw(st.sampled_from([1, 2, 3, 7])),
    }
    return Given(source, target, (draw(passed(kind, source)), draw(passed(kind, target))), columns, options)


def passed(kind, ends):
    """The same ids as a list, or as an array of any type that holds them."""
    if kind == "text":
        return st.sampled_from([ends, np.array(ends, object)])
    types = [t for t in ("i1", "u1", "i4", "u4", ">i4", "i8", ">i8", "u8") if _fits(ends, t)]
    return st.sampled_from([ends, *(np.array(ends, t) for t in types)])


def _fits(ends, kind):
    return all(np.iinfo(kind).min <= end <= np.iinfo(kind).max for end in ends)
