"""The iteration of a program in Medusa's words: which runs make one superstep, and the host function that is left.

``run.EDGE.Send()`` is Medusa's ``EMV<EDGE>::Run(Send)``. Runs that stand one after the other are read as chains:

    InitMessageBuffer?  sender  MESSAGE*  (Combiner VERTEX | MLIST VERTEX?)      a superstep along edges
    ELIST                                                                        looks around, against edges
    VERTEX                                                                       no edges
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection
from dataclasses import dataclass

from arcflux.dialects.emv_chain import Chain
from arcflux.dialects.emv_functions import KINDS, Functions
from arcflux.dialects.syntax import mentions, replaced
from arcflux.parsing import parse, parse_expression

__all__ = ["Iteration"]

_RUN = ("halt", "iterations", "changed")


@dataclass(frozen=True)
class _Call:
    """A statement of iteration that runs something."""

    kind: str
    name: str
    node: ast.Call


class Iteration:
    """The function `iteration` of a class."""

    def __init__(self, functions: Functions) -> None:
        self.functions, self.made = functions, functions.made
        self.body = self.made.body("iteration")
        self.chains: dict[str, Chain] = {}
        self.blocks = self._grouped(self.body)
        self._check()

    def only_chain(self) -> Chain | None:
        """The chain of messages that is all of the iteration, but for a last line that sets run.halt."""
        items = self.blocks[:-1] if self._last_halt() is not None else self.blocks
        first = items[0] if len(items) == 1 else None
        return first if isinstance(first, Chain) and first.sender else None

    def phases(self) -> dict[str, Chain]:
        """All chains, by name."""
        return self.chains

    def stop_tests(self) -> list[ast.expr]:
        """After which supersteps an iteration of one chain ends: by maxIteration, and by run.halt."""
        tests: list[ast.expr] = []
        if self._limited():
            tests.append(parse_expression("step + 1 >= p.maxIteration"))
        if (halt := self._last_halt()) is not None:

            def counted(node: ast.AST) -> ast.AST | None:
                asked = isinstance(node, ast.Attribute) and ast.unparse(node) == "run.iterations"
                return parse_expression("step + 1") if asked else None

            tests += replaced(
                [copy.deepcopy(halt.value)], lambda n: counted(n) if isinstance(n, ast.Attribute) else None
            )
        return tests

    def host(self, halting: Collection[str]) -> list[ast.stmt]:
        """The statements of the native iteration; `halting` are phases that say whether the program goes on."""
        halts = mentions(self.body, _is_halt) is not None
        parts = ["going_on > 0"] if halting else []
        parts += ["not halt"] if halts else []
        parts += ["run.iterations < p.maxIteration"] if self._limited() else []
        if not parts:
            raise self.endless()
        answer = parse_expression(" and ".join(parts))
        lines = ["going_on = 0"] if halting else []
        lines += ["halt = False"] if halts else []
        first = [node for line in lines for node in parse(line).body]
        body = _Hosted(self, halting, answer).statements(self.blocks)
        return [*first, *body, ast.Return(copy.deepcopy(answer))]

    def endless(self) -> Exception:
        """The error for an iteration that nothing ends."""
        return self.made.refusal(
            self.made.functions["iteration"], "nothing ends this before 2147483647 iterations",
            "write g.halt = False in a VERTEX function where something has changed, run.halt = ... here, or "
            "`maxIteration: int = 30` in the class",
        )  # fmt: skip

    def _limited(self) -> bool:
        declared = [node.target for node in self.made.rest if isinstance(node, ast.AnnAssign)]
        return any(isinstance(target, ast.Name) and target.id == "maxIteration" for target in declared)

    def _last_halt(self) -> ast.Assign | None:
        last = self.body[-1]
        return last if isinstance(last, ast.Assign) and _is_halt(last) else None

    # --- reading

    def _grouped(self, block: list[ast.stmt]) -> list[Chain | ast.stmt]:
        """Statements with runs that belong together as chains; blocks within are read when they are made."""
        items: list[Chain | ast.stmt] = []
        calls = [self._call(node) for node in block]
        k = 0
        while k < len(block):
            if calls[k] is None:
                items.append(block[k])
                k += 1
            else:
                chain, k = self._chain(block, calls, k)
                self.chains.setdefault(self._named(chain), chain)
                items.append(chain)
        for node in items:
            for part in ("body", "orelse"):
                if not isinstance(node, Chain) and getattr(node, part, None):
                    self._grouped(getattr(node, part))
        return items

    def _named(self, chain: Chain) -> str:
        known = self.chains.get(chain.name)
        if known is not None and ast.dump(known.initial or ast.Pass()) != ast.dump(chain.initial or ast.Pass()):
            assert chain.initial is not None or known.initial is not None
            raise self.made.refusal(
                chain.initial or self.made.functions["iteration"],
                f"{chain.name} is run again, and its message buffer begins with something else",
                "use the same InitMessageBuffer before both, or another function that sends",
            )  # fmt: skip
        return chain.name

    def _call(self, node: ast.stmt) -> _Call | None:
        """The run that a statement is, or None for any other statement."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return None
        path = ast.unparse(call.func).split(".")
        if path[0] != "run":
            return None
        kind, name = path[1] if len(path) > 1 else "", path[2] if len(path) > 2 else ""
        if len(path) == 2 and kind == "InitMessageBuffer":
            if len(call.args) > 1 or call.keywords:
                raise self.made.refusal(call, "InitMessageBuffer takes one value", "write run.InitMessageBuffer(0.0)")
            return _Call(kind, "", call)
        if len(path) == 2 and kind == "Combiner":
            name = "Combiner"
        elif len(path) != 3 or kind not in KINDS:
            known = ", ".join(f"run.{one}.f()" for one in KINDS)
            raise self.made.refusal(call, f"{ast.unparse(call.func)} is no run of edges, messages or vertices",
                                    f"write one of {known}, run.Combiner(), run.InitMessageBuffer(x)")  # fmt: skip
        if call.args or call.keywords:
            raise self.made.refusal(call, f"{ast.unparse(call.func)} is run with arguments",
                                    "functions see fields, totals (g) and parameters (p)")  # fmt: skip
        return _Call(kind, self.functions.checked(kind, name, call), call)

    def _chain(self, block: list[ast.stmt], calls: list[_Call | None], k: int) -> tuple[Chain, int]:
        """The chain that begins at a call, and where it ends."""
        initial, call = None, calls[k]
        assert call is not None
        if call.kind == "InitMessageBuffer":
            initial, k = call.node, k + 1
            call = calls[k] if k < len(calls) else None
            if call is not None and call.kind == "EDGE" and not self._sends(call):
                raise self.functions.silent(call.name)
            if call is None or not self._sends(call):
                self._refuse_between(block, calls, k)
                raise self.made.refusal(initial, "no message is sent into the buffer that begins here",
                                        "run a function that sends on the next line")  # fmt: skip
        if self._sends(call):
            return self._sending(block, calls, k, initial)
        if call.kind == "VERTEX":
            if "combined" in self._arguments(call.name):
                raise self.made.refusal(call.node, f"{call.name} asks for what was combined, and nothing was",
                                        "run a function that sends, and run.Combiner(), right before it")  # fmt: skip
            return Chain(vertex=call.name), k + 1
        if call.kind == "ELIST":
            return Chain(collective=call.name), k + 1
        if call.kind == "EDGE":
            raise self.functions.silent(call.name)
        raise self.made.refusal(call.node, f"{ast.unparse(call.node.func)} finds no messages",
                                "run an EDGE, ELIST or VERTEX function that sends on the line before")  # fmt: skip

    def _sending(
        self, block: list[ast.stmt], calls: list[_Call | None], k: int, initial: ast.Call | None
    ) -> tuple[Chain, int]:
        sender, k = calls[k], k + 1
        assert sender is not None
        changed_by = []
        while k < len(calls) and (call := calls[k]) is not None and call.kind == "MESSAGE":
            changed_by.append(call.name)
            k += 1
        call = calls[k] if k < len(calls) else None
        after = calls[k + 1] if k + 1 < len(calls) else None
        if call is not None and call.kind == "Combiner":
            if after is None or after.kind != "VERTEX" or "combined" not in self._arguments(after.name):
                self._refuse_between(block, calls, k + 1)
                raise self.made.refusal(call.node, "nothing takes what Combiner makes",
                                        "run a VERTEX function that asks for `combined` on the next line")  # fmt: skip
            return Chain(sender.name, tuple(changed_by), call.name, "", after.name, initial), k + 2
        if call is not None and call.kind == "MLIST":
            takes = after is not None and after.kind == "VERTEX" and not self._sends(after)
            vertex = after.name if takes and after and "combined" not in self._arguments(after.name) else ""
            return Chain(sender.name, tuple(changed_by), "", call.name, vertex, initial), k + (2 if vertex else 1)
        if call is not None and self._sends(call):
            raise self.made.refusal(call.node, f"{call.name} sends over the messages of {sender.name}",
                                    "run Combiner or an MLIST function in between, or send both in one")  # fmt: skip
        self._refuse_between(block, calls, k)
        raise self.made.refusal(sender.node, f"no function reads the messages of {sender.name}",
                                "run Combiner and a VERTEX function, or an MLIST function, after it")  # fmt: skip

    def _refuse_between(self, block: list[ast.stmt], calls: list[_Call | None], k: int) -> None:
        """Refuse another statement, such as a print, where the next run of a superstep is missing."""
        if k < len(block) and calls[k] is None and any(calls[k:]):
            raise self.made.refusal(
                block[k], "this line stands between runs that make one superstep",
                "write it before the first of them or after the last; print and breakpoint() work in their functions",
            )  # fmt: skip

    def _sends(self, call: _Call) -> bool:
        return call.kind in ("EDGE", "ELIST", "VERTEX") and self.functions.sends(call.name)

    def _arguments(self, name: str) -> list[str]:
        return [one.arg for one in self.made.functions[name].args.args]

    def _check(self) -> None:
        """Every function is run, and `run` is used for what it has."""
        for name in self.functions.kinds():
            if name not in self.functions.run:
                raise self.made.refusal(self.made.functions[name], f"iteration does not run {name}",
                                        f"run it, or leave {name} out")  # fmt: skip
        for node in (n for part in self.body for n in ast.walk(part)):
            if isinstance(node, ast.Return) and node.value is not None:
                raise self.made.refusal(node, "iteration returns a value", "write run.halt = True to end the run")
            of_run = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "run"
            if of_run and node.attr not in (*_RUN, *KINDS, "InitMessageBuffer"):  # type: ignore[attr-defined]
                raise self.made.refusal(node, f"run has no {node.attr}",  # type: ignore[attr-defined]
                                        f"it has {', '.join([*KINDS, 'InitMessageBuffer', *_RUN])}")  # fmt: skip


def _is_halt(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["run.halt"]


class _Hosted:
    """Statements of iteration with a call of a phase for every chain."""

    def __init__(self, iteration: Iteration, halting: Collection[str], answer: ast.expr) -> None:
        self.iteration, self.halting, self.answer = iteration, halting, answer

    def statements(self, items: list[Chain | ast.stmt]) -> list[ast.stmt]:
        """A block."""
        return [self._called(item) if isinstance(item, Chain) else self._other(item) for item in items]

    def _called(self, chain: Chain) -> ast.stmt:
        line = f"run.{chain.name}()"
        return parse(f"going_on += {line}" if chain.name in self.halting else line).body[0]

    def _other(self, node: ast.stmt) -> ast.stmt:
        for part in ("body", "orelse"):
            if getattr(node, part, None):
                setattr(node, part, self.statements(self.iteration._grouped(getattr(node, part))))
        if isinstance(node, ast.Return):
            return ast.copy_location(ast.Return(copy.deepcopy(self.answer)), node)
        if _is_halt(node):
            assert isinstance(node, ast.Assign)
            return ast.copy_location(ast.Assign([ast.Name("halt", ast.Store())], node.value), node)
        return node
