"""What random programs say in plain Python: helpers, while, break, continue, early returns, several names at once."""

from __future__ import annotations

import random
import re

from program_fuzzer.expressions import Domain, Expressions, Number

__all__ = ["HELPERS", "early_return", "joined", "looped", "with_helpers"]

# Functions of the module, by their name; expressions.py writes their calls.
HELPERS = {
    "halvings": '''
def halvings(n, most=9):
    """How often a number below 1000 can be halved or lessened, at most so often."""
    steps, n = 0, n % 1000
    while n > 0:
        if steps == most:
            break
        n = n // 2 if n % 2 == 0 else n - 1
        steps += 1
    return steps
''',
    "between": '''
def between(a, b):
    """Two numbers in their order."""
    if b < a:
        return b, a
    return a, b
''',
    "clipped": '''
def clipped(x, low=0, *, high=9):
    """A number between two others, by another helper."""
    smaller, larger = between(x, high)
    return max(smaller, low)
''',
}


def with_helpers(text: str) -> str:
    """The helpers that a text calls, and those that they call."""
    wanted = [name for name in HELPERS if f"{name}(" in text]
    wanted += ["between"] if "clipped" in wanted and "between" not in wanted else []
    return "".join(f"{HELPERS[name]}\n" for name in wanted)


def looped(draw: random.Random, scope: Expressions) -> list[str]:
    """A loop of a few rounds, after which `count` is a number that later expressions may read."""
    if draw.random() > 0.12:
        return []
    first = scope.whole(1).inside
    scope.add(Number("count", Domain("int", 0, 5)))
    if draw.random() < 0.4:  # of as many rounds as data say, those of u alone too
        return ["count = 0", f"for k in range({first} % 6):", "    if k == 3:", "        continue", "    count += 1"]
    test = draw.choice(["left > 0", "True"])
    ends = ["    if left < 1:", "        break"] if test == "True" else []
    return [
        f"left, count = {first} % 40, 0", f"while {test}:", *ends, "    left -= 3", "    if count == 5:",
        "        break", "    if left % 2 == 0:", "        continue", "    count += 1",
    ]  # fmt: skip


def early_return(draw: random.Random, scope: Expressions) -> list[str]:
    """A way out of a function that returns nothing."""
    return [f"if {scope.condition(1).text}:", "    return"] if draw.random() < 0.1 else []


def joined(draw: random.Random, lines: list[str]) -> list[str]:
    """Statements of which two that stand together and assign fields may have become one."""
    made: list[str] = []
    for line in lines:
        before = re.fullmatch(r"v\.(\w+) = (.*)", made[-1]) if made else None
        here = re.fullmatch(r"v\.(\w+) = (.*)", line)
        if before and here and before[1] != here[1] and draw.random() < 0.3:
            made[-1] = f"v.{before[1]}, v.{here[1]} = {before[2]}, {here[2]}"
        else:
            made.append(line)
    return made
