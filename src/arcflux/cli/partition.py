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
    )
)
@click.argument("graph")
@click.option("-k", "k", type=int, required=True, help="How many parts.")
@click.option("--how", metavar=f"[{'|'.join(PARTITIONERS)}]", default="ranges", show_default=True,
              help="The partitioner: one of these, or of an installed package.")  # fmt: skip
@click.option("--seed", type=int, help="For random and mincut; default: 0.")
@click.option("--threshold", type=int, help="For degree: more out-arcs than this are many; default: 8 times the mean.")
@click.option("--out", help="A folder to write the parts to, for workers to open.")
@click.option("--plot", "picture", help="A picture of the adjacency matrix, coloured by part: .png, .svg, .pdf.")
@load_options
@json_option
def partition(
    graph: str,
    k: int,
    how: str,
    seed: int | None,
    threshold: int | None,
    out: str | None,
    picture: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Split GRAPH into parts, and say how even they are and what they have to tell each other."""
    from arcflux.partition import partition as split
    from arcflux.partition.drawing import facts, text

    given = {name: value for name, value in (("seed", seed), ("threshold", threshold)) if value is not None}
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
