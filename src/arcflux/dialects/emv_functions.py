"""The functions of a program in Medusa's words: of which kind each is, and what it sends."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from arcflux.dialects.syntax import mentions, replaced
from arcflux.dialects.translation import Translation
from arcflux.errors import did_you_mean
from arcflux.program import FieldType

__all__ = ["ARGUMENTS", "KINDS", "NATIVE", "Functions", "is_send", "kind_of"]

KINDS = ("ELIST", "EDGE", "MLIST", "MESSAGE", "VERTEX", "Combiner")
ARGUMENTS = {
    "ELIST": ("v", "el", "g", "p", "step"),
    "EDGE": ("e", "g", "p", "step"),
    "MLIST": ("v", "ml", "old", "g", "p", "step"),
    "MESSAGE": ("m", "g", "p", "step"),
    "VERTEX": ("v", "combined", "old", "g", "p", "step"),
    "Combiner": ("a", "b"),
}
# Functions that are what they are in programs.
NATIVE = {
    "start": ("v", "g", "p"),
    "residual": ("v", "old", "g", "p", "step"),
    "iteration": ("run", "g", "p"),
}
Words = Callable[[ast.AST], ast.AST | None]
_TOLD_BY = {"el": "ELIST", "e": "EDGE", "ml": "MLIST", "m": "MESSAGE", "a": "Combiner", "b": "Combiner"}


def kind_of(node: ast.FunctionDef) -> str:
    """The kind of a function, by what it asks for."""
    return next((_TOLD_BY[one.arg] for one in node.args.args if one.arg in _TOLD_BY), "VERTEX")


def is_send(node: ast.AST) -> bool:
    """Whether this is ``e.send(x)`` or ``v.send(x)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send"


@dataclass
class Functions:
    """The functions of a class, and the type of its messages."""

    made: Translation
    message: FieldType | None
    run: set[str] = field(default_factory=set)

    def kinds(self) -> dict[str, str]:
        """The kind of every function that an iteration may run."""
        return {name: kind_of(node) for name, node in self.made.functions.items() if name not in NATIVE}

    def checked(self, kind: str, name: str, node: ast.AST) -> str:
        """A function that an iteration runs as a kind, if it is one."""
        known = self.kinds()
        if name not in known:
            raise self.made.refusal(node, f"there is no function {name}",
                                    did_you_mean(name, list(known), f"run one of: {', '.join(known)}"))  # fmt: skip
        if known[name] != kind:
            asked = ", ".join(ARGUMENTS[kind][: 2 if kind in ("ELIST", "MLIST", "Combiner") else 1])
            raise self.made.refusal(
                node, f"{name} is run as {kind}, and by its arguments it is {known[name]}",
                f"write run.{known[name]}.{name}(), or `def {name}({asked}, ...)`",
            )  # fmt: skip
        self.run.add(name)
        return name

    def sends(self, name: str) -> bool:
        """Whether a function sends messages."""
        return mentions(self.made.body(name), is_send) is not None

    def sender(self, name: str) -> list[ast.stmt]:
        """The statements that make a message, as the native form has them: u sends along edge, and returns the message.

        What is read of the receiver is ``old``.
        """
        made, body = self.made, self.made.body(name)
        kind = kind_of(made.functions[name])
        if self.message is None:
            raise made.refusal(made.functions[name], f"{name} sends messages, and their type is not known",
                               "declare it in the class: `message: af.f64`")  # fmt: skip
        made.refuse_writes(name, "a VERTEX function, run before or after")
        if kind == "ELIST":
            body = self._per_edge(name, body)
        body = self._returning(name, body)
        return replaced(replaced(body, _edge_words("old")), _vertex_word)

    def _per_edge(self, name: str, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements without the loop over the edge-list, as one edge sees them."""
        (*first, last) = body
        if isinstance(last, ast.If) and not last.orelse:
            return [*first, ast.copy_location(ast.If(last.test, self._per_edge(name, last.body), []), last)]
        looped = isinstance(last, ast.For) and ast.unparse(last.iter) == "el" and isinstance(last.target, ast.Name)
        inside = mentions([*first, *(last.body if isinstance(last, ast.For) else [])], _is_list)
        if not looped or inside is not None:
            raise self.made.refusal(
                inside or last, f"{name} sends messages, and does more than one loop over el",
                "let one `for e in el: e.send(...)` stand last; what needs the whole list first belongs in an ELIST "
                "function without messages, which keeps it in a field of v",
            )  # fmt: skip
        assert isinstance(last, ast.For)
        assert isinstance(last.target, ast.Name)
        target = last.target.id

        def rename(node: ast.AST) -> ast.AST | None:
            return ast.Name("e", node.ctx) if isinstance(node, ast.Name) and node.id == target else None

        return [*first, *replaced(last.body, rename)]

    def _returning(self, name: str, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements that return what they sent; a send has to be the last thing on its way."""
        for node in body[:-1]:
            if (found := mentions([node], is_send)) is not None:
                raise self.made.refusal(
                    found, f"{name} goes on after it has sent, and an edge has one message",
                    "let the send be the last thing on each way: use if, elif and else",
                )  # fmt: skip
        last = body[-1]
        if isinstance(last, ast.If):
            yes = self._returning(name, last.body)
            no = self._returning(name, last.orelse) if last.orelse else []
            return [*body[:-1], ast.copy_location(ast.If(last.test, yes, no), last)]
        if isinstance(last, ast.Expr) and is_send(last.value):
            assert isinstance(last.value, ast.Call)
            if len(last.value.args) != 1 or last.value.keywords:
                raise self.made.refusal(last, "send takes one message", "write e.send(x)")
            return [*body[:-1], ast.copy_location(ast.Return(last.value.args[0]), last)]
        if (found := mentions([last], is_send)) is not None:
            raise self.made.refusal(found, f"{name} sends within a loop or an expression",
                                    "write e.send(x) as a statement of its own, outside of loops")  # fmt: skip
        return body

    def over_edges(self, name: str) -> list[ast.stmt]:
        """The statements of an ELIST function that sends nothing: loops over el are loops over v's out-edges."""
        body = [_OverEdges().visit(node) for node in self.made.body(name)]
        left = mentions(body, _is_list)
        if left is not None:
            raise self.made.refusal(left, "el is the list of v's edges, and here it is used as something else",
                                    "loop over it: `for e in el`, or `sum(e.weight for e in el)`")  # fmt: skip
        return body

    def silent(self, name: str) -> Exception:
        """The error for an EDGE function that sends nothing: what it may have written instead."""

        def is_written(node: ast.AST) -> bool:
            return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)

        written = mentions(self.made.body(name), is_written)
        if written is None:
            return self.made.refusal(self.made.functions[name], f"{name} sends nothing",
                                     "write e.send(x), for the vertex that e points to")  # fmt: skip
        return self.made.refusal(
            written, f"{name} writes {ast.unparse(written)}, which other edges would write at the same time",
            "send it, as in e.send(x), combine it with Combiner, and write the field in a VERTEX function",
        )  # fmt: skip


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "el"


def _vertex_word(node: ast.AST) -> ast.AST | None:
    return ast.Name("u", node.ctx) if isinstance(node, ast.Name) and node.id == "v" else None


def _edge_words(head: str, tail: str = "u", edge: str = "edge", own: str = "e") -> Words:
    """``e.tail`` and ``e.head`` are vertices, and e itself is the edge."""

    def word(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            ends = {"tail": tail, "head": head}
            return ast.Name(ends[node.attr], ast.Load()) if node.attr in ends else None
        return ast.Name(edge, node.ctx) if isinstance(node, ast.Name) and node.id == own else None

    return word


class _OverEdges(ast.NodeTransformer):
    """Loops over el as loops over the neighbours and edges that `around` sees."""

    def __init__(self) -> None:
        self.depth = 0

    def _loop(self, name: str) -> tuple[ast.expr, Words]:
        suffix = f"_{self.depth}" if self.depth else ""
        names = [ast.Name(f"u{suffix}", ast.Store()), ast.Name(f"edge{suffix}", ast.Store())]
        words = _edge_words(names[0].id, "v", names[1].id, name)
        return ast.Tuple(list(names), ast.Store()), words

    def visit_For(self, node: ast.For) -> ast.AST:
        if not _is_list(node.iter) or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        target, words = self._loop(node.target.id)
        self.depth += 1
        body = replaced([self.visit(part) for part in node.body], words)
        self.depth -= 1
        return ast.copy_location(ast.For(target, ast.Name("edges", ast.Load()), body, node.orelse), node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        (first, *others) = node.generators
        if others or not _is_list(first.iter) or not isinstance(first.target, ast.Name):
            return self.generic_visit(node)
        target, words = self._loop(first.target.id)
        element, *tests = replaced([copy.deepcopy(node.elt), *first.ifs], words)
        loop = ast.comprehension(target, ast.Name("edges", ast.Load()), tests, 0)
        return ast.copy_location(ast.GeneratorExp(element, [loop]), node)
