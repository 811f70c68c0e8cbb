"""Random programs whose end no order of messages changes: minima, maxima and bits, by messages that only get better."""

from __future__ import annotations

from dataclasses import replace

from program_fuzzer.expressions import Domain, Expressions, fit
from program_fuzzer.fields import Field, about, typed
from program_fuzzer.writing import ASSIGN, ProgramSpec, Writer

__all__ = ["FixedPoint"]


class FixedPoint(Writer):
    """Writes a program that is monotone, or has a priority."""

    def program(self) -> ProgramSpec:
        """A program of minima, maxima and bits, whose messages only get better, and which changes by them alone."""
        draw, self.small = self.draw, True
        starts, reductions, changed, first = [], [], [], ""
        for k in range(draw.choice([1, 1, 2])):
            name, how = f"x{k}", draw.choice(["min", "min", "max", "or", "and"])
            kind = "int" if how in ("or", "and") else draw.choice(["int", "float"])
            each = Field(name, Domain(kind, 0, 63 if how in ("or", "and") else 100, 3 if kind == "float" else 0), how)
            typed(draw, each, replace(each.domain, low=-20, high=120) if how in ("min", "max") else each.domain)
            self.fields.append(each)
            begin = fit(draw, Expressions(draw, about("v")).of(kind, 2), each.domain)
            starts.append(f"v.{name} = {begin}")
            reductions += self._better(each)
            changed.append(f"v.{name} != old.{name}")
            first = first or (name if how != "max" else f"-{name}")
        lines = [*starts, f"return {draw.choice(['True', 'True', 'v.number % 3 == 0', 'v.number == 0'])}"]
        functions = [
            self._function("start", lines),
            self._function("compute", reductions),
            self._function("update", [f"return {' or '.join(changed)}"]),
        ]
        if self.shape == "priority":
            if draw.random() < 0.3:
                self._parameter("delta", "float", draw.choice([0.0, 0.5, 3.0]))
            sign, name = ("-", first[1:]) if first[0] == "-" else ("", first)
            given = draw.choice([f"{sign}v.{name}", f"{sign}v.{name}", f"v.{name} // 4", "v.number % 3", "0.5"])
            functions.append(self._function("priority", [f"return {given}"]))
            if len(self.fields) == 1 and draw.random() < 0.25:  # beyond these values no message changes anything
                one = self.fields[0]
                test = {"min": "v.x0 > -21", "max": "v.x0 < 121", "or": "v.x0 != 63", "and": "v.x0 != 0"}[one.how]
                functions.append(self._function("wants", [f"return {test}"]))
        return self._assembled(functions, limit=None)

    def _better(self, each: Field) -> list[str]:
        """Statements that reduce into a field; what a better value sends is no worse."""
        name, draw = each.name, self.draw
        one = "1.0" if each.domain.kind == "float" else "1"
        column = draw.choice(["edge.weight", one, "u.out_degree % 4"])
        text = {
            "min": draw.choice([f"u.{name} + {column}", f"u.{name}", f"max(u.{name}, {column})"]),
            "max": draw.choice([f"u.{name} - {column}", f"u.{name}", f"min(u.{name}, {column})"]),
            "or": draw.choice([f"u.{name}", f"u.{name} & {draw.choice([1, 6, 42])}"]),
            "and": draw.choice([f"u.{name}", f"u.{name} | {draw.choice([1, 6, 42])}"]),
        }[each.how]
        line = ASSIGN[each.how].format(t=f"v.{name}", e=text)
        if draw.random() < 0.2:
            return [f"if {draw.choice(['edge.weight > 3', 'u.number % 4 != 1', 'edge.length < 1.0'])}:", f"    {line}"]
        return [line]
