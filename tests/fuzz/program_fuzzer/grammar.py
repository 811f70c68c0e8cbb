"""Random vertex programs from the whole grammar, of which every promise is true.

A program with phases has such functions along edges and against them, and a phase on none; or its phases look around.
Any other is dense (anything goes), steady (sparse without saying so), sparse by promise (update does nothing without a
message), looks around (every vertex, or only where a neighbour changed), sends mail, or goes to a fixed point that no
order of messages changes (monotone, or with a priority).
"""

from __future__ import annotations

import random
import textwrap
from bisect import bisect
from dataclasses import replace
from itertools import accumulate

from program_fuzzer.expressions import Domain, Expressions, Number, fit
from program_fuzzer.fields import Field, about, atoms, random_field
from program_fuzzer.fixed_points import FixedPoint
from program_fuzzer.mail import Mailing
from program_fuzzer.neighbourhoods import Neighbourhood
from program_fuzzer.plain_python import early_return, looped
from program_fuzzer.reading import is_sparse
from program_fuzzer.totals import Totals
from program_fuzzer.writing import ProgramSpec, plain

__all__ = ["SHAPES", "random_program"]

_SHARES = {"dense": 36, "steady": 11, "sparse": 18, "around": 8, "around sparse": 4, "monotone": 5, "priority": 9,
           "phases": 9}  # fmt: skip
_MAILED = ("mail", "mail", "mail around")
SHAPES = (*_SHARES, *dict.fromkeys(_MAILED), "phases around")
# The shares of programs with mail, and of those whose phases look around. They are decided by further digits of the
# number that decides about the shape, so that any other seed gives the program that it gave before there were these.
_MAIL, _LOOKING = 0.12, 0.03


def random_program(draw: random.Random, shape: str = "") -> ProgramSpec:
    """A program."""
    shape = shape or _random_shape(draw.random())
    if shape in ("monotone", "priority"):
        return FixedPoint(draw, shape).program()
    if shape == "phases":
        return _Phases(draw, draw.choice(["dense", "steady", "sparse"])).program()
    if shape == "phases around":
        return replace(_LookingPhases(draw, draw.choice(["around", "around sparse"])).program(), shape=shape)
    if shape.startswith("mail"):
        return Mailing(draw, shape).program()
    if shape.startswith("around"):
        return _Looking(draw, shape).program()
    made = _Supersteps(draw, shape).program()
    if shape == "dense" and is_sparse(made.source):  # it has become a steady one by chance, with any update
        return random_program(draw, "steady")
    return made


def _random_shape(roll: float) -> str:
    further = roll * 4096 % 1 / _MAIL
    if further < 1:
        return _MAILED[int(further * len(_MAILED))]
    if further < 1 + _LOOKING / _MAIL:
        return "phases around"
    sums = list(accumulate(_SHARES.values()))
    return list(_SHARES)[bisect(sums, roll * sums[-1])]


class _Supersteps(Totals):
    """Writes a program of which every superstep is certain."""

    def program(self) -> ProgramSpec:
        """All of it."""
        self._choose_fields()
        self._choose_parameters()
        self._choose_totals(0.25)
        self._choose_edge_fields(0.3)
        functions = [self._start()]
        self._choose_resets()
        functions += [*self._init(), *self._wants(), *self._along(), self._compute()]
        functions += [self._update(), *self._residual(), *self._stop()]
        if self.draw.random() < 0.1:
            self.draw.shuffle(functions)
        return self._assembled(functions)

    def _choose_fields(self) -> None:
        steady = self.shape == "steady"
        for k in range(self.draw.choice([1, 1, 2, 2, 3])):
            self.fields.append(random_field(self.draw, f"x{k}", steady=steady, wild=self.wild))
        if self.shape == "sparse":
            self._choose_trigger()
        if not steady:
            for k in range(self.draw.choice([0, 1, 1, 2])):
                self.fields.append(random_field(self.draw, f"y{k}", how="", wild=self.wild))
        elif self.draw.random() < 0.3:
            self.fields.append(random_field(self.draw, "y0", how="", wild=self.wild))
        for each in self.fields:
            each.loose = each.how == "any"
        vectors = [f for f in self.fields if f.length is not None]
        if vectors and self.draw.random() < 0.4:
            for each in vectors:
                each.length, each.size = "k", vectors[0].size
            self._parameter("k", "int", vectors[0].size)

    # --- functions

    def _start(self) -> str:
        scope = self._scope(about("v"), step=False)
        lines = looped(self.draw, scope)
        has_locals = bool(lines)  # which the condition around them could not ask for
        for each in self.fields:
            if self.shape == "sparse" and each.name == "got":
                lines.append(f"v.got = {self._untouched()}")
            elif self.draw.random() < 0.85:
                lines += self._assignment(scope, each)
        if self.draw.random() < 0.1 and lines and not has_locals:
            lines = [f"if {scope.condition(1).text}:", *("    " + line for line in lines)]
            if self.shape == "sparse":
                lines = [f"v.got = {self._untouched()}", *lines]
        if any(line.startswith("source:") for line in self.declared) and self.draw.random() < 0.5:
            returned = "v.number == p.source"
        else:
            returned = self.draw.choice(["True", "True", "v.number % 2 == 0", "v.number < 3", "v.in_degree > 1", "?"])
            returned = scope.condition(2).text if returned == "?" else returned
        return self._function("start", [*lines, *self._contributions("v", 0.4), f"return {returned}"])

    def _choose_resets(self) -> None:
        """Which fields init resets: the trigger that counts anew, and of others some."""
        self.reset: set[str] = set()
        if self.shape == "steady":
            return
        for each in self.fields:
            trigger = self.shape == "sparse" and each.name == "got"
            if trigger:
                if self.trigger in ("reset", "any", "total"):
                    self.reset.add(each.name)
            elif self.draw.random() < (0.6 if each.how in ("sum", "product") else 0.25) and self._may_reset():
                self.reset.add(each.name)

    def _may_reset(self) -> bool:
        """Whether init may write: in a sparse program only when every message changes something."""
        return self.shape != "sparse" or self.trigger != "least" or self.draw.random() < 0.2

    def _init(self) -> list[str]:
        before, known = atoms(self.draw, "old", self.fields), self._known_totals(0 if self.shape == "sparse" else 0.5)
        scope, lines = self._scope(before, about("old"), known, step=self.shape != "sparse"), []
        for each in self.fields:
            if each.name not in self.reset:
                continue
            if self.shape == "sparse" and each.name == "got":
                lines.append(f"v.got = {self._untouched()}")
            elif each.loose:
                lines.append(f"v.{each.name} = {_least(each.domain)}")
            elif self.draw.random() < 0.6:
                lines.append(f"v.{each.name} = {_neutral(each)}")
            else:
                lines += self._assignment(scope, each, 1)
        way_out = early_return(self.draw, scope) if lines and self.shape == "dense" else []
        return [self._function("init", [*way_out, *lines])] if lines else []

    def _wants(self) -> list[str]:
        if self.shape == "steady" or self.draw.random() > 0.15:
            return []
        scope = self._scope(atoms(self.draw, "v", self.fields), about("v"), self._known_totals(0.3))
        return [self._function("wants", [f"return {scope.condition(2).text}"])]

    def _update(self) -> str:
        lines: list[str] = []
        if self.shape == "sparse":
            waited = {"count": "v.got == old.got", "least": "v.got == old.got", "any": "v.got < 0"}
            lines += [f"if {waited.get(self.trigger, f'v.got == {self._untouched()}')}:", "    return False"]
        here = atoms(self.draw, "v", self.fields, peak=True)
        scope = self._scope(here, atoms(self.draw, "old", self.fields), about("v"), self._known_totals(0.8))
        lines += looped(self.draw, scope)
        if self.shape != "steady":
            for each in self.fields:
                grown = each.peak is not None and each.peak != each.domain
                if grown or (self.draw.random() < 0.4 and not each.loose):
                    lines += self._settled(scope, each, grown)
        if self.draw.random() < 0.15:
            lines += [f"if {scope.condition(1).text}:", f"    return {self._returned(scope)}"]
        lines += self._contributions("v", 0.9)
        return self._function("update", [*lines, f"return {self._returned(scope)}"])

    def _settled(self, scope: Expressions, each: Field, grown: bool) -> list[str]:
        """Statements that bring a field back into its domain, and mix it with others."""
        if not grown:
            lines = self._assignment(scope, each)
            return (
                lines if self.draw.random() < 0.7 else [f"if {scope.condition(1).text}:", *("    " + x for x in lines)]
            )
        name, peak = f"v.{each.name}", each.peak
        assert peak is not None
        if each.length is None:
            return [f"{name} = {fit(self.draw, Number(name, peak), each.domain)}"]
        if self.draw.random() < 0.5 and peak.places <= each.domain.places:
            return [f"{name} = min(max({name}, {plain(each.domain.low, peak)}), {plain(each.domain.high, peak)})"]
        value = fit(self.draw, Number(f"{name}[k]", peak), each.domain)
        return [f"for k in range({self._count(each)}):", f"    {name}[k] = {value}"]

    def _returned(self, scope: Expressions) -> str:
        """What update returns, in all its shapes; of a steady program mostly those that only a change makes True."""
        changed = self._changed()
        shapes = ["True", "False", "changed", "changed and bound", "bound", "number", "degree", "any"]
        if self.shape == "steady" and self.draw.random() < 0.8:
            shapes = ["False", "changed", "changed", "changed and bound", "changed and number", "changed and any"]
        shape = self.draw.choice(shapes)
        words = {"changed": changed, "bound": self._bound(), "number": "v.number % 3 != 1",
                 "degree": "v.out_degree > 1", "any": scope.condition(2).inside}  # fmt: skip
        return " and ".join(words.get(word, word) for word in shape.split(" and "))

    def _changed(self) -> str:
        """Whether a field changed, or one of several."""
        known = [each for each in self.fields if each.how and not each.loose]
        if not known:
            return "v.number >= 0"
        tests = []
        for each in self.draw.sample(known, self.draw.randint(1, len(known))):
            at = "" if each.length is None else f"[{self.draw.randrange(each.size)}]"
            tests.append(f"v.{each.name}{at} != old.{each.name}{at}")
        return tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"

    def _bound(self) -> str:
        if any(line.startswith("rounds:") for line in self.declared):
            return "step + 1 < p.rounds"
        return f"step < {self.draw.randint(0, 3)}"

    def _residual(self) -> list[str]:
        numbers = [
            each for each in self.fields if each.domain.kind != "flag" and each.length is None and not each.loose
        ]
        if not numbers or self.draw.random() > 0.12:
            return []
        one = self.draw.choice(numbers)
        self._parameter("tolerance", "float", self.draw.choice([0.0, 0.5, 3.0, 40.0]))
        self.declared += ['norm = "max"'] if self.draw.random() < 0.3 else []
        return [self._function("residual", [f"return abs(v.{one.name} - old.{one.name})"])]


class _Phases(_Supersteps):
    """Writes a program whose phases have the same functions on other edges, and starts of their own."""

    def program(self) -> ProgramSpec:
        """All of it; one that has become steady by chance, with any update, is drawn again."""
        self._choose_fields()
        self._choose_parameters()
        self._choose_totals(0.4)
        self._choose_edge_fields(0.4)
        first = self._start()
        self._choose_resets()
        functions = [*self._init(), *self._wants(), *self._along(), self._compute()]
        functions += [self._update(), *self._residual()]
        promise = ["sparse = True"] if self.shape in ("sparse", "around sparse") else []
        text = "\n".join(functions)
        if self.shape == "dense" and is_sparse("class Fuzzed:\n" + textwrap.indent(text, "    ")):
            return random_program(self.draw, "phases")
        other = self.draw.choice(["against", "against", "both", "along"])
        other = "against" if "_degree" in text or (self.edge_fields and other == "both") else other
        forth, back = (
            self._phase(name, edges, [*promise, *self._own_start(edges), *functions])
            for name, edges in (("forth", "along"), ("back", other))
        )
        alone = self._phase("alone", None, [self._alone()])
        self.shape = "phases"
        made = self._assembled([first, forth, back, alone, self._iteration()])
        return replace(made, limit=self.draw.choice([6, 9, 14]))

    def _own_start(self, edges: str) -> list[str]:
        start = self._start() if self.draw.random() < 0.6 else ""
        return [start] if start and not (edges == "both" and "_degree" in start) else []

    def _phase(self, name: str, edges: str | None, parts: list[str]) -> str:
        mark = "@af.phase" if edges == "along" else f"@af.phase(edges={edges!r})"
        return f"{mark}\nclass {name}:\n" + textwrap.indent("\n\n".join(parts), "    ")

    def _alone(self) -> str:
        """An update without messages."""
        scope = self._scope(atoms(self.draw, "v", self.fields), about("v"))
        known = [each for each in self.fields if not each.loose and each.name != "got"]
        some = self.draw.sample(known, self.draw.randint(0, len(known)))
        lines = [line for each in some for line in self._assignment(scope, each)]
        return self._function("update", [*lines, f"return {scope.condition(1).text}"])

    def _iteration(self) -> str:
        calls = ["run.forth()", "run.back()", "run.forth(until='quiet')", "run.back(until='quiet')", "run.alone()"]
        lines = []
        for _ in range(self.draw.randint(2, 5)):
            call = self.draw.choice(calls)
            asked = self.draw.random() < 0.25
            lines += [f"if run.changed > {self.draw.randint(0, 3)}:", f"    {call}"] if asked else [call]
        answer = self.draw.choice(["run.iterations < 2", "run.iterations < 3", "run.changed > 0", "False"])
        return "def iteration(run):\n" + textwrap.indent("\n".join([*lines, f"return {answer}"]), "    ")


class _Looking(Neighbourhood, _Supersteps):
    """Writes a program of neighbourhoods."""

    def _choose_fields(self) -> None:
        self._choose_neighbourhood_fields()

    def _choose_resets(self) -> None:
        self.reset = set()
        if self.shape == "around":
            self.reset = {each.name for each in self.fields if self.draw.random() < 0.2}

    def _wants(self) -> list[str]:
        return super()._wants() if self.shape == "around" else []

    def _compute(self) -> str:
        return self._around()

    def _update(self) -> str:
        if self.shape == "around":
            return super()._update()
        changes = [f"v.{each.name} != old.{each.name}" for each in self.fields if each.length is None]
        changes += [f"v.{each.name}[{k}] != old.{each.name}[{k}]"
                    for each in self.fields if each.length is not None for k in range(each.size)]  # fmt: skip
        return self._function("update", [f"return {' or '.join(changes)}"])


class _LookingPhases(_Looking, _Phases):
    """Writes a program whose phases look around."""


def _least(domain: Domain) -> str:
    return "False" if domain.kind == "flag" else plain(domain.low, domain)


def _neutral(each: Field) -> str:
    """A value that leaves messages as they are, or zero."""
    if each.domain.kind == "flag":
        return "True" if each.how in ("and", "min") else "False"
    value = {"product": 1, "min": each.domain.high, "and": each.domain.high, "max": each.domain.low}.get(each.how, 0)
    return plain(max(each.domain.low, min(value, each.domain.high)), each.domain)
