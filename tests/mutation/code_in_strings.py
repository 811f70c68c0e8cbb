"""A mutation operator for Cosmic Ray: small faults in generated code, which stands in strings of the compiler.

Cosmic Ray's own operators change the Python around those strings, which decides what is generated; this one changes
what the kernels do. Docstrings and sentences for users are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Example, Operator

__all__ = ["CodeInStrings"]

_FAULTS = [
    (re.compile(pattern), fault)
    for pattern, fault in (
        (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
        (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" & ", " | "), (r" \| ", " & "), (r" \|= ", " &= "),
        (r" << ", " >> "), (r" >> ", " << "), (r"\bnot ", ""), (r"\band\b", "or"), (r"\bor\b", "and"),
        (r"\bTrue\b", "False"), (r"\bFalse\b", "True"), (r"\bcontinue\b", "pass"), (r"\bbreak\b", "pass"),
        (r"\bold_", "new_"), (r"\b0\b", "1"), (r"\bone\b", "np.uint64(0)"), (r"\bwait\([^)]*\)", "pass"),
    )
]  # fmt: skip
_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,} [a-z]{2,}|^[\w ,.':-]*$")


def _is_code(node: Any) -> bool:
    """Whether a leaf of the syntax tree is a string, or a piece of one, that looks like code."""
    if node.type not in ("string", "fstring_string"):
        return False
    text = node.value.strip("\"'frb")
    above = node.parent
    if above is not None and above.type == "simple_stmt":
        return False  # a docstring
    while above is not None:
        if above.type in ("raise_stmt", "annassign", "import_from"):
            return False
        above = above.parent
    return not _SENTENCE.search(text) or bool(re.match(r"^(continue|break|got = |wait)", text))


def _faults(text: str) -> Iterator[tuple[int, str]]:
    """Each text with a fault, and on which of its lines that is."""
    for pattern, fault in _FAULTS:
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()), text[: found.start()] + fault + text[found.end() :]


class CodeInStrings(Operator):  # type: ignore[misc]
    """One operator, constant or statement of generated code changed."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if _is_code(node):
            for line, _ in _faults(node.value):
                place = (node.start_pos[0] + line, node.start_pos[1])
                yield place, place

    def mutate(self, node: Any, index: int) -> Any:
        _, node.value = list(_faults(node.value))[index]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example('x = ["a[k] += b"]', 'x = ["a[k] -= b"]'),)
