"""The service on its wire: HTTP by Starlette and uvicorn, the extra `serve`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arcflux.errors import MissingExtraError, UsageError

__all__ = ["serve"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    graphs: Sequence[Path], programs: Sequence[Path], state: Path, *, host: str = "127.0.0.1", port: int = 8750,
    tokens: Path | None = None, certificate: Path | None = None, key: Path | None = None, hosts: Sequence[str] = (),
    say: Any = print, **options: Any,
) -> None:  # fmt: skip
    """Serve jobs until a signal ends it; see :class:`arcflux.jobs.service.Service` for the options."""
    try:
        import uvicorn

        from arcflux.jobs.server.app import make_app
    except ImportError as error:
        raise MissingExtraError(error.name or "starlette", "serve", "arcflux serve") from error
    from arcflux.jobs.catalogue import Catalogue
    from arcflux.jobs.server.access import Tokens
    from arcflux.jobs.service import Service

    if host not in _LOOPBACK and tokens is None:
        raise UsageError(
            f"the host is {host}, which others can reach", expected="a file of tokens for it",
            remedy="--tokens FILE, or leave --host out to serve this machine alone",
        )  # fmt: skip
    if host not in _LOOPBACK and certificate is None:
        say("warning: without --certificate and --key, tokens and results cross the network as plain text")
    service = Service(Catalogue(graphs, programs), state, **options)
    try:
        known, made = Tokens.kept(tokens or state / "tokens.json")
        if made is not None:
            say(f"token (shown once, kept in {tokens or state / 'tokens.json'}): {made}")
        if service.recovered:
            say(f"{len(service.recovered)} jobs of a server before this one go on")
        app = make_app(service, known, [*hosts, host], port or None)
        setup = uvicorn.Config(
            app, host=host, port=port, log_level="warning", server_header=False, timeout_keep_alive=20,
            limit_concurrency=256, ssl_certfile=certificate, ssl_keyfile=key, ws="none", timeout_graceful_shutdown=2,
        )  # fmt: skip
        server = uvicorn.Server(setup)
        say(f"serving jobs on http{'s' if certificate else ''}://{host}:{port}/")
        server.run()
    finally:
        service.close()
