"""Random programs with mail: what vertices send to whom, and what they make of lists of records and of sums."""

from __future__ import annotations

from dataclasses import dataclass

from program_fuzzer.expressions import Domain, Expressions, Number, fit
from program_fuzzer.fields import about, atoms, random_field, typed
from program_fuzzer.neighbourhoods import Neighbourhood
from program_fuzzer.totals import Totals
from program_fuzzer.writing import ProgramSpec

__all__ = ["Mailing"]

_COMBINED = {"int": ("sum", "min", "max", "or", "and"), "float": ("sum", "min", "max"), "flag": ("or", "and")}
# At most so many records meet at a vertex: sums of as many are exact.
_MOST = 1 << 12


@dataclass
class _Part:
    name: str
    domain: Domain
    kind: str


@dataclass
class _Mail:
    """A kind of mail; `how` combines it, "" for a list."""

    name: str
    parts: list[_Part]
    how: str = ""

    @property
    def declared(self) -> str:
        said = [f"{one.name}=af.{one.kind}" if one.name else f"af.{one.kind}" for one in self.parts]
        said += [repr(self.how)] if self.how else []
        return f"{self.name}: af.mail({', '.join(said)})"


class Mailing(Neighbourhood, Totals):
    """Writes a program with mail: shape "mail" on no edges, "mail around" where vertices look around, too."""

    def program(self) -> ProgramSpec:
        """All of it."""
        self._choose_neighbourhood_fields()
        self._choose_parameters()
        self._choose_totals(0.25)
        self.mails = [self._mail(f"m{k}") for k in range(self.draw.choice([1, 1, 2, 3]))]
        self.declared += [mail.declared for mail in self.mails]
        self.owed = {mail.name for mail in self.mails}  # those that nothing sends yet
        functions = [self._started()]
        functions += [self._around_and_send()] if self.shape == "mail around" else []
        functions += [self._received(), self._updated()]
        return self._assembled([*functions, *self._stop()], limit=6)

    def _mail(self, name: str) -> _Mail:
        draw = self.draw
        names = draw.choice([[""], [""], ["a", "b"], ["a", "b", "c"], ["a"]])
        parts = []
        for part in names:
            field = random_field(draw, part, how="")
            field.length = None
            typed(draw, field, field.domain)
            kind = "i64" if field.kind == "u64" else field.kind
            parts.append(_Part(part, field.domain, kind))
        if names != [""] or draw.random() < 0.4:
            return _Mail(name, parts)
        one = parts[0]
        how = draw.choice(_COMBINED[one.domain.kind])
        if how in ("or", "and") and one.domain.kind == "int":
            one.domain = Domain("int", 0, 63)
        one.kind = {"int": "i64", "float": "f64", "flag": "flag"}[one.domain.kind] if how == "sum" else one.kind
        return _Mail(name, parts, how)

    # --- sending

    def _to(self, scope: Expressions) -> tuple[str, str]:
        """To whom, and a condition without which there is nobody; "" for none."""
        roll = self.draw.random()
        if roll < 0.3:
            return "v.number", ""
        place = fit(self.draw, scope.of("int", 1), Domain("int", 0, 100))
        if roll < 0.6:
            return f"af.neighbour(v, ({place}) % v.out_degree)", "v.out_degree > 0"
        return f"({place} + v.number * {self.draw.choice([0, 1, 3])}) % g.vertices", ""

    def _send(self, scope: Expressions, mail: _Mail | None = None) -> list[str]:
        draw = self.draw
        mail = mail or draw.choice(self.mails)
        self.owed.discard(mail.name)
        values = [fit(draw, scope.of(one.domain.kind, 1), one.domain) for one in mail.parts]
        record = values[0] if mail.parts[0].name == "" else f"({', '.join(values)}{',' if len(values) == 1 else ''})"
        to, condition = self._to(scope)
        lines = [f"af.send({to}, {mail.name}={record})"]
        tests = [condition] if condition else []
        if draw.random() < 0.4:
            tests.append(scope.condition(1).inside)
        lines = [f"if {' and '.join(tests)}:", *_indented(lines)] if tests else lines
        if draw.random() < 0.2:
            lines = [f"for i in range({draw.randint(0, 3)}):", *_indented(lines)]
        return lines

    def _sends(self, scope: Expressions, likely: float) -> list[str]:
        return [line for _ in range(2) if self.draw.random() < likely for line in self._send(scope)]

    def _started(self) -> str:
        scope, lines = self._scope(about("v"), step=False), []
        for each in self.fields:
            lines += self._assignment(scope, each) if self.draw.random() < 0.8 else []
        for mail in self.mails:
            lines += self._send(scope, mail) if self.draw.random() < 0.6 else []
        returned = self.draw.choice(["True", "False", "v.number % 2 == 0", "v.out_degree > 1"])
        return self._function("start", [*lines, *self._contributions("v", 0.4), f"return {returned}"])

    def _around_and_send(self) -> str:
        text, draw = self._around(), self.draw
        if draw.random() < 0.5:
            return text
        mail = draw.choice(self.mails)
        self.owed.discard(mail.name)
        near = self._expressions([*atoms(draw, "u", self.fields), *about("u")])
        values = [fit(draw, near.of(one.domain.kind, 1), one.domain) for one in mail.parts]
        record = values[0] if mail.parts[0].name == "" else f"({', '.join(values)}{',' if len(values) == 1 else ''})"
        to = draw.choice(["u.number", f"({near.of('int', 1).inside}) % 8 * 0 + u.number", "v.number"])
        text += f"\n    for u in edges:\n        af.send({to}, {mail.name}={record})"
        return text

    # --- receiving

    def _received(self) -> str:
        draw, lines = self.draw, []
        here = [*atoms(draw, "v", self.fields), *about("v")]
        for mail in self.mails:
            if mail.how:
                one = mail.parts[0]
                if mail.how == "sum":  # as large as all that meet
                    most = _MOST * max(abs(one.domain.low), abs(one.domain.high), 1)
                    here.append(Number(mail.name, Domain(one.domain.kind, -most, most, one.domain.places)))
                elif len(self.mails) == 1 or one.domain.kind == "flag":
                    here.append(Number(mail.name, one.domain))
                else:  # without any it is the largest number, or the smallest
                    low, high = int(one.domain.low), int(one.domain.high)
                    within = Domain(one.domain.kind, low, high, one.domain.places)
                    here.append(Number(f"min(max({mail.name}, {low}), {high})", within))
                continue
            if draw.random() < 0.3:
                here.append(Number(f"len({mail.name})", Domain("int", 0, _MOST)))
        for mail in self.mails:
            if not mail.how:
                lines += self._loop(mail, here)
        scope = self._scope(here)
        for each in self.fields:
            lines += self._assignment(scope, each) if draw.random() < 0.4 else []
        lines += [] if draw.random() < 0.3 else [f"if step < {draw.randint(1, 4)}:", *_indented(self._some(scope))]
        words = ", ".join(mail.name for mail in self.mails)
        text = self._function("receive", lines or ["pass"])
        return text.replace("def receive(", f"def receive({words}, ", 1)

    def _some(self, scope: Expressions) -> list[str]:
        return self._sends(scope, 0.5) or ["pass"]

    def _loop(self, mail: _Mail, here: list[Number]) -> list[str]:
        """Statements that go through the records of a list."""
        draw, name = self.draw, f"r{mail.name}"
        parts = [Number(f"{name}.{one.name}" if one.name else name, one.domain) for one in mail.parts]
        scope = self._scope([*here, *parts])
        lines: list[str] = []
        if draw.random() < 0.2:
            lines += [f"if {scope.condition(1).text}:", f"    {draw.choice(['continue', 'break'])}"]
        for each in self.fields:
            lines += self._assignment(scope, each, 1) if draw.random() < 0.5 else []
        if draw.random() < 0.4:
            lines += [f"if step < {draw.randint(1, 3)}:", *_indented(self._send(scope))]
        return [f"for {name} in {mail.name}:", *_indented(lines or ["pass"])]

    def _updated(self) -> str:
        draw = self.draw
        scope = self._scope(atoms(draw, "v", self.fields), atoms(draw, "old", self.fields), about("v"),
                            self._known_totals(0.6))  # fmt: skip
        lines: list[str] = []
        for each in self.fields:
            lines += self._assignment(scope, each) if draw.random() < 0.3 else []
        sent = self._sends(scope, 0.4)
        for mail in self.mails:
            sent += self._send(scope, mail) if mail.name in self.owed else []
        lines += [f"if step < {draw.randint(0, 3)}:", *_indented(sent)] if sent else []
        lines += self._contributions("v", 0.9)
        returned = draw.choice(["False", "True", "step < 2", "v.number % 3 != 1 and step < 3"])
        return self._function("update", [*lines, f"return {returned}"])


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
