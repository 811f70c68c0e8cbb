"""The commands of the service: ``arcflux serve``, and ``submit | jobs | cancel | result``, which talk to it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from arcflux.cli.base import examples, json_option
from arcflux.cli.output import print_json, print_notice
from arcflux.errors import UsageError

__all__ = ["cancel", "jobs", "result", "serve", "submit"]

_FORMATS = ("json", "csv", "arrow", "parquet")


def _client_options(command: Any) -> Any:
    command = click.option("--token", envvar="ARCFLUX_TOKEN", help="The server's token; or ARCFLUX_TOKEN.")(command)
    return click.option(
        "--url", envvar="ARCFLUX_URL", default="http://127.0.0.1:8750", show_default=True, help="Or ARCFLUX_URL."
    )(command)


def _client(url: str, token: str | None) -> Any:
    from arcflux.jobs.client import Client

    if not token:
        raise UsageError("no token", expected="that of the server", remedy="--token TOKEN, or set ARCFLUX_TOKEN")
    return Client(url, token)


@click.command(
    epilog=examples(
        "arcflux serve --graphs ~/graphs",
        "arcflux serve --graphs ~/graphs --programs ~/programs --threads 8 --memory 16G",
    )
)
@click.option("--graphs", multiple=True, required=True, type=click.Path(path_type=Path), help="A folder of graphs.")
@click.option("--programs", multiple=True, type=click.Path(path_type=Path), help="A folder of .py files with programs.")
@click.option(
    "--state", type=click.Path(path_type=Path), help="Where queue and results are stored; default: the cache."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address; others need --tokens.")
@click.option("--port", type=click.IntRange(1, 65535), default=8750, show_default=True)
@click.option("--tokens", type=click.Path(path_type=Path), help="A JSON file of users and tokens, mode 0600.")
@click.option("--certificate", type=click.Path(path_type=Path), help="For TLS: a PEM file.")
@click.option("--key", type=click.Path(path_type=Path), help="For TLS: its key.")
@click.option("--name", "hosts", multiple=True, help="A further host name of the server.")
@click.option("--threads", type=int, help="Threads that jobs share; default: every core.")
@click.option("--memory", help="Memory for all jobs together, such as 8G; default: half of what is free.")
@click.option("--at-once", type=click.IntRange(min=1), default=4, show_default=True, help="Most jobs at a time.")
@click.option("--queue", "bound", type=click.IntRange(min=1), default=1000, show_default=True, help="Most that wait.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Most processes of one job; default: 2 per core.")
@click.option("--spark", metavar="MASTER", help="Hand jobs with workers to this Spark: local[4], spark://HOST:7077.")
@click.option(
    "--keep", type=click.FloatRange(min=1), default=86400, show_default=True, help="Seconds results are kept."
)
def serve(
    graphs: tuple[Path, ...], programs: tuple[Path, ...], state: Path | None, memory: str | None, **options: Any
) -> None:
    """Serve jobs over HTTP: graphs are opened once, and shared by the jobs of all users."""
    from arcflux import config
    from arcflux.jobs.server import serve as start

    folder = state if state is not None else config.cache_folder("jobs")
    budget = None if memory is None else config.bytes_of("--memory", memory)
    start(graphs, programs, folder, memory=budget, say=lambda text: click.echo(text, err=True), **options)


@click.command(
    epilog=examples(
        "arcflux submit web.arcflux pagerank --set alpha=0.9 --wait", "arcflux submit web bfs --set source=3"
    )
)
@click.argument("graph")
@click.argument("task")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter; a value is JSON, or text.")
@click.option("--priority", type=click.IntRange(-10, 10), default=0)
@click.option("--deadline", type=float, help="It must end within so many seconds from now.")
@click.option("--max-seconds", type=float, help="Most seconds of run time.")
@click.option("--max-memory", type=int, help="Most bytes of its arrays.")
@click.option("--max-supersteps", type=int)
@click.option("--workers", type=click.IntRange(1, 1024), help="Run as so many MPI processes.")
@click.option("--idempotency", "unique", help="A key: requests with the same key submit one job.")
@click.option("--wait", is_flag=True, help="Wait until the job ends.")
@_client_options
@json_option
def submit(
    graph: str, task: str, settings: tuple[str, ...], priority: int, workers: int | None, unique: str | None,
    wait: bool, url: str, token: str | None, as_json: bool, **limits: Any,
) -> int:  # fmt: skip
    """Submit TASK on GRAPH, both named as on the server; prints the id of the job."""
    parameters = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {setting!r} has no value", expected="NAME=VALUE, such as alpha=0.9")
        try:
            parameters[name] = json.loads(text)
        except ValueError:
            parameters[name] = text
    client = _client(url, token)
    asked = {name: value for name, value in limits.items() if value is not None}
    job = client.submit(graph, task, key=unique, priority=priority, limits=asked, workers=workers, **parameters)
    if wait:
        job = client.wait(job["id"])
    if as_json:
        print_json(job)
    else:
        click.echo(job["id"])
        if job["state"] in ("failed", "cancelled"):
            print_notice(f"{job['state']}: {job['error']}")
    return 1 if job["state"] in ("failed", "cancelled") else 0


@click.command(epilog=examples("arcflux jobs --state running", "arcflux jobs 12-0123456789ab --json"))
@click.argument("job", required=False)
@click.option("--state", type=click.Choice(["queued", "running", "done", "failed", "cancelled"]))
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True)
@_client_options
@json_option
def jobs(job: str | None, state: str | None, limit: int, url: str, token: str | None, as_json: bool) -> None:
    """List jobs, the newest first; or show one."""
    client = _client(url, token)
    found = [client.status(job)] if job is not None else client.jobs(state=state, limit=limit)
    if as_json:
        print_json(found[0] if job is not None else {"jobs": found})
        return
    for one in found:
        seconds = f"{one['seconds']:.2f} s" if one["seconds"] is not None else ""
        click.echo(f"{one['id']:<20} {one['state']:<9} {one['task']:<24} {one['graph']:<24} {seconds}".rstrip())
        if one["error"]:
            click.echo(f"{'':20} {one['error']}")


@click.command(epilog=examples("arcflux cancel 12-0123456789ab"))
@click.argument("job")
@_client_options
@json_option
def cancel(job: str, url: str, token: str | None, as_json: bool) -> None:
    """Cancel a job."""
    state = _client(url, token).cancel(job)
    print_json({"id": job, "state": state}) if as_json else click.echo(state)


def _format_of(out: Path | None) -> str:
    """The format that a file is called by; csv on stdout."""
    form = "csv" if out is None else out.suffix[1:].lower()
    if form not in _FORMATS:
        raise UsageError(
            f"{out}: the suffix names no format of results", expected=" ".join(f".{one}" for one in _FORMATS),
            remedy="--format csv",
        )  # fmt: skip
    return form


@click.command(
    epilog=examples("arcflux result 12-0123456789ab --out ranks.parquet", "arcflux result 12-0123456789ab --limit 10")
)
@click.argument("job")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A file: .json, .csv, .arrow or .parquet; default: stdout."
)
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Default: that of the file, or csv.")
@click.option("--offset", type=click.IntRange(min=0), default=0)
@click.option("--limit", type=click.IntRange(min=0))
@_client_options
def result(
    job: str, out: Path | None, form: str | None, offset: int, limit: int | None, url: str, token: str | None
) -> None:
    """Wait for a job, and write its result."""
    from arcflux.io.loaded import replacing

    form, client = form or _format_of(out), _client(url, token)
    found = client.wait(job)
    if found["state"] != "done":
        raise UsageError(f"job {job} is {found['state']}: {found['error']}", expected="a job that is done")
    pieces = client.pieces(job, form, offset, limit)
    if out is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        return
    with replacing(out) as work, open(work, "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
