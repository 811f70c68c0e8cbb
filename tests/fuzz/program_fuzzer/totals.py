"""Random totals: declared by every operation, contributed to by start and update, read one superstep later."""

from __future__ import annotations

from dataclasses import dataclass

from program_fuzzer.edge_state import EdgeState
from program_fuzzer.expressions import FLAG, Domain, Expressions, Number, fit
from program_fuzzer.fields import MANY, about, atoms
from program_fuzzer.writing import ASSIGN

__all__ = ["Totals"]

# By type and operation: what a vertex contributes.
_EACH = {
    ("f64", "sum"): Domain("float", -2, 4, 2), ("f64", "min"): Domain("float", -4, 4, 2),
    ("f64", "max"): Domain("float", -4, 4, 2), ("i64", "sum"): Domain("int", -3, 5),
    ("u64", "sum"): Domain("int", 0, 5), ("i64", "min"): Domain("int", -9, 9), ("i64", "max"): Domain("int", -9, 9),
    ("u64", "max"): Domain("int", 0, 9), ("i64", "or"): Domain("int", 0, 63), ("i64", "and"): Domain("int", 0, 63),
    ("flag", "or"): FLAG, ("flag", "and"): FLAG,
}  # fmt: skip


@dataclass(frozen=True)
class _Total:
    name: str
    kind: str
    how: str
    length: int | None

    @property
    def each(self) -> Domain:
        """What a vertex contributes."""
        return _EACH[self.kind, self.how]

    @property
    def declared(self) -> str:
        """The line that declares it."""
        length = "" if self.length is None else f"[{self.length}]"
        operation = "" if self.how == "sum" else f', "{self.how}"'
        return f"{self.name}: af.total(af.{self.kind}{length}{operation})"

    def read(self, element: int) -> Number | None:
        """What other functions make of it; of a u64, which keeps to itself, nothing."""
        text, each = f"g.{self.name}" + ("" if self.length is None else f"[{element}]"), self.each
        if self.kind == "u64":
            return None
        if self.how == "sum":
            return Number(text, Domain(each.kind, each.low * MANY, each.high * MANY, each.places))
        if self.kind == "flag" or self.how == "or":
            return Number(text, each)
        if self.how == "and":
            return Number(f"({text} & 63)", each)
        other = "4.0" if self.kind == "f64" else "9"
        return Number(f"({text} if abs({text}) < 99 else {other})", each)


class Totals(EdgeState):
    """Writes totals, and the functions that ask for them alone."""

    totals: list[_Total]

    def _choose_totals(self, chance: float) -> None:
        self.totals = []
        if self.draw.random() >= chance:
            return
        for k in range(self.draw.choice([1, 1, 2, 3])):
            kind, how = self.draw.choice(list(_EACH))
            length = self.draw.choice([1, 2, 3]) if self.draw.random() < 0.2 else None
            self.totals.append(_Total(f"t{k}", kind, how, length))
            self.declared.append(self.totals[-1].declared)

    def _known_totals(self, chance: float = 1.0) -> list[Number]:
        """Totals as numbers; those of the superstep before."""
        if self.draw.random() >= chance:
            return []
        found = [total.read(self.draw.randrange(total.length or 1)) for total in self.totals]
        return [number for number in found if number is not None]

    def _contributions(self, owner: str, chance: float) -> list[str]:
        """Statements that contribute to totals, some under conditions."""
        known = about(owner) if self.wild else [*atoms(self.draw, owner, self.fields), *about(owner)]
        scope, lines = Expressions(self.draw, known), []
        for total in self.totals:
            if self.draw.random() >= chance:
                continue
            value, target = fit(self.draw, scope.of(total.each.kind, 1), total.each), f"g.{total.name}"
            if total.length is not None and self.draw.random() < 0.6:
                target += f"[v.number % {total.length}]" if self.draw.random() < 0.5 else "[0]"
            said = [ASSIGN[total.how].format(t=target, e=value)]
            if self.draw.random() < 0.3:
                said = [f"if {scope.condition(1).text}:", *("    " + line for line in said)]
            lines += said
        return lines

    def _stop(self) -> list[str]:
        """Whether the run ends, by totals, parameters and the superstep."""
        if self.draw.random() >= (0.3 if self.totals else 0.04):
            return []
        scope = Expressions(self.draw, [*self._known_totals(), Number("step", Domain("int", 0, 8))])
        test = self.draw.choice(["step >= 2", scope.condition(1).text, f"step > 0 and {scope.condition(1).inside}"])
        return [self._function("stop", [f"return {test}"])]
