"""The command that splits a graph: how good the parts are, a picture of them, and a folder that workers can open."""

from __future__ import annotations

import time
from typing import Any

import click

from arcflux.cli.base import examples, json_option, load_options, load_timed
from arcflux.cli.output import print_json
from arcflux.partition import PARTITIONERS

__all__ = ["partition"]


@click.command(
    epilog=examples(
        "arcflux partition kron:20 -k 16",
        "arcflux partition roads.csv -k 4 --how mincut --plot roads.png",
        "arcflux partition kron:20 -k 16 --how ranges --out parts --json",
        "arcflux partition kron:20 -k 3 --shares 2,1,1",
    )
)
@click.argument("graph")
@click.option("-k", "k", type=int, required=True, help="How many parts.")
@click.option("--how", metavar=f"[{'|'.join(PARTITIONERS)}]", default="ranges", show_default=True,
              help="The partitioner: one of these, or of an installed package.")  # fmt: skip
@click.option("--seed", type=int, help="For random and mincut; default: 0.")
@click.option("--threshold", type=int, help="For degree: what out-degree is high; default: 8 times the mean.")
@click.option("--shares", metavar="2,1,1", help="For ranges: the relative number of arcs of each part; default: equal.")
@click.option("--out", help="Write the parts to this folder, which `arcflux run` can open.")
@click.option("--plot", "picture", help="A picture of the adjacency matrix, coloured by part: .png, .svg, .pdf.")
@load_options
@json_option
def partition(
    graph: str,
    k: int,
    how: str,
    out: str | None,
    picture: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Split GRAPH into parts, and show their balance and what they exchange."""
    from arcflux.partition import partition as split
    from arcflux.partition.drawing import facts, text

    asked = {name: options.pop(name) for name in ("seed", "threshold", "shares")}
    given = {name: value for name, value in asked.items() if value is not None}
    if "shares" in given:
        given["shares"] = given["shares"].split(",")
    found, load_seconds = load_timed(graph, **options)
    begun = time.perf_counter()
    parts = split(found, k, how, **given)
    seconds = time.perf_counter() - begun
    if out is not None:
        parts.save(out)
    if picture is not None:
        parts.plot(picture)
    if as_json:
        times = {"load_seconds": load_seconds, "seconds": seconds}
        print_json({**facts(parts), **times, "out": out, "plot": picture})
    else:
        click.echo(text(parts))
        written = "".join(f", written to {name}" for name in (out, picture) if name is not None)
        click.echo(f"  split in {1000 * seconds:.3f} ms{written}")
