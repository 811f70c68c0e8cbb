"""Edges, messages, vertices: programs as Medusa has them, on which G2 builds (Zhong and He 2014; G2, tables I and II).

A class has functions of six kinds, told apart by what they ask for, and an `iteration` that runs them in order:

    ELIST (v, el)      all out-edges of a vertex          MLIST (v, ml)   all messages of a vertex
    EDGE (e)           one edge                           MESSAGE (m)     one message
    VERTEX (v)         one vertex                         Combiner (a, b) two messages made one

Runs that belong together (messages are sent, changed, combined or listed, and a vertex takes them) are one superstep.
An iteration of one such chain is a program without phases, the same as the native form would be; any other becomes
phases, and a host function that calls them. See emv_iteration.py for what is a chain, emv_chain.py for what becomes
of it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from dataclasses import replace

from arcflux.dialects.emv_chain import Chain, lower_chain
from arcflux.dialects.emv_functions import ARGUMENTS, KINDS, NATIVE, Functions, kind_of
from arcflux.dialects.emv_iteration import Iteration
from arcflux.dialects.translation import Translation
from arcflux.program import FieldType, Program

__all__ = ["MAX_ITERATION", "emv"]

# Medusa's default (G2, table II).
MAX_ITERATION = 2**31 - 1


def emv(cls: type) -> Program:
    """Make a program of a class with functions of edges, messages and vertices; see docs/how-to/dialects.md.

    Examples
    --------
    >>> import arcflux as af
    >>> @af.emv
    ... class Hops:
    ...     source: af.vertex
    ...     message: af.i32  # the type of messages
    ...     hops: af.i32
    ...
    ...     def start(v, p):
    ...         v.hops = 0 if v.number == p.source else 1000
    ...         return v.number == p.source
    ...
    ...     def Send(e):
    ...         e.send(e.tail.hops + 1)
    ...
    ...     def Combiner(a, b):
    ...         return min(a, b)
    ...
    ...     def Take(v, combined, old, g):
    ...         v.hops = min(v.hops, combined)
    ...         if v.hops < old.hops:
    ...             g.halt = False
    ...
    ...     def iteration(run):
    ...         run.EDGE.Send()
    ...         run.Combiner()
    ...         run.VERTEX.Take()
    >>> af.run(Hops, "path:4", source=1)["hops"].tolist()
    [1, 0, 1, 2]
    """
    made = Translation.of(cls, sys._getframe(1), "emv", _arguments, [*KINDS, *NATIVE])
    made.require("iteration", "run", "g", "p")
    message = _message_type(made)
    functions = Functions(made, message)
    iteration = Iteration(functions)
    made.keep("start")
    chain = iteration.only_chain()
    if chain is not None:
        _add_fused(functions, iteration, chain)
    else:
        _add_phases(functions, iteration)
    return replace(made.program(), most_supersteps=MAX_ITERATION)


def _arguments(node: ast.FunctionDef) -> Sequence[str]:
    return NATIVE[node.name] if node.name in NATIVE else ARGUMENTS[kind_of(node)]


def _message_type(made: Translation) -> FieldType | None:
    """What the class declares as `message`: a type, and no field."""
    found = None
    for node in list(made.rest):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "message":
            found = made.evaluate(node.annotation)
            if not isinstance(found, FieldType):
                raise made.refusal(node, "message is the type of messages", "write `message: af.f64`")
            made.rest.remove(node)
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["maxIteration"]:
            said = f"write `maxIteration: int = {ast.unparse(node.value)}`"
            raise made.refusal(node, "maxIteration is a parameter", said)
    return found


def _add_fused(functions: Functions, iteration: Iteration, chain: Chain) -> None:
    """One chain: a program of one superstep an iteration, and `stop` where the host decides."""
    made = functions.made
    halts = lower_chain(functions, chain)
    made.keep("residual")
    tests = iteration.stop_tests()
    if not (halts or tests or "residual" in made.functions):
        raise iteration.endless()
    if tests:
        value = ast.BoolOp(ast.Or(), tests) if len(tests) > 1 else tests[0]
        made.add("stop", ["g", "p", "step"], [ast.Return(value)], "iteration")


def _add_phases(functions: Functions, iteration: Iteration) -> None:
    """Several chains: phases, and the host function that calls them."""
    made = functions.made
    if "residual" in made.functions:
        raise made.refusal(
            made.functions["residual"], "an iteration of several chains has no residual",
            "add up what moved in a total, such as g.moved += abs(v.x - old.x), and write run.halt = g.moved < 1e-6; "
            "of one chain alone: print in its functions, not here",
        )  # fmt: skip
    halting = set()
    for name, chain in iteration.phases().items():
        with made.phase(name, chain.edges):
            if lower_chain(functions, chain):
                halting.add(name)
    made.add("iteration", ["run", "g", "p"], iteration.host(halting), "iteration")
