"""Mail as the oracle has it: records in one list, in the order in which they were sent, looked through each time."""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import Any

from program_fuzzer.numbers import of_field, plain, weak
from program_fuzzer.values import IllDefined, fitting
from program_fuzzer.wild import RANGES

__all__ = ["Mail", "Post", "counted"]

_FOLD = {"sum": operator.add, "min": min, "max": max, "or": operator.or_, "and": operator.and_}


class Mail:
    """A kind of mail, as the class declares it."""

    def __init__(self, kind: Any = None, how: str | None = None, /, **parts: Any) -> None:
        self.parts = parts or {"": kind}
        self.how = how

    def nothing(self) -> Any:
        kind = self.parts[""].name
        if kind == "flag":
            return self.how == "and"
        if self.how in ("sum", "or"):
            return 0
        if self.how == "and":
            return RANGES[kind][1] if kind[0] == "u" else -1
        low, high = (float("-inf"), float("inf")) if kind[0] == "f" else RANGES[kind]
        return high if self.how == "min" else low


class Post:
    """All records that are under way."""

    def __init__(self, mails: dict[str, Mail], vertices: int) -> None:
        self.mails, self.vertices = mails, vertices
        self.sent: list[tuple[int, str, tuple[Any, ...]]] = []
        self.arrived: list[tuple[int, str, tuple[Any, ...]]] = []

    def send(self, to: Any, mail: dict[str, Any]) -> None:
        if isinstance(to, bool | float) or not 0 <= to < self.vertices:
            raise IllDefined(f"{to!r} is no vertex")
        for name, given in mail.items():
            kinds = self.mails[name].parts
            row = given if isinstance(given, tuple) else (given,)
            values = tuple(plain(fitting(kind.name, x)) for kind, x in zip(kinds.values(), row, strict=True))
            self.sent.append((int(to), name, values))

    def deliver(self) -> set[int]:
        """What was sent arrives; the vertices that have mail."""
        self.arrived, self.sent = self.sent, []
        return {to for to, _, _ in self.arrived}

    def of(self, v: int) -> dict[str, Any]:
        """What `receive` is given."""
        return {name: self._given(mail, [row for to, kind, row in self.arrived if to == v and kind == name])
                for name, mail in self.mails.items()}  # fmt: skip

    def _given(self, mail: Mail, rows: list[tuple[Any, ...]]) -> Any:
        kinds = [kind.name for kind in mail.parts.values()]
        if mail.how is None:
            records = [[of_field(kind, x) for kind, x in zip(kinds, row, strict=True)] for row in rows]
            if "" in mail.parts:
                return [record[0] for record in records]
            return [SimpleNamespace(**dict(zip(mail.parts, record, strict=True))) for record in records]
        total = rows[0][0] if rows else mail.nothing()
        for row in rows[1:]:
            total = plain(fitting(kinds[0], _FOLD[mail.how](total, row[0])))
        return of_field(kinds[0], total)


def counted(row: Any) -> Any:
    """The length of a list."""
    return weak(len(row))
