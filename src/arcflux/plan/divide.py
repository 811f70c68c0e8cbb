"""What a run on parts is told when nobody told it: how to split the graph, and what nodes tell each other.

Every way that is left open is predicted by the rates of runs on parts (parted.py), with the seconds that splitting
takes unless the graph was split so before. What is usual (ranges, owners tell readers) stays unless something else is
faster by far. Where there are ranks, the first one chooses for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from arcflux import config
from arcflux.graph import Graph
from arcflux.plan import rates
from arcflux.plan.advise import Advice, Subject, advised
from arcflux.plan.brief import Brief, glanced, glanced_shape, kind
from arcflux.plan.parted import part_way
from arcflux.plan.shape import Shape
from arcflux.plan.split import SHARED, Split, Where, crossing, has_mincut, splits
from arcflux.plan.way import Way, way_of

__all__ = ["BY_FAR", "Open", "against_parts", "divided", "part_ways", "preferred"]

# How many times faster than what is usual something has to be to be taken unasked: another split, by its prediction;
# parts instead of threads, at their worst. Of 140 held-out cases the usual split was within 10 % of the best in 136;
# with less caution, 116 to 135.
BY_FAR = 2.0


@dataclass(frozen=True)
class Open:
    """What of a run on parts is given, and what is left open (None)."""

    where: Where
    partition: str | None = None
    exchange: str | None = None
    at_targets: bool = False

    def splits(self) -> list[Split]:
        """The ways that are left; METIS only if it is there, or asked for."""
        ways = splits(self.where, self.partition, self.exchange, at_targets=self.at_targets)
        return [way for way in ways if way.partition != "mincut" or self.partition or has_mincut()]


def divided(subject: Subject, graph: Graph, asked: Open) -> Advice:
    """The plan for a run on parts of a graph; it is kept with the graph."""
    found = rates.current()
    name = ("divided", subject, asked)
    kept: tuple[Any, frozenset[str], Advice] | None = graph.kept.get(name)
    ready = _ready(graph, asked.where.parts)
    if kept is not None and kept[0] is found and kept[1] == ready:
        return kept[2]
    made = _made(subject, graph, asked, found, ready)
    graph.kept[name] = found, ready, made
    return made


def _ready(graph: Graph, parts: int) -> frozenset[str]:
    """Partitions of a graph into so many parts that were made before."""
    return frozenset(key[2] for key in graph.kept if isinstance(key, tuple) and key[:2] == ("parts", parts))


def _made(subject: Subject, graph: Graph, asked: Open, found: rates.Rates, ready: frozenset[str]) -> Advice:
    known = glanced(graph)
    ways = part_ways(subject, known, glanced_shape(graph), asked, found, ready)
    usual = asked.splits()[0]
    dearer, given = found.calibration.push_over_pull, (subject.directions[0], 1)
    first = next((way for way in ways if way.split == usual), None)
    if first is None:
        reason = f"nothing is known of how long {subject.name} takes on {asked.where}: {usual} is usual"
        return Advice(subject, known, *given, (), reason, dearer, found.here, found.notes, asked.where, usual)
    ordered = tuple(preferred(ways, asked))
    best = ordered[0]
    if len(ways) == 1:
        reason = f"{best.split} is all there is to choose from"
    elif best is first:
        second = ordered[1]
        reason = f"{best.split} is usual; {second.split} is predicted to take {_times(second, best)} times as long"
    else:
        reason = f"{first.split} is usual, and predicted to take {_times(first, best)} times as long"
    return Advice(
        subject, known, *given, ordered, reason, dearer, found.here, found.notes, asked.where, best.split
    )  # fmt: skip


def preferred(ways: list[Way], asked: Open) -> list[Way]:
    """Ways by their seconds, splitting included, but first the usual one, unless another is faster by far."""
    usual = asked.splits()[0]
    ordered = sorted(ways, key=lambda way: way.total)
    first = next((way for way in ordered if way.split == usual), None)
    if first is None or first.total > BY_FAR * ordered[0].total:
        return ordered
    return [first, *(way for way in ordered if way is not first)]


def _times(one: Way, other: Way) -> str:
    return f"{one.total / other.total:.2f}" if other.total else "as"


def against_parts(subject: Subject, graph: Graph, threads: int | None) -> Advice:
    """The plan for a run of which nothing is given: threads of one process, held against a part for each core."""
    plan = advised(subject, graph, threads)
    cores = config.threads()
    if threads is not None or cores == 1 or plan.chosen is None:
        return plan
    name = ("against parts", subject)
    kept: tuple[Advice, Advice] | None = graph.kept.get(name)
    if kept is None or kept[0] is not plan:
        kept = graph.kept[name] = plan, _against(plan, graph, Open(Where(cores)))
    return kept[1]


def _against(plan: Advice, graph: Graph, asked: Open) -> Advice:
    chosen = plan.ways[0]
    ways = part_ways(plan.subject, plan.graph, glanced_shape(graph), asked, rates.current())
    ways = [way for way in ways if way.split is not None and way.split.exchange != SHARED]  # which are threads
    if not ways:
        return plan
    best = min(ways, key=lambda way: way.total)
    every = (*plan.ways[1:], best)
    # Threads share all that parts have to tell each other. So parts are taken where even their worst is expected to be
    # better by far: a fit to small graphs promised two thirds of the time on a million vertices, and it took 2.6 times.
    if BY_FAR * (best.high + best.setup) > chosen.low:
        others = sorted(every, key=lambda way: way.total)
        return replace(
            plan, ways=(chosen, *others), reason=f"{plan.reason}; parts are not expected to be faster by far"
        )
    reason = f"{chosen} is usual, and predicted to take {_times(chosen, best)} times as long"
    ordered = (best, *sorted(plan.ways, key=lambda way: way.total))
    return replace(plan, ways=ordered, reason=reason, threads=1, where=asked.where, split=best.split)


def part_ways(
    subject: Subject, graph: Brief, shape: Shape, asked: Open, found: rates.Rates, ready: frozenset[str] = frozenset(),
    supersteps: float | None = None,
) -> list[Way]:  # fmt: skip
    """Every way to run on parts that something is known of, in the order of :func:`arcflux.plan.split.splits`."""
    direction, ways = subject.directions[0], []
    alone = found.fit(f"{subject.algorithm}/{direction}", 1)
    if alone is None:
        return []
    steps = supersteps or alone.rounds(graph)
    by_one = replace(alone, value=subject.form.value).seconds(graph, steps)
    for split in asked.splits():
        if split.exchange == SHARED and asked.where.transport == "local":
            # Parts of one process that share everything are its threads.
            fit = found.fit(f"{subject.algorithm}/{direction}", asked.where.workers)
            if fit is not None:
                way = way_of(fit, graph, direction, 0, supersteps)
                ways.append(_placed(way, asked.where, split))
            continue
        part_fit = found.on_parts(f"{subject.key}/{direction}", split, asked.where, subject.form)
        part_fit = part_fit or found.on_parts(f"{subject.algorithm}/{direction}", split, asked.where)
        if part_fit is not None:
            crossed = crossing(shape, kind(graph), split, asked.where.nodes)
            setup = 0.0 if split.partition in ready else _setup(split, found) * graph.arcs
            rounds = supersteps or part_fit.steps(graph, steps)
            ways.append(part_way(part_fit, graph, direction, asked.where, split, rounds, crossed, by_one, setup))
    return ways


def _placed(way: Way, where: Where, split: Split) -> Way:
    return replace(way, where=where, split=split)


def _setup(split: Split, found: rates.Rates) -> float:
    """Seconds an arc of splitting, and of taking parts out of the graph."""
    rows = found.calibration.setup
    if split.exchange == SHARED:
        return 0.0
    if split.partition == "mincut":
        return rows.get("mincut", 1e-6) + rows.get("random, readers", 0.0)
    own = rows.get(str(split))
    if own is None:
        own = rows.get(f"{split.partition}, owners", rows.get(f"ranges, {split.exchange}", 0.0))
    return own
