"""Mail: records that a vertex sends to any other one, by its number, and that are there in the next superstep.

``walker: af.mail(walk=af.i64, hops=af.i32)`` declares one kind of mail, ``af.send(to, walker=(walk, hops))`` sends a
record of it, and `receive` asks for it by its name: for a list of records, or for one value where an operation combines
them. Here stand the declaration, what it may say, and `send` and `neighbour` as plain Python has them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arcflux.checks import shown
from arcflux.errors import UsageError, did_you_mean
from arcflux.field_type import FieldType

if TYPE_CHECKING:
    from arcflux.program.model import Program

__all__ = ["COMBINED", "SENDERS", "VALUE", "Mail", "check_mails", "declare_mail", "mail", "neighbour", "out_edge",
           "posting", "send"]  # fmt: skip

# What the one part of a record is called that has no name.
VALUE = "value"
# The operations that combine mail, by the kind of its dtype.
COMBINED = {"f": ("sum", "min", "max"), "i": ("sum", "min", "max", "or", "and"),
            "u": ("sum", "min", "max", "or", "and"), "b": ("or", "and")}  # fmt: skip
# The functions that may send.
SENDERS = ("start", "around", "receive", "update")
_ARGUMENTS = ("v", "u", "old", "edge", "edges", "g", "p", "step", "run")


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


# --- what a declaration may say


def declare_mail(
    read: Program, line: int, name: str, declared: Mail, has_value: bool, functions: Collection[str]
) -> Mail:
    """A kind of mail, if it can be one."""
    if has_value:
        raise read.refusal(line, f"the mail {name} has a value", "mail is sent: af.send(to, " + name + "=...)")
    if name in functions or name in _ARGUMENTS:
        raise read.refusal(
            line, f"{name} means something else in programs, and receive asks for mail by its name",
            f"choose another name, such as {name}_mail",
        )  # fmt: skip
    if not declared.parts:
        raise read.refusal(line, f"the mail {name} says nothing", f"write `{name}: af.mail(af.f64)`")
    if VALUE in declared.parts and len(declared.parts) > 1:
        raise read.refusal(
            line, f"of the mail {name} some parts have a name, and one has none",
            f"name all of them: `{name}: af.mail(walk=af.i64, hops=af.i32)`",
        )  # fmt: skip
    for part, kind in declared.parts.items():
        _check_part(read, line, name, part, kind)
    if declared.operation is not None:
        _check_operation(read, line, name, declared)
    return declared


def _check_part(read: Program, line: int, name: str, part: str, kind: Any) -> None:
    if not isinstance(kind, FieldType):
        raise read.refusal(
            line, f"mail of {shown(kind)}, which is no type of numbers", f"write `{name}: af.mail(af.f64)`"
        )
    if kind.length is not None:
        raise read.refusal(
            line, f"the mail {name} has a vector, and records are made of single values",
            f"name its elements: af.mail(x=af.{kind.name}, y=af.{kind.name})",
        )  # fmt: skip
    if not part.isidentifier() or part.startswith("_"):
        raise read.refusal(line, f"a part of the mail {name} is called {part!r}", "choose a name without _ in front")


def _check_operation(read: Program, line: int, name: str, declared: Mail) -> None:
    if declared.is_record:
        raise read.refusal(
            line, f"the mail {name} has several parts, and {shown(declared.operation)} combines single values",
            "leave the operation out for a list, or declare one mail a part",
        )  # fmt: skip
    kind = declared.parts[VALUE]
    known = COMBINED[kind.dtype.kind]
    if declared.operation not in known:
        raise read.refusal(
            line, f"mail of {kind.name} combined by {shown(declared.operation)}",
            f"mail of {kind.name} is combined by {' or '.join(map(repr, known))}; without one, receive has a list",
        )  # fmt: skip


def check_mails(made: Program, arguments: Collection[str]) -> None:
    """Whether what a program declares, and what `receive` asks for, fit together."""
    receive = made.functions.get("receive")
    if not made.mails:
        if receive is not None:
            raise made.refusal(
                receive.line, "receive has no mail to receive", "declare some: `walker: af.mail(af.i64)`"
            )
        return
    first = next(iter(made.mails))
    if made.phases:
        raise made.refusal(
            made.lines[first], "a program with phases has no mail: what is sent in one would have to wait for another",
            "write a program for what sends, and give its fields to the next one with given=",
        )  # fmt: skip
    if receive is None:
        raise made.refusal(
            made.lines[first], f"nobody receives the mail {first}", f"add `def receive(v, {first}): ...`"
        )
    if "compute" in made.functions:
        raise made.refusal(
            made.functions["compute"].line, "compute takes messages in any order, and mail is received in one",
            "write around(v, edges): v.x = sum(u.x for u in edges), or send along edges by af.neighbour(v, k)",
        )  # fmt: skip
    for name in receive.arguments:
        if name not in arguments and name not in made.mails:
            raise made.refusal(
                receive.line, f"receive cannot have an argument {name!r}",
                did_you_mean(name, made.mails, f"it may ask for {', '.join([*arguments, *made.mails])}"),
            )  # fmt: skip
    for name in made.mails:
        if name not in receive.arguments:
            raise made.refusal(receive.line, f"nobody receives the mail {name}", f"write receive(v, {name}, ...)")
    _refuse_beside_mail(made)


def _refuse_beside_mail(made: Program) -> None:
    """Refuse what has no meaning where mail says who takes part."""
    beside = {
        "wants": ("wants is about messages along edges, and mail is always taken", "ask in around, or in receive"),
        "priority": ("with priority there are no supersteps after which mail arrives", "leave priority out"),
        "residual": ("a run ends when no mail is under way, whatever the residual", "end it by a total and stop(g)"),
    }
    for name, (why, remedy) in beside.items():
        if name in made.functions:
            raise made.refusal(made.functions[name].line, why, remedy)
    for promise in ("sparse", "monotone"):
        if promise in made.promises:
            line = made.functions["receive"].line
            rest = "all take part where they look around" if "around" in made.functions else "others rest anyway"
            raise made.refusal(line, f"{promise} is promised of a program with mail: {rest}", f"leave {promise} out")


# --- plain Python


class _Desk(threading.local):
    """Where records go that are sent in this thread: to the run that calls the program's functions."""

    take: Callable[[Any, Mapping[str, Any]], None] | None = None


_desk = _Desk()


@contextmanager
def posting(take: Callable[[Any, Mapping[str, Any]], None]) -> Iterator[None]:
    """Records that are sent in the block are given to `take`: to whom, and what by the names of mails."""
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
        raise UsageError(
            "af.send was called outside of a program", expected="a call in a function of a program that may send",
            remedy="@af.program above the class, and af.run(...)",
        )  # fmt: skip
    _desk.take(to, mail)


def neighbour(v: Any, k: int) -> int:
    """The number of the k-th out-neighbour of v, k from 0 to before ``v.out_degree``; in functions that may send.

    Kernels give -1 for any other k, to which nothing can be sent; with ``debug=True`` it is an error.
    """
    found: int = v._out(k)[0]
    return found


def out_edge(v: Any, k: int) -> Any:
    """The edge to the k-th out-neighbour of v, such as ``af.out_edge(v, k).weight``; in functions that may send."""
    return v._out(k)[1]
