"""Which daemons there are in a folder, and their end."""

import os
import signal
import time
from pathlib import Path

from arcflux.plug.place import Place


def end_daemons(path):
    for lock in Path(path).glob("*.lock"):
        if lock.name == "token.lock":
            continue
        place = Place(Path(path), lock.name.removesuffix(".lock"))
        for process in daemons_of(path, place.name):
            os.kill(process, signal.SIGTERM)
        until = time.monotonic() + 5
        while daemons_of(path, place.name) and time.monotonic() < until:
            time.sleep(0.02)


def daemons_of(path, name):
    """The processes that are daemons of this name in this folder, by their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            dead = ") Z " in (entry / "stat").read_text()
        except OSError:
            continue
        if "arcflux.plug.daemon" in words and str(path) in words and name in words and not dead:
            found.append(int(entry.name))
    return found
