"""Commands about how fast this machine is: measure it, and say what a run would take on it."""

from __future__ import annotations

import math
from typing import Any

import click

from arcflux.cli.base import examples, json_option, load_options
from arcflux.cli.output import print_json

__all__ = ["calibrate", "explain"]

_PLACES = ("self", "peer", "host", "all")


@click.command(
    epilog=examples("arcflux calibrate", "arcflux calibrate --show --json", "arcflux calibrate --plot memory.png")
)
@click.option("--show", is_flag=True, help="Measure nothing; show the stored calibration.")
@click.option("--forget", is_flag=True, help="Measure nothing; delete the runs recorded since.")
@click.option("--quick", is_flag=True, help="Small graphs only: takes seconds, and is less accurate.")
@click.option("--plot", "picture", help="A picture of the bandwidth of each memory: .png, .svg, .pdf.")
@json_option
def calibrate(show: bool, forget: bool, quick: bool, picture: str | None, as_json: bool) -> None:
    """Measure this machine, in about two minutes: memory, barriers, transports, and how fast programs run."""
    from arcflux.errors import UsageError
    from arcflux.plan.calibrate import calibrate as measured
    from arcflux.plan.calibration import load_calibration, path

    if forget:
        from arcflux.plan.journal import forget as forget_runs

        count = forget_runs()
        print_json({"forgotten": count}) if as_json else click.echo(f"{count:,} runs are forgotten")
        return
    found = load_calibration() if show else measured(quick=quick)
    if found is None:
        raise UsageError("this machine has not been measured", remedy="arcflux calibrate")
    if picture is not None:
        found.plot(picture)
    if as_json:
        print_json({**found.to_dict(), "path": str(path()), "notes": found.notes, "plot": picture})
        return
    click.echo(_text(found))
    click.echo(f"  kept in {path()}")


def _text(found: Any) -> str:
    machine = found.machine
    lines = [
        f"{machine['model']}, {machine['threads']} threads, measured {found.date} in {found.seconds:.0f} s",
        f"  {'GB/s':<16}"
        + "".join(f"{place:>8}" for place in _PLACES)
        + f"   {'ns':>4}"
        + "".join(f"{place:>8}" for place in _PLACES),
    ]
    for access, row in found.throughput.items():
        late = found.latency[access]
        given = "".join(f"{row.get(place, math.nan) / 1e9:8.2f}" for place in _PLACES)
        taken = "".join(f"{late.get(place, math.nan) * 1e9:8.1f}" for place in _PLACES)
        lines.append(f"  {access.replace('_', ' '):<16}{given}       {taken}")
    lines.append(f"  barrier {found.barrier * 1e6:.2f} us, launch {found.launch * 1e6:.0f} us")
    lines.append(f"  pushing an arc costs {found.push_over_pull:.1f} times as much as pulling it")
    for name, one in found.exchange.items():
        lines.append(f"  {name}: {one['latency'] * 1e6:.1f} us a message, {one['bandwidth'] / 1e9:.1f} GB/s")
    for (name, threads), one in found.fits.items():
        on = f"{threads} thread{'' if threads == 1 else 's'}"
        lines.append(f"  {name}, {on}: fitted to {len(one.runs)} runs, off by {100 * one.error:.0f} % in the median")
    return "\n".join([*lines, *(f"  note: {note}" for note in found.notes)])


@click.command(
    epilog=examples(
        "arcflux explain pagerank kron:20",
        "arcflux explain bfs roads.csv --run --json",
        "arcflux explain pagerank 1000000,30000000,powerlaw",
    )
)
@click.argument("algorithm")
@click.argument("graph")
@click.option("--on", "machine", help="Another machine, as in arcflux plan; default: this one.")
@click.option("--supersteps", type=int, help="The expected number; default: what is known of the algorithm.")
@click.option("--parts", type=click.IntRange(min=1), help="Run on so many parts of the graph, one thread each.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, help="Number of nodes that have the parts; default: 1.")
@click.option("--plot", "picture", help="With --run, plot both: .png, .svg, .pdf.")
@click.option("--run", "real", is_flag=True, help="Run it as well, and print measured and predicted times.")
@load_options
@json_option
def explain(
    algorithm: str,
    graph: str,
    machine: str | None,
    supersteps: int | None,
    real: bool,
    parts: int | None,
    nodes: int,
    picture: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict time and memory of ALGORITHM on GRAPH, how it would run and why; runs nothing without --run."""
    from arcflux.cli.base import load_timed
    from arcflux.cli.plan import subject
    from arcflux.errors import UsageError
    from arcflux.graph import Graph
    from arcflux.plan import estimate
    from arcflux.plan.explain import run_measured

    if real and machine is not None:
        raise UsageError("--run is for this machine", remedy="leave --on out")
    if picture is not None and not real:
        raise UsageError("--plot draws what was measured too", remedy="add --run")
    given = subject(graph, options)
    if real and isinstance(given, tuple):
        raise UsageError("--run is for a graph that is there", remedy="leave --run out")
    if real and not isinstance(given, Graph):
        given = load_timed(graph, **options)[0]
    threads = options["threads"] if parts is None and machine is None else None
    found = estimate(algorithm, given, on=machine, supersteps=supersteps, threads=threads, parts=parts, nodes=nodes)
    where = {"threads": threads} if parts is None else {"parts": parts, "ranks_per_node": -(-parts // nodes)}
    both = run_measured(algorithm, given, where).explain() if real else None
    if both is not None and picture is not None:
        both.plot(picture)
    if as_json:
        print_json({**found.to_dict(), "measured": None if both is None else both.to_dict(), "plot": picture})
        return
    click.echo(str(found if both is None else both))
