"""The routes of the service: from HTTP requests to calls of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from arcflux.errors import ArcfluxError, UsageError
from arcflux.jobs.handover import WORKERS
from arcflux.jobs.job import FINAL
from arcflux.jobs.queue import ConflictError, FullError
from arcflux.jobs.results import FORMATS, MEDIA
from arcflux.jobs.server.access import COOKIE, Guard, Tokens
from arcflux.jobs.server.metrics import prometheus
from arcflux.jobs.server.openapi import STATES, describe_api
from arcflux.jobs.service import Service

__all__ = ["make_app"]

_SHIELDS = {
    "content-security-policy": "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_LARGEST_KEY = 200
_WIDEST_JSON = 1_000_000
_EVENT_SECONDS = 0.25
_PING_SECONDS = 15.0


def make_app(service: Service, tokens: Tokens, hosts: Sequence[str] = (), port: int | None = None) -> Any:
    """The service as a guarded ASGI application."""
    routes = _Routes(service)
    inner = Starlette(
        routes=[
            Route("/", routes.page),
            Route("/openapi.json", routes.api),
            Route("/metrics", routes.metrics),
            Route("/overview", routes.overview),
            Route("/graphs", routes.graphs),
            Route("/tasks", routes.tasks),
            Route("/jobs", routes.jobs, methods=["GET", "POST"]),
            Route("/jobs/{id}", routes.status),
            Route("/jobs/{id}/cancel", routes.cancel, methods=["POST"]),
            Route("/jobs/{id}/events", routes.events),
            Route("/jobs/{id}/result", routes.result),
        ],
        exception_handlers={ArcfluxError: _refuse, _Missing: _refuse_missing},
    )
    return Guard(inner, tokens, hosts, port)


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in ASCII: a job of an older queue may contain text that UTF-8 cannot encode."""
    body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return Response(body, status, headers, media_type="application/json")


class _Missing(Exception):
    """There is no such thing, or not for this user; the status tells which."""

    def __init__(self, what: str, status: int = 404) -> None:
        super().__init__(what)
        self.status = status


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ArcfluxError)
    status = 429 if isinstance(error, FullError) else 409 if isinstance(error, ConflictError) else 422
    said = {"kind": type(error).__name__, "message": error.what, "expected": error.expected, "remedy": error.remedy}
    return _json({"error": said}, status, {"retry-after": "1"} if status == 429 else None)


async def _refuse_missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, _Missing)
    kind = "Refused" if error.status == 403 else "NotFound"
    return _json({"error": {"kind": kind, "message": str(error)}}, error.status)


def _is_own(request: Request, row: Mapping[str, Any]) -> bool:
    return bool(request.scope["arcflux.admin"] or row["user"] == request.scope["arcflux.user"])


class _Routes:
    def __init__(self, service: Service) -> None:
        self.service = service
        self._page = (Path(__file__).parent / "dashboard.html").read_text(encoding="utf-8")

    async def page(self, request: Request) -> Response:
        """The dashboard; a token in its address becomes a cookie, so that it does not stay there."""
        import secrets

        if (token := request.query_params.get("token")) is not None:
            response: Response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
            return response
        nonce = secrets.token_urlsafe(12)
        headers = {name: value.format(nonce) for name, value in _SHIELDS.items()}
        return HTMLResponse(self._page.replace("NONCE", nonce), headers=headers)

    async def api(self, request: Request) -> Response:
        graphs = await run_in_threadpool(self.service.catalogue.graphs)
        return _json(describe_api(list(graphs), list(self.service.catalogue.tasks), self.service.workers))

    async def metrics(self, request: Request) -> Response:
        text = await run_in_threadpool(prometheus, self.service)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def overview(self, request: Request) -> Response:
        """All that the dashboard shows at a glance."""
        return _json(await run_in_threadpool(self._overview, request))

    def _overview(self, request: Request) -> dict[str, Any]:
        service = self.service
        jobs = [self._shown(request, row) for row in service.queue.newest(limit=60)]
        for job in jobs:
            job["history"] = job.get("history", [])[-64:]
        return {
            "jobs": jobs,
            "counts": service.queue.counts(),
            "memory": {"used": service.jobs.memory_used, "budget": service.jobs.budget},
            "threads": service.jobs.threads,
            "graphs": {name: _graph(graph) for name, graph in service.catalogue.opened().items()},
            "totals": service.totals,
        }

    async def graphs(self, request: Request) -> Response:
        found, opened = await run_in_threadpool(self.service.catalogue.graphs), self.service.catalogue.opened()
        return _json({"graphs": [{"name": name, **_graph(opened.get(name))} for name in found]})

    async def tasks(self, request: Request) -> Response:
        """Algorithms and programs, with their parameters."""
        return _json({"tasks": [
            {"name": name, "parameters": [
                {"name": one.name, "kind": one.kind.__name__, "many": one.many, "required": one.required}
                for one in arguments.values()
            ]}
            for name, arguments in self.service.catalogue.tasks.items()
        ]})  # fmt: skip

    async def jobs(self, request: Request) -> Response:
        """The methods of /jobs."""
        return await (self.submit if request.method == "POST" else self.newest)(request)

    async def newest(self, request: Request) -> Response:
        """Jobs, the newest first, page by page."""
        limit = _whole(request, "limit", 50, 1, 500)
        before = _whole(request, "before", None, 1, 1 << 62)
        state = request.query_params.get("state")
        if state is not None and state not in STATES:
            raise UsageError(f"state is {state[:50]!r}", expected=", ".join(STATES))
        rows = await run_in_threadpool(lambda: self.service.queue.newest(state=state, limit=limit or 50, before=before))
        after = rows[-1]["number"] if len(rows) == limit else None
        return _json({"jobs": [self._shown(request, row) for row in rows], "before": after})

    async def submit(self, request: Request) -> Response:
        """Accept a job."""
        body = _checked_body(await request.body())
        key = request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= _LARGEST_KEY and key.isprintable()):
            raise UsageError(
                "the Idempotency-Key is empty, too long or not text", expected=f"1 to {_LARGEST_KEY} characters"
            )
        user = request.scope["arcflux.user"]
        row, new = await run_in_threadpool(self.service.submit, user, body, key)
        return _json(self._shown(request, row), 201 if new else 200, {"location": f"/jobs/{row['id']}"})

    def _find(self, request: Request) -> dict[str, Any]:
        row = self.service.queue.find(request.path_params["id"])
        if row is None:
            raise _Missing("there is no such job")
        return row

    def _find_own(self, request: Request) -> dict[str, Any]:
        """A job that this user may cancel and read."""
        row = self._find(request)
        if not _is_own(request, row):
            raise _Missing("the job is another user's: its owner or an admin may do that", 403)
        return row

    def _shown(self, request: Request, row: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.service.status(row), "yours": _is_own(request, row)}

    async def status(self, request: Request) -> Response:
        return _json(self._shown(request, await run_in_threadpool(self._find, request)))

    async def cancel(self, request: Request) -> Response:
        """Cancel a job; one that is over stays as it is."""
        row = await run_in_threadpool(self._find_own, request)
        state = await run_in_threadpool(self.service.cancel, row["id"])
        return _json({"id": row["id"], "state": state}, 202 if state == "running" else 200)

    async def events(self, request: Request) -> Response:
        """The events of a job: its status whenever that has changed, until it is over."""
        row = await run_in_threadpool(self._find, request)

        async def told() -> AsyncIterator[str]:
            last, quiet = "", 0.0
            while not await request.is_disconnected():
                found = await run_in_threadpool(self.service.queue.find, row["id"])
                if found is None:
                    return
                said = json.dumps(self._shown(request, found))
                if said != last:
                    last, quiet = said, 0.0
                    yield f"event: status\ndata: {said}\n\n"
                if found["state"] in FINAL:
                    yield "event: end\ndata: {}\n\n"
                    return
                await asyncio.sleep(_EVENT_SECONDS)
                quiet += _EVENT_SECONDS
                if quiet >= _PING_SECONDS:
                    quiet = 0.0
                    yield ": still here\n\n"

        return StreamingResponse(told(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def result(self, request: Request) -> Response:
        """Rows of a result, in a format."""
        form = request.query_params.get("format", "json")
        if form not in FORMATS:
            raise UsageError(f"format is {form[:50]!r}", expected=", ".join(FORMATS))
        first = _whole(request, "offset", 0, 0, 1 << 62) or 0
        limit = _whole(request, "limit", None, 0, 1 << 62)
        row = await run_in_threadpool(self._find_own, request)
        if row["state"] not in FINAL:
            raise _Missing(f"the job is {row['state']}, and has no result yet", 409)
        if row["state"] != "done":
            raise _Missing(f"the job is {row['state']}: {row['error']}", 409)
        if not row["kept"]:
            raise _Missing("the result has expired", 410)
        if form == "json":
            limit = min(_WIDEST_JSON, row["rows"] if limit is None else limit)
        headers = {"x-rows": str(row["rows"]), "content-disposition": f'attachment; filename="{row["id"]}.{form}"'}
        pieces = await run_in_threadpool(self.service.results.stream, row["id"], form, first, limit)
        return StreamingResponse(_counted(pieces, self.service), media_type=MEDIA[form], headers=headers)


def _counted(pieces: Any, service: Service) -> Any:
    for piece in pieces:
        service.totals["result_bytes"] += len(piece)
        yield piece


def _graph(graph: Any) -> dict[str, Any]:
    if graph is None:
        return {"open": False}
    return {"open": True, "vertices": graph.vertices, "arcs": graph.arcs, "directed": graph.directed}


def _whole(request: Request, name: str, default: int | None, low: int, high: int) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and low <= int(text) <= high):
        raise UsageError(f"{name} is {text[:50]!r}", expected=f"a whole number from {low} to {high}")
    return int(text)


def _checked_body(raw: bytes) -> Mapping[str, Any]:
    """The body of a submission, every field of its type."""
    try:
        body = json.loads(raw, parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode()  # unpaired surrogates ("\\ud800") are not text
    except (ValueError, RecursionError) as error:
        raise UsageError("the body is no JSON", expected='{"graph": "...", "task": "...", "parameters": {}}') from error
    kinds: dict[str, Any] = {
        "graph": str, "task": str, "parameters": dict, "priority": int, "deadline": (int, float),
        "max_seconds": (int, float), "max_memory": int, "max_supersteps": int, "workers": int,
    }  # fmt: skip
    if not isinstance(body, dict) or not {"graph", "task"} <= body.keys():
        raise UsageError("the body lacks graph or task", expected='{"graph": "...", "task": "...", "parameters": {}}')
    for name, value in body.items():
        if name not in kinds:
            raise UsageError(f"there is no field {name[:50]!r}", expected=", ".join(kinds))
        if not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise UsageError(f"{name} is {str(value)[:50]!r}", expected=f"{_words(kinds[name])}")
    if not -10 <= body.get("priority", 0) <= 10:
        raise UsageError(f"priority is {body['priority']}", expected="from -10 to 10")
    for name in ("deadline", "max_seconds", "max_memory", "max_supersteps", "workers"):
        if not 0 < body.get(name, 1) <= (WORKERS if name == "workers" else 1 << 62):
            raise UsageError(f"{name} is {str(body[name])[:50]}", expected="a number above 0")
    return body


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _words(kind: Any) -> str:
    return {str: "text", dict: "an object", int: "a whole number"}.get(kind, "a number")
