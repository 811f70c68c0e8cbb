"""What a run would cost, here or on another machine: predicted time, bytes, memory, and why.

plans.py defines a placement, a candidate, a plan, and one `predict` for all machines. work.py holds what algorithms
declare, sketch.py a graph's key figures, shape.py what else the models need of a graph; sample.py and files.py measure
that. This machine: calibrate.py measures it (microbench.py with the loops of kernels.py, and runs of all algorithms),
calibration.py stores the results, journal.py the runs since then, fit.py fits rates to runs, this_machine.py predicts
by them and chooses for a run. Other machines: profile.py reads them (``profiles/*.toml``), other_machine.py predicts by
the papers' models: lux.py (equations 10 to 14), exchange.py (what crosses between parts), grid.py (MapGraph's search),
memory.py (what has to fit, and what spills), hive.py (ratios and classes of the HIVE applications); scaling.py does
that for several sizes. expect.py implements af.estimate, explain.py compares a plan with its run, report.py draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arcflux.checks import checked, mapping, maybe, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arcflux.plan.plans import Plan
    from arcflux.plan.scaling import Scaling

__all__ = ["estimate", "plan"]


@checked(graph=None, devices=None, supersteps=maybe(whole), parameters=maybe(mapping), moves=maybe(text))
def plan(
    algorithm: Any,
    graph: Any,
    *,
    on: Any,
    nodes: Any = None,
    devices: Any = None,
    supersteps: int | None = None,
    parameters: Mapping[str, float] | None = None,
    moves: str | None = None,
) -> Scaling:
    """Predict the cost of a run on a machine that need not be here, for each size that is asked for.

    Parameters
    ----------
    algorithm
        The name of an algorithm, a vertex program, or the name of an application of the HIVE study.
    graph
        A graph, a spec (which is not generated where a formula will do), a file, or ``(vertices, arcs, shape)`` with
        a shape of "kron", "powerlaw", "uniform" and "grid"; or a graph of a paper: "lux:TW", "gxplug:orkut".
    on
        A machine: the name of a shipped profile, or a TOML file.
    nodes
        Sizes as counts of nodes, all of whose devices are used: ``4``, ``"1..16"``, ``[1, 2, 4]``; 1 without it.
    devices
        Sizes as counts of devices, on as few nodes as have them; with `nodes`, spread evenly over that many.
    supersteps
        The number of supersteps; by default what is known of the algorithm.
    parameters
        For an application of the HIVE study: the parameters of its cost formulas besides those of the graph, such as
        ``{"walks": 1e9}`` or ``{"batch": 4096, "children": 10}``; defaults otherwise.
    moves
        For such an application, how data moves: "explicit", "peer" or "unified"; the best without it.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.plan("bfs", (1 << 25, 1 << 30, "kron"), on="sci-k20", devices=[16, 64])
    >>> [round(row.gteps, 1) for row in found.rows]
    [14.7, 24.0]
    """
    from arcflux.plan.scaling import prepare_plan

    return prepare_plan(algorithm, on, nodes, devices, supersteps, parameters, moves)(graph)


@checked(graph=None, parts=None, threads=None, supersteps=maybe(whole))
def estimate(
    algorithm: Any,
    graph: Any,
    *,
    on: Any = None,
    supersteps: int | None = None,
    threads: int | None = None,
    parts: int | None = None,
    nodes: int = 1,
    speeds: Any = None,
) -> Plan:
    """Predict a run before anything is loaded: seconds with a range, bytes moved, peak memory.

    Parameters
    ----------
    algorithm
        The name of an algorithm, or a vertex program. One that was not measured gets a bound, and says so.
    graph
        A graph, a spec, a file (of which its header is read, or a sample of its lines), or ``(vertices, arcs, shape)``.
    on
        A machine by name or file; without it this one, as :func:`arcflux.calibrate` has measured it, or by usual rates,
        which the notes then say.
    supersteps
        The number of supersteps; by default what is known of the algorithm.
    threads, parts, nodes
        Workers of one process; or parts of the graph, each the work of a thread, on this many nodes (which are
        processes of this machine that exchange what changed). Without them, the best number of threads.
    speeds
        How fast the device of each part is, 1.0 being a core of this machine: the graph is taken to be split
        accordingly, as runs do after some supersteps.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.estimate("pagerank", "kron:24", on="dgx1")
    >>> found.range[0] < found.seconds < found.range[1]
    True
    """
    from arcflux.plan.expect import on_absent, on_this_machine
    from arcflux.plan.plans import Placement

    placement = Placement.checked(threads, parts, nodes, speeds)
    if on is None:
        return on_this_machine(algorithm, graph, supersteps, placement)
    if placement != Placement():
        from arcflux.errors import UsageError

        raise UsageError("threads, parts, nodes and speeds are for this machine", remedy="af.plan(..., devices=[4, 8])")
    return on_absent(algorithm, graph, on, supersteps)
