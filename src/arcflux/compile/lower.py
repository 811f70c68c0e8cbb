"""Split a checked program into the parts that every back end needs, so that none of them has to analyse it.

The split of compute is what makes programs fast: what depends on u alone (the *source part*) is evaluated once per
vertex into a compact array and gathered, so ``v.rank += u.rank / u.out_degree`` costs one load an edge, not two and a
division; push takes it out of its inner loop; and it is all that has to cross a network. The rest is the *edge part*.
"""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from arcflux.compile.around import Around, split
from arcflux.compile.check.checked import Checked, Reduction, with_degrees_swapped
from arcflux.compile.check.expressions import length_of, resolved
from arcflux.compile.check.functions import check, returns_nothing
from arcflux.compile.check.helpers import Helper, Helpers
from arcflux.compile.check.tuples import TUPLES, hidden_fields, with_senders_emptied
from arcflux.compile.check.types import Value
from arcflux.compile.edge_state import EdgeState, edge_state_of, edgewise
from arcflux.compile.flags import known_flags, settled
from arcflux.compile.refusals import (
    IN_ANY_ORDER,
    passes_by,
    refuse_around,
    refuse_disorder,
    refuse_init_that_passes,
    refuse_norm,
    refuse_unsent,
)
from arcflux.compile.sources import Message, Sources
from arcflux.errors import UsageError
from arcflux.mail import Mail
from arcflux.program import Program

__all__ = ["Lowered", "Measure", "Message", "fact", "ignores_start", "lower"]

Found = TypeVar("Found")

# The names that kernels have for the array of a column of out-edges.
_OUT_COLUMN = re.compile(r"columns_(\w+)$")
# Reductions that give the same bits in any order, also of floats.
_EXACT = ("min", "max", *TUPLES)


@dataclass(frozen=True)
class Measure:
    """What is reduced over the vertices of a superstep: their residuals, or their contributions to a total.

    Kernels have a vertex's contribution (`value`), the reduction so far (`running`), and the array of partial
    reductions by chunk of vertices or by worker (`sums`).
    """

    name: str
    operation: str
    dtype: np.dtype[Any]
    length: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether it is a total; otherwise it is the residual, a name that no total has."""
        return self.name != "residual"

    @property
    def exact(self) -> bool:
        """Whether it has the same bits in any order of reduction."""
        return self.dtype.kind != "f" or self.operation in _EXACT

    @property
    def running(self) -> str:
        """The name in kernels of the reduction so far."""
        return f"sum_{self.name}" if self.is_total else "residual_sum"

    @property
    def sums(self) -> str:
        """The name in kernels of the array of partial reductions."""
        return f"sums_{self.name}" if self.is_total else "sums"


@dataclass
class Lowered:
    """A program in parts.

    fields: name -> (dtype, length or None); messages: the source part; edge: compute over messages; reductions: how
    compute writes each field; functions: all of them as checked; columns: the edge columns that compute reads; totals:
    all that are declared, by name; around: the function of a whole neighbourhood over messages, which a program has
    instead of compute, or None; edge_state: its use of edge fields, or None; sources: what back ends have generated
    from it, by their name; facts: cached properties of it (:func:`fact`).
    """

    program: Program
    fields: dict[str, tuple[np.dtype[Any], int | None]]
    messages: list[Message]
    edge: list[ast.stmt]
    reductions: dict[str, Reduction]
    functions: dict[str, Checked]
    columns: list[str]
    deterministic: bool = False
    totals: dict[str, Measure] = field(default_factory=dict)
    around: Around | None = None
    edge_state: EdgeState | None = None
    sources: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def of(self, program: Program) -> Lowered:
        """The same for a program with other values of its parameters."""
        lowered = object.__new__(Lowered)
        lowered.__dict__.update(self.__dict__, program=program)
        return lowered

    @property
    def edgewise(self) -> Checked:
        """The function that sees edges: compute (with what along reads of them), or around."""
        return edgewise(self.functions)

    @property
    def sparse(self) -> bool:
        """Whether only vertices that changed need to send, and only those that receive can change.

        Promised by the author, implied by a priority, or evident from the program.
        """
        if self.mails:
            return False
        return "sparse" in self.program.promises or self.ordered or (self.has_edges and self.idempotent)

    @property
    def mails(self) -> Mapping[str, Mail]:
        """The kinds of mail that vertices send, by name."""
        return self.program.mails

    @property
    def rests(self) -> bool:
        """Whether a vertex takes part in a superstep only if it has mail, or stayed awake."""
        return bool(self.mails) and not self.has_edges

    @property
    def picks(self) -> bool:
        """Whether a function reads out-neighbours by index."""
        return any("out_neighbours" in each.reads for each in self.functions.values())

    @property
    def out_columns(self) -> list[str]:
        """The columns of out-edges that functions read, besides those of messages."""
        columns = {match[1] for each in self.functions.values() for name in each.reads
                 if (match := _OUT_COLUMN.match(name))}  # fmt: skip
        return sorted(columns)

    def kind_of_out_column(self, column: str) -> Value:
        """The type of such a column, as programs see it."""
        name = f"column_at_{column}"
        return next(each.types[name] for each in self.functions.values() if name in each.types)

    @property
    def has_edges(self) -> bool:
        """Whether messages travel along edges; a phase without edges only updates its vertices."""
        return "compute" in self.functions or self.around is not None

    @property
    def by_rows(self) -> bool:
        """Whether a vertex is computed where all its edges are, and nothing is pushed or reduced elsewhere."""
        return self.around is not None or self.edge_state is not None

    @property
    def idempotent(self) -> bool:
        """Whether a repeated message changes nothing.

        Every field that is sent survives init, every reduction is idempotent, update writes nothing, and the effect of
        a message depends on u, the edge, and v's number and degrees alone.
        """
        if self.by_rows:
            return False
        init, update = self.functions.get("init"), self.functions["update"]
        keeps = init is None or not init.writes
        alone = not any(self.passes(name) for name in self.reads("compute"))
        always = "wants" not in self.functions
        return (
            keeps
            and alone
            and always
            and not update.writes
            and all(r.operation in IN_ANY_ORDER for r in self.reductions.values())
        )

    @property
    def in_place(self) -> bool:
        """Whether a vertex may see changes of the same superstep."""
        return "monotone" in self.program.promises and not self.deterministic and not self.groups

    @cached_property
    def direct(self) -> bool:
        """Whether a phase sends only fields that it does not change: they are read in place."""
        if not (self.program.is_phase and self.messages) or self.sparse:
            return False
        changed = {field for name, each in self.functions.items() if name != "start" for field in each.writes}
        return all(
            each.field not in (None, *changed) and self.fields.get(str(each.field)) == (each.dtype, each.length)
            for each in self.messages
        )

    @property
    def groups(self) -> dict[tuple[str, ...], str]:
        """The fields that are reduced together, as tuples, and by which operation."""
        return {how.group: how.operation for _, how in sorted(self.reductions.items()) if how.group}

    @property
    def ordered(self) -> bool:
        """Whether vertices are processed in the order of a priority, and change in place."""
        return "priority" in self.functions

    def unordered(self) -> Lowered:
        """The same without its priority: by supersteps, with the same result."""
        without = {name: f for name, f in self.functions.items() if name != "priority"}
        return replace(self, program=self.program.promising("sparse"), functions=without, sources={}, facts={})

    @property
    def only_any(self) -> bool:
        """Whether any one message is as good as all, whatever its value, so that pull may stop at the first."""
        always = all(isinstance(node, ast.Expr) for node in self.edge) and self.edge_state is None
        return always and not self.deterministic and all(r.operation == "any" for r in self.reductions.values())

    @property
    def pull_only(self) -> bool:
        """Whether only pull works: edge fields are stored with their targets, and deterministic sums have one order."""
        return self.edge_state is not None or self._in_order

    @property
    def pull_reason(self) -> str:
        """Why only pull works."""
        return "fields of edges stand by their targets" if self.edge_state is not None else "deterministic"

    @property
    def _in_order(self) -> bool:
        """Whether a deterministic run has to reduce messages in the order of the edges."""
        if not self.deterministic:
            return False
        exact = all(r.operation in _EXACT or self.fields[name][0].kind != "f" for name, r in self.reductions.items())
        smallest = any(r.operation == "any" for r in self.reductions.values())
        return smallest or not exact or any(not measure.exact for measure in self.measures)

    @property
    def measures(self) -> list[Measure]:
        """What is reduced over the vertices of every superstep: the residual, and the totals that update writes."""
        residual = [Measure("residual", self.program.norm, np.dtype(np.float64))]
        return [*(residual if "residual" in self.functions else []), *self.totals_of("update")]

    def totals_of(self, function: str) -> list[Measure]:
        """The totals that a function contributes to. A total that update does not mention keeps the value of start."""
        contributed = self.functions[function].totals
        return [measure for name, measure in self.totals.items() if name in contributed]

    def passes(self, name: str) -> bool:
        """Whether a plain name has another value in every superstep, for the same vertex."""
        return passes_by(name, self.program) or (name.startswith("g_") and name[2:] in self.totals)

    @property
    def helpers(self) -> dict[str, Helper]:
        """The functions of the module that the program calls, by their names in the generated module."""
        return {name: one for found in self.functions.values() for name, one in found.helpers.items()}

    def reads(self, function: str) -> set[str]:
        """The plain names that a function reads."""
        checked = self.functions.get(function)
        return checked.reads if checked else set()


def fact(find: Callable[[Lowered], Found]) -> Callable[[Lowered], Found]:
    """Let a function that analyses a program cache its result: runs call it again, and the text stays."""

    @wraps(find)
    def known(lowered: Lowered) -> Found:
        name = find.__name__
        if name not in lowered.facts:
            lowered.facts[name] = find(lowered)
        cached: Found = lowered.facts[name]
        return cached

    return known


@fact
def ignores_start(lowered: Lowered) -> bool:
    """Whether `start` returns a value that has no effect: every vertex sends in any case."""
    returned = [
        node.value
        for statement in lowered.program.functions["start"].body
        for node in ast.walk(statement)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    return not (lowered.sparse or lowered.rests) and any(
        not (isinstance(v, ast.Constant) and v.value is True) for v in returned
    )


# Lowered programs: a program that runs a thousand times on small graphs is analysed once.
_known: OrderedDict[Any, Lowered] = OrderedDict()
_MOST_KNOWN = 256


def lower(
    program: Program, columns: Mapping[str, np.dtype[Any]], deterministic: bool = False, debug: bool = False
) -> Lowered:
    """Check a program and split it; `columns` are the edge columns of the graph it will run on.

    With `debug`, for a run in plain Python, it may also call what kernels cannot, such as print.
    """
    lengths = tuple(length_of(program, kind) for kind in program.declared_types if kind.length is not None)
    if lengths or program.arrays:  # index checks depend on these
        lengths += tuple(one.value for one in program.parameters.values() if one.kind is int)
    for name, kind in program.arrays.items():
        if len(program.parameters[name].value) != length_of(program, kind):
            raise UsageError(f"{program.name}'s parameter {name} has {len(program.parameters[name].value)} elements",
                             expected=f"{length_of(program, kind)}, the length of {kind}")  # fmt: skip
    # The cache keeps the functions alive, so their id stays theirs as long as it is a key.
    key = (id(program.functions), tuple(program.fields.items()), lengths, program.promises, deterministic, debug,
           tuple(columns.items()), tuple(known_flags(program).items()))  # fmt: skip
    lowered = _known.get(key)
    if lowered is None or not _means_the_same(program, lowered):
        lowered = _known[key] = _lowered(program, columns, deterministic, debug)
        while len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return lowered.of(program)


def _means_the_same(program: Program, found: Lowered) -> bool:
    """Whether the names from outside of the functions still have the same values."""
    helpers = found.helpers.values()
    return (
        all(
            _unchanged(one.names, around)
            for name, one in program.functions.items()
            if (around := found.functions[name].around)
        )
        and all(one.function.__code__ is one.code and _unchanged(one.names, one.around) for one in helpers)
    )  # fmt: skip


def _unchanged(names: Mapping[str, Any], around: Mapping[str, Any]) -> bool:
    return all(
        (now := resolved(names, name)) is before or (type(now) is type(before) and now == before)
        for name, before in around.items()
        if not isinstance(before, np.ndarray)
    )


def _lowered(program: Program, columns: Mapping[str, np.dtype[Any]], deterministic: bool, debug: bool) -> Lowered:
    functions = check(program, dict(columns), Helpers(), debug)
    if not (program.is_phase or program.phases):  # in which other functions may contribute to the same totals
        functions = settled(functions, program)
    if program.edges == "against":
        functions = {name: with_degrees_swapped(each) for name, each in functions.items()}
    if "compute" in functions:
        functions = with_senders_emptied(functions)
    along = edgewise(functions)
    finder, around = Sources(along, {f"g_{name}" for name in program.totals}), None
    edge: list[ast.stmt] = []
    edge_state = edge_state_of(program, functions, finder.lowered)
    if "around" in functions:
        refuse_around(program, functions)
        around = split(along, finder.message)
    elif not along.reductions and program.edges is not None:
        raise program.refusal(
            program.functions["compute"].line, "compute reduces nothing into v", "write for example v.rank += u.rank"
        )
    else:
        edge = finder.lowered(along.body)
    refuse_unsent(program, functions)
    if "priority" in functions:
        refuse_disorder(program, functions)
    refuse_init_that_passes(program, functions)
    refuse_norm(program, functions)
    lowered = Lowered(
        program=program,
        fields={name: (kind.dtype, length_of(program, kind)) for name, kind in program.fields.items()}
        | dict.fromkeys(program.memberships, (np.dtype(np.bool_), None))
        | hidden_fields(along.reductions),
        messages=finder.messages,
        edge=edge,
        reductions=along.reductions,
        functions=functions,
        columns=sorted(
            name[2:]
            for name in (along.types if around else along.reads)
            if name.startswith("e_") and name[2:] not in program.edge_fields
        ),
        deterministic=deterministic,
        totals={
            name: Measure(name, kind.operation, kind.type.dtype, length_of(program, kind.type))
            for name, kind in program.totals.items()
        },
        around=around,
        edge_state=edge_state,
    )
    _refuse_silent_start(lowered)
    return lowered


def _refuse_silent_start(lowered: Lowered) -> None:
    """Refuse a start that does not say which vertices are active, if that matters."""
    start = lowered.program.functions["start"]
    if (lowered.sparse or lowered.rests) and returns_nothing(start):
        raise lowered.program.refusal(
            start.at(start.body[-1].lineno), "start can end without a return, and not every vertex is active here",
            "return True or False on every path: whether v is active at first",
        )  # fmt: skip
