"""The fields of a random program: what they hold, how compute reduces into them, and a type that holds all that."""

from __future__ import annotations

import random
from dataclasses import dataclass

from program_fuzzer.expressions import Domain, Number
from program_fuzzer.wild import RANGES

__all__ = ["Field", "atoms", "random_field", "typed"]

# The most messages of a vertex: programs with sums that must not grow further run on small graphs alone.
FEW, MANY = 130, 1 << 14
REDUCTIONS = {
    "int": ("sum", "sum", "min", "max", "or", "and", "product", "any", "first", "last"),
    "float": ("sum", "sum", "min", "max", "product", "any", "last"),
    "flag": ("or", "or", "and", "any", "first", "min", "max"),
}


@dataclass
class Field:
    """A field. `domain` holds between supersteps, `peak` after messages; `loose` is an any that nothing may read.

    A `wild` one is of a type that was chosen before, and keeps the low bits of what is too large for it.
    """

    name: str
    domain: Domain
    how: str = ""
    length: int | str | None = None
    size: int = 1
    kind: str = ""
    peak: Domain | None = None
    loose: bool = False
    wild: bool = False

    @property
    def declared(self) -> str:
        """The line that declares it."""
        if self.length is None:
            return f"{self.name}: af.{self.kind}"
        length = f'"{self.length}"' if isinstance(self.length, str) else self.length
        return f"{self.name}: af.{self.kind}[{length}]"


def random_field(
    draw: random.Random, name: str, how: str | None = None, steady: bool = False, wild: bool = False
) -> Field:
    """A field, reduced somehow or not at all; of a steady program, by what takes every message twice."""
    kind = draw.choices(["int", "float", "flag"], [6, 3, 2])[0]
    if how is None:
        known = REDUCTIONS[kind]
        how = draw.choice([x for x in known if x in ("min", "max", "or", "and")] if steady else known)
    if kind == "int":
        low, high = draw.choice([(0, 7), (0, 63), (-4, 4), (0, 100), (-1, 30), (0, 1), (-1000, 1000)])
        domain = Domain("int", low, high)
        if how in ("or", "and"):
            domain = Domain("int", 0, draw.choice([1, 7, 63]))
    elif kind == "float":
        low, high = draw.choice([(0, 8), (-4, 4), (0, 1), (-16, 16)])
        domain = Domain("float", low, high, draw.choice([0, 2, 3]))
    else:
        domain = Domain("flag")
    field = Field(name, domain, how)
    if how not in ("any", "first", "last") and draw.random() < 0.18:
        field.size = draw.choice([1, 2, 3, 4, 5])
        field.length = field.size
    if wild and kind == "int" and draw.random() < 0.6:
        field.wild, field.kind = True, draw.choice([name for name in RANGES if name != "ref"])
        field.domain = Domain("int", *RANGES[field.kind])
    return field


def typed(draw: random.Random, field: Field, peak: Domain) -> None:
    """Choose a type that holds the field whatever happens."""
    if field.wild:
        field.peak = field.domain
        return
    field.peak = peak
    if peak.kind == "flag":
        field.kind = "flag"
    elif peak.kind == "float":
        narrow = peak.places <= 9 and max(abs(peak.low), abs(peak.high)) < 1 << 12
        field.kind = draw.choice(["f32", "f64"]) if narrow else "f64"
    else:
        fits = [name for name, (low, high) in RANGES.items() if low <= peak.low and peak.high <= high]
        field.kind = draw.choice(fits if draw.random() < 0.8 else [name for name in fits if name[0] == "i"])
    if field.kind == "ref" and field.length is not None:
        field.kind = "i32"


def atoms(draw: random.Random, owner: str, fields: list[Field], *, peak: bool = False) -> list[Number]:
    """What an owner's fields are as numbers; of vectors an element."""
    found = []
    for field in fields:
        if field.loose:
            continue
        domain = field.peak if peak and field.peak is not None else field.domain
        text = f"{owner}.{field.name}"
        if field.length is not None:
            if (dot := _dot(text, domain, field.size)) is not None and draw.random() < 0.3:
                found.append(dot)
            text += f"[{draw.randrange(field.size)}]"
        found.append(Number(text, domain))
    return found


def _dot(text: str, domain: Domain, size: int) -> Number | None:
    """The product of a vector with itself, if it is small enough to be exact."""
    most = size * max(abs(domain.low), abs(domain.high)) ** 2
    if domain.kind == "flag" or most >= 1 << 12 or 2 * domain.places > 9:
        return None
    return Number(f"af.dot({text}, {text})", Domain(domain.kind, 0, most, 2 * domain.places))


def about(owner: str) -> list[Number]:
    """A vertex's number and degrees."""
    most = Domain("int", 0, 1 << 15)
    return [Number(f"{owner}.{name}", most) for name in ("number", "in_degree", "out_degree")]
