"""What the commands share: the group they are in, the options of loading, and how they print."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import click

from arcflux import __version__, config, trace
from arcflux.cli.words import translate
from arcflux.progress import Terminal

__all__ = ["Group", "commands", "examples", "json_option", "load_options", "load_timed"]


class Group(click.Group):
    """Commands in the order in which they were added; none is a usage error in every version of click."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help and exit with 2 when nothing is asked for."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="arcflux")
@click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr.")
@click.pass_context
def commands(ctx: click.Context, quiet: bool) -> None:
    """Arcflux: graph programs in plain Python, at the speed of hand-written native code.

    GRAPH is a file (text edge list, .mtx, .graph, .gr, .e/.v, .sg, .parquet, ...), a store folder, or a generator spec
    such as kron:20 or grid:1024x1024.
    """
    terminal = Terminal(quiet=quiet or bool(os.environ.get("ARCFLUX_QUIET")) or not config.is_first_rank())
    ctx.with_resource(trace.listen(lambda event: terminal(_translate_event(event))))
    ctx.call_on_close(terminal.close)


def _translate_event(event: trace.Event) -> trace.Event:
    """An event in the words of the command line."""
    return trace.Note(translate(event.text)) if isinstance(event, trace.Note) else event


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


def examples(*lines: str) -> str:
    """The end of a command's help; the sign keeps click from joining the lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def load_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that loads a graph."""
    for option in reversed([
        click.option("--directed/--undirected", default=None, help="What edges are; default: as the file says."),
        click.option("--symmetrise", is_flag=True, help="Add the reverse of every edge."),
        click.option("--deduplicate", type=click.Choice(["first", "sum", "min", "max"]), help="Merge parallel edges."),
        click.option("--drop-self-loops", is_flag=True, help="Drop edges from a vertex to itself."),
        click.option("--vertices", help="A file of all ids, one a line; keeps vertices without edges."),
        click.option("--threads", type=int, help="Threads; default: every core."),
        click.option("--delimiter", help="The field separator of a text file; default: detected."),
        click.option("--header/--no-header", default=None, help="Whether a text file has a header; default: detected."),
        click.option("--no-weights", is_flag=True, help="Ignore further columns of a text file."),
        click.option("--ids", type=click.Choice(["integer", "text"]), help="The type of a text file's ids."),
        click.option("--trust", is_flag=True, help="Do not check a store's arrays before their first use."),
    ]):  # fmt: skip
        command = option(command)
    return command


def load_timed(graph: str, **given: Any) -> tuple[Any, float]:
    """Load a graph with the options of the command line; also the seconds it took."""
    from arcflux.io import load

    options = {key: value for key, value in given.items() if value is not None}
    if options.pop("no_weights"):
        options["weights"] = False
    if not options["trust"]:
        del options["trust"]
    begun = time.perf_counter()
    found = load(graph, **options)
    return found, time.perf_counter() - begun
