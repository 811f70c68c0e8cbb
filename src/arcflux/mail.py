"""Mail: records that a vertex sends to any other one, by its number, and that are there in the next superstep.

``walker: af.mail(walk=af.i64, hops=af.i32)`` declares one kind of mail, ``af.send(to, walker=(walk, hops))`` sends a
record of it, and `receive` asks for it by its name: for a list of records, or for one value where an operation combines
them. Here stand the declaration, and `send` and `neighbour` as plain Python has them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from arcflux.errors import UsageError
from arcflux.field_type import FieldType

__all__ = ["COMBINED", "SENDERS", "VALUE", "Mail", "mail", "neighbour", "out_edge", "posting", "send"]

# What the one part of a record is called that has no name.
VALUE = "value"
# The operations that combine mail, by the kind of its dtype.
COMBINED = {"f": ("sum", "min", "max"), "i": ("sum", "min", "max", "or", "and"),
            "u": ("sum", "min", "max", "or", "and"), "b": ("or", "and")}  # fmt: skip
# The functions that may send.
SENDERS = ("start", "around", "receive", "update")


@dataclass(frozen=True)
class Mail:
    """One kind of mail: the parts of its records, by name, and the operation that combines them, or None for a list."""

    parts: Mapping[str, Any]
    operation: str | None = None

    @property
    def is_record(self) -> bool:
        """Whether its parts have names; else a record is a single value."""
        return tuple(self.parts) != (VALUE,)

    @property
    def nothing(self) -> Any:
        """What mail that is combined is where there is none, as a number of Python's."""
        kind, operation = self.parts[VALUE].dtype, self.operation
        if kind.kind == "b":
            return operation == "and"
        if operation in ("sum", "or"):
            return 0.0 if kind.kind == "f" else 0
        if kind.kind == "f":
            return math.inf if operation == "min" else -math.inf
        limits = np.iinfo(kind)
        if operation == "and":
            return int(limits.max) if kind.kind == "u" else -1
        return int(limits.max if operation == "min" else limits.min)

    def __repr__(self) -> str:
        said = [f"{name}={kind}" if self.is_record else f"{kind}" for name, kind in self.parts.items()]
        return f"mail({', '.join([*said, *([repr(self.operation)] if self.operation else [])])})"


def mail(kind: Any = None, operation: str | None = None, /, **parts: FieldType) -> Mail:
    """As a declared type: records that vertices send to each other, such as ``walker: af.mail(af.i64)``.

    Several parts have names: ``af.mail(walk=af.i64, hops=af.i32)``. With an operation, "sum", "min", "max", "or" or
    "and", `receive` is given one value, else a list.

    Examples
    --------
    >>> import arcflux as af
    >>> af.mail(af.f64, "sum"), af.mail(walk=af.i64, hops=af.i32)
    (mail(f64, 'sum'), mail(walk=i64, hops=i32))
    """
    return Mail(({} if kind is None else {VALUE: kind}) | parts, operation)


# --- plain Python


class _Desk(threading.local):
    """Where records go that are sent in this thread: to the run that calls the program's functions."""

    take: Callable[[Any, Mapping[str, Any]], None] | None = None


_desk = _Desk()


@contextmanager
def posting(take: Callable[[Any, Mapping[str, Any]], None]) -> Iterator[None]:
    """Records that are sent in the block are given to `take`: the receiver, and values by the names of mails."""
    before, _desk.take = _desk.take, take
    try:
        yield
    finally:
        _desk.take = before


def send(to: int, /, **mail: Any) -> None:
    """Send a record to the vertex with the number `to`: ``af.send(to, walker=(walk, hops))``.

    The keyword is the name of the mail, its value the record: a tuple of all parts in their order, or the value of mail
    that has one. It is received in the next superstep. start, around, receive and update may send.
    """
    if _desk.take is None:
        raise _outside("send")
    _desk.take(to, mail)


def neighbour(v: Any, k: int) -> int:
    """The number of the k-th out-neighbour of v, k from 0 to before ``v.out_degree``; in functions that may send.

    Kernels give -1 for any other k, to which nothing can be sent; with ``debug=True`` it is an error.
    """
    found: int = _out_of(v, "neighbour")(k)[0]
    return found


def out_edge(v: Any, k: int) -> Any:
    """The edge to the k-th out-neighbour of v, such as ``af.out_edge(v, k).weight``; in functions that may send."""
    return _out_of(v, "out_edge")(k)[1]


def _out_of(v: Any, word: str) -> Callable[[int], tuple[int, Any]]:
    """What looks up the out-edges of a vertex of a program; nothing else has them."""
    look: Callable[[int], tuple[int, Any]] | None = getattr(type(v), "_out", None)
    if not callable(look):
        raise _outside(word)
    return partial(look, v)


def _outside(word: str) -> UsageError:
    return UsageError(
        f"af.{word} was called outside of a program", expected="a call in a function of a program that may send",
        remedy="@af.program above the class, and af.run(...)",
    )  # fmt: skip
