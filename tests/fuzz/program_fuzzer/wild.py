"""Random expressions that leave their range: overflow, divisions by 0, powers below 0, infinities and NaN.

Whole numbers carry what they can be, or that they can be anything of 64 bits. Any float can be infinite or NaN.
"""

from __future__ import annotations

import re

from program_fuzzer.expressions import FLAG, Domain, Expressions, Number

__all__ = ["ANYTHING", "RANGES", "Wild"]

RANGES = {
    "i8": (-(1 << 7), (1 << 7) - 1), "i16": (-(1 << 15), (1 << 15) - 1), "i32": (-(1 << 31), (1 << 31) - 1),
    "i64": (-(1 << 63), (1 << 63) - 1), "u8": (0, (1 << 8) - 1), "u16": (0, (1 << 16) - 1), "u32": (0, (1 << 32) - 1),
    "u64": (0, (1 << 64) - 1), "ref": (-(1 << 31), (1 << 31) - 1),
}  # fmt: skip
ANYTHING = Domain("int", *RANGES["i64"])


class Wild(Expressions):
    """A source of random expressions, some of which plain Python has to refuse."""

    def whole(self, depth: int = 2) -> Number:
        """A whole number."""
        if depth > 0 and self.draw.random() < 0.35:
            make = self.draw.choice([self._overflow, self._divided, self._power, self._shifted, self._turned])
            return make(depth - 1)
        return super().whole(depth)

    def fraction(self, depth: int = 2) -> Number:
        """A float."""
        if depth > 0 and self.draw.random() < 0.35:
            return self._special(depth - 1)
        return super().fraction(depth)

    def _variable(self, depth: int) -> Number:
        """A whole number that is not known beforehand: what literals give is, and is refused when it is none."""
        made = self.whole(depth)
        if re.search(r"\b([vupg]|old|edge)\.|\b(step|part|k)\b", made.text):
            return made
        return self._atom("int") or Number("v.number", Domain("int", 0, 1 << 15))

    def _helped(self, kind: str, depth: int) -> Number:
        """Numbers that returns of several types would change are no argument of helpers."""
        return Number(f"halvings({self._variable(depth).text})", Domain("int", 0, 9))

    def _overflow(self, depth: int) -> Number:
        a, b = self._variable(depth), self._variable(depth)
        text = self.draw.choice([
            f"{a.inside} * 4611686018427387905", f"{a.inside} - 9223372036854775807", f"{a.inside} * {b.inside}",
            f"{a.inside} + 9223372036854775807", f"({a.inside} << 62) + {b.inside}", f"-{a.inside}", f"abs({a.text})",
        ])  # fmt: skip
        return Number(text, ANYTHING)

    def _divided(self, depth: int) -> Number:
        a, b = self._variable(depth), self._variable(depth)
        if self.draw.random() < 0.5:
            return Number(f"{a.inside} % ({b.inside} % 5 - 2)", Domain("int", -2, 2))
        return Number(f"{a.inside} // ({b.inside} % 3 - 1)", ANYTHING)

    def _power(self, depth: int) -> Number:
        a, b = self._variable(depth), self._variable(depth)
        if self.draw.random() < 0.6:
            return Number(f"({a.inside} % 5 - 2) ** ({b.inside} % 4 - 2)", Domain("int", -2, 2))
        return Number(f"{a.inside} ** ({b.inside} % 70)", ANYTHING)

    def _shifted(self, depth: int) -> Number:
        a, b = self._variable(depth), self._variable(depth)
        return Number(f"{a.inside} {self.draw.choice(['<<', '>>'])} ({b.inside} % 80 - 8)", ANYTHING)

    def _turned(self, depth: int) -> Number:
        a, b = self._variable(depth), self._variable(depth)
        return Number(
            self.draw.choice([f"~{a.inside}", f"{a.inside} | {b.inside}", f"{a.inside} ^ {b.inside}"]), ANYTHING
        )

    def _from_float(self, kind: str, depth: int) -> Number:
        made = super()._from_float(kind, depth)
        return Number(made.text, ANYTHING) if made.text.startswith(("int", "math.")) else made

    def _special(self, depth: int) -> Number:
        a, b, x = self._variable(depth), self._variable(depth), self.fraction(depth)
        few = Domain("float", -4, 4, x.domain.places)
        text = self.draw.choice([
            f"1.0 / ({a.inside} % 2)", f"({a.inside} % 3 - 1) / ({b.inside} % 2)", f"math.log({a.inside} % 2)",
            f"math.sqrt({a.inside} % 3 - 1.0)", f"({a.inside} % 3 - 1) ** -1", f"math.log2({a.inside} % 3)",
            f"math.exp(800.0 * ({a.inside} % 2))", "math.inf", "-math.inf", "math.nan",
            f"{x.inside} / ({a.inside} % 2)",
            f"float(math.floor({x.text}) % 4) // ({b.inside} % 2)", f"float({a.inside} % 4) % ({b.inside} % 2)",
            f"{x.inside} * 1e308 * 1e308", f"float({a.inside} % 3) ** ({b.inside} % 2 - 1)",
        ])  # fmt: skip
        return Number(text, few)

    def _comparison(self, depth: int) -> Number:
        if self._atom("float") is None or self.draw.random() > 0.25:
            return super()._comparison(depth)
        x = self.fraction(depth)
        text = self.draw.choice(["math.isnan({x})", "math.isinf({x})", "{i} != {i}", "math.isfinite({x})"])
        return Number(text.format(x=x.text, i=x.inside), FLAG)
