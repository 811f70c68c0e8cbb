"""The ways to run a program: in plain Python, by direction, threads, parts, exchange; interpreted, or compiled.

Some paths are only taken by large graphs. Patches make small ones take them: blocks, runs, patterns, teams that push.
"""

from __future__ import annotations

import importlib
import math
import os
import pkgutil
import random
import re
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

import arcflux as af
import arcflux.compile
import arcflux.engine
from arcflux.compile import cache, lower
from arcflux.compile.cpu import bins
from arcflux.compile.pieces import vectors
from arcflux.engine import dense
from arcflux.engine.balance import migrate, schedule
from arcflux.engine.phases import together
from arcflux.graph import neighbour_patterns, runs
from program_fuzzer.interpret import interpreted

__all__ = ["EXCHANGES", "HOW", "PATCHES", "Way", "compiled_ways", "interpreted_ways", "simulated_ways"]

HOW = ("ranges", "grid", "random", "degree", "mincut", "duplicate")
EXCHANGES = ("auto", "readers", "owners", "allreduce", "mixed")


@dataclass(frozen=True)
class Way:
    """Options of a run; `interpret` says whether kernels are, and `patches` which paths of large graphs to take."""

    options: dict[str, Any]
    interpret: bool = True
    patches: tuple[str, ...] = ()
    devices: tuple[tuple[str, int], ...] = field(default=())

    @property
    def exact(self) -> bool:
        """Whether of several `af.any` the smallest stays."""
        return bool(self.options.get("debug") or self.options.get("deterministic"))

    @property
    def cut_short(self) -> bool:
        """Whether a run may end after any whole superstep."""
        return "timeout" in self.options or "cancel" in self.options

    def __str__(self) -> str:
        said = [f"{name}={value!r}" for name, value in self.options.items()]
        said += [*self.patches, *(f"{kind}({size})" for kind, size in self.devices)]
        return ", ".join(said) or "as it is"

    @contextmanager
    def active(self) -> Iterator[dict[str, Any]]:
        """Within, runs go this way with the options that it gives."""
        with ExitStack() as stack:
            if self.interpret:
                stack.enter_context(interpreted())
            for name in self.patches:
                for patch in PATCHES[name]():
                    stack.enter_context(patch)
            options = dict(self.options)
            if self.devices:
                options["devices"] = [_DEVICES[kind](size) for kind, size in self.devices]
            if "cancel" in options:
                token = af.CancelToken()
                timer = threading.Timer(options["cancel"], token.cancel)
                timer.start()
                stack.callback(timer.cancel)
                options["cancel"] = token
            if "checkpoint" in options:  # pieces of a superstep or some
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                options["checkpoint"] = af.Checkpoint(f"{folder}/run", seconds=options["checkpoint"])
                stack.enter_context(mock.patch.object(os, "fsync"))
            yield options


def _cuda(index: int) -> Any:
    from arcflux.devices.cuda import Cuda

    return Cuda(index)


_DEVICES: dict[str, Callable[[int], Any]] = {
    "cpu": lambda threads: af.devices.CPU(threads),
    "virtual": lambda memory: af.devices.Virtual(memory=memory or None),
    "slow": lambda slowdown: af.devices.Virtual(slowdown=float(slowdown)),
    "cuda": _cuda,
}


def _patched(owner: Any, **values: Any) -> Callable[[], list[Any]]:
    return lambda: [mock.patch.object(owner, name, value) for name, value in values.items()]


def _by_blocks() -> list[Any]:
    always = {"_large": lambda self: all(message.length is None for message in self.lowered.messages)
              and not dense.any_flags(self.lowered)}  # fmt: skip
    return [*_patched(dense.Dense, **always)(), *_patched(dense, scattered=lambda graph: True, _SUPERSTEPS=0)()]


def _in_teams() -> list[Any]:
    """Let all workers push, however short the frontier is."""
    module = cache.module
    return [mock.patch.object(cache, "module", lambda source: module(source.replace("edges < 256", "edges < 0")))]


# What a team that others disturb does, and what it measures, which takes more supersteps and edges than there are here.
_DISTURBED = {"edges < 256": "edges < 0", "seen == 16": "seen == 1", "solo, longer, seen, since, passed, rate = 0, 64":
              "solo, longer, seen, since, passed, rate = 0, 1", "leaving > 20000": "leaving > 2"}  # fmt: skip


def _disturbed() -> list[Any]:
    """Let the first worker of a team go on alone for a while, and come back, again and again."""
    module = cache.module

    def other(source: str) -> Any:
        for before, after in _DISTURBED.items():
            source = source.replace(before, after)
        return module(source)

    return [mock.patch.object(cache, "module", other)]


def _few_blocks() -> list[Any]:
    """Let the bins of priorities have no more blocks than they begin with, so that some are lost and given again."""
    return _patched(bins, capacity=lambda vertices, threads: threads - (-vertices // bins.BLOCK))()


def _in_chunks(vertices: int) -> list[Any]:
    """Let workers take few vertices at a time, so that small graphs have many chunks, sums and full buffers.

    With a frontier a chunk has to have whole words of bits. What was generated for larger ones is forgotten meanwhile.
    All modules are there by then: one that is imported meanwhile would keep the small number.
    """
    for room in (arcflux.compile, arcflux.engine):
        for one in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            importlib.import_module(one.name)
    found = [(module, name) for key, module in list(sys.modules.items()) for name in ("CHUNK", "_CHUNK")
             if key.startswith(("arcflux.compile.", "arcflux.engine.")) and vars(module).get(name) == 1024]  # fmt: skip
    module = cache.module

    def smaller(source: str) -> Any:
        assert vertices >= 64 or "def frontier(" not in source
        small = source.replace("step % 255", "step % 3")  # stamps are used again after so many supersteps
        own = "".join(re.findall(r"@fragment\n.*?(?=\n@|\Z)", source.replace("def flush", "@"), re.DOTALL))
        untouched = "def ordered(" in source or re.search(r"\bU?(256|1024|4096)\b", own)  # numbers of the program
        return module(small if untouched else re.sub(r"\b(256|1024|4096)\b", "8", small))

    patches = [mock.patch.object(owner, name, vertices) for owner, name in found]
    return [*patches, *_patched(lower, _known=OrderedDict())(), mock.patch.object(cache, "module", smaller)]


def _moving() -> list[Any]:
    """Move the bounds of parts after every superstep, at once or one later, to anywhere."""

    def plan(self: schedule.Balance, step: int) -> Any:
        vertices, parts = len(self.seen.in_offsets) - 1, len(self.nodes)
        inner = sorted(random.Random(vertices * 1000 + step).choices(range(vertices + 1), k=parts - 1))
        return np.array([0, *inner, vertices])

    return [*_patched(schedule.Balance, plan=plan)(), *_patched(migrate, urgent=lambda step, times: step % 3 == 0)()]


def _in_memory() -> list[Any]:
    """Let vectors of any length be where each name has its own, and elements are put where they are (long_lanes.py)."""
    module = cache.module
    here = mock.patch.object(cache, "module", lambda source: module(re.sub(r"\bput\(", "put_here(", source)))
    return [*_patched(vectors, LONGEST_VALUE=0)(), *_patched(lower, _known=OrderedDict())(), here]


PATCHES: dict[str, Callable[[], list[Any]]] = {
    "blocks": _by_blocks,
    "ranked blocks": lambda: [*_by_blocks(), *_patched(dense, skewed=lambda graph: True)()],
    "runs": lambda: [*_patched(dense, _MANY=0)(), *_patched(runs, _LENGTH=1, likely=lambda *rows: True)()],
    "patterns": lambda: [*_patched(runs, _LENGTH=1)(),
                      *_patched(neighbour_patterns, _FEWEST_VERTICES=1, likely=lambda *rows: True)()],
    "teams": _in_teams,
    "disturbed": _disturbed,
    "few blocks": _few_blocks,
    "moving": _moving,
    "chunks": lambda: _in_chunks(64),
    "tiny chunks": lambda: _in_chunks(4),
    "in memory": _in_memory,
    "fused": _patched(together._Team, _lost=lambda self: math.inf),
}  # fmt: skip


def interpreted_ways(draw: random.Random, count: int, dense: bool = False) -> list[Way]:
    """Debug, and a choice of others, none of which compiles; of a dense program, also those without frontiers alone."""
    return [Way({"debug": True}, interpret=False), *(_random(draw, dense) for _ in range(count))]


def compiled_ways(draw: random.Random, medium: bool = False) -> list[Way]:
    """Ways that share kernels, so that a program is compiled once or twice."""
    flavour = draw.choices(["whole", "deterministic", "parts", "blocks", "runs"], [5, 2, 5, 1, 1])[0]
    if flavour == "parts":
        several = [_parts(draw) for _ in range(3)]
        return [Way({**way.options, "deterministic": False}, False, way.patches, way.devices) for way in several]
    exact = {"deterministic": True} if flavour == "deterministic" else {}
    patches = (flavour,) if flavour in ("blocks", "runs") else ()
    direction = draw.choice(["push", "pull", "pull"])
    others = [{"direction": direction, "threads": n} for n in (1, draw.choice([2, 3, 8]))] + [{"direction": "auto"}]
    return [Way({**options, **exact}, False, patches) for options in others]


def simulated_ways(draw: random.Random) -> list[Way]:
    """A GPU in every direction, and one beside cores or others of its kind; they run in the simulator."""
    exchange, how = draw.choice(EXCHANGES), draw.choice(HOW)
    split = {"exchange": exchange, "partition": how, "direction": draw.choice(["push", "pull"])}
    beside = draw.choice([("cpu", 1), ("cuda", 0)])
    alone = [{"direction": "pull"}, {"direction": "push"}, {"direction": "auto", "deterministic": True}]
    return [
        *(Way(options, False, (), (("cuda", 0),)) for options in alone),
        Way(split, True, (), (("cuda", 0), beside)),
    ]


def _random(draw: random.Random, dense: bool) -> Way:
    if draw.random() < 0.45:
        return _parts(draw, dense)
    options: dict[str, Any] = {
        "direction": draw.choice(["push", "pull", "auto"]),
        "threads": draw.choice([1, 1, 2, 3, 5]),
    }
    if draw.random() < 0.25:
        options["deterministic"] = True
    if draw.random() < 0.08:
        options[draw.choice(["timeout", "cancel"])] = draw.choice([1e-9, 1e-4, 1e-3, 4e-3])
    elif draw.random() < 0.1:
        options["checkpoint"] = draw.choice([1e-9, 1e-4])
    patches = draw.choice([(), (), ("blocks",), ("ranked blocks",), ("runs",), ("patterns",), ("teams",),
                           ("disturbed",), ("few blocks",), ("in memory",), ("fused",)])  # fmt: skip
    if draw.random() < 0.3:
        patches = ("tiny chunks" if dense else "chunks", *patches)
    return Way(options, True, patches)


def _parts(draw: random.Random, dense: bool = False) -> Way:
    chunks = "tiny chunks" if dense else "chunks"
    count = draw.choice([1, 2, 2, 2, 3, 3, 5, 8])
    options: dict[str, Any] = {
        "parts": count, "partition": draw.choice(HOW), "exchange": draw.choice(EXCHANGES),
        "ranks_per_node": draw.choice([None, 1, 1, 2]), "direction": draw.choice(["push", "pull", "auto"]),
    }  # fmt: skip
    if draw.random() < 0.15:
        options["deterministic"] = True
    if draw.random() < 0.15:
        options["threads"] = 2
    if draw.random() < 0.2:
        options["rebalance"] = draw.choice(["off", "local", "auto"])
    if draw.random() < 0.08:
        options[draw.choice(["timeout", "cancel"])] = draw.choice([1e-9, 1e-3, 4e-3, 2e-2])
    elif draw.random() < 0.1:
        options["checkpoint"] = draw.choice([1e-9, 1e-2])
    devices: tuple[tuple[str, int], ...] = ()
    if draw.random() < 0.15:
        options.pop("ranks_per_node")
        sizes = {"cpu": [1], "virtual": [0, 1 << 20], "slow": [2, 5]}
        kinds = [draw.choice(list(sizes)) for _ in range(count)]
        devices = tuple((kind, draw.choice(sizes[kind])) for kind in kinds)
        options.pop("threads", None)
    if draw.random() < 0.15:
        options["partition"] = "ranges"
        options.pop("rebalance", None)
        return Way(options, True, ("moving",), devices)
    return Way(options, True, (chunks,) if draw.random() < 0.25 else (), devices)
