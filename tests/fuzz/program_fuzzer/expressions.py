"""Random expressions whose values are known to stay in range, and exact: every one carries what it can be.

Whole numbers have bounds. Floats have bounds, and how many binary places they need: sums, products and halves of them
are then exact in every width and in every order, so that two ways to run a program have to agree to the last bit.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

__all__ = ["Domain", "Expressions", "Number", "fit"]

# Whole numbers stay below this, floats below `_FLOAT` with `_PLACES` binary places: 22 bits, which an f32 has.
_WHOLE = 1 << 28
_FLOAT, _PLACES = 1 << 12, 9


@dataclass(frozen=True)
class Domain:
    """What a value can be: a flag; or whole numbers, or multiples of 2**-places, from `low` to `high`."""

    kind: str
    low: float = 0
    high: float = 1
    places: int = 0

    def joined(self, other: Domain) -> Domain:
        """The domain of both."""
        return Domain(self.kind, min(self.low, other.low), max(self.high, other.high), max(self.places, other.places))

    def sums(self, other: Domain, most: int) -> Domain:
        """The domain of sums of one of these and up to `most` of the others."""
        low, high = self.low + most * min(0, other.low), self.high + most * max(0, other.high)
        return Domain(self.kind, low, high, max(self.places, other.places))


@dataclass(frozen=True)
class Number:
    """An expression, and what it can be."""

    text: str
    domain: Domain

    @property
    def inside(self) -> str:
        """The text as a part of another expression."""
        return self.text if self.text.replace(".", "").replace("_", "").isalnum() else f"({self.text})"


FLAG = Domain("flag")


def fit(draw: random.Random, number: Number, wanted: Domain) -> str:
    """An expression that brings a number into a domain."""
    have, low, high = number.domain, wanted.low, wanted.high
    if wanted.kind == "flag" or (low <= have.low and have.high <= high and have.places <= wanted.places):
        return number.text
    if wanted.kind == "int" and high > (1 << 63) - 1:
        return f"{number.inside} % 9223372036854775807"
    if wanted.kind == "int":
        span = int(high - low) + 1
        if draw.random() < 0.5:
            return f"{number.inside} % {span}" + (f" + {int(low)}" if low > 0 else f" - {int(-low)}" if low else "")
        return f"min(max({number.text}, {int(low)}), {int(high)})"
    text = number.text
    if have.places > wanted.places:
        scale = 2.0**wanted.places
        text = f"math.floor({number.inside} * {scale!r}) * {1 / scale!r}"
    if low <= math.floor(have.low) and math.ceil(have.high) <= high:
        return text
    return f"min(max({text}, {float(low)!r}), {float(high)!r})"


class Expressions:
    """A source of random expressions over some atoms."""

    def __init__(self, draw: random.Random, atoms: list[Number]) -> None:
        self.draw = draw
        self.atoms = atoms

    def add(self, number: Number) -> None:
        """Another atom, such as a local."""
        self.atoms = [*self.atoms, number]

    def of(self, kind: str, depth: int = 2) -> Number:
        """An expression of a kind."""
        return {"int": self.whole, "float": self.fraction, "flag": self.condition}[kind](depth)

    def _atom(self, kind: str) -> Number | None:
        found = [atom for atom in self.atoms if atom.domain.kind == kind]
        return self.draw.choice(found) if found else None

    # --- whole numbers

    def whole(self, depth: int = 2) -> Number:
        """A whole number."""
        atom = self._atom("int")
        if depth <= 0 or self.draw.random() < 0.25:
            if atom is None or self.draw.random() < 0.25:
                value = self.draw.choice([0, 1, 1, 2, 3, 5, 7, 100, -1, -4])
                return Number(str(value), Domain("int", value, value))
            return atom
        make = self.draw.choice(
            [self._sum, self._sum, self._product, self._remainder, self._extreme, self._sign, self._choice,
             self._bits, self._from_float, self._from_flag, self._shift, self._helped, self._drawn]
        )  # fmt: skip
        made = make("int", depth - 1)
        return made if max(abs(made.domain.low), abs(made.domain.high)) < _WHOLE else self._cut(made)

    def _cut(self, number: Number) -> Number:
        most = self.draw.choice([5, 64, 1000])
        return Number(f"{number.inside} % {most}", Domain("int", 0, most - 1))

    def _sum(self, kind: str, depth: int) -> Number:
        a, b = self.of(kind, depth), self.of(kind, depth)
        x, y, places = a.domain, b.domain, max(a.domain.places, b.domain.places)
        if self.draw.random() < 0.6:
            return Number(f"{a.inside} + {b.inside}", Domain(kind, x.low + y.low, x.high + y.high, places))
        return Number(f"{a.inside} - {b.inside}", Domain(kind, x.low - y.high, x.high - y.low, places))

    def _product(self, kind: str, depth: int) -> Number:
        a, b = self.of(kind, depth), self.of(kind, depth)
        if self.draw.random() < 0.2:
            b = a
            text = f"{a.inside} ** 2"
        else:
            text = f"{a.inside} * {b.inside}"
        corners = [x * y for x in (a.domain.low, a.domain.high) for y in (b.domain.low, b.domain.high)]
        return Number(text, Domain(kind, min(corners), max(corners), a.domain.places + b.domain.places))

    def _remainder(self, kind: str, depth: int) -> Number:
        a, by = self.whole(depth), self.draw.choice([2, 3, 4, 7, 16])
        if self.draw.random() < 0.6:
            return Number(f"{a.inside} % {by}", Domain("int", 0, by - 1))
        return Number(f"{a.inside} // {by}", Domain("int", a.domain.low // by, a.domain.high // by))

    def _extreme(self, kind: str, depth: int) -> Number:
        given = [self.of(kind, depth) for _ in range(self.draw.choice([2, 2, 3]))]
        name = self.draw.choice(["min", "max"])
        made = given[0].domain
        for other in given[1:]:
            made = made.joined(other.domain)
        return Number(f"{name}({', '.join(g.text for g in given)})", made)

    def _sign(self, kind: str, depth: int) -> Number:
        a = self.of(kind, depth)
        low, high = a.domain.low, a.domain.high
        if self.draw.random() < 0.5:
            return Number(f"-{a.inside}", replace(a.domain, low=-high, high=-low))
        return Number(f"abs({a.text})", replace(a.domain, low=0, high=max(abs(low), abs(high))))

    def _choice(self, kind: str, depth: int) -> Number:
        a, b, test = self.of(kind, depth), self.of(kind, depth), self.condition(depth)
        return Number(f"{a.inside} if {test.text} else {b.inside}", a.domain.joined(b.domain))

    def _bits(self, kind: str, depth: int) -> Number:
        a, mask = self.whole(depth), self.draw.choice([1, 3, 6, 15])
        if self.draw.random() < 0.5:
            return Number(f"{a.inside} & {mask}", Domain("int", 0, mask))
        return Number(f"{a.inside} % 16 ^ {mask}", Domain("int", 0, 15))

    def _shift(self, kind: str, depth: int) -> Number:
        a, by = self.whole(depth), self.draw.choice([1, 2, 5])
        if self.draw.random() < 0.5:
            return Number(f"{a.inside} << {by}", Domain("int", int(a.domain.low) << by, int(a.domain.high) << by))
        return Number(f"{a.inside} >> {by}", Domain("int", int(a.domain.low) >> by, int(a.domain.high) >> by))

    def _from_float(self, kind: str, depth: int) -> Number:
        if self._atom("float") is None:
            return self._sum(kind, depth)
        a = self.fraction(depth)
        name = self.draw.choice(["int", "math.floor", "math.ceil"])
        return Number(f"{name}({a.text})", Domain("int", math.floor(a.domain.low), math.ceil(a.domain.high)))

    def _from_flag(self, kind: str, depth: int) -> Number:
        return Number(f"int({self.condition(depth).text})", Domain("int", 0, 1))

    def _helped(self, kind: str, depth: int) -> Number:
        """A call of a function of the module (plain_python.py)."""
        a, most = self.whole(depth), self.draw.choice([3, 9, 40])
        how = self.draw.choice(["halvings", "most", "clipped", "between"])
        if how in ("halvings", "most"):
            text = f"halvings({a.text})" if how == "halvings" else f"halvings({a.text}, most={most})"
            return Number(text, Domain("int", 0, 9 if how == "halvings" else most))
        if how == "clipped":
            return Number(f"clipped({a.text}, high={most})", Domain("int", 0, most))
        b = self.whole(depth)
        return Number(f"between({a.text}, {b.text})[{self.draw.choice([0, 1])}]", a.domain.joined(b.domain))

    def _drawn(self, kind: str, depth: int) -> Number:
        """A random whole number of a vertex that is in reach."""
        texts = [atom.text for atom in self.atoms]
        owners = sorted({text.split(".")[0] for text in texts if text.startswith(("v.", "u.", "old."))})
        if not owners:
            return self._sum(kind, depth)
        sides, k = self.draw.choice([2, 8, 16]), self.draw.choice(["", ", k=1", ", 2, seed=-7", ", seed=3"])
        step = "step" if "step" in texts else str(self.draw.choice([0, 3, -1]))
        text = f"math.floor(af.random({self.draw.choice(owners)}, {step}{k}) * {sides})"
        return Number(text, Domain("int", 0, sides - 1))

    # --- floats

    def fraction(self, depth: int = 2) -> Number:
        """A float, exact."""
        atom = self._atom("float")
        if depth <= 0 or self.draw.random() < 0.25:
            if atom is None or self.draw.random() < 0.25:
                value = self.draw.choice([0.0, 0.5, 1.0, 0.25, 2.0, -1.5, 3.75])
                return Number(repr(value), Domain("float", value, value, 2))
            return atom
        make = self.draw.choice(
            [self._sum, self._sum, self._product, self._extreme, self._sign, self._choice, self._half, self._widened,
             self._called]
        )  # fmt: skip
        made = make("float", depth - 1)
        exact = made.domain.places <= _PLACES and max(abs(made.domain.low), abs(made.domain.high)) < _FLOAT
        return made if exact else self._rounded(made)

    def _rounded(self, number: Number) -> Number:
        """A number that was too large or too fine, without its fraction and its size.

        What comes before is still computed in whatever width: it has to be exact in an f32, or only its atoms are used.
        """
        bits = number.domain.places + max(abs(number.domain.low), abs(number.domain.high), 1).__ceil__().bit_length()
        if bits > 22:
            atom = self._atom("float")
            return atom if atom is not None else Number("0.5", Domain("float", 0.5, 0.5, 1))
        return Number(f"float(math.floor({number.text}) % 64)", Domain("float", 0, 63))

    def _half(self, kind: str, depth: int) -> Number:
        a = self.fraction(depth) if self.draw.random() < 0.5 else self._small(depth)
        by, places = self.draw.choice([(2, 1), (4, 2)])
        divisor = f"{by}" if self.draw.random() < 0.5 else f"{by}.0"
        low, high = a.domain.low / by, a.domain.high / by
        return Number(f"{a.inside} / {divisor}", Domain("float", low, high, a.domain.places + places))

    def _small(self, depth: int) -> Number:
        a = self.whole(depth)
        return (
            a if max(abs(a.domain.low), abs(a.domain.high)) < 256 else Number(f"{a.inside} % 64", Domain("int", 0, 63))
        )

    def _widened(self, kind: str, depth: int) -> Number:
        a = self._small(depth)
        return Number(f"float({a.text})", Domain("float", a.domain.low, a.domain.high))

    def _called(self, kind: str, depth: int) -> Number:
        a = self.fraction(depth)
        most = max(abs(a.domain.low), abs(a.domain.high))
        name = self.draw.choice(["fabs", "copysign", "sqrt"])
        if name == "sqrt" and 2 * a.domain.places + 2 * math.ceil(most + 1).bit_length() <= 22:
            return Number(f"math.sqrt({a.inside} * {a.inside})", replace(a.domain, low=0, high=most))
        if name == "copysign":
            b = self.fraction(0)
            return Number(f"math.copysign({a.text}, {b.inside} + 0.125)", replace(a.domain, low=-most, high=most))
        return Number(f"math.fabs({a.text})", replace(a.domain, low=0, high=most))

    # --- flags

    def condition(self, depth: int = 2) -> Number:
        """A flag."""
        atom = self._atom("flag")
        roll = self.draw.random()
        if atom is not None and (depth <= 0 or roll < 0.2):
            return atom
        if depth > 0 and roll < 0.45:
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            how = self.draw.choice(["and", "or", "not"])
            return Number(f"not {a.inside}" if how == "not" else f"{a.inside} {how} {b.inside}", FLAG)
        return self._comparison(max(0, depth - 1))

    def _comparison(self, depth: int) -> Number:
        kind = "float" if self._atom("float") is not None and self.draw.random() < 0.4 else "int"
        a, b = self.of(kind, depth), self.of(kind, 0)
        roll = self.draw.random()
        if roll < 0.1:
            c = self.of(kind, 0)
            return Number(f"{b.inside} <= {a.inside} < {c.inside}", FLAG)
        if roll < 0.15 and kind == "float":
            return Number(f"math.isfinite({a.text})", FLAG)
        if roll < 0.2 and kind == "float":
            return Number(f"math.exp(min({a.text}, 4.0)) > 3.3", FLAG)
        if roll < 0.3 and kind == "int":
            return Number(f"{a.inside} % 3 == {self.draw.randint(0, 2)}", FLAG)
        if roll < 0.35 and kind == "int":
            return Number(f"bool({a.text})", FLAG)
        return Number(f"{a.inside} {self.draw.choice(['<', '<=', '>', '>=', '==', '!='])} {b.inside}", FLAG)
