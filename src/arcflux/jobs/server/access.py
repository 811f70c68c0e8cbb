"""Access control: tokens on every route, the Host and Origin of requests, and the size of requests."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcflux.errors import UsageError
from arcflux.spmd.private import read_private, write_private

__all__ = ["BODY", "Guard", "Tokens"]

# The most bytes of a body, and seconds until it must have arrived.
BODY, SECONDS = 1 << 20, 30.0
COOKIE = "arcflux-token"
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class _Token:
    user: str
    value: str
    expires: float | None = None
    admin: bool = False  # may cancel and read every user's jobs


class Tokens:
    """The tokens of a service: a file that only its owner can access, with users, tokens and optional expiries.

    Users may cancel and read the results of their own jobs; an `admin`, such as the owner of the server, of all.
    """

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = list(tokens)

    @classmethod
    def kept(cls, path: Path) -> tuple[Tokens, str | None]:
        """The tokens of a file; if there is none, a random token is created, stored, and returned to be shown once."""
        if not path.exists():
            value = secrets.token_urlsafe(32)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, json.dumps([{"user": "owner", "token": value, "admin": True}]).encode())
            os.chmod(path, 0o600)
            return cls([_Token("owner", value, admin=True)]), value
        content = read_private(path)
        if content is None or path.stat().st_mode & 0o077:
            raise UsageError(f"{path} can be read or written by others", remedy=f"chmod 600 {path}")
        try:
            tokens = [
                _Token(str(one["user"]), str(one["token"]), one.get("expires"), one.get("admin") is True)
                for one in json.loads(content)
            ]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            example = '[{"user": "ada", "token": "...", "expires": 1800000000}]'
            raise UsageError(f"{path} has no tokens", expected=example) from error
        if any(len(one.value) < 16 for one in tokens):
            raise UsageError(f"{path}: a token is shorter than 16 characters", remedy="secrets.token_urlsafe(32)")
        return cls(tokens), None

    def find(self, given: str | None) -> _Token | None:
        """The matching token, if it has not expired; all are compared, each in constant time."""
        match = None
        for one in self._tokens:
            same = hmac.compare_digest((given or "").encode(), one.value.encode())
            if same and (one.expires is None or time.time() < one.expires):
                match = one
        return match


class Guard:
    """An ASGI middleware in front of every route."""

    def __init__(self, app: Any, tokens: Tokens, hosts: Sequence[str], port: int | None = None) -> None:
        self.app, self.tokens = app, tokens
        self.hosts = {*_LOCAL, *hosts}
        self.port = port

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or answer why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        try:
            body = await asyncio.wait_for(_body(receive), SECONDS)
        except asyncio.TimeoutError:
            await _answer(send, 408, f"a body takes at most {SECONDS:g} s")
            return
        if body is None:
            await _answer(send, 413, f"a body has at most {BODY:,} bytes")
            return
        await self.app(scope, _again(body, receive), send)

    def _refusal(self, scope: Any, headers: Mapping[str, str]) -> tuple[int, str] | None:
        if not self._is_ours(headers.get("host", "")):
            return 403, "this Host is not served here"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            return 403, "requests of other sites are not served"
        if headers.get("sec-fetch-site") == "cross-site":
            return 403, "requests of other sites are not served"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY:
            return 413, f"a body has at most {BODY:,} bytes"
        token = self.tokens.find(_given(scope, headers))
        if token is None:
            return 401, "a valid token is needed: Authorization: Bearer TOKEN"
        scope["arcflux.user"], scope["arcflux.admin"] = token.user, token.admin
        return None

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if not colon:
            name = host
        return name in self.hosts and (not colon or not self.port or port == str(self.port))


def _given(scope: Any, headers: Mapping[str, str]) -> str | None:
    """The token of a request: a header; a cookie, which the page has; or, for the page alone, in its address."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    query = scope.get("query_string", b"").decode("latin-1")
    if scope["path"] == "/" and scope["method"] == "GET" and query.startswith("token="):
        return str(query.partition("=")[2].partition("&")[0])
    return None


async def _body(receive: Any) -> bytes | None:
    """The whole body, None if it is too large."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > BODY:
            return None
        if not message.get("more_body"):
            return b"".join(pieces)


def _again(body: bytes, receive: Any) -> Any:
    """A receive function that returns the body that was read, then what follows."""
    told = False

    async def given() -> Any:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return given


async def _answer(send: Any, status: int, message: str) -> None:
    body = json.dumps({"error": {"kind": "Refused", "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    headers += [(b"connection", b"close")] if status in (408, 413) else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
