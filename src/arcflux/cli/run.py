"""The command that runs an algorithm, or a vertex program of the user's, on a graph."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from arcflux import config
from arcflux.cli.base import examples, json_option, load_options, load_timed
from arcflux.cli.output import INTERRUPTED, describe_error, print_json, print_notice
from arcflux.cli.ranks import join_ranks, launch_ranks, worker_options
from arcflux.errors import SpaceError, UsageError, ValidationError, did_you_mean

if TYPE_CHECKING:
    from arcflux import Result
    from arcflux.applications.target import Target

__all__ = ["run"]

_RUN_OPTIONS = (
    click.option(
        "--direction", type=click.Choice(["auto", "pull", "push"]), help="Default: auto, chosen each superstep."
    ),
    click.option("--max-supersteps", type=click.IntRange(min=0), help="Stop after so many; warns if not converged."),
    click.option("--timeout", type=click.FloatRange(min=0), help="Stop after so many seconds, with a warning."),
    click.option("--deterministic", is_flag=True, default=None, help="The same bits on any number of threads."),
    click.option("--debug", is_flag=True, default=None, help="Run in plain Python, where breakpoints work."),
    click.option(
        "--checkpoint",
        type=click.Path(),
        metavar="FOLDER",
        help="Save the state there each minute and when the run ends early; the same command resumes.",
    ),
)


_SPREAD = ("parts", "partition", "exchange", "rebalance")
_GIVEN = ("direction", "max_supersteps", "timeout", "deterministic", "debug", "checkpoint", "devices", *_SPREAD)


def _refuse_without_parts(given: dict[str, Any]) -> None:
    """Options that say how a run is spread, when it is not."""
    for name in (*_SPREAD, "ranks_per_node"):
        if given[name] is not None:
            said = f"--{name.replace('_', '-')} is given, and the graph is not split"
            raise UsageError(said, expected="how many parts", remedy="--parts 4, or --workers 4")


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def _names(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """What a shell offers for ALGORITHM: the names; for anything else, files."""
    from arcflux.applications.registry import KNOWN

    fitting = [CompletionItem(name, help=entry.summary) for name, entry in KNOWN.items() if name.startswith(begun)]
    return fitting or [CompletionItem(begun, type="file")]


@click.command(
    epilog=examples(
        "arcflux run pagerank kron:18 --top 10 --validate",
        "arcflux run bfs roads.csv --undirected --source alice --out levels.csv",
        "arcflux run my_program.py:MyProgram kron:16 --set damping=0.9 --json",
        "arcflux run pagerank kron:20 --devices cuda",
    )
)
@click.argument("algorithm", shell_complete=_names)
@click.argument("graph", type=click.Path())
@click.option("--source", help="The id of the vertex to start from.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter; a list as sources=1,5,9 or @FILE."
)
@_run_options
@worker_options
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Run so many times; the time is the median.")
@click.option("--out", type=click.Path(), help="Write the result: .csv, .parquet, or one field as .npy.")
@click.option("--top", type=click.IntRange(min=1), help="Print so many vertices with the largest values.")
@click.option("--field", help="The field for --top and .npy; default: the first.")
@click.option("--validate", is_flag=True, help="Check the result; the exit code is 7 if it is wrong.")
@load_options
@json_option
def run(
    algorithm: str, graph: str, source: str | None, settings: tuple[str, ...], repeat: int, out: str | None,
    top: int | None, field: str | None, validate: bool, as_json: bool,
    workers: int | None, hosts: str | None, ranks_per_node: int | None, **options: Any,
) -> int:  # fmt: skip
    """Run ALGORITHM (see `arcflux algorithms`), or a vertex program FILE.py:CLASS, on GRAPH."""
    from arcflux.applications.target import find_target, split_settings, with_ids
    from arcflux.cli.summary import Outcome, facts, text
    from arcflux.devices import named

    if (code := launch_ranks(workers, options["timeout"], hosts, ranks_per_node)) is not None:
        return code
    transport = join_ranks(workers, ranks_per_node)
    if transport is not None:
        click.get_current_context().with_resource(transport.limited(options["timeout"]))
    # Whatever can be wrong is told before the graph is loaded, which may take long.
    given = {name: options.pop(name) for name in _GIVEN}
    parts = _parts_of(graph, options)
    if parts is not None:
        given |= {"parts": parts, "partition": None}
    if transport is not None or given["parts"] is not None:
        given |= {"ranks_per_node": ranks_per_node, "transport": "local" if transport is None else None}
    elif given["devices"] is not None:
        given["ranks_per_node"] = ranks_per_node
    else:
        _refuse_without_parts({**given, "ranks_per_node": ranks_per_node})
    target = find_target(algorithm)
    values, ids = split_settings(target, settings, source)
    wanted = _accepted(target, {**given, "threads": options["threads"]})
    with _warnings() as early:
        if "devices" in wanted and "debug" not in wanted:
            wanted["devices"] = named(wanted["devices"], transport, options["threads"])
    asked, field = field, _field(target, field, top)
    _check_out(out)
    if validate and (target.algorithm is None or not target.algorithm.checked):
        raise UsageError(f"there are no rules to check {target.name} by", remedy="leave --validate out")
    found, load_seconds = load_timed(graph, **options) if parts is None else (parts.graph, 0.0)
    values |= with_ids(target, found, ids)
    with _warnings() as warned, _presses() as pressed:
        results, interrupted = _repeat(lambda: target.call(found, **values, **wanted), repeat, pressed)
    told = {name: _parameter_text(value) for name, value in values.items()}
    outcome = Outcome(target, results, told, load_seconds, [*early, *warned], interrupted, options["threads"])
    by_parts = any(step.part_seconds for step in outcome.result.history[:1])
    outcome.spread = _spread(wanted, transport, by_parts, outcome.result.plan)
    if validate and not interrupted and (transport is None or not transport.rank or given["partition"] == "grid"):
        outcome.report = outcome.result.validate()  # of a grid, all ranks do it together
    if transport is not None and transport.rank:
        return 0
    if out is not None:
        several = len(outcome.result.values) > 1  # a result of one field knows what to write of itself
        outcome.result.save(out, field if Path(out).suffix == ".npy" and (asked or several) else None)
    code, error = _verdict(outcome)
    if as_json:
        print_json({**facts(outcome, top, field, out), **({"error": error} if error else {})})
    else:
        click.echo(text(outcome, top, field, out))
    if error:
        print_notice(error["what"])
    return code


def _parameter_text(value: Any) -> Any:
    """A parameter as a summary has it: an array from a file by its shape."""
    if hasattr(value, "shape"):
        return f"of shape {'x'.join(map(str, value.shape))}"
    return (
        ", ".join(map(_parameter_text, value))
        if isinstance(value, list) and hasattr(next(iter(value), 0), "shape")
        else value
    )


def _repeat(call: Callable[[], Result], repeat: int, pressed: Callable[[], bool]) -> tuple[list[Result], bool]:
    """The results of so many runs, or of those until Ctrl-C; and whether it was pressed."""
    results: list[Result] = []
    try:
        while len(results) < repeat and not pressed():
            results.append(call())
    except KeyboardInterrupt as interrupt:
        partial: Result | None = getattr(interrupt, "result", None)
        if partial is None:
            raise
        warnings.warn(str(interrupt), stacklevel=1)
        return [*results, partial], True
    return results, pressed()


def _parts_of(graph: str, options: dict[str, Any]) -> Any:
    """The parts in a folder that `arcflux partition` has written; None when GRAPH is something else."""
    from arcflux.partition.folder import is_parts, load_parts

    if not is_parts(graph):
        return None
    flags, fitting = ("symmetrise", "drop_self_loops", "no_weights"), ("threads", "trust")
    read = [
        name for name, value in options.items() if value != (False if name in flags else None) and name not in fitting
    ]
    if read:
        raise UsageError(f"--{read[0].replace('_', '-')} is for reading a graph, and {graph} has parts of one",
                         remedy="leave it out")  # fmt: skip
    return load_parts(graph, trust=options["trust"])


def _spread(wanted: dict[str, Any], transport: Any, by_parts: bool, plan: Any) -> dict[str, Any] | None:
    """On what the run was spread; None when it was not. What has no times of parts had the whole graph on each GPU."""
    if plan is not None and plan.placement.parts:
        return {
            name: getattr(plan.placement, name) for name in ("parts", "partition", "exchange", "transport", "nodes")
        }
    parts: Any = wanted.get("parts")
    devices: Any = wanted.get("devices")
    if parts is None and transport is None and not isinstance(devices, list):
        return None
    if parts is None and transport is None:
        parts = len(devices)
    k = transport.size if transport is not None else parts if isinstance(parts, int) else parts.k
    usual = "duplicate" if isinstance(devices, list) and not by_parts else "ranges"
    how = (
        {"auto": usual}.get(said := wanted.get("partition", usual), said)
        if parts is None or isinstance(parts, int)
        else parts.how
    )
    per_node = wanted.get("ranks_per_node")
    nodes = transport.nodes if transport is not None else 1 if per_node is None else -(-k // per_node)
    by = "local" if transport is None else transport.kind
    found = {"parts": k, "partition": how, "transport": by, "nodes": nodes}
    return found | {"devices": [device.name for device in devices]} if isinstance(devices, list) else found


def _accepted(target: Target, given: dict[str, Any]) -> dict[str, Any]:
    """The options of the run that were given; one that the algorithm does not take is an error."""
    wanted = {name: value for name, value in given.items() if value is not None}
    for name in wanted:
        if name not in target.options and name != "threads":  # which loading takes, too
            raise UsageError(f"{target.name} does not take --{name.replace('_', '-')}", remedy="leave it out")
    return {name: value for name, value in wanted.items() if name in target.options}


def _field(target: Target, field: str | None, top: int | None) -> str:
    """The field that is meant; one without order has no largest values."""
    if field is None:
        field = target.fields[0]
    if field not in target.fields:
        raise UsageError(f"{target.name} has no field {field!r}", expected="one of: " + ", ".join(target.fields),
                         remedy=did_you_mean(field, target.fields))  # fmt: skip
    if top is not None and field in target.unordered:
        others = ", ".join(name for name in target.fields if name not in target.unordered)
        raise UsageError(
            f"the values of {field} have no order, so that there is no --top of them",
            expected=f"--field with one of: {others}" if others else "no --top",
        )
    return field


def _check_out(out: str | None) -> None:
    """Whether a file can be written there, as far as one can tell beforehand."""
    from arcflux.result import checked_suffix

    if out is None:
        return
    path = checked_suffix(out)
    above = next(folder for folder in path.absolute().parents if os.path.exists(folder))
    if os.path.isdir(path) or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "it is a folder" if os.path.isdir(path) else f"{above} is no folder that you can write to"
        raise SpaceError(f"{path} cannot be written: {reason}", remedy="write to a folder that is yours")


def _verdict(outcome: Any) -> tuple[int, dict[str, Any] | None]:
    """The exit code, and the error that goes with it."""
    if outcome.interrupted:
        what = "interrupted; this is the last whole superstep"
        return INTERRUPTED, describe_error("Interrupted", what, INTERRUPTED)
    try:
        if outcome.report is not None:
            outcome.report.raise_for_failure()
    except ValidationError as error:
        return error.exit_code, describe_error("ValidationError", str(error), error.exit_code, error)
    return 0, None


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Warnings as lines on stderr, each once, by the first of several ranks; and as a list."""
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield heard
        finally:
            heard += dict.fromkeys(str(warning.message) for warning in caught)
            for line in heard if config.is_first_rank() else ():
                print_notice(line, "warning")


@contextmanager
def _presses() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed while the block runs, also when the engine holds it back to end a superstep."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    read_fd, write_fd = os.pipe()
    heard = bytearray()
    for end in (read_fd, write_fd):
        os.set_blocking(end, False)
    before = signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)

    def pressed() -> bool:
        with suppress(BlockingIOError):
            heard.extend(os.read(read_fd, 4096))
        return signal.SIGINT in heard

    try:
        yield pressed
    finally:
        signal.set_wakeup_fd(before)
        os.close(read_fd)
        os.close(write_fd)
