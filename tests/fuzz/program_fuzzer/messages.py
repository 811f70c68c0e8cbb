"""Random messages: what compute reduces into the fields of v, from all that it may read, also in ifs and loops."""

from __future__ import annotations

from program_fuzzer.expressions import Domain, Expressions, Number, fit
from program_fuzzer.fields import Field, about, atoms, typed
from program_fuzzer.plain_python import early_return, looped
from program_fuzzer.writing import ASSIGN, Writer, plain

__all__ = ["Messages"]


class Messages(Writer):
    """Writes compute. A sparse program has a `trigger`: a field by which update sees that a message came."""

    trigger = ""
    reset: set[str] = set()

    def _known_totals(self, chance: float = 1.0) -> list[Number]:
        """Totals as numbers, if the program has any."""
        return []

    def _edge_atoms(self) -> list[Number]:
        """Fields of the edge as numbers, if the program has any."""
        return []

    def _choose_trigger(self) -> None:
        """The field by which update of a sparse program sees that a message came."""
        how = self.draw.choice(["count", "count", "reset", "any", "least", "total"])
        self.trigger = how
        domain = {"count": Domain("int", 0, 7), "reset": Domain("int", 0, 7), "any": Domain("int", -1, 30),
                  "least": Domain("int", 0, 100), "total": Domain("float", 0, 16, 2)}[how]  # fmt: skip
        reduction = {"any": "any", "least": "min"}.get(how, "sum")
        self.fields.insert(0, Field("got", domain, reduction, loose=how == "any"))

    def _untouched(self) -> str:
        return {"any": "-1", "least": "100", "total": "0.0"}.get(self.trigger, "0")

    def _compute(self) -> str:
        bare = self.shape == "steady"
        groups = [atoms(self.draw, "u", self.fields), about("u")]
        columns = [Number("edge.weight", Domain("int", 0, 9)), Number("edge.length", Domain("float", -4, 4, 3))]
        groups.append([c for c in columns if self.draw.random() < 0.35])
        groups.append(self._edge_atoms())
        if not bare and self.draw.random() < 0.3:
            groups += [atoms(self.draw, "old", self.fields), about("old")]
        if self.draw.random() < 0.1:
            groups.append(about("v"))
        groups.append(self._known_totals(0.0 if bare else 0.4))
        scope, lines = self._scope(*groups, step=not bare), []
        if self.draw.random() < 0.25:
            kind = self.draw.choice(["int", "float", "flag"])
            made = scope.of(kind, 2)
            lines.append(f"part = {made.text}")
            scope.add(Number("part", made.domain))
        lines += looped(self.draw, scope)
        lines += early_return(self.draw, scope) if self.shape == "dense" else []
        together = self._together()
        for each in self.fields:
            if each in together:
                lines += self._tuple(scope, together) if each is together[-1] else []
            elif each.how:
                lines += self._reduction(scope, each)
        for each in self.fields:
            if each.kind == "":
                typed(self.draw, each, each.domain)
        return self._function("compute", lines)

    def _together(self) -> list[Field]:
        """Fields that are reduced as a tuple: of one reduction, each a single number that fits its type."""
        for how in ("min", "max"):
            found = [f for f in self.fields if f.how == how and f.length is None and not f.wild and f.name != "got"]
            if len(found) > 1 and self.draw.random() < 0.6:
                self.draw.shuffle(found)
                return sorted(found[: self.draw.choice([2, 2, 3])], key=self.fields.index)
        return []

    def _tuple(self, scope: Expressions, fields: list[Field]) -> list[str]:
        """Statements that reduce into fields together."""
        how, texts = fields[0].how, []
        for each in fields:
            typed(self.draw, each, each.domain)
            texts.append(fit(self.draw, scope.of(each.domain.kind, 2), each.domain))
        names = ", ".join(f"v.{each.name}" for each in fields)
        line = f"{names} = {how}(({names}), ({', '.join(texts)}))"
        return [line] if self.draw.random() < 0.7 else [f"if {scope.condition(1).text}:", f"    {line}"]

    def _reduction(self, scope: Expressions, each: Field) -> list[str]:
        """Statements that reduce into a field; its type is known when it is known what it can become."""
        made, message = self._message(scope, each)
        base = each.domain
        peak = base
        if each.how == "sum":
            peak = base.sums(message, self.most * (1 if each.length is None else 2))
        elif each.how == "product":
            peak = Domain(base.kind, -(2.0**24) if base.kind == "float" else -(1 << 40), 1 << 40, base.places)
            if base.kind == "float":
                peak = Domain("float", -(2.0**24), 2.0**24, base.places)
        typed(self.draw, each, peak)
        trigger = self.shape == "sparse" and each.name == "got"
        guarded = self.draw.random() < 0.25 and (not trigger or not self.reset or self.draw.random() < 0.2)
        if guarded:
            lines = [f"if {scope.condition(1).text}:", *("    " + line for line in made)]
            if self.draw.random() < 0.2:
                lines += ["else:", *("    " + line for line in self._message(scope, each, message)[0])]
            return lines
        return made

    def _message(self, scope: Expressions, each: Field, bound: Domain | None = None) -> tuple[list[str], Domain]:
        """The statements of a reduction, and what the messages can be."""
        draw, kind = self.draw, each.domain.kind
        if self.shape == "sparse" and each.name == "got":
            return self._triggering(scope)
        if each.how == "product" and (not self.wild or kind == "float"):
            ones = draw.choice(["-1", "1 if u.number != 2 else 2"]) if kind == "int" else draw.choice(["-1.0", "1.0"])
            text, domain = ones, each.domain
        else:
            domain = each.domain
            if each.how == "sum" and not each.wild:
                few = draw.choice([(0, 1), (0, 3), (-1, 2)])
                domain = bound or (
                    Domain("int", *few) if kind == "int" else Domain("float", *few, min(3, each.domain.places))
                )
            text = fit(draw, scope.of(kind, 2), domain)
            if each.wild and each.kind != "u64" and draw.random() < 0.4:  # what does not fit
                text = scope.of(kind, 2).text
        if each.length is None:
            return [ASSIGN[each.how].format(t=f"v.{each.name}", e=text)], domain
        return self._into_vector(scope, each, text, domain), domain

    def _into_vector(self, scope: Expressions, each: Field, text: str, domain: Domain) -> list[str]:
        roll, target = self.draw.random(), f"v.{each.name}"
        if roll < 0.3 and each.how in ("min", "max", "or", "and"):
            return [ASSIGN[each.how].format(t=target, e=f"u.{each.name}")]
        if roll < 0.3 and each.how == "sum" and domain.places >= each.domain.places:
            low, high = plain(domain.low, domain), plain(domain.high, domain)
            return [ASSIGN[each.how].format(t=target, e=f"min(max(u.{each.name} - {high}, {low}), {high})")]
        if roll < 0.45:
            return [ASSIGN[each.how].format(t=target, e=text)]
        if roll < 0.7:
            return [ASSIGN[each.how].format(t=f"{target}[{self._index(each, 'u')}]", e=text)]
        inner = self._expressions([*scope.atoms, Number("k", Domain("int", 0, each.size - 1))])
        if each.how != "product" or each.wild:
            inner.add(Number(f"u.{each.name}[k]", each.domain))
            text = fit(self.draw, inner.of(domain.kind, 1), domain)
        return [f"for k in range({self._count(each)}):", "    " + ASSIGN[each.how].format(t=f"{target}[k]", e=text)]

    def _triggering(self, scope: Expressions) -> tuple[list[str], Domain]:
        """The message that lets update see that it came."""
        if self.trigger == "any":
            return [f"v.got = af.any({fit(self.draw, scope.whole(1), Domain('int', 0, 30))})"], Domain("int", 0, 30)
        if self.trigger == "least":
            return [f"v.got = min(v.got, {fit(self.draw, scope.whole(2), Domain('int', 0, 99))})"], Domain("int", 0, 99)
        if self.trigger == "total":
            domain = Domain("float", 0.25, 2, 2)
            return [f"v.got += {fit(self.draw, scope.fraction(1), domain)}"], domain
        domain = Domain("int", 1, 3)
        return [f"v.got += {fit(self.draw, scope.whole(1), domain)}"], domain
