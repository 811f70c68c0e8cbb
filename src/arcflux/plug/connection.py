"""A connection to a daemon, which is started if it does not run: for an agent, or a task of another system.

Several may connect at once: the one with the lock starts the daemon. If the daemon is killed, the kernel closes the
socket, so that a waiting agent is notified at once (:class:`~arcflux.plug.wire.LostPeerError`).
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

# Seconds for a daemon to start; it imports Python packages on a machine that may be busy.
_START = 60.0
# Environment variables to remove for a daemon, which outlives the task that started it.
_LEFT_OUT = (
    "ARCFLUX_RANK", "ARCFLUX_RENDEZVOUS", "SPARK_", "PYSPARK_", "OMPI_", "PMI_", "PMIX_", "PRTE_", "SLURM_",
)  # fmt: skip


class DaemonError(ArcfluxError):
    """A daemon has failed by an error of its own, not of the user; the message has its traceback."""


class Connection:
    """A connection to one daemon; requests are answered in order.

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
        """Connect to the daemon of a device; unless `start` is False, one is started if none runs.

        `lease`: a daemon that is started here ends after this many seconds without agents; by default 30.
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
        """Send a request and wait for the reply and its descriptors, which the caller then owns."""
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
        """Send a slice of a graph's edges, by its number: columns of numbers or text; returns the number of rows."""
        said, descriptor = pack(columns)
        try:
            reply, _ = self.request("put", [descriptor], graph=graph, slice=number, columns=said)
        finally:
            os.close(descriptor)
        return int(reply["rows"])

    def put_files(self, graph: str, columns: list[dict[str, Any]], files: list[str], *, number: int = 0) -> int:
        """The same with columns in files of the daemon's folder (`place.folder`), which unlinks them."""
        reply, _ = self.request("put", graph=graph, slice=number, columns=columns, files=files)
        return int(reply["rows"])

    def build(self, graph: str, *, slices: int | None = None, columns: list[str] | None = None, **options: Any) -> Any:
        """Build a graph of its slices, and keep it under its name.

        `slices`: how many there must be; `columns`: the columns of edges; `source` and `target`: the names of the
        columns of ends; `vertices`: their number, or the column of all ids; `directed`, `symmetrise`, `deduplicate` and
        `drop_self_loops` are those of :meth:`arcflux.Graph.from_edges`.
        """
        return self.request("build", graph=graph, slices=slices, columns=columns or [], **options)[0]

    def load(self, graph: str, source: str | os.PathLike[str], **options: Any) -> Any:
        """Let the daemon load what :func:`arcflux.load` can: a path on its machine, or a spec such as "kron:12"."""
        return self.request("load", graph=graph, source=os.fspath(source), options=options)[0]

    def run(self, graph: str, what: str | Program, *, result: str = "result", **arguments: Any) -> Any:
        """Run an algorithm by its name, or a program, and keep its result under the name `result`.

        A program is sent as text (:func:`~arcflux.plug.program_text.text_of`).
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
        """The location of a result's columns for a process that cannot receive descriptors: see `_locate`."""
        return self.request("locate", result=result)[0]

    def drop(self, *, graph: str | None = None, result: str | None = None) -> None:
        """Let the daemon forget a graph, or a result."""
        given: dict[str, Any] = {"graph": graph, "result": result}
        self.request("drop", **{name: value for name, value in given.items() if value is not None})

    def stats(self) -> Any:
        """The contents and the counters of the daemon."""
        return self.request("stats")[0]

    # --- its end --------------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether the daemon is running, without a request."""
        ready, _, _ = select.select([self.channel], [], [], 0)
        return not ready or bool(self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))

    def close(self) -> None:
        """Disconnect from the daemon, which keeps running."""
        self.channel.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(value: Any) -> Any:
    """Arguments as JSON values."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def raise_if_refused(reply: Mapping[str, Any]) -> None:
    """Raise the error in a daemon's reply, if there is one."""
    if reply.get("ok"):
        return
    about = reply.get("error", {})
    kind = getattr(errors, str(about.get("kind")), DaemonError)
    if not (isinstance(kind, type) and issubclass(kind, ArcfluxError)):
        kind = DaemonError
    error = kind.__new__(kind)  # some have other arguments, but all have these three attributes
    ArcfluxError.__init__(error, about.get("what", ""), expected=about.get("expected", ""),
                          remedy=about.get("remedy", ""))  # fmt: skip
    raise error


def _start(place: Place, lease: float | None) -> None:
    """Start a daemon in its own session, and wait until it listens."""
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
    """The environment of a daemon: that of its starter, without the variables of the starter's job."""
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
