"""How a pull crosses an edge: statements that load its fields, call `along`, and store the fields.

Edge fields are in arrays ``x_message`` in in-edge order, whatever the direction of a phase. Fields that some phase
reads of the reverse edge have two halves: `front`, from before the superstep, and `back`, from after it; they alternate
with each superstep that writes any of them, so an edge that is not crossed is carried over. ``x_turn[0]`` says which
half is the front one at superstep 0. ``x_reverse`` has the position of the reverse edge, ``x_place`` that of an
out-edge.
"""

from __future__ import annotations

import ast
import textwrap

from arcflux.compile.edge_state import EdgeState, names_of
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.polling import polls as has_long_loops
from arcflux.compile.pieces.source import ReturnsOf, in_function, inside, keep_in, lengths_of, load_from, tuple_text

__all__ = ["along_function", "carried_edge", "carried_row", "edge_halves", "edge_loads"]


def _looked_at(lowered: Lowered) -> list[str]:
    """The name that long loops of `along` poll, if there are any."""
    along = lowered.functions["along"]
    return ["control"] if has_long_loops(along.body, lengths_of(lowered)) else []


def along_function(lowered: Lowered) -> list[str]:
    """The user's `along` as the kernels call it; nothing without one."""
    state = lowered.edge_state
    if state is None or not state.written:
        return []
    back = [f"e_{name}" for name in state.written]
    body = in_function(lowered, lowered.functions["along"], state.body)
    body = [ReturnsOf(back).visit(node) for node in body]
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
    names = ", ".join([*names_of(state), *_looked_at(lowered)])
    return [f"@fragment\ndef along({names}):\n{textwrap.indent(text, '    ')}\n    return {tuple_text(back)}\n"]


def edge_halves(lowered: Lowered) -> list[str]:
    """Statements before the edges of a superstep: which half of mirrored fields is the front one."""
    state = lowered.edge_state
    if state is None or not state.mirrored:
        return []
    turn = "x_turn[0] + step" if state.turns else "x_turn[0]"
    lines = [f"front = np.uint64(g_arcs) if ({turn}) & 1 else np.uint64(0)"]
    return [*lines, *(["back = np.uint64(g_arcs) - front"] if state.turns else [])]


def edge_loads(lowered: Lowered, place: str) -> list[str]:
    """Statements that cross the edge at a position of the rows: compute then sees its fields."""
    state = lowered.edge_state
    if state is None:
        return []
    lines = [_arc(state, place)]
    lines += [f"e_{name} = {_load(state, name, 'arc')}" for name in state.loaded]
    if state.reversed:
        lines += ["twin = np.uint64(x_reverse[arc])"]
        lines += [f"r_{name} = {_load(state, name, 'twin')}" for name in state.reversed]
    if state.written:
        arguments = ", ".join([*names_of(state), *_looked_at(lowered)])
        lines += [f"{tuple_text([f'e_{name}' for name in state.written])} = along({arguments})"]
        lines += [_keep(state, name, f"e_{name}") for name in state.written]
    return [*lines, *(_carried(state, set(state.written)) if state.turns else [])]


def carried_edge(lowered: Lowered, place: str) -> list[str]:
    """Statements that carry over an edge that is not crossed: its new values are its old ones."""
    state = lowered.edge_state
    return [_arc(state, place), *_carried(state, set())] if state is not None and state.turns else []


def carried_row(lowered: Lowered, begin: str, end: str, place: str) -> list[str]:
    """A loop over the edges of a vertex that wants no messages."""
    lines = carried_edge(lowered, place)
    return [f"for i in range({begin}, {end}):", *inside(lines)] if lines else []


def _carried(state: EdgeState, without: set[str]) -> list[str]:
    return [_keep(state, name, _load(state, name, "arc")) for name in state.mirrored if name not in without]


def _arc(state: EdgeState, place: str) -> str:
    return f"arc = np.uint64(x_place[{place}])" if state.against else f"arc = np.uint64({place})"


def _load(state: EdgeState, name: str, place: str) -> str:
    place = f"front + {place}" if name in state.mirrored else place
    return load_from(f"x_{name}", place, state.fields[name].length)


def _keep(state: EdgeState, name: str, value: str) -> str:
    place = "back + arc" if name in state.mirrored else "arc"
    return keep_in(f"x_{name}", place, state.fields[name].length, value)
