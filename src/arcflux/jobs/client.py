"""A client of the service, with only Python's standard library (and pyarrow, to read results)."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from arcflux.checks import mapping, maybe, path, seconds, text
from arcflux.errors import ArcfluxError, ServiceError, UsageError

__all__ = ["Client"]

_FINAL = ("done", "failed", "cancelled")


class Client:
    """Connects to a server that ``arcflux serve`` started.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8750", "the token that the server has shown")
    >>> client.url
    'http://127.0.0.1:8750'
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if not isinstance(url, str) or not _is_address(url):
            raise UsageError(f"the url is {url!r}", expected="http://HOST:PORT or https://HOST:PORT")
        self.url, self._token, self._timeout = url.rstrip("/"), token, seconds("timeout", timeout)

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Convert connection errors to an error that names the server."""
        try:
            yield
        except ArcfluxError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"{type(error).__name__}: {error}" if isinstance(error, http.client.HTTPException) else error
            raise ServiceError(
                f"{self.url} does not answer: {reason}", remedy="arcflux serve, and its address"
            ) from error

    def _open(
        self, path: str, body: Any = None, method: str | None = None, headers: dict[str, str] | None = None
    ) -> IO[bytes]:  # fmt: skip
        data = None if body is None else _encoded(body)
        with self._understood():
            request = urllib.request.Request(f"{self.url}{path}", data, method=method)
            request.add_header("Authorization", f"Bearer {self._token}")
            for name, value in (headers or {}).items():
                request.add_header(name, value)
            if data is not None:
                request.add_header("Content-Type", "application/json")
            try:
                response: IO[bytes] = urllib.request.urlopen(request, timeout=self._timeout)
            except urllib.error.HTTPError as error:
                with error:
                    raise _refusal(error.code, error.read()) from None
            return response

    def _asked(self, path: str, wanted: str, body: Any = None, **how: Any) -> dict[str, Any]:
        """The server's answer, an object that has the key `wanted`."""
        with self._understood(), self._open(path, body, **how) as answer:
            answered = json.load(answer)
        if not isinstance(answered, dict) or wanted not in answered:
            raise ServiceError(f"{self.url} is no server of jobs", remedy="the address that arcflux serve has shown")
        return answered

    def graphs(self) -> list[dict[str, Any]]:
        """The graphs of the server."""
        listed: list[dict[str, Any]] = self._asked("/graphs", "graphs")["graphs"]
        return listed

    def tasks(self) -> list[dict[str, Any]]:
        """Its algorithms and programs, with their parameters."""
        listed: list[dict[str, Any]] = self._asked("/tasks", "tasks")["tasks"]
        return listed

    def submit(
        self, graph: str, task: str, *, key: str | None = None, priority: int = 0, limits: dict[str, Any] | None = None,
        workers: int | None = None, **parameters: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Submit a job; with the same `key` twice, it is one job. `limits`: deadline, max_seconds and so on."""
        maybe(mapping)("limits", limits)
        maybe(text)("key", key)
        body = {"graph": graph, "task": task, "parameters": parameters, "priority": priority, **(limits or {})}
        if workers is not None:
            body["workers"] = workers
        return self._asked("/jobs", "id", body, headers={} if key is None else {"Idempotency-Key": key})

    def jobs(self, *, state: str | None = None, limit: int = 50, before: int | None = None) -> list[dict[str, Any]]:
        """Jobs, the newest first."""
        parameters = {"state": state, "limit": limit, "before": before}
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        listed: list[dict[str, Any]] = self._asked(f"/jobs?{query}", "jobs")["jobs"]
        return listed

    def status(self, ident: str) -> dict[str, Any]:
        """A job."""
        return self._asked(_job(ident), "state")

    def cancel(self, ident: str) -> str:
        """Cancel a job; its state."""
        return str(self._asked(f"{_job(ident)}/cancel", "state", method="POST")["state"])

    def events(self, ident: str) -> Iterator[dict[str, Any]]:
        """The status of a job whenever it changes, until the job is over."""
        with self._understood(), self._open(f"{_job(ident)}/events") as answer:
            kind = ""
            for raw in answer:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: ") and kind == "status":
                    yield json.loads(line[6:])

    def wait(self, ident: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job is over; its status."""
        timeout = seconds("timeout", timeout)
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.01
        while True:
            status = self.status(ident)
            if status["state"] in _FINAL:
                return status
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"job {ident} is {status['state']} after {timeout:g} s")
            time.sleep(pause)
            pause = min(0.5, 1.5 * pause)

    def result(self, ident: str, *, offset: int = 0, limit: int | None = None, timeout: float | None = None) -> Any:
        """Wait for a job, and return its result as a pyarrow table."""
        import pyarrow as pa

        status = self.wait(ident, timeout)
        if status["state"] != "done":
            raise ServiceError(f"job {ident} is {status['state']}: {status['error']}")
        with self._understood(), self.stream(ident, "arrow", offset, limit) as answer:
            return pa.ipc.open_stream(answer).read_all()

    def pieces(self, ident: str, form: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """The bytes of a result: all of them, or an error."""
        with self._understood(), self.stream(ident, form, offset, limit) as answer:
            while piece := answer.read(1 << 16):
                yield piece

    def stream(self, ident: str, form: str = "arrow", offset: int = 0, limit: int | None = None) -> IO[bytes]:
        """The bytes of a result: "json", "csv", "arrow" or "parquet"."""
        query = urllib.parse.urlencode(
            {"format": form, "offset": offset, **({} if limit is None else {"limit": limit})}
        )
        return self._open(f"{_job(ident)}/result?{query}")


def _is_address(url: str) -> bool:
    """Whether a server can be at this address: a scheme, a host, and a port if there is one."""
    try:
        split = urllib.parse.urlsplit(url)
        return split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:  # an invalid port
        return False


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"a parameter cannot be said in JSON: {error}", expected="numbers, text, lists") from error


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is none of them")


def _job(ident: str) -> str:
    path("ident", text("ident", ident))  # no half of a surrogate pair, which no address has
    return f"/jobs/{urllib.parse.quote(ident, safe='')}"


def _refusal(status: int, raw: bytes) -> ServiceError:
    try:
        refusal = json.loads(raw)["error"]
        error = ServiceError(refusal["message"], expected=refusal.get("expected", ""), remedy=refusal.get("remedy", ""))
    except (ValueError, KeyError, TypeError):
        error = ServiceError(f"the server answered {status}")
    error.status = status
    return error
