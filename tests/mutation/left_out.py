"""Faults that no test could notice, and should not: what only makes runs faster, and what only people read.

Each has its reason. Whatever could change a result, a refusal or the order of memory accesses is never left out.
"""

from __future__ import annotations

import re

__all__ = ["reason_to_leave_out"]

# (file, function or "" for any, what its lines contain, why)
_RULES = [
    ("", "", r"TYPE_CHECKING", "only type checkers run it"),
    ("", "", r"^[A-Z_]+(, [A-Z_]+)* = [\d_<. ]+[,\d_<. ]*$", "a constant of tuning; others have a name in a class"),
    ("compile/frontier_push.py", "_announced|_fetched|_reached|_foreseen", r"", "fetches ahead what is read later"),
    ("compile/frontier_pull.py", "_wanting", r"_AHEAD|prefetch", "fetches ahead what is read later"),
    ("", "", r"prefetch", "fetches ahead what is read later"),
    ("compile/frontier.py", "explained", r"", "a sentence for people"),
]
_COMPILED = [(path, re.compile(function), re.compile(text), why) for path, function, text, why in _RULES]


def reason_to_leave_out(path: str, function: str, lines: list[str]) -> str:
    """Why a fault in these lines of a function is no test's business; "" when it is."""
    for where, named, text, why in _COMPILED:
        here = where in ("", path) and (not named.pattern or named.fullmatch(function))
        if here and all(text.search(line) for line in lines):
            return why
    return ""
