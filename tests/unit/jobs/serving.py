"""A server in a process of its own, as users start it, on a free port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from arcflux.errors import ServiceError
from arcflux.jobs.client import Client

PROGRAMS = '''
import arcflux as af

@af.program
class Endless:
    """Never converges."""

    x: af.f64

    def start(v):
        v.x = 1.0
        return True

    def compute(v, u):
        v.x += u.x

    def update(v, old):
        v.x = v.x * 0.5 + 1.0
        return True
'''


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """``arcflux serve`` on folders below `root`; started, killed, started again."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root, self.options = root, options
        self.token = ""
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "arcflux", "serve", "--graphs", str(self.root / "graphs"), "--programs",
                   str(self.root / "programs"), "--state", str(self.root / "state"), "--port", str(self.port),
                   "--threads", "2", *self.options]  # fmt: skip
        self.log = self.root / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, env={**os.environ})
        end = time.monotonic() + 180
        while time.monotonic() < end:
            if found := re.search(r"token .*: (\S+)$", self.log.read_text(), re.MULTILINE):
                self.token = found[1]
            try:
                if self.token:
                    self.client().graphs()
                    return
            except ServiceError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        return Client(self.url, self.token, timeout=120)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()


def folders(root: Path) -> Path:
    import arcflux as af

    (root / "graphs").mkdir()
    (root / "programs").mkdir()
    (root / "programs" / "endless.py").write_text(PROGRAMS)
    af.load("kron:8").save(root / "graphs" / "kron.arcflux")
    (root / "graphs" / "small.txt").write_text("a b\nb c\nc d\n")
    return root
