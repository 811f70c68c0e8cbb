"""The command that answers "what if": a run on a machine that need not be here, predicted."""

from __future__ import annotations

from typing import Any

import click

from arcflux.cli.base import examples, json_option, load_options, load_timed
from arcflux.cli.output import print_json
from arcflux.errors import UsageError

__all__ = ["plan", "subject"]


@click.command(
    epilog=examples(
        "arcflux plan pagerank kron:26 --on dgx1 --nodes 1..16",
        "arcflux plan bfs kron:25 --on sci-k20 --devices 16,25,36,49,64 --json",
        "arcflux plan louvain kron:24 --on dgx2 --devices 1,2,4,8,16 --plot louvain.png",
        "arcflux plan random_walks kron:24 --on dgx1 --set walks=1e9 --devices 1,2,4,8",
        "arcflux plan graphsage kron:22 --on dgx1 --set batch=4096 --set C=10 --moves peer",
        "arcflux plan pagerank 41652230,1468365182,powerlaw --on my-machine.toml",
        "arcflux plan pagerank 144000000,8000000000,powerlaw --on ec2-m2050 --nodes 8 --jobs",
    )
)
@click.argument("algorithm")
@click.argument("graph")
@click.option(
    "--on", "machine", required=True, help="dgx1, dgx2, xstream, sci-k20, ec2-m2050, lonestar5, here, FILE.toml."
)
@click.option("--nodes", help="Numbers of nodes, with all their devices: 4, 1..16 or 1,2,4; default: 1.")
@click.option("--devices", help="Numbers of devices, on as few nodes as possible or on --nodes: 16,25,36.")
@click.option("--supersteps", type=int, help="The expected number; default: what is known of the algorithm.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of an application: walks=1e9."
)
@click.option("--moves", type=click.Choice(["explicit", "peer", "unified"]), help="How an application's data moves.")
@click.option("--jobs", "assigns", is_flag=True, help="Assign parts to workers: a CPU and a GPU worker per node.")
@click.option("--plot", "picture", help="Plot time and speed-up over devices: .png, .svg, .pdf.")
@load_options
@json_option
def plan(
    algorithm: str,
    graph: str,
    machine: str,
    nodes: str | None,
    devices: str | None,
    supersteps: int | None,
    settings: tuple[str, ...],
    moves: str | None,
    assigns: bool,
    picture: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict time, bytes, memory and cost of ALGORITHM on GRAPH on another machine. Runs nothing.

    ALGORITHM may also be an application of the HIVE study, such as louvain. GRAPH may also be VERTICES,ARCS,SHAPE with
    a shape of kron, powerlaw, uniform and grid, or a graph of a paper: lux:TW, gxplug:orkut, g2:local.
    """
    if assigns:
        from arcflux.jobs.placing import assign_on

        assignment = assign_on(algorithm, subject(graph, options), machine, nodes)
        print_json(assignment.to_dict()) if as_json else click.echo(str(assignment))
        return
    from arcflux.plan.scaling import prepare_plan

    # Whatever can be wrong is told before the graph is loaded, which may take long.
    made = prepare_plan(algorithm, machine, nodes, devices, supersteps, _parameters(settings), moves)
    found = made(subject(graph, options))
    if picture is not None:
        found.plot(picture)
    if as_json:
        print_json({**found.to_dict(), "plot": picture})
    else:
        click.echo(str(found))


def _parameters(settings: tuple[str, ...]) -> dict[str, str]:
    """What ``--set name=value`` says."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name or name in found:
            raise UsageError(f"--set {setting!r} is no setting, or one again", expected="NAME=VALUE, such as walks=1e9")
        found[name] = value
    return found


def subject(graph: str, options: dict[str, Any]) -> Any:
    """What a plan is of: VERTICES,ARCS,SHAPE as a tuple, a spec or a file by its name, loaded if there are options."""
    import os

    from arcflux.generate.spec import is_spec
    from arcflux.plan.paper_graphs import is_known

    if is_known(graph):
        return graph
    first, _, rest = graph.partition(",")
    if first.isdigit() and rest:
        return tuple(int(item) if item.isdigit() else item for item in graph.split(","))
    flags = {name: value for name, value in options.items() if name not in ("threads", "directed")}
    plain = options.get("directed") is None and not any(value not in (None, False) for value in flags.values())
    return graph if plain and (is_spec(graph) or os.path.exists(graph)) else load_timed(graph, **options)[0]
