"""Faults that no test could notice, and should not: what only makes runs faster, and what only people read.

Each has its reason. Whatever could change a result, a refusal or a place in memory is never left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["reason_to_leave_out"]


class Rule(NamedTuple):
    """A reason, and where it holds; what is empty holds everywhere."""

    why: str
    path: str = ""
    function: str = ""
    operator: str = ""
    line: str = ""


_RULES = [
    Rule("only type checkers run it", line="TYPE_CHECKING"),
    Rule("nobody writes to it, which only says so to readers", line=r"^@dataclass\(frozen=True\)"),
    Rule("a constant of tuning", line=r"^[A-Z_]+(, [A-Z_]+)* = [\d_<., ]+$"),
    # Places and numbers of counters are arguments in strings: a number beside them says how much is claimed at once.
    Rule("how much a worker claims at once", operator="NumberReplacer", line=r"chunk_loop\(.*\b(64|256|4096)\b"),
    Rule("fetches ahead what is read later", line="prefetch|_AHEAD"),
    Rule("fetches ahead what is read later", "compile/cpu/frontier_push.py", "_announced|_fetched|_reached|_foreseen"),
    # What depends on the time that things take: whether one worker goes on alone, which direction is faster.
    Rule("measures time", "compile/cpu/frontier.py", line=r"ticks\(\)|slot\[[14]\]|slowest|\bwork\b|half, 4|said\[2\]"),
    Rule("chooses by time", "compile/cpu/frontier.py", line=r"^(?!.*alone).*\b(solo|longer|seen|since|passed|rate)\b"),
    Rule("chooses by time", "compile/cpu/frontier.py", line="push_rate|pull_rate|pushed|pulled|dearer"),
    Rule("measures time", "compile/cpu/dense.py", line=r"ticks\(\)"),
    Rule("a sentence for people", "compile/direction.py", "reason_text"),
    Rule("a check of what always holds", operator="ReplaceTrueWithFalse", line=r"strict=True"),
    Rule("how much of a line is shown", "validate/ldbc.py", operator="NumberReplacer", line=r"rstrip\(\)\[:80\]"),
    Rule(
        "how many workers fit into memory", "validate/recount.py", operator="NumberReplacer", line=r"_workers\(graph, "
    ),
    Rule("where a worker begins to look", "compile/cpu/lists.py", line=r"return 0, place \+ np.uint64\(held >> 1\)"),
    # Either way gives the same.
    Rule("how a set is looked up", "engine/exchange/telling.py", "_chosen", line=r"len\(told\) \* 16"),
    Rule("from which length on a kernel is worth it", "engine/exchange/places.py", "_long", line="_SHORT"),
]


def reason_to_leave_out(path: str, function: str, operator: str, line: str) -> str:
    """Why an operator's fault in this line of a function is no test's business; "" when it is."""
    for rule in _RULES:
        named = not rule.function or re.fullmatch(rule.function, function)
        if named and rule.path in ("", path) and rule.operator in ("", operator) and re.search(rule.line, line):
            return rule.why
    return ""
