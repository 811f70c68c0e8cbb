"""The daemon of a device: a process that outlives agents, so that a device is initialised once (GX-Plug, IV-C).

connection.py starts ``python -m arcflux.plug.daemon cpu`` if no daemon runs. A daemon has a lock, listens on a Unix
socket in an owner-only folder, accepts processes with its user (SO_PEERCRED) and its token, and ends when no agent has
been connected for the time of its lease. Memory shared with agents has no name (memory.py), so nothing stays behind
when either side is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hmac
import os
import signal
import socket
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from arcflux.errors import ArcfluxError
from arcflux.plug.place import Place, reached_by_descriptor
from arcflux.plug.wire import LostPeerError, WireError, close_all, peer_of, receive, send

if TYPE_CHECKING:
    from arcflux.plug.service import Service
    from arcflux.plug.session import BlockSession

__all__ = ["LEASE", "is_listening", "main"]

# Seconds without any agent after which a daemon ends.
LEASE = 30.0
_GLANCE = 0.2
_PATIENCE = 10.0
_MOST_AGENTS = 256


class _Daemon:
    """A listening socket, and a thread for each connected agent."""

    def __init__(self, place: Place, lease: float) -> None:
        self.place, self.lease, self.token = place, lease, place.token()
        self.agents, self.last = 0, time.monotonic()
        self.ending = False
        self.guard, self.loading = threading.Lock(), threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._service: Service | None = None

    def listen(self) -> None:
        """Take over this socket: this process has the lock, so the former owner is dead."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.place.socket)
        before = os.umask(0o177)
        try:
            with reached_by_descriptor(self.place.socket) as path:
                self.listener.bind(path)
        finally:
            os.umask(before)
        self.listener.listen(64)
        self.listener.settimeout(_GLANCE)

    def serve(self) -> None:
        """Accept agents until the lease is over."""
        while not self.ending:
            with contextlib.suppress(TimeoutError):
                connection, _ = self.listener.accept()
                self._admit(connection)
            with self.guard:
                if not self.agents and time.monotonic() - self.last > self.lease:
                    self.ending = True
        self.listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.place.socket)

    def _admit(self, connection: socket.socket) -> None:
        with self.guard:
            if self.agents >= _MOST_AGENTS:
                connection.close()
                return
            self.agents += 1
        threading.Thread(target=self._attend, args=(connection,), name="arcflux-agent", daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        """Serve one agent, from its first message, which has to contain the token, to its end."""
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                if self._knows(connection):
                    connection.settimeout(None)
                    self._answer_all(connection)
        except (LostPeerError, WireError, OSError):
            pass  # it has disconnected, or is no agent
        finally:
            with self.guard:
                self.agents, self.last = self.agents - 1, time.monotonic()

    def _knows(self, connection: socket.socket) -> bool:
        """Whether the other end is a process of this user that has the token; it gets no other answer."""
        _, user = peer_of(connection)
        if user != os.getuid():
            return False
        message, descriptors = receive(connection)
        close_all(descriptors)
        shown = message.get("token")
        if not isinstance(shown, str) or not hmac.compare_digest(shown.encode(), self.token.encode()):
            send(connection, _refused(ArcfluxError("the token is not that of this daemon")))
            return False
        send(connection, {"ok": True, "process": os.getpid(), "device": self.place.device})
        return True

    def _answer_all(self, connection: socket.socket) -> None:
        session: BlockSession | None = None
        try:
            while True:
                message, descriptors = receive(connection)
                if message.get("op") == "open" and session is None:
                    from arcflux.plug.session import BlockSession

                    session = BlockSession(self.place.device, connection)
                reply, back = self._answer(message, descriptors, session)
                try:
                    send(connection, reply, back)
                finally:
                    close_all(back)
        finally:
            if session is not None:
                session.close()

    def _answer(
        self, message: dict[str, Any], descriptors: list[int], session: Any
    ) -> tuple[dict[str, Any], list[int]]:
        """The reply to one request; errors are raised in the agent."""
        try:
            operation = message.get("op")
            known = {**(session.requests if session is not None else {}), **self.service().requests}
            request = known.get(operation) if isinstance(operation, str) else None
            if request is None:
                raise WireError(f"a request is {operation!r}", expected=f"one of: open, {', '.join(known)}")
            reply, back = request(message, descriptors)
            return {"ok": True, **reply}, back
        except LostPeerError:
            raise
        except Exception as error:
            return _refused(error), []
        finally:
            close_all(descriptors)

    def service(self) -> Service:
        """The requests of this daemon, imported at the first one, so that a daemon starts at once."""
        with self.loading:
            if self._service is None:
                from arcflux.plug.service import Service

                self._service = Service(self.place.folder, self.place.device)
            return self._service


def _refused(error: BaseException) -> dict[str, Any]:
    """An error in a form that an agent can raise again."""
    if isinstance(error, ArcfluxError):
        about = {"kind": type(error).__name__, "what": error.what, "expected": error.expected, "remedy": error.remedy}
    else:
        trace = "".join(traceback.format_exception(error)).rstrip()
        about = {"kind": "DaemonError", "what": f"the daemon failed: {trace}", "expected": "", "remedy": ""}
    return {"ok": False, "error": about}


def main(arguments: list[str] | None = None) -> int:
    """Run a daemon until the lease is over."""
    parser = argparse.ArgumentParser(prog="python -m arcflux.plug.daemon", description="The daemon of a device.")
    parser.add_argument("name", help="its device: cpu, virtual:2, cuda:0; #1 and so on behind it for another one")
    parser.add_argument("--folder", help="where it is found; ARCFLUX_PLUG or the cache folder without it")
    parser.add_argument("--lease", type=float, default=LEASE, help="seconds without agents after which it ends")
    parser.add_argument("--ready", type=int, default=-1, help="a descriptor that is told when it listens")
    given = parser.parse_args(arguments)
    if given.ready >= 0 and os.fork():  # the starter does not have to wait for its end
        os._exit(0)
    for name in (signal.SIGHUP, signal.SIGINT):  # those are for agents
        signal.signal(name, signal.SIG_IGN)
    faulthandler.register(signal.SIGUSR1)  # writes the stacks of all threads to the log
    place = Place.of(given.name, given.folder)
    lock = _claimed(place)
    if lock is None:
        return 0  # there is one already, which the starter of this one finds
    daemon = _Daemon(place, given.lease)
    signal.signal(signal.SIGTERM, lambda *_: setattr(daemon, "ending", True))
    daemon.listen()
    if given.ready >= 0:
        os.write(given.ready, b"+")
        os.close(given.ready)
    daemon.serve()
    os.close(lock)
    return 0


def _claimed(place: Place) -> int | None:
    """The lock of a daemon's place, after waiting for a daemon that is just ending."""
    until = time.monotonic() + 2.0
    while (lock := place.claim()) is None and time.monotonic() < until and not is_listening(place):
        time.sleep(0.02)
    return lock


def is_listening(place: Place) -> bool:
    """Whether a daemon listens at its place."""
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with reached_by_descriptor(place.socket) as path:
            probe.connect(path)
    except OSError:
        return False
    finally:
        probe.close()
    return True


if __name__ == "__main__":
    sys.exit(main())
