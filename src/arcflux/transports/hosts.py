"""Ranks over sockets as processes of named hosts: ``arcflux run pagerank graph.arcflux --hosts a,b --workers 8``.

The starting process has the rendezvous (rendezvous.py), and reports which rank was lost. A rank of this machine is a
child; one of another host is started by ssh (``ARCFLUX_SSH`` names another command, which gets the host and the command
line). Each rank gets the token on its standard input: every process of a host can see its command lines.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from arcflux import config
from arcflux.errors import RankError, UsageError
from arcflux.transports.board import DIED, HUNG, error_of
from arcflux.transports.guard import Guard
from arcflux.transports.rendezvous import Rendezvous

__all__ = ["existing", "joined_world", "launch_on", "named_hosts"]

_HERE = ("localhost", "127.0.0.1", "::1")
_PASSED_ON = ("ARCFLUX_", "NUMBA_", "PYTHONPATH")
# Seconds for ranks to end by themselves after one has failed.
_GRACE = 5.0
# Seconds between checks of their processes, and for the rendezvous to name a lost rank with its superstep.
_GLANCE, _LATER = 0.5, 1.0
_INTERRUPTED = 130
_made: list[Any] = []


def named_hosts(text: str, workers: int | None) -> list[str]:
    """The host of every rank: each host as often as its share of `workers`, by default once.

    Examples
    --------
    >>> named_hosts("a,b", 3), named_hosts("a:2,b", None)
    (['a', 'a', 'b'], ['a', 'a', 'b'])
    """
    hosts: list[str] = []
    for word in text.split(","):
        name, _, count = word.strip().rpartition(":") if word.count(":") == 1 else (word.strip(), "", "1")
        if not name or name.startswith("-") or not count.isdecimal() or int(count) < 1:
            raise UsageError(f"--hosts has {word!r}", expected="names of hosts, such as a,b or a:4,b:4")
        hosts += [name] * int(count)
    if workers is None:
        return hosts
    if workers < len(hosts):
        raise UsageError(f"--workers is {workers}, and --hosts has {len(hosts)}", remedy="leave --workers out")
    return [hosts[rank * len(hosts) // workers] for rank in range(workers)]


def launch_on(hosts: Sequence[str], arguments: Sequence[str], *, ranks_per_node: int | None = None) -> int:
    """Run this Python with these arguments as a rank on each of these hosts; the exit code of the first failure."""
    far = any(host not in _HERE for host in hosts)
    size = len(hosts)
    with Rendezvous(size, host=_own_address() if far else "127.0.0.1", ranks_per_node=ranks_per_node) as meeting:
        environment = {"ARCFLUX_RENDEZVOUS": f"{meeting.address[0]}:{meeting.address[1]}", "ARCFLUX_RANKS": str(size)}
        ranks = [_started(host, rank, environment, arguments, meeting.token) for rank, host in enumerate(hosts)]
        before = signal.signal(signal.SIGTERM, lambda *_: _end(ranks, signal.SIGTERM))
        try:
            return _attend(ranks, meeting)
        finally:
            signal.signal(signal.SIGTERM, before)
            _end(ranks, signal.SIGKILL)


def _own_address() -> str:
    """The address at which other hosts reach this one."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError as error:
        raise UsageError(f"this host has no address that others know: {error}", remedy="--hosts localhost") from error


def _started(
    host: str, rank: int, told: dict[str, str], arguments: Sequence[str], token: bytes
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start the process of a rank, and pass it the token."""
    more = {**told, "ARCFLUX_RANK": str(rank)}
    line = [sys.executable, *arguments]
    if host in _HERE:
        environment = {**os.environ, **more}
    else:
        passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)} | more
        set_there = [f"{name}={value}" for name, value in sorted(passed.items())]
        far = shlex.join(["cd", os.getcwd()]) + " && exec " + shlex.join(["env", *set_there, *line])
        line, environment = [*shlex.split(os.environ.get("ARCFLUX_SSH", "ssh")), host, far], dict(os.environ)
    try:
        process = subprocess.Popen(line, env=environment, stdin=subprocess.PIPE)
    except OSError as error:
        raise UsageError(f"rank {rank} cannot be started: {error}", remedy="ARCFLUX_SSH=ssh") from error
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(token.hex().encode() + b"\n")
        process.stdin.flush()
    return process


def _attend(ranks: list[subprocess.Popen[bytes]], meeting: Rendezvous) -> int:
    """Wait for all ranks; if one fails, end the others."""
    watch = _Watch(ranks, meeting)
    while any([rank.poll() is None for rank in ranks]):  # noqa: C419 (all are asked: who does not ask sees no end)
        try:
            time.sleep(0.02)
            watch.look()
        except KeyboardInterrupt:  # noqa: PERF203 (the ranks hear it, too, as far as they are of this terminal)
            watch.interrupt()
    codes, code = [rank.returncode for rank in ranks], 0
    if any(codes):
        failure = watch.failure if watch.killed else meeting.failure
        if failure is not None:
            code = int(failure[3])
            if failure[0] != 1:  # a rank that threw has reported it itself
                print(f"arcflux: error: {error_of(*failure[:3])}", file=sys.stderr, flush=True)
        elif watch.interrupted:
            code = _INTERRUPTED
        elif (killed := next((rank for rank, one in enumerate(codes) if one < 0), None)) is not None:  # at its end
            print(f"arcflux: error: {watch.lost(killed)}", file=sys.stderr, flush=True)
        code = code or next(int(one) for one in codes if one)
    return code if 0 <= code < 256 else RankError.exit_code


class _Watch:
    """The starting process's view of the ranks, including those that never meet the others."""

    def __init__(self, ranks: list[subprocess.Popen[bytes]], meeting: Rendezvous) -> None:
        self.ranks, self.meeting = ranks, meeting
        self.failure: tuple[Any, ...] | None = None
        self.interrupted = self.killed = False
        self._guard = Guard(os.getpid(), len(ranks), config.hang_seconds() + _LATER)
        self._since = self._looked = 0.0

    def interrupt(self) -> None:
        """Ctrl-C was pressed: the run should end."""
        self.interrupted = True
        self._since = self._since or time.monotonic()
        self._guard.hurry()

    def lost(self, rank: int) -> RankError:
        """The error for a rank that was killed when the others did not need it any more."""
        return self._guard.lost(rank, "was killed,")

    def look(self) -> None:
        """Name a lost rank, and end all ranks if they do not end by themselves."""
        now = time.monotonic()
        if now - self._looked > _GLANCE:
            self._looked = now
            if self.meeting.failure is None and (stopped := self._guard.look()) is not None:
                self.meeting.lose(HUNG, self._guard.rank(stopped))
        ended = [(rank, each.returncode) for rank, each in enumerate(self.ranks) if each.returncode]
        if (ended or self.meeting.failure) and not self._since:
            self._since = now
        if not self._since:
            return
        killed = [rank for rank, code in ended if code < 0]
        if killed and self.meeting.failure is None and now - self._since > _LATER:  # it had not met the others
            self.meeting.lose(DIED, killed[0])
        if now - self._since > _GRACE:
            if not self.killed:
                self.killed, self.failure = True, self.meeting.failure
            _end(self.ranks, signal.SIGKILL)


def _end(ranks: list[subprocess.Popen[bytes]], number: int) -> None:
    for rank in ranks:
        if rank.poll() is None:
            with suppress(OSError):
                rank.send_signal(number)
    for rank in ranks:
        if number == signal.SIGKILL:
            with suppress(subprocess.TimeoutExpired):
                rank.wait(_GRACE)
        if rank.stdin is not None:
            with suppress(OSError):
                rank.stdin.close()


def existing() -> Any:
    """The transport that :func:`joined_world` created; None before."""
    return _made[0] if _made else None


def joined_world() -> Any:
    """The transport of this process, which :func:`launch_on` has started; created at the first call."""
    from arcflux.transports.tcp import join

    if not _made:
        host, _, port = os.environ["ARCFLUX_RENDEZVOUS"].rpartition(":")
        token = bytes.fromhex(sys.stdin.readline().strip())
        rank, _ = config.rank_and_size() or (0, 1)
        transport = join((host, int(port)), token, rank)
        near = len([one for one in transport.node_of if one == transport.node])
        os.environ.setdefault("ARCFLUX_THREADS", str(max(1, config.cores() // near)))
        before = sys.excepthook

        def hook(kind: Any, error: BaseException, trace: Any) -> None:
            if transport.fail(error):
                before(kind, error, trace)

        sys.excepthook = hook
        atexit.register(_leave, transport)
        threading.Thread(target=_insist, args=(transport,), name="arcflux-end", daemon=True).start()
        _made.append(transport)
    return _made[0]


def _insist(transport: Any) -> None:
    """End this process some time after the end of the run, whatever it does."""
    while not transport.board.alarmed:
        time.sleep(_GRACE / 20)
    time.sleep(_GRACE)
    os._exit(transport.board.alarm_words()[3] or 1)


def _leave(transport: Any) -> None:
    """At the end of the process: report that it has ended by itself."""
    with suppress(Exception):
        if transport.board.alarmed:
            transport.abandon()
        else:
            transport.close()
