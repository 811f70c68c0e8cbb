"""The forms that programs may take, by docs/how-to/program.md: which of them a text has, so that none is forgotten."""

from __future__ import annotations

import re

__all__ = ["FORMS", "forms_of"]

FORMS = {
    # What compute does.
    "sum": r"v\.\w+(\[[^]]*\])? \+= ", "product": r"v\.\w+(\[[^]]*\])? \*= ",
    "min": r"= min\(v\.", "max": r"= max\(v\.", "or": r"v\.\w+(\[[^]]*\])? \|= ",
    "and": r"v\.\w+(\[[^]]*\])? &= ", "af.any": r"= af\.any\(",
    "af.first": r"v\.\w+ = af\.first\(", "af.last": r"v\.\w+ = af\.last\(",
    "tuples": r"v\.\w+, v\.\w+.* = (min|max)\(\(v\.", "first or last of several": r", v\.\w+ = af\.(first|last)\(\(",
    # Numbers and words of Python.
    "while": r"\bwhile ", "for": r"for \w+ in range\(", "break": r"\bbreak\b", "continue": r"\bcontinue\b",
    "elif": r"\n +elif ", "strides": r"for \w+ in range\(\S+, .*, -?\d\):", "compared as floats": r" [<>=!]=? float\(",
    "early return": r"\n +return\n", "several names": r"\n +\w+, \w+ = ", "divmod": r"\bdivmod\(",
    "round": r"\bround\(", "trunc": r"math\.trunc\(", "helpers": r"\ndef (halvings|between|clipped)\(",
    "helpers of vertices": r"\ndef said\d\(", "af.random": r"af\.random\([vuo]\w*,",
    "af.random of edges": r"af\.random\(edge", "af.random of numbers": r"af\.random\((\w+\.number|\d)",
    "arithmetic of vectors": r"v\.(\w+) = \(v\.\1 \+ old\.\1\)", "copies of vectors": r"before = v\.",
    "dot of two": r"af\.dot\(v\.(\w+), old", "receive and old": r"def receive\(.*old\.",
    "nan": r"math\.nan", "dot": r"af\.dot\(",
    # What a class declares.
    "vectors": r"    \w+: af\.\w+\[\d\]\n", "vectors by parameter": r": af\.\w+\[['\"]k['\"]\]",
    "array parameters": r"p\.\w+\[\d\]", "matrix parameters": r"p\.\w+\[\d, \d\]",
    "vertex parameters": r": af\.vertex\n", "sets of vertices": r"\bin p\.some", "inheriting": r"class Fuzzed\(",
    "without start": r"\A(?!.*def start\()", "without update": r"\A(?!.*def update\()", "init": r"def init\(",
    "wants": r"def wants\(", "promised": r"sparse = True", "residual": r"def residual\(", "norm": r"norm = ",
    "stop": r"def stop\(", "priority": r"def priority\(",
    "priority and tuples": r"\(\(v\.x0, v\.best.*def priority\(", "delta": r"delta: ", "monotone": r"monotone = True",
    # Totals.
    "totals": r"af\.total\(", "totals of rows": r"af\.total\(af\.\w+\[",
    "rows by parameter": r"af\.total\(af\.\w+\[['\"]k", "whole rows": r"g\.rows \+= v\.",
    # Phases.
    "phases": r"@af\.phase", "against": r"edges='against'", "both": r"edges='both'", "no edges": r"edges=None",
    "until quiet": r"until=", "phases around": r"@af\.phase.*def around",
    "phases and totals": r"af\.total\(.*@af\.phase", "phases and edge state": r"af\.edge\(.*@af\.phase",
    "iteration asks totals": r"def iteration\(run, g\).*g\.t\d",
    # Neighbourhoods.
    "around": r"def around\(", "mode": r"af\.mode\(", "median": r"af\.median\(", "topk": r"af\.topk\(",
    "intersect": r"af\.intersect\(", "loops over intersect": r"for w in af\.intersect\(v, u\):",
    "edges of intersect": r"for w, side in af\.intersect\(v, u\):",
    "fields of intersect": r"in af\.intersect.*\bw\.[xy]\d",
    "any": r"[^.]\bany\(", "all": r"\ball\(", "two loops": r"for w in ",
    # Sends.
    "mail": r"af\.mail\(", "mail that combines": r"af\.mail\(.*?['\"](sum|min|max|or|and)['\"]\)",
    "mail of references": r"af\.mail\([^\n]*af\.ref",
    "receive": r"def receive\(", "neighbour": r"af\.neighbour\(", "out_edge": r"af\.out_edge\(",
    "around with mail": r"def around\(.*def receive\(",
    "several mails at once": r"af\.send\([^\n]* m\d=[^\n]*, m\d=",
    # Edge state.
    "edge state": r"af\.edge\(", "along": r"def along\(", "reverse": r"edge\.reverse\.",
    "vectors of edges": r"af\.edge\(af\.\w+\[\d\]", "matrices of edges": r"af\.edge\(af\.\w+\[\d, \d\]",
    # Fields that are given (ProgramSpec.said).
    "given edges": r"# given all of \w+: af\.edge\(", "given some edges": r"# given some of \w+: af\.edge\(",
    "given matrices of edges": r"# given [^\n]*: af\.edge\(af\.\w+\[\d, ",
    "given flags of edges": r"# given [^\n]*: af\.edge\(af\.flag",
    "given vectors": r"# given [^\n]*: af\.\w+\[", "given some": r"# given some of \w+: af\.[fiu]",
}  # fmt: skip
_PATTERNS = {name: re.compile(pattern, re.DOTALL) for name, pattern in FORMS.items()}


def forms_of(source: str) -> list[str]:
    """The forms that a program has."""
    return [name for name, pattern in _PATTERNS.items() if pattern.search(source)]
