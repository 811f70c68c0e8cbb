"""Random neighbourhoods: built-ins over generators and loops over edges, of which every value is known to be exact."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from program_fuzzer.expressions import FLAG, Domain, Expressions, Number, fit
from program_fuzzer.fields import Field, about, atoms, random_field, typed
from program_fuzzer.writing import Writer, plain

__all__ = ["Neighbourhood"]


class Neighbourhood(Writer):
    """Writes around. In a sparse program v is a function of its neighbours, so that it rests when they do."""

    def _choose_neighbourhood_fields(self) -> None:
        """Fields that nothing is reduced into."""
        for k in range(self.draw.choice([1, 2, 2, 3])):
            each = random_field(self.draw, f"x{k}", how="")
            typed(self.draw, each, each.domain)
            self.fields.append(each)

    def _around(self) -> str:
        draw, lines = self.draw, []
        for each in self.fields:
            made = self._looped(each) if draw.random() < 0.3 and each.length is None else self._asked(each)
            if self.shape != "around sparse" and draw.random() < 0.15:
                test = self._scope(atoms(draw, "old", self.fields), about("v")).condition(1).text
                made = [f"if {test}:", *("    " + line for line in made)]
            lines += made
        return self._function("around", lines)

    def _function(self, name: str, lines: list[str]) -> str:
        """Around has edges, and of these its neighbours."""
        text = super()._function(name, lines)
        if name != "around":
            return text
        words = text[text.index("(") + 1 : text.index(")")].split(", ")
        given = ["v", "edges", *(word for word in words if word not in ("v", "u", "edge", "edges"))]
        return f"def around({', '.join(given)}):\n{textwrap.indent(chr(10).join(lines), '    ')}"

    def _near(self) -> Expressions:
        """Expressions over a neighbour and its edge, and maybe over v."""
        draw = self.draw
        columns = [Number("edge.weight", Domain("int", 0, 9)), Number("edge.length", Domain("float", -4, 4, 3))]
        groups = [atoms(draw, "u", self.fields), about("u"), [c for c in columns if draw.random() < 0.35]]
        if self.shape != "around sparse" and draw.random() < 0.3:
            groups += [atoms(draw, "old", self.fields), about("v")]
        return self._scope(*groups, step=self.shape != "around sparse")

    def _generator(self, scope: Expressions, text: str) -> str:
        test = f" if {scope.condition(1).text}" if self.draw.random() < 0.3 else ""
        pair = "u, edge" if "edge." in text + test or self.draw.random() < 0.3 else "u"
        return f"{text} for {pair} in edges{test}"

    def _asked(self, each: Field) -> list[str]:
        """Statements that give a field what a built-in says of the neighbours."""
        scope, kind, draw = self._near(), each.domain.kind, self.draw
        if each.length is not None and kind != "flag":
            value = fit(draw, scope.of(kind, 1), each.domain)
            size = "p.k" if each.length == "k" and draw.random() < 0.7 else str(each.size)
            made = self._generator(scope, value)
            default = f", default={plain(each.domain.low, each.domain)}"
            return [f"v.{each.name} = af.topk({size}, ({made}){default})"]
        number = {"int": self._whole, "float": self._fraction, "flag": self._flag}[kind](scope)
        return [f"v.{each.name} = {fit(draw, number, each.domain)}"]

    def _flag(self, scope: Expressions) -> Number:
        name, made = self.draw.choice(["any", "all"]), self._generator(scope, scope.condition(1).text)
        return Number(f"{name}({made})", FLAG)

    def _whole(self, scope: Expressions) -> Number:
        draw = self.draw
        what = draw.choice(["sum", "count", "min", "max", "mode", "mode", "weighted", "shared"])
        few = Domain("int", *draw.choice([(0, 3), (-2, 2), (0, 40)]))
        value = fit(draw, scope.whole(2), few)
        if what == "count":
            value, few = "1", Domain("int", 0, 1)
        if what == "shared":
            value, few, what = "af.intersect(v, u)", Domain("int", 0, self.most), "sum"
            return Number(f"sum({value} for u in edges)", Domain("int", 0, self.most * self.most))
        made = self._generator(scope, value)
        if what in ("sum", "count"):
            return Number(f"sum({made})", Domain("int", 0, 0).sums(few, self.most))
        if what == "weighted":
            made = self._generator(scope, f"({value}, {fit(draw, scope.whole(1), Domain('int', 0, 5))})")
            what = "mode"
        name = f"af.{what}" if what == "mode" else what
        return Number(f"{name}(({made}), default={int(few.low)})", few)

    def _fraction(self, scope: Expressions) -> Number:
        draw = self.draw
        what = draw.choice(["sum", "min", "max", "median", "median"])
        few = Domain("float", *draw.choice([(0, 2), (-2, 2)]), 2)
        made = self._generator(scope, fit(draw, scope.fraction(2), few))
        if what == "sum":
            return Number(f"sum({made})", Domain("float", 0, 0).sums(few, self.most))
        name = f"af.{what}" if what == "median" else what
        domain = replace(few, places=3) if what == "median" else few
        return Number(f"{name}(({made}), default={float(few.low)!r})", domain)

    def _looped(self, each: Field) -> list[str]:
        """Statements that give a field what a loop over the edges makes of them, with an early end."""
        scope, draw = self._near(), self.draw
        first = plain(each.domain.low, each.domain) if each.domain.kind != "flag" else "False"
        local = f"kept{each.name}"
        inner = self._expressions([*scope.atoms, Number(local, each.domain)])
        value = fit(draw, inner.of(each.domain.kind, 1), each.domain)
        body = [f"{local} = {value}"]
        roll = draw.random()
        if roll < 0.4:
            body = [f"if {inner.condition(1).text}:", *("    " + line for line in body)]
        elif roll < 0.7:
            body = [f"if {inner.condition(1).text}:", f"    {draw.choice(['break', 'continue'])}", *body]
        elif roll < 0.8:
            near = draw.choice(["edges", "af.intersect(v, u)"])
            body = [f"for w in {near}:", f"    if w.number {draw.choice(['<', '!='])} u.number:", f"        {body[0]}"]
        pair = "u, edge" if any("edge." in line for line in body) else "u"
        return [f"{local} = {first}", f"for {pair} in edges:", *("    " + line for line in body),
                f"v.{each.name} = {local}"]  # fmt: skip
