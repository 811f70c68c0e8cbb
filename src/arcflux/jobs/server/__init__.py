"""The HTTP server of the service, by Starlette and uvicorn: the extra `serve`."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
        from arcflux.jobs.server.wire import CONNECTIONS, Server
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
    listening = _listen(host, port, CONNECTIONS)
    try:
        service = Service(Catalogue(graphs, programs), state, **options)
    except BaseException:
        listening.close()
        raise
    try:
        known, made = Tokens.kept(tokens or state / "tokens.json")
        if made is not None:
            say(f"token (shown once, kept in {tokens or state / 'tokens.json'}): {made}")
        if service.recovered:
            say(f"{len(service.recovered)} jobs of a server before this one go on")
        app = make_app(service, known, [*hosts, host], port or None)
        setup = uvicorn.Config(
            app, log_level="warning", server_header=False, timeout_keep_alive=20, limit_concurrency=CONNECTIONS,
            backlog=CONNECTIONS, ssl_certfile=certificate, ssl_keyfile=key, ws="none", timeout_graceful_shutdown=2,
        )  # fmt: skip
        server = Server(setup)
        name = f"[{host}]" if ":" in host else host
        say(f"serving jobs on http{'s' if certificate else ''}://{name}:{port}/")
        with _ending_by_signal():
            server.run(sockets=[listening])
    finally:
        listening.close()
        service.close()


def _listen(host: str, port: int, backlog: int) -> socket.socket:
    """A listening socket, opened before a token is shown that would be useless without it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=backlog)
    except OSError as error:
        raise UsageError(
            f"{host}, port {port}: {error.strerror}", expected="an address of this machine, and a port that is free",
            remedy=f"--port {port + 1 if port < 65535 else 8750}",
        ) from error  # fmt: skip


@contextmanager
def _ending_by_signal() -> Iterator[None]:
    """After SIGTERM, uvicorn raises it again when it has ended: that must not end the process before its jobs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
