"""The service's description of itself: its routes, parameters and answers, as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcflux import __version__
from arcflux.jobs.handover import WORKERS
from arcflux.jobs.results import FORMATS, MEDIA

__all__ = ["STATES", "describe_api"]

STATES = ("queued", "running", "done", "failed", "cancelled")


def _schema(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


_ERROR = _schema(
    "object", required=["error"],
    properties={"error": _schema("object", required=["kind", "message"], properties={
        name: _schema("string") for name in ("kind", "message", "expected", "remedy")
    })},
)  # fmt: skip
_LIMIT = {"exclusiveMinimum": 0, "maximum": 1 << 62}
_JOB = _schema(
    "object", required=["id", "user", "graph", "task", "state", "submitted", "result"],
    properties={
        **{name: _schema("string") for name in ("id", "user", "graph", "task")},
        "state": _schema("string", enum=list(STATES)),
        "parameters": _schema("object"), "options": _schema("object"), "priority": _schema("integer"),
        "submitted": _schema("number"), "result": _schema("boolean", description="Whether there is a result."),
        "yours": _schema("boolean", description="Whether you may cancel it and read its result."),
        "progress": _schema("object"), "history": _schema("array", items=_schema("object")),
        "spread": _schema("object", description="Of a job on parts: how many, their balance, the bytes that crossed."),
        "attempts": _schema("integer"),
        **{name: {"type": ["number", "null"]} for name in ("started", "finished", "seconds", "predicted")},
        **{name: {"type": ["integer", "null"]} for name in ("rows", "supersteps")},
        "converged": {"type": ["boolean", "null"]}, "error": {"type": ["string", "null"]},
    },
)  # fmt: skip


def _submission(graphs: Sequence[str], tasks: Sequence[str], workers: int) -> dict[str, Any]:
    """The schema of a submission: names are the current ones."""
    graph, task = ({"enum": list(names)} if names else {} for names in (graphs, tasks))
    return _schema(
        "object", required=["graph", "task"], additionalProperties=False,
        properties={
            "graph": _schema("string", description="A name of GET /graphs.", **graph),
            "task": _schema("string", description="A name of GET /tasks.", **task),
            "parameters": _schema("object", description="By name, as GET /tasks lists them."),
            "priority": _schema("integer", minimum=-10, maximum=10, default=0),
            "deadline": _schema("number", description="Seconds from now until which it has to be over.", **_LIMIT),
            "max_seconds": _schema("number", description="Seconds on the cores.", **_LIMIT),
            "max_memory": _schema("integer", description="Bytes of its arrays.", **_LIMIT),
            "max_supersteps": _schema("integer", **_LIMIT),
            "workers": _schema("integer", minimum=1, maximum=workers, description="Processes of MPI; 1: this server."),
        },
        example={"graph": (*graphs, "web.arcflux")[0], "task": "pagerank", "parameters": {"alpha": 0.9}},
    )  # fmt: skip


def _answer(text: str, schema: Any = None, media: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {media: {"schema": schema or {}}}}


def _refusals(*codes: int) -> dict[str, Any]:
    texts = {401: "No valid token", 403: "Another Host or Origin, or another user's job", 404: "No such job",
             408: "The body took too long", 409: "Not in this state", 410: "The result has expired",
             413: "More than 1 MiB", 422: "Not what was expected", 429: "The queue is full"}  # fmt: skip
    return {str(code): _answer(texts[code], _ERROR) for code in (401, 403, *codes)}


def _query(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


_ID = {"name": "id", "in": "path", "required": True, "schema": _schema("string", pattern="^[0-9]+-[0-9a-f]{12}$")}
_KEY = {"name": "Idempotency-Key", "in": "header", "required": False,
        "schema": _schema("string", minLength=1, maxLength=200, pattern="^[!-~]+$")}  # fmt: skip
_COUNT = _schema("integer", minimum=0, maximum=1 << 62)


def _get(text: str, answer: Any, *codes: int, parameters: Any = ()) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": text, "responses": {"200": answer, **_refusals(*codes)}}
    return {**operation, "parameters": list(parameters)} if parameters else operation


def describe_api(graphs: Sequence[str] = (), tasks: Sequence[str] = (), workers: int = WORKERS) -> dict[str, Any]:
    """The whole description of a service with these graphs and tasks, and this many workers per job."""
    pages = [_query("limit", _schema("integer", minimum=1, maximum=500)),
             _query("state", _schema("string", enum=list(STATES))),
             _query("before", _schema("integer", minimum=1, maximum=1 << 62))]  # fmt: skip
    forms = {"description": "Rows", "content": {MEDIA[form].partition(";")[0]: {} for form in FORMATS}}
    rows = [
        _ID,
        _query("format", _schema("string", enum=list(FORMATS))),
        _query("offset", _COUNT),
        _query("limit", _COUNT),
    ]
    text, stream = {"type": "string"}, "text/event-stream"
    listed = _schema("object", required=["jobs", "before"], properties={"jobs": _schema("array", items=_ref("Job"))})
    submit = {
        "summary": "Submit a job", "parameters": [_KEY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Submission")}}},
        "responses": {"201": _answer("Accepted", _ref("Job")), "200": _answer("Accepted before", _ref("Job")),
                      **_refusals(408, 409, 413, 422, 429)},
    }  # fmt: skip
    cancelled = {"summary": "Cancel a job", "parameters": [_ID], "responses": {
        "200": _answer("Its state", _schema("object")), "202": _answer("It ends soon", _schema("object")),
        **_refusals(404)}}  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "Arcflux jobs", "version": __version__},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Job": _JOB, "Submission": _submission(graphs, tasks, workers)},
        },
        "paths": {
            "/": {"get": _get("The dashboard", _answer("A page", text, "text/html"))},
            "/openapi.json": {"get": _get("This description", _answer("OpenAPI", _schema("object")))},
            "/metrics": {"get": _get("Numbers for Prometheus", _answer("Metrics", text, "text/plain"))},
            "/overview": {"get": _get("What the dashboard shows", _answer("All of it", _schema("object")))},
            "/graphs": {"get": _get("Graphs by name", _answer("Graphs", _schema("object")))},
            "/tasks": {"get": _get("Tasks and their parameters", _answer("Tasks", _schema("object")))},
            "/jobs": {"get": _get("Newest jobs", _answer("Jobs", listed), 422, parameters=pages), "post": submit},
            "/jobs/{id}": {"get": _get("A job", _answer("Its status", _ref("Job")), 404, parameters=[_ID])},
            "/jobs/{id}/cancel": {"post": cancelled},
            "/jobs/{id}/events": {"get": _get("Its events", _answer("Events", text, stream), 404, parameters=[_ID])},
            "/jobs/{id}/result": {"get": _get("The rows of a result", forms, 404, 409, 410, 422, parameters=rows)},
        },
    }  # fmt: skip


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
