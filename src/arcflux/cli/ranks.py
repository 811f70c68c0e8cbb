"""Commands on several processes: ``--workers`` starts them; each knows that it is one of them, and the first speaks."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from arcflux import config
from arcflux.cli.output import INTERRUPTED, describe_error, print_json
from arcflux.errors import RankError, UsageError
from arcflux.partition import PARTITIONERS, check_split

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from arcflux.transports import Transport

__all__ = ["is_silent", "join_ranks", "launch_ranks", "tells", "worker_options"]

# Seconds that the first rank has to speak before others leave with the same error: then mpiexec ends it, too.
_FIRST = 2.0


def _check_partitioner(context: click.Context, option: click.Parameter, how: str | None) -> str | None:
    if how not in (None, "auto"):
        check_split(1, str(how))
    return how


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that may run on several processes."""
    for option in (
        click.option(
            "--rebalance",
            type=click.Choice(["auto", "local", "off"]),
            help="Whether to rebalance parts; default: auto.",
        ),
        click.option(
            "--exchange",
            type=click.Choice(["auto", "readers", "owners", "allreduce", "mixed"]),
            help="What nodes exchange; default: auto, which is readers if all in-edges of a vertex are in one part.",
        ),
        click.option(
            "--partition",
            callback=_check_partitioner,
            metavar=f"[auto|{'|'.join(PARTITIONERS)}]",
            help="How to split the graph: one of these, or of an installed package; default: auto, which is ranges.",
        ),
        click.option("--devices", help="Where to run: cpu, cuda, cuda:0, cuda:0-3, cpu+cuda, virtual:1,2, or auto."),
        click.option("--parts", type=click.IntRange(min=1), help="Run on so many parts; with --workers, one each."),
        click.option("--ranks-per-node", type=click.IntRange(min=1), help="Simulate nodes of so many ranks."),
        click.option("--workers", type=click.IntRange(min=1), help="Run as so many MPI processes, started here."),
        click.option("--hosts", metavar="A,B", help="Run on these hosts over sockets, not MPI; localhost is one."),
    ):
        command = option(command)
    return command


def launch_ranks(
    workers: int | None, timeout: float | None = None, hosts: str | None = None, ranks_per_node: int | None = None
) -> int | None:  # fmt: skip
    """Start the same command as so many processes, if that is asked for and this is none of them; their exit code."""
    from arcflux.transports import launch

    if (workers is None and hosts is None) or launch.rank_and_size() is not None:
        return None
    given = click.get_current_context().find_root().obj
    if hosts is not None:
        from arcflux.transports.hosts import launch_on, named_hosts

        return launch_on(named_hosts(hosts, workers), ["-m", "arcflux", *given], ranks_per_node=ranks_per_node)
    assert workers is not None
    explain = _explain_in_json if "--json" in given else None
    return launch.launch(workers, ["-m", "arcflux", *given], timeout=timeout, if_mute=explain)


def _explain_in_json(code: int, reason: str) -> None:
    """What ranks that were lost could not print themselves."""

    kind = "Interrupted" if code == INTERRUPTED else RankError.__name__
    print_json({"error": describe_error(kind, reason or "the ranks have failed, and none could say why", code)})


def join_ranks(workers: int | None, ranks_per_node: int | None) -> Transport | None:
    """The transport of this process, if mpiexec has started it."""
    from arcflux.transports import current
    from arcflux.transports.launch import rank_and_size

    found = rank_and_size()
    over_sockets = "ARCFLUX_RENDEZVOUS" in os.environ  # where --workers and --hosts were counted by the launcher
    if found is not None and workers not in (None, found[1]) and not over_sockets:
        raise UsageError(f"--workers is {workers}, and mpiexec has started {found[1]}", remedy="leave --workers out")
    return current(ranks_per_node=ranks_per_node)


def is_silent() -> bool:
    """Whether this process is a rank that leaves speaking to the first."""
    return not config.is_first_rank()


def tells(error: BaseException) -> bool:
    """Whether it is for this process to say what went wrong: of several ranks, the one that failed first."""
    mpi, tcp = (sys.modules.get(f"arcflux.transports.{name}") for name in ("world", "hosts"))
    transport = next((found for module in (mpi, tcp) if module and (found := module.existing())), None)
    if transport is None:
        own, _ = config.rank_and_size() or (0, 1)
        if isinstance(error, RankError) and error.rank != own and "ARCFLUX_RENDEZVOUS" in os.environ:
            return False  # of a rank that never came to meet the others, whoever has started them tells
        if is_silent():
            time.sleep(_FIRST)
        return not is_silent()
    return bool(transport.fail(error))
