"""Which columns of a table hold the ends of its edges, by their names; and whether a first line is made of names.

Names are compared without case, signs and common endings: ``FromNodeId``, ``from_node`` and ``from`` say the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arcflux.io.scan import is_number

__all__ = ["MISSING", "end_columns", "is_integer", "names_columns"]

# What stands for no value. Arrow's own list has NaN in it, which is a number here.
MISSING = ("", "NA", "N/A", "n/a", "<NA>", "#N/A", "NULL", "null")
# Names that hardly any vertex has, in the order of trying.
_ENDS = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("source", "destination"),
    ("start", "end"), ("subject", "object"), ("node1", "node2"), ("id1", "id2"), ("src", "dest"), ("src", "tgt"),
    ("source", "dest"), ("origin", "destination"), ("origin", "dest"), ("orig", "dest"), ("follower", "followee"),
    ("follower", "following"), ("follower", "followed"), ("sender", "receiver"), ("sender", "recipient"),
    ("caller", "callee"), ("citing", "cited"), ("parent", "child"), ("user", "item"), ("user", "friend"),
    ("user", "product"), ("user", "movie"), ("customer", "product"), ("buyer", "seller"), ("payer", "payee"),
    ("author", "coauthor"), ("ego", "alter"), ("row", "col"), ("row", "column"), ("left", "right"), ("i", "j"),
    ("nodea", "nodeb"), ("user1", "user2"), ("person1", "person2"), ("vertex1", "vertex2"),
)  # fmt: skip
# Of these a first line above names is made even when they are names again below: a network of flow has a source.
_SURE = _ENDS[:3] + _ENDS[4:6]
_ENDINGS = (re.compile(r"(?:ids?|key|name|index|idx)$"), re.compile(r"(?:node|vertex|user|person|account|page)$"))


def _plain(name: str) -> str:
    """A name without case, signs and common endings."""
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    for ending in _ENDINGS:
        bare = ending.sub("", bare) or bare
    return bare


def end_columns(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns whose names say that they are the source and the target.

    Examples
    --------
    >>> end_columns(["weight", "FromNodeId", "ToNodeId"]), end_columns(["ada", "bob"])
    ((1, 2), None)
    """
    readings = [name.lower() for name in names], [_plain(name) for name in names]
    places = [{name: k for k, name in reversed([*enumerate(reading)])} for reading in readings]
    for source, target in _ENDS:
        for place in places:
            if source in place and target in place:
                return place[source], place[target]
    return None


def is_integer(word: str) -> bool:
    """Whether a word is a whole number."""
    return re.fullmatch(r"[+-]?[0-9]+", word) is not None


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]], text_ids: bool = False) -> bool:
    """Whether a line names the columns of the lines below it: text above numbers, or words for the ends of edges.

    With `text_ids`, numbers may be names of vertices too, and say nothing.

    Examples
    --------
    >>> names_columns(["follower", "followee", "cost"], [["ada", "bob", "0.5"]])
    True
    >>> names_columns(["ada", "bob"], [["bob", "eve"]]), names_columns(["ada", "bob", "2"], [["bob", "eve", "3"]])
    (False, False)
    """
    if len(first) < 2 or any(is_integer(word) for word in first[:2]):
        return False
    if not text_ids and any(all(k < len(row) and is_integer(row[k]) for k in (0, 1)) for row in below):
        return True
    plain = {_plain(word) for word in first}
    if any(pair[0] in plain and pair[1] in plain for pair in _SURE):
        return True
    if any(is_number(word) for word in first):
        return False
    if any(_is_text_above_numbers(k, first[k], below) for k in range(2 if text_ids else 0, len(first))):
        return True
    again = {word for row in below for word in row[:2]}
    return end_columns(first) is not None and not again.intersection(first)


def _is_text_above_numbers(k: int, word: str, below: Sequence[Sequence[str]]) -> bool:
    """Whether a word stands above a column of numbers; above ids, of whole ones: 12e4 may be a name."""
    found = [row[k] for row in below if k < len(row) and row[k] not in MISSING]
    numeric = is_integer if k < 2 else is_number
    return word not in MISSING and bool(found) and all(numeric(other) for other in found)
