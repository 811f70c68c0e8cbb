"""Specs: a generated graph as a line of text, such as ``kron:20,ef=8,weights=1-255``.

A spec is a generator's name, a colon, a size, and options after commas. Reading a spec and generating its graph are two
steps: :func:`parse` never does more than look at the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from arcflux import checks, config
from arcflux.errors import SpecError, UsageError
from arcflux.generate.registry import GENERATORS, Generator
from arcflux.generate.values import WHOLE
from arcflux.graph.core import Graph
from arcflux.spmd.memory import within_memory

__all__ = ["Spec", "from_spec", "is_spec", "parse"]


@dataclass(frozen=True)
class Spec:
    """A spec that was read: the generator, and arguments for its function."""

    text: str
    generator: Generator
    arguments: dict[str, Any]

    def graph(self, threads: int | None = None) -> Graph:
        """Generate the graph."""
        config.threads(threads)
        try:
            return self.generator.make(**self.arguments, threads=threads)
        except UsageError as error:
            raise _error(self.text, self.generator, error.what, error.expected) from error


def is_spec(text: object) -> bool:
    """Whether `text` is meant as a spec: the name of a generator is before its first colon.

    Examples
    --------
    >>> is_spec("kron:20"), is_spec("graph.el"), is_spec("C:/x")
    (True, False, False)
    """
    return isinstance(text, str) and ":" in text and text.partition(":")[0] in GENERATORS


@within_memory("generating a graph")
def from_spec(text: str, threads: int | None = None) -> Graph:
    """The graph that a spec describes.

    Parameters
    ----------
    text
        Such as ``kron:20``; :data:`~arcflux.generate.GENERATORS` holds the names, and the form and an example of each.
    threads
        Workers to use; all cores without it. The result is the same.

    Examples
    --------
    >>> from_spec("grid:3x4,weights=1-9").edges
    17
    >>> from_spec("path:ten")
    Traceback (most recent call last):
    ...
    arcflux.errors.SpecError: path:ten: the size is 'ten'
      expected: VERTICES, a whole number of at most 20 digits
      try: path:100
    """
    return parse(text).graph(threads)


def parse(text: str) -> Spec:
    """Read a spec, without generating anything.

    Examples
    --------
    >>> parse("ws:1000,k=6").arguments
    {'vertices': 1000, 'k': 6}
    """
    name, colon, rest = checks.text("a spec", text).partition(":")
    if not colon or name not in GENERATORS:
        raise _unknown(text, name)
    generator = GENERATORS[name]
    items = [item.strip() for item in rest.split(",")]
    arguments: dict[str, Any] = {}
    if _key(items[0]) not in generator.options:
        arguments = _size(text, generator, items.pop(0))
    for item in items:
        argument, value = _option(text, generator, item)
        if argument in arguments:
            raise _error(text, generator, f"{_key(item)} is given twice", "each option once")
        arguments[argument] = value
    if generator.size[0] not in arguments and generator.instead not in arguments:
        raise _error(text, generator, "no size is given", generator.form)
    return Spec(text, generator, arguments)


def _key(item: str) -> str:
    return item.partition("=")[0].strip()


def _size(text: str, generator: Generator, item: str) -> dict[str, Any]:
    """The arguments that a size such as 20 or 1024x1024 gives."""
    if not item:
        raise _error(text, generator, "no size is given", generator.form)
    try:
        return dict(zip(generator.size, map(WHOLE.read, item.split("x")), strict=True))
    except ValueError:
        form = "x".join(map(str.upper, generator.size))
        each = "each " if len(generator.size) > 1 else ""
        raise _error(text, generator, f"the size is {_short(item)!r}", f"{form}, {each}{WHOLE.expected}") from None


def _option(text: str, generator: Generator, item: str) -> tuple[str, Any]:
    """The argument and the value that an option such as ef=8 or directed gives."""
    key, equals, given = (part.strip() for part in item.partition("="))
    option = generator.options.get(key)
    if option is None:
        raise _error(text, generator, f"{_short(key)!r} is no option{_guess(key, generator.options)}", generator.form)
    if not equals:
        if option.alone is None:
            raise _error(text, generator, f"{key} has no value", f"{key}={option.value.place}")
        return option.argument, option.alone
    try:
        return option.argument, option.value.read(given)
    except ValueError:
        raise _error(text, generator, f"{key} is {_short(given)!r}", option.value.expected) from None


def _error(text: str, generator: Generator, what: str, expected: str) -> SpecError:
    return SpecError(f"{_short(text)}: {what}", expected=expected, remedy=generator.example)


def _unknown(text: str, name: str) -> SpecError:
    """No generator has that name, or there is only a name."""
    if name in GENERATORS:
        return _error(text, GENERATORS[name], "no size is given", GENERATORS[name].form)
    return SpecError(
        f"{_short(text)!r} names no generator{_guess(name, GENERATORS)}",
        expected="one of " + ", ".join(GENERATORS),
        remedy="kron:20",
    )


def _guess(given: str, known: Iterable[str]) -> str:
    """A question, when something known looks much like what was given."""
    close = get_close_matches(given[:40], list(known), n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
