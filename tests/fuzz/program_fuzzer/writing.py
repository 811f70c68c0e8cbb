"""What every random program is made of: fields, parameters, expressions in reach, assignments, and the class."""

from __future__ import annotations

import random
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

from program_fuzzer.expressions import FLAG, Domain, Expressions, Number, fit
from program_fuzzer.fields import FEW, MANY, Field
from program_fuzzer.plain_python import joined, with_helpers
from program_fuzzer.wild import Wild

__all__ = ["ASSIGN", "ProgramSpec", "Writer", "plain"]

ASSIGN = {"sum": "{t} += {e}", "product": "{t} *= {e}", "or": "{t} |= {e}", "and": "{t} &= {e}",
           "min": "{t} = min({t}, {e})", "max": "{t} = max({t}, {e})", "any": "{t} = af.any({e})",
           "first": "{t} = af.first({e})", "last": "{t} = af.last({e})"}  # fmt: skip


@dataclass(frozen=True)
class ProgramSpec:
    """A program: its source, and how to run it. A parameter `source` is the number of a vertex.

    `given` has the bounds, and the grain of floats, of fields of vertices and edges that are given; `some` says that
    only some vertices and edges are, by their ids.
    """

    source: str
    shape: str
    parameters: dict[str, Any] = field(default_factory=dict)
    given: dict[str, tuple[int, int, float | None]] = field(default_factory=dict)
    limit: int | None = 5
    small: bool = True
    some: bool = False

    @property
    def said(self) -> str:
        """The source, and below it which fields are given, and how."""
        how = "some of" if self.some else "all of"
        kinds = re.findall(r"    (\w+): (af\.[^\n=]*)\n", self.source)
        return self.source + "".join(f"# given {how} {name}: {kind}\n" for name, kind in kinds if name in self.given)

    @property
    def to_fixed_point(self) -> bool:
        """Whether only the end of a run is certain, not its supersteps."""
        return self.shape in ("monotone", "priority")


class Writer:
    """Writes one program."""

    def __init__(self, draw: random.Random, shape: str) -> None:
        self.draw, self.shape = draw, shape
        self.parameters: dict[str, Any] = {}
        self.declared: list[str] = []
        self.small = draw.random() < 0.6
        self.wild = shape in ("dense", "steady", "sparse") and draw.random() < 0.25
        self.most = FEW if self.small else MANY
        self.constants = "HALF = 0.5\nSEVEN = 7\n" if draw.random() < 0.15 else ""
        self.fields: list[Field] = []
        self.named: list[Number] = []

    def _assembled(self, functions: list[str], limit: int | None = 5) -> ProgramSpec:
        promise = [f"{self.shape} = True"] if self.shape in ("sparse", "monotone") else []
        promise = ["sparse = True"] if self.shape == "around sparse" else promise
        self._without_negative_u64(functions)
        lines = [*self.declared, *promise, *(f.declared for f in self.fields)]
        body = "\n".join(lines) + "\n\n" + "\n\n".join(functions)
        helpers = with_helpers(body)
        text = f"{helpers}{self.constants}@af.program\nclass Fuzzed:\n{textwrap.indent(body, '    ')}\n"
        given = {}
        for each in self.fields:
            if self.draw.random() < 0.08 and each.domain.kind != "flag":
                low, high = int(each.domain.low), int(each.domain.high)
                given[each.name] = (low, high, 2.0**-each.domain.places if each.domain.kind == "float" else None)
        source = f"import math\n\nimport arcflux as af\n\n{text}"
        return ProgramSpec(source, self.shape, self.parameters, given, limit, self.small)

    def _without_negative_u64(self, functions: list[str]) -> None:
        """A u64 keeps to itself, parameters and literals: nothing that could become negative may be made of one."""
        for each in self.fields:
            mentions = [line for text in functions for line in text.splitlines() if f".{each.name}" in line]
            if each.kind == "u64" and not each.wild and any("-" in line or "~" in line for line in mentions):
                each.kind = "i64"

    # --- what there is

    def _parameter(self, name: str, kind: str, value: Any, passed: Any = None) -> None:
        shown = "" if kind == "af.vertex" else f" = {value!r}"
        self.declared.append(f"{name}: {kind}{shown}")
        if passed is not None:
            self.parameters[name] = passed

    def _choose_parameters(self) -> None:
        draw = self.draw
        if draw.random() < 0.4:
            self._parameter("rounds", "int", draw.randint(1, 4), draw.randint(1, 5) if draw.random() < 0.3 else None)
        if draw.random() < 0.2:
            self._parameter("rate", "float", 0.5, draw.choice([None, 0.25, 2.0]))
        if draw.random() < 0.15:
            self._parameter("on", "bool", draw.random() < 0.5, draw.choice([None, True, False]))
        if draw.random() < 0.25:
            self._parameter("source", "af.vertex", None, 0)
        names = {line.split(":")[0] for line in self.declared}
        self.named = [number for number in _PARAMETERS if number.text[2:] in names]
        if self.constants:
            self.named += [Number("HALF", Domain("float", 0.5, 0.5, 1)), Number("SEVEN", Domain("int", 7, 7))]

    def _scope(self, *groups: list[Number], step: bool = True) -> Expressions:
        """Expressions over some atoms, parameters, the graph and the superstep."""
        graph = [Number(f"g.{name}", Domain("int", 0, 1 << 16)) for name in ("vertices", "edges", "arcs")]
        chosen = [number for group in groups for number in group] + self.named
        chosen += [self.draw.choice(graph)] if self.draw.random() < 0.2 else []
        chosen += [Number("step", Domain("int", 0, 8))] if step and self.draw.random() < 0.4 else []
        return self._expressions(chosen)

    def _expressions(self, atoms: list[Number]) -> Expressions:
        return (Wild if self.wild else Expressions)(self.draw, atoms)

    def _function(self, name: str, lines: list[str]) -> str:
        """A function with the arguments that its lines ask for, and those that it has to have."""
        text = "\n".join(joined(self.draw, lines) if name in ("start", "update") else lines)
        words = set(re.findall(r"[a-z]+", text))
        order = ["v", "u", "edge", "old", "g", "p", "step"]
        wanted = [
            a
            for a in order
            if a in words or (a == "v" and name not in ("compute", "stop")) or (a in "vu" and name == "compute")
        ]
        if self.draw.random() < 0.1:
            self.draw.shuffle(wanted)
        return f"def {name}({', '.join(wanted)}):\n{textwrap.indent(text, '    ')}"

    # --- assignments

    def _assignment(self, scope: Expressions, each: Field, depth: int = 2) -> list[str]:
        """Statements that give a field any value of its domain."""
        kind = each.domain.kind
        if each.length is None:
            return [f"v.{each.name} = {fit(self.draw, scope.of(kind, depth), each.domain)}"]
        roll = self.draw.random()
        if roll < 0.3:
            return [f"v.{each.name} = {fit(self.draw, scope.of(kind, 1), each.domain)}"]
        index = self._index(each)
        if roll < 0.5:
            return [f"v.{each.name}[{index}] = {fit(self.draw, scope.of(kind, 1), each.domain)}"]
        inner = self._expressions([*scope.atoms, Number("k", Domain("int", 0, each.size - 1))])
        value = fit(self.draw, inner.of(kind, 1), each.domain)
        return [f"for k in range({self._count(each)}):", f"    v.{each.name}[k] = {value}"]

    def _count(self, each: Field) -> str:
        return "p.k" if each.length == "k" and self.draw.random() < 0.7 else str(each.size)

    def _index(self, each: Field, owner: str = "v") -> str:
        if self.draw.random() < 0.5:
            return str(self.draw.randrange(each.size))
        return f"{owner}.number % {each.size}"


_PARAMETERS = [
    Number("p.rounds", Domain("int", 0, 8)), Number("p.rate", Domain("float", 0.25, 2.0, 2)), Number("p.on", FLAG),
    Number("p.source", Domain("int", 0, 1 << 15)), Number("p.k", Domain("int", 1, 5)),
]  # fmt: skip


def plain(value: float, domain: Domain) -> str:
    return repr(float(value)) if domain.kind == "float" else str(int(value))
