"""The result of a check: a :class:`Report` of rules, each passed or with the first vertices that break it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from arcflux.errors import ValidationError

__all__ = ["SHOWN", "Offence", "Report", "Rule", "ValidationError"]

# How many of the vertices that break a rule are shown.
SHOWN = 10


@dataclass(frozen=True)
class Offence:
    """A vertex (in the user's ids) that breaks a rule: the value found, and the right one."""

    vertex: Any
    found: str
    expected: str

    def __post_init__(self) -> None:
        if isinstance(self.vertex, np.generic):
            object.__setattr__(self, "vertex", self.vertex.item())


@dataclass(frozen=True)
class Rule:
    """One rule that was checked: how many (`count`) vertices or edges (`unit`) break it, and the first of them.

    The unit is "result", and the count 0 or 1, when a rule is about the result as a whole.
    """

    name: str
    sentence: str
    count: int = 0
    unit: str = "vertices"
    offences: tuple[Offence, ...] = ()

    @classmethod
    def checked(
        cls,
        name: str,
        sentence: str,
        offenders: Sequence[Any] | np.ndarray[Any, Any],
        tell: Callable[[Any], Offence],
        *,
        count: int | None = None,
        unit: str = "vertices",
    ) -> Rule:
        """A rule broken by `offenders`; `tell` makes an :class:`Offence` of each that is shown.

        Examples
        --------
        >>> Rule.checked("even", "every id is even", [3, 5], lambda v: Offence(v, "odd", "even")).count
        2
        """
        first = tuple(tell(one) for one in islice(offenders, SHOWN))
        return cls(name, sentence, len(offenders) if count is None else count, unit, first)

    @classmethod
    def overall(cls, name: str, sentence: str, found: str, broken: bool) -> Rule:
        """A rule about the result as a whole, which no single vertex breaks; `found` is shown when it fails.

        Examples
        --------
        >>> Rule.overall("sum", "the ranks sum to 1", found="0.7", broken=True).sentence
        'the ranks sum to 1; found 0.7'
        """
        return cls(name, f"{sentence}; found {found}", 1, "result") if broken else cls(name, sentence, 0, "result")

    @property
    def passed(self) -> bool:
        """Whether nothing breaks the rule."""
        return self.count == 0

    def to_dict(self) -> dict[str, Any]:
        """The rule as a dict for JSON."""
        return {
            "name": self.name,
            "sentence": self.sentence,
            "passed": self.passed,
            "count": self.count,
            "unit": self.unit,
            "offences": [{"vertex": o.vertex, "found": o.found, "expected": o.expected} for o in self.offences],
        }


@dataclass(frozen=True, repr=False)
class Report:
    """Every rule that a result was checked against. True when all of them passed.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1], [1, 2])
    >>> good = af.validate.bfs(g, 0, level=[0, 1, 2])
    >>> good.ok, good
    (True, <Report bfs from 0: ok, 5 rules>)
    >>> print(af.validate.bfs(g, 0, level=[0, 1, 3]))
    bfs from 0: FAILED, 3 of 5 rules are broken
      FAIL  range    every level is -1 (unreached) or from 0 to 2: broken by 1 vertex
              vertex 2: found level 3, expected -1, or 0 to 2
      ok    source   the source is at level 0
      FAIL  in-edge  every reached vertex has an edge from one level before: broken by 1 vertex
              vertex 2: found level 3, expected an edge from a vertex at level 2
      FAIL  edges    no edge skips a level: broken by 1 edge
              vertex 2: found level 3, expected at most 2: edge 1 -> 2 leaves level 1
      ok    span     every edge from a reached vertex leads to a reached vertex
    """

    subject: str
    rules: tuple[Rule, ...]

    @property
    def ok(self) -> bool:
        """Whether every rule passed."""
        return all(rule.passed for rule in self.rules)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, name: str) -> Rule:
        """The rule with a name; KeyError when it was not checked."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    @property
    def failures(self) -> tuple[Rule, ...]:
        """The broken rules."""
        return tuple(rule for rule in self.rules if not rule.passed)

    def raise_for_failure(self) -> None:
        """Raise :class:`ValidationError` unless every rule passed.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges(["ada"], ["bob"])
        >>> af.validate.components(g, [1, 2]).raise_for_failure()
        Traceback (most recent call last):
        arcflux.errors.ValidationError: components breaks 2 of 3 rules: edges, count; vertex bob has label 2
          expected: 1, the label of ada: edge ada -> bob
          try: print(error.report) shows every rule, and the vertices that break it
        """
        if self.ok:
            return
        broken = self.failures
        first = next((offence for rule in broken for offence in rule.offences), None)
        error = ValidationError(
            f"{self.subject} breaks {_of(broken, self.rules)}: {', '.join(rule.name for rule in broken)}"
            + (f"; vertex {first.vertex} has {first.found}" if first else ""),
            expected=first.expected if first else broken[0].sentence,
            remedy="print(error.report) shows every rule, and the vertices that break it",
        )
        error.report = self
        raise error

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict for JSON."""
        return {"subject": self.subject, "ok": self.ok, "rules": [rule.to_dict() for rule in self.rules]}

    def __repr__(self) -> str:
        return f"<Report {self.subject}: {self._verdict()}>"

    def _verdict(self) -> str:
        if self.ok:
            return f"ok, {len(self.rules)} rules"
        return f"FAILED, {_of(self.failures, self.rules)} are broken"

    def __str__(self) -> str:
        wide = max((len(rule.name) for rule in self.rules), default=0)
        lines = [f"{self.subject}: {self._verdict()}"]
        for rule in self.rules:
            lines.append(f"  {'ok  ' if rule.passed else 'FAIL'}  {rule.name:<{wide}}  {_sentence(rule)}")
            lines += [f"          vertex {o.vertex}: found {o.found}, expected {o.expected}" for o in rule.offences]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'✓' if rule.passed else '✗'}</td><th>{escape(rule.name)}</th><td>{escape(_sentence(rule))}"
            f"{_offences_html(rule.offences)}</td></tr>"
            for rule in self.rules
        )
        colour = "#2e7d32" if self.ok else "#c62828"
        return (
            f"<div class='arcflux-report'><b>{escape(self.subject)}</b>: "
            f"<span style='color:{colour}'>{escape(self._verdict())}</span><table>{rows}</table></div>"
        )


def _of(some: Sequence[Rule], every: Sequence[Rule]) -> str:
    return f"{len(some)} of {len(every)} rules"


def _sentence(rule: Rule) -> str:
    if rule.passed or rule.unit == "result":
        return rule.sentence
    unit = {"vertices": "vertex", "edges": "edge"}[rule.unit] if rule.count == 1 else rule.unit
    return f"{rule.sentence}: broken by {rule.count:,} {unit}"


def _offences_html(offences: Iterable[Offence]) -> str:
    items = "".join(
        f"<li>vertex {escape(str(o.vertex))}: found {escape(o.found)}, expected {escape(o.expected)}</li>"
        for o in offences
    )
    return f"<ul>{items}</ul>" if items else ""
