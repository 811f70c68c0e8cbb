"""A connection to a daemon, which is started if there is none: what an agent, or a task of another system, holds.

Several may connect at once: the one with the lock starts the daemon. When the daemon is killed, the kernel
closes the socket, so that whoever waits for an answer is told at once (:class:`~arcflux.plug.wire.LostPeerError`).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import arcflux
from arcflux import errors
from arcflux.errors import ArcfluxError, DeviceError, UsageError
from arcflux.plug.memory import columns_of, map_shared, pack
from arcflux.plug.place import Place, reached_by_descriptor
from arcflux.plug.program_text import text_of
from arcflux.plug.wire import LostPeerError, close_all, receive, send
from arcflux.program import Program

__all__ = ["Connection", "DaemonError", "raise_if_refused"]

# Seconds for a daemon to be there; it imports Python packages on a machine that may be busy.
_START = 60.0
# Not for a daemon that outlives the task that has started it.
_LEFT_OUT = (
    "ARCFLUX_RANK", "ARCFLUX_RENDEZVOUS", "SPARK_", "PYSPARK_", "OMPI_", "PMI_", "PMIX_", "PRTE_", "SLURM_",
)  # fmt: skip


class DaemonError(ArcfluxError):
    """A daemon has failed in a way that is no mistake of its user; the message has its traceback."""


class Connection:
    """A way to one daemon; requests are answered in their order.

    Examples
    --------
    >>> with Connection.open("cpu") as daemon:  # doctest: +SKIP
    ...     daemon.put("friends", {"source": [0, 1], "target": [1, 2]})
    ...     daemon.build("friends")
    ...     daemon.run("friends", "pagerank", result="ranks")
    ...     daemon.fetch("ranks")["rank"]
    """

    def __init__(self, place: Place, channel: socket.socket, process: int) -> None:
        self.place, self.channel, self.process = place, channel, process

    @classmethod
    def open(
        cls,
        name: str = "cpu",
        folder: str | os.PathLike[str] | None = None,
        *,
        start: bool = True,
        lease: float | None = None,
    ) -> Connection:
        """Reach the daemon of a device; unless `start` is False, one is started when there is none.

        `lease` is after how many seconds without agents a daemon that is started here ends; 30 without it.
        """
        place = Place.of(name, folder)
        token = place.token()
        until = time.monotonic() + _START
        while True:
            try:
                return cls._enter(place, token)
            except (FileNotFoundError, ConnectionRefusedError, LostPeerError) as error:  # none, or one that just ends
                if not start:
                    raise DeviceError(f"there is no daemon {name!r} in {place.folder}", remedy="start=True") from error
                if time.monotonic() > until:
                    raise _not_started(place) from error
            with place.held(place.folder / f"{place.name}.start"):
                try:
                    return cls._enter(place, token)  # another process has started it meanwhile
                except (FileNotFoundError, ConnectionRefusedError, LostPeerError):
                    _start(place, lease)

    @classmethod
    def _enter(cls, place: Place, token: str) -> Connection:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with reached_by_descriptor(place.socket) as path:
                channel.connect(path)
            send(channel, {"token": token})
            reply, descriptors = receive(channel)
            close_all(descriptors)
            raise_if_refused(reply)
            return cls(place, channel, int(reply["process"]))
        except BaseException:
            channel.close()
            raise

    def request(
        self, operation: str, descriptors: list[int] | None = None, **message: Any
    ) -> tuple[dict[str, Any], list[int]]:
        """Send a request and wait for what it gives: a reply, and descriptors that are the caller's."""
        send(self.channel, {"op": operation, **message}, descriptors)
        reply, back = receive(self.channel)
        try:
            raise_if_refused(reply)
        except BaseException:
            close_all(back)
            raise
        return reply, back

    # --- whole graphs ---------------------------------------------------------------------------------------------

    def put(self, graph: str, columns: Mapping[str, Any], *, number: int = 0) -> int:
        """Hand over a slice of a graph's edges, by its number: columns of numbers or text; how many rows it has."""
        said, descriptor = pack(columns)
        try:
            reply, _ = self.request("put", [descriptor], graph=graph, slice=number, columns=said)
        finally:
            os.close(descriptor)
        return int(reply["rows"])

    def put_files(self, graph: str, columns: list[dict[str, Any]], files: list[str], *, number: int = 0) -> int:
        """The same with columns that are in files of the daemon's folder (`place.folder`), which unlinks them."""
        reply, _ = self.request("put", graph=graph, slice=number, columns=columns, files=files)
        return int(reply["rows"])

    def build(self, graph: str, *, slices: int | None = None, columns: list[str] | None = None, **options: Any) -> Any:
        """Build a graph of its slices, and keep it by its name.

        `slices`: how many there have to be; `columns`: which are columns of edges; `source` and `target` are the names
        of the columns of ends, `vertices` how many or the column of all ids; `directed`, `symmetrise`, `deduplicate`
        and `drop_self_loops` are those of :meth:`arcflux.Graph.from_edges`.
        """
        return self.request("build", graph=graph, slices=slices, columns=columns or [], **options)[0]

    def load(self, graph: str, source: str | os.PathLike[str], **options: Any) -> Any:
        """Have the daemon load what :func:`arcflux.load` can: a path on its machine, or a spec such as "kron:12"."""
        return self.request("load", graph=graph, source=os.fspath(source), options=options)[0]

    def run(self, graph: str, what: str | Program, *, result: str = "result", **arguments: Any) -> Any:
        """Run an algorithm by its name, or a program, and keep what it gives by the name `result`.

        A program goes as text (:func:`~arcflux.plug.program_text.text_of`).
        """
        named: dict[str, Any] = {"algorithm": what}
        if isinstance(what, Program):
            named = {"program": {"text": text_of(what), "name": what.name}}
            own = {name: one.value for name, one in what.parameters.items() if one.value is not None}
            arguments = {**own, **arguments}
        elif not isinstance(what, str):
            raise UsageError(f"what to run is {what!r}", expected="the name of an algorithm, or a program")
        return self.request("run", graph=graph, result=result, arguments=_plain(arguments), **named)[0]

    def fetch(self, result: str = "result") -> dict[str, Any]:
        """The columns of a result, "vertex" and its fields, in memory that the daemon shares; nothing is copied."""
        reply, back = self.request("fetch", result=result)
        try:
            return columns_of(reply["columns"], [map_shared(one) for one in back])
        finally:
            close_all(back)

    def locate(self, result: str = "result") -> dict[str, Any]:
        """Where the columns of a result are for a process of this user that cannot be handed memory: see `_locate`."""
        return self.request("locate", result=result)[0]

    def drop(self, *, graph: str | None = None, result: str | None = None) -> None:
        """Let the daemon forget a graph, or a result."""
        given: dict[str, Any] = {"graph": graph, "result": result}
        self.request("drop", **{name: value for name, value in given.items() if value is not None})

    def stats(self) -> Any:
        """What the daemon has, and has done."""
        return self.request("stats")[0]

    # --- its end --------------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether the daemon is there; it is asked nothing."""
        ready, _, _ = select.select([self.channel], [], [], 0)
        return not ready or bool(self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))

    def close(self) -> None:
        """Leave the daemon, which goes on."""
        self.channel.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(value: Any) -> Any:
    """Arguments as JSON has them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def raise_if_refused(reply: Mapping[str, Any]) -> None:
    """Raise the error that a daemon has answered with, if it has."""
    if reply.get("ok"):
        return
    about = reply.get("error", {})
    kind = getattr(errors, str(about.get("kind")), DaemonError)
    if not (isinstance(kind, type) and issubclass(kind, ArcfluxError)):
        kind = DaemonError
    error = kind.__new__(kind)  # some have other arguments: all have these three things to say
    ArcfluxError.__init__(error, about.get("what", ""), expected=about.get("expected", ""),
                          remedy=about.get("remedy", ""))  # fmt: skip
    raise error


def _start(place: Place, lease: float | None) -> None:
    """Start a daemon in a session of its own, and wait until it listens."""
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "arcflux.plug.daemon", place.name, "--folder", str(place.folder)]
    command += ["--ready", str(write_end), *([] if lease is None else ["--lease", str(lease)])]
    with contextlib.ExitStack() as closing:
        closing.callback(os.close, read_end)
        log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        closing.callback(os.close, log)
        try:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[write_end], cwd="/",
                start_new_session=True, env=_environment(), check=False, timeout=_START,
            )  # fmt: skip
        finally:
            os.close(write_end)
        ready, _, _ = select.select([read_end], [], [], _START)
        if not ready or os.read(read_end, 1) != b"+":
            if _someone_listens(place):
                return
            raise _not_started(place)


def _someone_listens(place: Place) -> bool:
    from arcflux.plug.daemon import is_listening

    return is_listening(place)


def _environment() -> dict[str, str]:
    """The environment of a daemon: that of its starter, without what belongs to the starter's job."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    home = str(Path(arcflux.__file__).parent.parent)
    paths = [path for path in kept.get("PYTHONPATH", "").split(os.pathsep) if path and path != home]
    return {**kept, "PYTHONPATH": os.pathsep.join([home, *paths]), "ARCFLUX_KEEP_RUNS": "0"}


def _not_started(place: Place) -> DeviceError:
    said = place.log.read_text(errors="replace").strip()[-2000:] if place.log.exists() else ""
    return DeviceError(
        f"the daemon {place.name} does not start" + (f":\n{said}" if said else ""),
        expected=f"that it listens on {place.socket}",
        remedy=f"python -m arcflux.plug.daemon {place.name} says why",
    )
