"""Messages that are not combined but listed: functions that see all messages of a vertex become `around`.

The list of a vertex's messages is never made: each loop over it becomes a loop over the vertex's edges, in which the
message of an edge is computed anew from its sender. ``af.mode(gathered)`` becomes ``af.mode(u.label for u in edges)``.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass

from arcflux.dialects.syntax import mentions, names_in, renamed, replaced, stored_names
from arcflux.dialects.translation import Translation

__all__ = ["Message", "add_looking", "listed", "unlisted"]

_ASKED = ("g", "old", "p", "step")
Element = Callable[[ast.AST, str], bool]


@dataclass(frozen=True)
class Message:
    """What an edge brings, as an expression of u, edge and old; `sent` is whether it brings anything, None: always."""

    value: ast.expr
    sent: ast.expr | None = None

    @classmethod
    def of(cls, made: Translation, body: list[ast.stmt], like: str) -> Message:
        """The message that statements return."""
        value, sent = _chosen(made, body, {}, like)
        if value is None:
            raise made.refusal(made.functions[like], f"{like} sends nothing", "return a message")
        return cls(value, None if _is(sent, True) else sent)

    def always(self, otherwise: ast.expr) -> Message:
        """The same with a value for edges that bring nothing."""
        return self if self.sent is None else Message(ast.IfExp(self.sent, self.value, copy.deepcopy(otherwise)))


_Chosen = tuple[ast.expr | None, ast.expr]


def _chosen(made: Translation, body: list[ast.stmt], local: dict[str, ast.expr], like: str) -> _Chosen:
    """What statements return, and when they return something; `local` are the names that they have assigned."""

    def known(node: ast.AST) -> ast.AST | None:
        is_local = isinstance(node, ast.Name) and node.id in local
        return copy.deepcopy(local[node.id]) if is_local else None  # type: ignore[attr-defined]

    if not body:
        return None, ast.Constant(False)
    first, *rest = body
    if isinstance(first, ast.Return):
        if first.value is None or _is(first.value, None):
            return None, ast.Constant(False)
        return replaced([copy.deepcopy(first.value)], known)[0], ast.Constant(True)
    if isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name):
        value = replaced([copy.deepcopy(first.value)], known)[0]
        return _chosen(made, rest, {**local, first.targets[0].id: value}, like)
    if isinstance(first, ast.If):
        test = replaced([copy.deepcopy(first.test)], known)[0]
        yes = _chosen(made, [*first.body, *rest], local, like)
        return _either(test, yes, _chosen(made, [*first.orelse, *rest], local, like))
    if isinstance(first, ast.Pass):
        return _chosen(made, rest, local, like)
    raise made.refusal(
        first, f"{like} makes messages that are listed, and these are one expression each",
        "use assignments to names, if and return here (print in the function that takes the list); or call a "
        "function of the module, which may loop",
    )  # fmt: skip


def _either(test: ast.expr, yes: _Chosen, no: _Chosen) -> _Chosen:
    if yes[0] is None and no[0] is None:
        return no
    value = no[0] if yes[0] is None else yes[0] if no[0] is None else ast.IfExp(test, yes[0], no[0])
    if _is(yes[1], True) and _is(no[1], True):
        return value, yes[1]
    if _is(yes[1], True) and _is(no[1], False):
        return value, copy.deepcopy(test)
    if _is(yes[1], False) and _is(no[1], True):
        return value, ast.UnaryOp(ast.Not(), copy.deepcopy(test))
    return value, ast.IfExp(copy.deepcopy(test), yes[1], no[1])


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def unlisted(made: Translation, body: list[ast.stmt], like: str) -> list[ast.stmt] | None:
    """Statements that return ``x`` where they returned the list ``[x]``; None where they return no lists."""
    returns = [n for node in body for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
    lists = [n for n in returns if isinstance(n.value, ast.List)]
    if not lists:
        return None
    for n in returns:
        if not isinstance(n.value, ast.List) or len(n.value.elts) != 1:
            raise made.refusal(
                n, f"{like} returns {ast.unparse(n.value or n)}, and elsewhere a list of one message",
                f"return a list with one message everywhere, as in `{ast.unparse(lists[0])}`",
            )  # fmt: skip
        n.value = n.value.elts[0]
    return body


def is_name(node: ast.AST, name: str) -> bool:
    """An element of a list is known by its name alone."""
    return isinstance(node, ast.Name) and node.id == name


def listed(
    made: Translation, body: list[ast.stmt], name: str, message: Message, element: Element = is_name
) -> list[ast.stmt]:
    """Statements whose loops over the list of messages `name` are loops over edges.

    `element` tells whether a part of a loop is the message that the loop has named.
    """
    rewritten = [_Listed(name, message, element).visit(node) for node in body]
    for node in rewritten:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == name:
                raise made.refusal(
                    part, f"{name} is a list of messages, and here it is used as something else",
                    f"loop over it (for x in {name}), or reduce it: sum({name}), len({name}), af.mode({name}), "
                    f"max(x for x in {name})",
                )  # fmt: skip
    return rewritten


class _Listed(ast.NodeTransformer):
    """Loops, generators and calls over a list of messages, as loops over edges."""

    def __init__(self, name: str, message: Message, element: Element) -> None:
        self.name, self.message, self.element, self.depth = name, message, element, 0

    def _names(self) -> tuple[dict[str, str], ast.expr]:
        """Names for the neighbour and the edge of a loop, and the loop's target."""
        suffix = f"_{self.depth}" if self.depth else ""
        names = {"u": f"u{suffix}", "edge": f"edge{suffix}"}
        parts = [self.message.value, *([self.message.sent] if self.message.sent is not None else [])]
        neighbour = ast.Name(names["u"], ast.Store())
        if "edge" not in names_in(parts):
            return names, neighbour
        return names, ast.Tuple([neighbour, ast.Name(names["edge"], ast.Store())], ast.Store())

    def _own(self, node: ast.expr, names: dict[str, str]) -> ast.expr:
        changed = {name: other for name, other in names.items() if name != other}
        made: ast.expr = renamed([copy.deepcopy(node)], changed)[0]  # type: ignore[list-item,assignment]
        return made

    def _over(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def visit_For(self, node: ast.For) -> ast.stmt:
        if not self._over(node.iter) or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)  # type: ignore[return-value]
        names, target = self._names()
        self.depth += 1
        body = [self.visit(part) for part in node.body]
        self.depth -= 1
        own = f"{node.target.id}_message" if self.element is not is_name else node.target.id
        body = replaced(body, self._element(node.target.id, ast.Name(own, ast.Load())))
        first: list[ast.stmt] = []
        if self.message.sent is not None:
            unsent = ast.UnaryOp(ast.Not(), self._own(self.message.sent, names))
            first.append(ast.If(unsent, [ast.Continue()], []))
        first.append(ast.Assign([ast.Name(own, ast.Store())], self._own(self.message.value, names)))
        return ast.copy_location(ast.For(target, ast.Name("edges", ast.Load()), [*first, *body], node.orelse), node)

    def _element(self, name: str, value: ast.expr) -> Callable[[ast.AST], ast.AST | None]:
        def replacement(node: ast.AST) -> ast.AST | None:
            stored = isinstance(getattr(node, "ctx", None), ast.Store)
            return copy.deepcopy(value) if self.element(node, name) and not stored else None

        return replacement

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        (first, *others) = node.generators
        if others or not self._over(first.iter) or not isinstance(first.target, ast.Name):
            return self.generic_visit(node)  # type: ignore[return-value]
        return ast.copy_location(self._generator(node.elt, first.ifs, first.target.id), node)

    def _generator(self, element: ast.expr | None, tests: list[ast.expr], name: str) -> ast.expr:
        names, target = self._names()
        value = self._own(self.message.value, names)
        parts = replaced([copy.deepcopy(value) if element is None else element, *tests], self._element(name, value))
        if self.message.sent is not None:
            parts.insert(1, self._own(self.message.sent, names))
        loop = ast.comprehension(target, ast.Name("edges", ast.Load()), parts[1:], 0)
        return ast.GeneratorExp(parts[0], [loop])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node.func) == "len" and len(node.args) == 1 and self._over(node.args[0]):
            counted = self._generator(ast.Constant(1), [], "")
            return ast.copy_location(ast.Call(ast.Name("sum", ast.Load()), [counted], []), node)
        node.args = [
            self._generator(None, [], "") if self._over(part) and self.element is is_name else self.visit(part)
            for part in node.args
        ]
        node.keywords = [self.visit(part) for part in node.keywords]
        return node


def _contributes(node: ast.AST) -> bool:
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    return stored and re.match(r"g\.(?!halt$)", ast.unparse(node)) is not None


def add_looking(made: Translation, body: list[ast.stmt], like: str) -> list[ast.stmt]:
    """Add `around` with what sees the list. What is left contributes to totals, and is for `update`.

    `update` is called once for every vertex, and v is then what `around` has made of it.
    """
    first = next((k for k, node in enumerate(body) if mentions([node], _contributes) is not None), len(body))
    looking, left = body[:first], body[first:]
    unknown = names_in(left) & {"edges", *stored_names(looking)}
    if unknown:
        raise made.refusal(
            left[0], f"{like} sees a list of messages, and contributes to a total before it is through with it",
            "keep what you need in fields of v, and contribute by these in its last lines",
        )  # fmt: skip
    made.add("around", ["v", "edges", *sorted(names_in(looking) & set(_ASKED))], looking, like)
    return left
