"""Random fields of edges: declared with a first value, written by along, read by compute, also of the reverse edge."""

from __future__ import annotations

from program_fuzzer.expressions import Domain, Expressions, Number, fit
from program_fuzzer.fields import Field, about, atoms, random_field, typed
from program_fuzzer.messages import Messages
from program_fuzzer.plain_python import early_return
from program_fuzzer.writing import plain

__all__ = ["EdgeState"]


class EdgeState(Messages):
    """Writes fields of edges and along. `reverses` says whether the reverse edge is read."""

    edge_fields: list[Field]
    reverses = False

    def _choose_edge_fields(self, chance: float) -> None:
        self.edge_fields = []
        if self.wild or self.shape not in ("dense", "sparse") or self.draw.random() >= chance:
            return
        self.reverses = self.draw.random() < 0.6
        for k in range(self.draw.choice([1, 1, 2])):
            each = random_field(self.draw, f"e{k}", how="")
            typed(self.draw, each, each.domain)
            each.kind = {"u64": "i64", "ref": "i32"}.get(each.kind, each.kind)
            self.edge_fields.append(each)
            self.declared.append(f"{each.name}: af.edge({each.declared.partition(': ')[2]}{self._first(each)})")

    def _first(self, each: Field) -> str:
        """The first value of a field, as it is declared; none for 0."""
        domain = each.domain
        if domain.kind == "flag":
            return self.draw.choice(["", ", True"])
        value = self.draw.choice([domain.low, domain.high])
        return "" if domain.low <= 0 <= domain.high and self.draw.random() < 0.5 else f", {plain(value, domain)}"

    def _edge_atoms(self) -> list[Number]:
        """Fields of the edge as numbers, and of its reverse."""
        found = atoms(self.draw, "edge", self.edge_fields)
        some = [each for each in self.edge_fields if self.reverses and self.draw.random() < 0.7]
        return found + atoms(self.draw, "edge.reverse", some)

    def _along(self) -> list[str]:
        if not self.edge_fields:
            return []
        columns = [Number("edge.weight", Domain("int", 0, 9)), Number("edge.length", Domain("float", -4, 4, 3))]
        groups = [atoms(self.draw, "u", self.fields), about("u"), self._edge_atoms()]
        groups.append([c for c in columns if self.draw.random() < 0.35])
        if self.draw.random() < 0.6:
            groups += [atoms(self.draw, "v", self.fields), about("v")]
        scope = self._scope(*groups, self._known_totals(0.3))
        lines = early_return(self.draw, scope)
        for each in self.edge_fields:
            made = self._edge_assignment(scope, each)
            lines += (
                made if self.draw.random() < 0.75 else [f"if {scope.condition(1).text}:", *("    " + x for x in made)]
            )
        return [self._function("along", lines)]

    def _edge_assignment(self, scope: Expressions, each: Field) -> list[str]:
        """Statements that give a field of the edge any value of its domain."""
        before = f"v.{each.name}"
        made = [line.replace(before, f"edge.{each.name}") for line in self._assignment(scope, each)]
        if each.domain.kind == "int" and each.length is None and self.draw.random() < 0.3:
            value = fit(
                self.draw, Number(f"(edge.{each.name} + 1)", Domain("int", each.domain.low, 1 << 12)), each.domain
            )
            return [f"edge.{each.name} = {value}"]
        return made
