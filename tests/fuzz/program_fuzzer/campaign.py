"""Many programs, each on several graphs and in several ways; what fails is made small."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from arcflux.errors import ProgramError
from program_fuzzer.compare import Case, difference, expected, load_program
from program_fuzzer.dialects import DIALECTS, in_other_words
from program_fuzzer.forms import forms_of
from program_fuzzer.grammar import SHAPES, random_program
from program_fuzzer.graphs import random_graph
from program_fuzzer.report import script
from program_fuzzer.rewriting import with_more_forms
from program_fuzzer.shrink import fails, shrink
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way, compiled_ways, interpreted_ways
from program_fuzzer.writing import ProgramSpec

__all__ = ["Effort", "Failure", "Tally", "check_seed", "small_script"]

# Programs drawn for a seed until one has a certain result on its first graph.
_TRIES = 20
# Of so many seeds one has a program for dialects, too, and another one a program of more forms.
_EVERY = 3


@dataclass(frozen=True)
class Effort:
    """How much is done for a program: graphs, ways of each graph that are interpreted, how often to compile."""

    graphs: int = 2
    interpreted: int = 4
    compiled: float = 1.0
    medium: float = 0.1


@dataclass(frozen=True)
class Failure:
    """A case that fails one way, and how."""

    seed: int
    case: Case
    way: Way
    said: str


@dataclass
class Tally:
    """What was run: programs by shape and by form, cases, runs by way; and the failures."""

    programs: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    unclear: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another counted."""
        self.programs += other.programs
        self.forms += other.forms
        self.runs += other.runs
        self.cases, self.unclear = self.cases + other.cases, self.unclear + other.unclear
        self.failures += other.failures

    def count(self, program: ProgramSpec) -> None:
        """Count a program that was checked."""
        self.programs[program.shape] += 1
        self.forms.update(forms_of(program.said))

    def __str__(self) -> str:
        total, runs = sum(self.programs.values()), sum(self.runs.values())
        return f"{total} programs, {self.cases} cases, {runs} runs, {len(self.failures)} failures"


def check_seed(seed: int, effort: Effort) -> Tally:
    """Check the program of a seed; of one that fails, the first failure is kept."""
    draw, tally = random.Random(seed), Tally()
    for _ in range(_TRIES):
        program = random_program(draw)
        compiled = compiled_ways(draw) if draw.random() < effort.compiled else []
        if _check_program(seed, draw, program, compiled, effort, tally):
            tally.count(program)
            break
    if seed % _EVERY == 0 and not tally.failures:
        _check_dialects(seed, tally)
    if seed % _EVERY == 1 and not tally.failures:
        _check_forms(seed, effort, tally)
    return tally


def _check_forms(seed: int, effort: Effort, tally: Tally) -> None:
    """Check a program with forms written into it, of all shapes more evenly than before; it is not compiled."""
    draw, one_graph = random.Random(f"forms {seed}"), replace(effort, graphs=1)
    for _ in range(_TRIES):
        program = with_more_forms(draw, random_program(draw, draw.choice([*SHAPES, "dense", "dense", "sparse"])))
        if _check_program(seed, draw, program, [], one_graph, tally):
            tally.count(program)
            break


def _check_program(
    seed: int, draw: random.Random, program: ProgramSpec, compiled: list[Way], effort: Effort, tally: Tally
) -> bool:
    """Whether the program had a certain result on any graph, and was compared."""
    checked = False
    for number in range(effort.graphs):
        medium = number == effort.graphs - 1 and not program.small and draw.random() < effort.medium / 0.4
        medium = medium and bool(compiled)
        graph = random_graph(draw, medium)
        if ".reverse." in program.source:  # which every edge has to have
            graph = replace(graph, directed=False)
        limit = program.limit if program.limit is None or draw.random() < 0.8 else draw.randint(0, 3)
        if medium:
            limit = min(3, limit) if limit is not None else None
        if not graph.vertices and "source" in program.parameters:
            continue
        case = Case(program, graph, limit)
        try:
            outcome = expected(case)
        except IllDefined:
            tally.unclear += 1
            continue
        checked = True
        tally.cases += 1
        ways = (
            compiled if medium else [*interpreted_ways(draw, effort.interpreted, program.shape == "dense"), *compiled]
        )
        for way in ways:
            tally.runs[_family(way)] += 1
            if said := difference(case, way, outcome):
                tally.failures.append(Failure(seed, case, way, said))
                return True
    return checked


def _check_dialects(seed: int, tally: Tally) -> None:
    """Whether a program that dialects can say gives the same in their words, in one way each."""
    draw = random.Random(f"dialects {seed}")
    shapes = ["around", "around sparse"] if seed % (4 * _EVERY) == 0 else ["dense", "steady", "sparse"]
    for _ in range(_TRIES * 5):
        program = random_program(draw, draw.choice(shapes))
        if in_other_words(program.source, "msg") is None:
            continue
        case = Case(program, random_graph(draw, False), program.limit)
        if not case.graph.vertices and "source" in program.parameters:
            continue
        try:
            outcome = expected(case)
        except IllDefined:
            continue
        ways = [way for way in interpreted_ways(draw, 12, program.shape == "dense") if not way.cut_short]
        for dialect, way in zip(DIALECTS, draw.sample(ways if not outcome.faults else ways[1:], 3), strict=True):
            said_so = in_other_words(program.source, dialect)
            if said_so is None or not _is_accepted(said_so, dialect):
                continue
            other = replace(case, program=replace(program, source=said_so))
            tally.runs[f"in the words of {dialect}"] += 1
            if said := difference(other, way, outcome):
                tally.failures.append(Failure(seed, other, way, said))
        return


def _is_accepted(source: str, dialect: str) -> bool:
    """Whether a dialect takes a program; only gas may refuse one, which would show who was signalled."""
    try:
        load_program(source)
    except ProgramError:
        if dialect != "gas":
            raise
        return False
    return True


def _family(way: Way) -> str:
    """A way by what it goes through."""
    said = "interpreted" if way.interpret else "compiled"
    options = way.options
    if options.get("debug"):
        return "debug"
    if way.devices and "parts" not in options:
        return f"{said} {way.devices[0][0]}"
    if "parts" in options:
        return f"{said} parts {options['partition']} {options['exchange']}"
    exact = " deterministic" if options.get("deterministic") else ""
    return f"{said} {options.get('direction', 'auto')}{exact}" + "".join(f" {patch}" for patch in way.patches)


def small_script(failure: Failure, seconds: float = 30.0) -> str:
    """A script to paste for what is left of a failure when it has been made small."""
    case, way = failure.case, failure.way
    if "@af.program" not in case.program.source:  # the oracle does not know these words
        return f"# seed {failure.seed}: {way}\n# {case.graph}\n\n{case.program.source}"
    quick = replace(way, interpret=not way.options.get("debug") and way.devices[:1] != (("cuda", 0),))
    if fails(case, quick):
        way = quick
    case, way = shrink(case, way, seconds)
    return script(case, way, f"seed {failure.seed}")
