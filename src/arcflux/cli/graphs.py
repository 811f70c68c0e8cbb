"""Commands about graphs: what is in one, another format, a new one, and whether a store is whole."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from arcflux.cli.base import examples, json_option, load_options, load_timed
from arcflux.cli.output import print_json
from arcflux.cli.words import translate
from arcflux.trace import readable

__all__ = ["convert", "generate", "info", "verify"]


@click.command(epilog=examples("arcflux info roads.txt.gz", "arcflux info kron:20 --json"))
@click.argument("graph")
@load_options
@json_option
def info(graph: str, as_json: bool, **options: Any) -> None:
    """Summarise GRAPH: size, degrees, memory, ids, and what was changed or assumed."""
    from arcflux.graph import card

    found, seconds = load_timed(graph, **options)
    if as_json:
        print_json({**card.facts(found), "load_seconds": seconds})
    else:
        click.echo(translate(card.text(found)))
        rate = f", {found.edges / seconds / 1e6:,.1f} million edges a second" if found.edges else ""
        click.echo(f"  loaded in {seconds:.3f} s{rate}")


@click.command(epilog=examples("arcflux convert roads.csv roads.arcflux --undirected"))
@click.argument("source")
@click.argument("target")
@load_options
@json_option
def convert(source: str, target: str, as_json: bool, **options: Any) -> None:
    """Convert the graph SOURCE to TARGET; the suffix names the format, without one it is a store folder."""
    graph, seconds = load_timed(source, **options)
    _write(graph, target, as_json, seconds)


@click.command(epilog=examples("arcflux generate kron:20,weights=1-255 kron.wsg", "arcflux generate grid:9x9 g.el"))
@click.argument("spec")
@click.argument("target")
@click.option("--threads", type=int, help="Threads; default: every core. The graph does not depend on it.")
@json_option
def generate(spec: str, target: str, as_json: bool, threads: int | None) -> None:
    """Generate the graph SPEC, such as kron:20,ef=8,seed=3,weights=1-255, and write it to TARGET."""
    from arcflux.generate import from_spec

    begun = time.perf_counter()
    graph = from_spec(spec, threads=threads)
    _write(graph, target, as_json, time.perf_counter() - begun)


def _write(graph: Any, target: str, as_json: bool, load_seconds: float) -> None:
    begun = time.perf_counter()
    graph.save(target)
    seconds = time.perf_counter() - begun
    size = _size(Path(target))
    if as_json:
        print_json({
            "target": target, "vertices": graph.vertices, "edges": graph.edges, "bytes": size,
            "load_seconds": load_seconds, "write_seconds": seconds,
        })  # fmt: skip
    else:
        click.echo(
            f"{target}: {graph.vertices:,} vertices, {graph.edges:,} edges, {readable(size)}; "
            f"made in {load_seconds:.3f} s, written in {seconds:.3f} s"
        )


def _size(path: Path) -> int:
    return sum(f.stat().st_size for f in path.iterdir()) if path.is_dir() else path.stat().st_size


@click.command(epilog=examples("arcflux verify roads.arcflux"))
@click.argument("store")
@json_option
def verify(store: str, as_json: bool) -> None:
    """Verify the checksums of STORE, or of a folder of parts, and that its arrays form a graph."""
    from arcflux.io.store import verify as verify_store
    from arcflux.partition.folder import is_parts
    from arcflux.partition.folder import verify as verify_parts

    (verify_parts if is_parts(store) else verify_store)(store)
    if as_json:
        print_json({"store": store, "ok": True})
    else:
        click.echo(f"{store}: every checksum is right")
