"""The command that lists the algorithms."""

from __future__ import annotations

from typing import Any

import click

from arcflux.cli.base import examples, json_option
from arcflux.cli.output import print_json

__all__ = ["algorithms"]


@click.command(epilog=examples("arcflux algorithms", "arcflux algorithms --json"))
@json_option
def algorithms(as_json: bool) -> None:
    """List the algorithms that `arcflux run` knows by name."""
    from arcflux.algorithms.registry import added
    from arcflux.applications.registry import KNOWN

    known = {**KNOWN, **added()}
    if as_json:
        print_json([_facts(entry) for entry in known.values()])
        return
    wide = max(map(len, known))
    for name, entry in known.items():
        also = f" (also {', '.join(entry.also)})" if entry.also else ""
        click.echo(f"{name:<{wide}}  {entry.summary}{also}")


def _facts(entry: Any) -> dict[str, Any]:
    from arcflux.program import vertex

    return {
        "name": entry.name,
        "also": list(entry.also),
        "summary": entry.summary,
        "fields": list(entry.fields),
        "cost": entry.cost,
        "parameters": {
            name: {
                "type": ("id" if one.kind is vertex else one.kind.__name__)
                + (" shares" if one.shares else "s" if one.many else ""),
                "required": one.required,
                "default": one.default,
            }
            for name, one in entry.arguments.items()
        },
    }
