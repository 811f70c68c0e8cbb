"""A uvicorn server that closes connections without a request: any process can open those, without a token.

Uvicorn itself waits forever for the head of a request, and answers 503 to all while it has its maximum of connections.
So connections that are idle, or send their head byte by byte, are closed after a while: sooner the more there are.
"""

from __future__ import annotations

import time
from typing import Any

import uvicorn

__all__ = ["CONNECTIONS", "Server"]

# Connections above which requests are answered by 503.
CONNECTIONS = 256
# Seconds for a request to arrive: normally, with more than half of the connections, and with all of them.
_PATIENCE, _CROWDED, _FULL = 20.0, 2.0, 0.2


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server for untrusted clients."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._idle: dict[Any, tuple[Any, float]] = {}  # by connection: its last request, and when that ended

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        self.close_idle(time.monotonic())
        return bool(await super().on_tick(counter))

    def close_idle(self, now: float) -> None:
        """Close connections that have had no request for too long."""
        connections = self.server_state.connections
        limit = self.config.limit_concurrency or CONNECTIONS
        patience = _FULL if len(connections) >= limit else _CROWDED if 2 * len(connections) > limit else _PATIENCE
        idle: dict[Any, tuple[Any, float]] = {}
        for one in list(connections):
            last = one.cycle
            if last is not None and not last.response_complete:
                continue
            before, since = self._idle.get(one, (last, now))
            idle[one] = last, (since if before is last else now)
            if now - idle[one][1] >= patience:
                one.transport.close()
        self._idle = idle
