"""What a declaration of mail may say, and what a program with mail has to have around it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from arcflux.checks import shown
from arcflux.errors import did_you_mean
from arcflux.field_type import FieldType
from arcflux.mail import COMBINED, VALUE, Mail
from arcflux.program.model import Program

__all__ = ["check_mails", "declare_mail"]

_ARGUMENTS = ("v", "u", "old", "edge", "edges", "g", "p", "step", "run")


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
            made.lines[first], f"no function receives the mail {first}", f"add `def receive(v, {first}): ...`"
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
            raise made.refusal(receive.line, f"receive does not take the mail {name}", f"write receive(v, {name}, ...)")
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
