"""A client of the service, with nothing but Python's own library (and pyarrow, to read results)."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import IO, Any

from arcflux.checks import maybe, real, text
from arcflux.errors import ServiceError, UsageError

__all__ = ["Client"]

_FINAL = ("done", "failed", "cancelled")


class Client:
    """Talks to a server that ``arcflux serve`` started.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8750", "the token that the server has shown")
    >>> client.url
    'http://127.0.0.1:8750'
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if not isinstance(url, str) or urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise UsageError(f"the url is {url!r}", expected="http://HOST:PORT or https://HOST:PORT")
        self.url, self._token, self._timeout = url.rstrip("/"), token, timeout

    def _open(
        self, path: str, body: Any = None, method: str | None = None, headers: dict[str, str] | None = None,
        timeout: float | None = None,
    ) -> IO[bytes]:  # fmt: skip
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            found: IO[bytes] = urllib.request.urlopen(request, timeout=timeout or self._timeout)
            return found
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error.code, error.read()) from None
        except (OSError, ValueError) as error:
            raise ServiceError(
                f"{self.url} does not answer: {error}", remedy="arcflux serve, and its address"
            ) from error

    def _get(self, path: str) -> Any:
        with self._open(path) as answer:
            return json.load(answer)

    def graphs(self) -> list[dict[str, Any]]:
        """The graphs of the server."""
        found: list[dict[str, Any]] = self._get("/graphs")["graphs"]
        return found

    def tasks(self) -> list[dict[str, Any]]:
        """Its algorithms and programs, with their parameters."""
        found: list[dict[str, Any]] = self._get("/tasks")["tasks"]
        return found

    def submit(
        self, graph: str, task: str, *, key: str | None = None, priority: int = 0, limits: dict[str, Any] | None = None,
        workers: int | None = None, **parameters: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Submit a job; with the same `key` twice, it is one job. `limits`: deadline, max_seconds and so on."""
        body = {"graph": graph, "task": task, "parameters": parameters, "priority": priority, **(limits or {})}
        if workers is not None:
            body["workers"] = workers
        with self._open("/jobs", body, headers={} if key is None else {"Idempotency-Key": key}) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def jobs(self, *, state: str | None = None, limit: int = 50, before: int | None = None) -> list[dict[str, Any]]:
        """Jobs, the newest first."""
        asked = {"state": state, "limit": limit, "before": before}
        query = urllib.parse.urlencode({name: value for name, value in asked.items() if value is not None})
        found: list[dict[str, Any]] = self._get(f"/jobs?{query}")["jobs"]
        return found

    def status(self, ident: str) -> dict[str, Any]:
        """A job."""
        found: dict[str, Any] = self._get(_job(ident))
        return found

    def cancel(self, ident: str) -> str:
        """Cancel a job; its state."""
        with self._open(f"{_job(ident)}/cancel", method="POST") as answer:
            return str(json.load(answer)["state"])

    def events(self, ident: str) -> Iterator[dict[str, Any]]:
        """The status of a job whenever it changes, until it is over."""
        with self._open(f"{_job(ident)}/events") as answer:
            kind = ""
            for raw in answer:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: ") and kind == "status":
                    yield json.loads(line[6:])

    def wait(self, ident: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job is over; its status."""
        timeout = maybe(real)("timeout", timeout)
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.01
        while True:
            found = self.status(ident)
            if found["state"] in _FINAL:
                return found
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"job {ident} is {found['state']} after {timeout:g} s")
            time.sleep(pause)
            pause = min(0.5, 1.5 * pause)

    def result(self, ident: str, *, offset: int = 0, limit: int | None = None, timeout: float | None = None) -> Any:
        """Wait for a job, and return its result as a pyarrow table."""
        import pyarrow as pa

        found = self.wait(ident, timeout)
        if found["state"] != "done":
            raise ServiceError(f"job {ident} is {found['state']}: {found['error']}")
        with self.stream(ident, "arrow", offset, limit) as answer:
            return pa.ipc.open_stream(answer).read_all()

    def stream(self, ident: str, form: str = "arrow", offset: int = 0, limit: int | None = None) -> IO[bytes]:
        """The bytes of a result: "json", "csv", "arrow" or "parquet"."""
        query = urllib.parse.urlencode(
            {"format": form, "offset": offset, **({} if limit is None else {"limit": limit})}
        )
        return self._open(f"{_job(ident)}/result?{query}")


def _job(ident: str) -> str:
    text("ident", ident)
    return f"/jobs/{urllib.parse.quote(ident, safe='')}"


def _refusal(status: int, raw: bytes) -> ServiceError:
    try:
        said = json.loads(raw)["error"]
        error = ServiceError(said["message"], expected=said.get("expected", ""), remedy=said.get("remedy", ""))
    except (ValueError, KeyError, TypeError):
        error = ServiceError(f"the server answered {status}")
    error.status = status
    return error
