"""Commands about this machine: what is installed, and what is kept of compiled code."""

from __future__ import annotations

import click

from arcflux.cli.base import Group, examples, json_option
from arcflux.cli.output import print_json
from arcflux.trace import readable

__all__ = ["cache", "doctor"]


@click.command(epilog=examples("arcflux doctor", "arcflux doctor --gpu --json"))
@click.option("--gpu", is_flag=True, help="Query the driver for GPUs and test each; show how ranks would exchange.")
@json_option
def doctor(as_json: bool, gpu: bool) -> None:
    """Show what is installed, devices, threads and memory, and what would make Arcflux faster."""
    from arcflux import doctor as examination

    found = examination.examine(gpu=gpu)
    if as_json:
        print_json(found)
    else:
        click.echo(examination.text(found))


@click.group(cls=Group, epilog=examples("arcflux cache info", "arcflux cache clear"))
def cache() -> None:
    """Say what is kept of compiled code (`info`), or remove it (`clear`). ARCFLUX_CACHE names the folder."""


@cache.command(epilog=examples("arcflux cache info --json"))
@json_option
def info(as_json: bool) -> None:
    """Show where compiled code is stored, and its size, including other versions."""
    from arcflux.compile.cache import contents

    found = contents()
    if as_json:
        print_json(found)
    else:
        click.echo(
            f"{found['folder']}: {found['programs']:,} programs, {found['kernels']:,} compiled kernels, "
            f"{readable(found['bytes'])}"
        )


@cache.command(epilog=examples("arcflux cache clear"))
@json_option
def clear(as_json: bool) -> None:
    """Delete all compiled code, including other versions; it is compiled again on demand."""
    from arcflux.compile.cache import clear as clear_cache
    from arcflux.compile.cache import contents

    folder, freed = contents()["folder"], clear_cache()
    if as_json:
        print_json({"folder": folder, "freed_bytes": freed})
    else:
        click.echo(f"{folder}: {readable(freed)} freed")
