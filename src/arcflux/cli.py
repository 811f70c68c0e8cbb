"""The command line: ``arcflux info | convert | generate | verify | doctor``.

Results go to stdout, as text or with ``--json`` as JSON; everything else, notes, progress and errors, goes to stderr.
The exit code tells what went wrong (docs/reference/cli.md).
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from arcflux import __version__, trace
from arcflux.errors import ArcfluxError, FormatError, SpaceError
from arcflux.progress import Terminal
from arcflux.trace import readable

__all__ = ["main"]

_INTERRUPTED = 130


class _Group(click.Group):
    """Commands in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="arcflux")
@click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr.")
@click.pass_context
def commands(ctx: click.Context, quiet: bool) -> None:
    """Arcflux: graph programs in plain Python, at the speed of hand-written native code.

    GRAPH is a file (text edge list, .mtx, .graph, .gr, .e/.v, .sg, .parquet, ...), a store folder, or a generator spec
    such as kron:20 or grid:1024x1024.
    """
    terminal = Terminal(quiet=quiet or bool(os.environ.get("ARCFLUX_QUIET")))
    ctx.with_resource(trace.listen(terminal))
    ctx.call_on_close(terminal.close)


def _examples(*lines: str) -> str:
    """The end of a command's help; the sign keeps click from joining the lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _load_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that loads a graph."""
    for option in reversed([
        click.option("--directed/--undirected", default=None, help="Read edges one way or both; default: as it says."),
        click.option("--symmetrise", is_flag=True, help="Add every edge in the other direction too."),
        click.option("--deduplicate", type=click.Choice(["first", "sum", "min", "max"]), help="Merge parallel edges."),
        click.option("--drop-self-loops", is_flag=True, help="Drop edges that end where they start."),
        click.option("--vertices", help="A file with all ids, one a line; keeps vertices without an edge."),
        click.option("--threads", type=int, help="Workers; default: every core."),
        click.option("--delimiter", help="What separates fields of a text file; default: found."),
        click.option("--header/--no-header", default=None, help="Whether a text file has a header; default: found."),
        click.option("--no-weights", is_flag=True, help="Read the ends of a text file's edges alone."),
        click.option("--ids", type=click.Choice(["integer", "text"]), help="What a text file's ids are."),
    ]):  # fmt: skip
        command = option(command)
    return command


def _loaded(graph: str, **given: Any) -> tuple[Any, float]:
    """Load a graph with the options of the command line; also the seconds it took."""
    from arcflux.io import load

    options = {key: value for key, value in given.items() if value is not None}
    if options.pop("no_weights"):
        options["weights"] = False
    begun = time.perf_counter()
    loaded = load(graph, **options)
    return loaded, time.perf_counter() - begun


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


@commands.command(epilog=_examples("arcflux info roads.txt.gz", "arcflux info kron:20 --json"))
@click.argument("graph")
@_load_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def info(graph: str, as_json: bool, **options: Any) -> None:
    """Print the card of GRAPH: size, degrees, memory, ids, and what was changed or assumed."""
    from arcflux.graph import card

    loaded, seconds = _loaded(graph, **options)
    if as_json:
        _print_json({**card.facts(loaded), "load_seconds": seconds})
    else:
        click.echo(card.text(loaded))
        rate = f", {loaded.edges / seconds / 1e6:,.1f} million edges a second" if loaded.edges else ""
        click.echo(f"  loaded in {seconds:.3f} s{rate}")


@commands.command(epilog=_examples("arcflux convert roads.csv roads.arcflux --undirected"))
@click.argument("source")
@click.argument("target")
@_load_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def convert(source: str, target: str, as_json: bool, **options: Any) -> None:
    """Convert the graph SOURCE to TARGET; the suffix names the format, none at all a store folder."""
    _write(source, target, as_json, options)


@commands.command(epilog=_examples("arcflux generate kron:20,weights=1-255 kron.wsg", "arcflux generate grid:9x9 g.el"))
@click.argument("spec")
@click.argument("target")
@click.option("--threads", type=int, help="Workers; default: every core. The graph is the same.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def generate(spec: str, target: str, as_json: bool, threads: int | None) -> None:
    """Generate a graph by SPEC, such as kron:20,ef=8,seed=3,weights=1-255, and write it to TARGET."""
    from arcflux.generate import from_spec

    begun = time.perf_counter()
    graph = from_spec(spec, threads=threads)
    _written(graph, target, as_json, time.perf_counter() - begun)


def _write(source: str, target: str, as_json: bool, options: dict[str, Any]) -> None:
    graph, seconds = _loaded(source, **options)
    _written(graph, target, as_json, seconds)


def _written(graph: Any, target: str, as_json: bool, load_seconds: float) -> None:
    begun = time.perf_counter()
    graph.save(target)
    seconds = time.perf_counter() - begun
    size = _size(Path(target))
    if as_json:
        _print_json({
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


@commands.command(epilog=_examples("arcflux verify roads.arcflux"))
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def verify(store: str, as_json: bool) -> None:
    """Compute the checksums of STORE again."""
    from arcflux.io.store import verify as verify_store

    verify_store(store)
    if as_json:
        _print_json({"store": store, "ok": True})
    else:
        click.echo(f"{store}: every checksum is right")


@commands.command(epilog=_examples("arcflux doctor", "arcflux doctor --json"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def doctor(as_json: bool) -> None:
    """Say what is installed, which devices, threads and memory there are, and what would make Arcflux faster."""
    from arcflux import doctor as examination

    found = examination.examine()
    if as_json:
        _print_json(found)
    else:
        click.echo(examination.text(found))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with the code of the error's class."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no blocks shows question marks
    try:
        code = commands.main(given, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail("Interrupted", "interrupted; nothing half-written is left", _INTERRUPTED, given)
    except click.ClickException as error:
        error.show()
        _fail("UsageError", error.format_message(), error.exit_code, given, shown=True)
    except ArcfluxError as error:
        _fail(type(error).__name__, str(error), error.exit_code, given, error)
    except MemoryError:
        _fail("SpaceError", "not enough memory for this graph", SpaceError.exit_code, given)
    except OSError as error:
        _fail("SpaceError", str(error), SpaceError.exit_code, given)


def _fail(
    kind: str, text: str, code: int, given: list[str], error: ArcfluxError | None = None, shown: bool = False
) -> NoReturn:
    """Say what went wrong, on stderr and, when JSON is asked for, also on stdout; and leave with the exit code."""
    if "--json" in given:
        said = [error.what, error.expected, error.remedy] if error else [text, "", ""]
        fields = dict(zip(("what", "expected", "remedy"), said, strict=True))
        place = {"path": error.path, "line": error.line} if isinstance(error, FormatError) else {}
        _print_json({"error": {"class": kind, **fields, **place, "exit_code": code}})
    if not shown:
        print(f"arcflux: error: {text}", file=sys.stderr)
    sys.exit(code)
