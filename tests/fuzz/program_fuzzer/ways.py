"""The ways to run a program: in plain Python, by direction, threads, parts, exchange; interpreted, or compiled.

Some paths are only taken by large graphs. Patches make small ones take them: blocks, runs, kinds, teams that push.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import arcflux as af
from arcflux.compile import cache
from arcflux.engine import dense
from arcflux.graph import alike, runs
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
            yield options


def _cuda(index: int) -> Any:
    from arcflux.devices.cuda import Cuda

    return Cuda(index)


_DEVICES: dict[str, Callable[[int], Any]] = {
    "cpu": lambda threads: af.devices.CPU(threads),
    "virtual": lambda memory: af.devices.Virtual(memory=memory or None),
    "cuda": _cuda,
}


def _patched(owner: Any, **values: Any) -> Callable[[], list[Any]]:
    return lambda: [mock.patch.object(owner, name, value) for name, value in values.items()]


def _by_blocks() -> list[Any]:
    always = {"_large": lambda self: all(message.length is None for message in self.lowered.messages)
              and not dense.taken(self.lowered)}  # fmt: skip
    return [*_patched(dense.Dense, **always)(), *_patched(dense, scattered=lambda graph: True, _SUPERSTEPS=0)()]


def _in_teams() -> list[Any]:
    """Let all workers push, however short the frontier is."""
    module = cache.module
    return [mock.patch.object(cache, "module", lambda source: module(source.replace("edges < 256", "edges < 0")))]


PATCHES: dict[str, Callable[[], list[Any]]] = {
    "blocks": _by_blocks,
    "ranked blocks": lambda: [*_by_blocks(), *_patched(dense, skewed=lambda graph: True)()],
    "runs": lambda: [*_patched(dense, _MANY=0)(), *_patched(runs, _LENGTH=1, likely=lambda *rows: True)()],
    "kinds": lambda: [*_patched(runs, _LENGTH=1)(),
                      *_patched(alike, _FEWEST_VERTICES=1, likely=lambda *rows: True)()],
    "teams": _in_teams,
}  # fmt: skip


def interpreted_ways(draw: random.Random, count: int) -> list[Way]:
    """Debug, and a choice of others, none of which compiles."""
    return [Way({"debug": True}, interpret=False), *(_random(draw) for _ in range(count))]


def compiled_ways(draw: random.Random, medium: bool = False) -> list[Way]:
    """Ways that share kernels, so that a program is compiled once or twice."""
    flavour = draw.choices(["whole", "deterministic", "parts", "blocks", "runs"], [5, 2, 5, 1, 1])[0]
    if flavour == "parts":
        several = [_parts(draw) for _ in range(3)]
        return [Way({**way.options, "deterministic": False}, False, way.patches, way.devices) for way in several]
    exact = {"deterministic": True} if flavour == "deterministic" else {}
    patches = (flavour,) if flavour in ("blocks", "runs") else ()
    direction = draw.choice(["push", "pull", "pull"])
    others = [{"direction": direction, "threads": n} for n in (1, draw.choice([2, 3]))] + [{"direction": "auto"}]
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


def _random(draw: random.Random) -> Way:
    if draw.random() < 0.45:
        return _parts(draw)
    options: dict[str, Any] = {"direction": draw.choice(["push", "pull", "auto"]), "threads": draw.choice([1, 1, 2, 3])}
    if draw.random() < 0.25:
        options["deterministic"] = True
    patches = draw.choice([(), (), ("blocks",), ("ranked blocks",), ("runs",), ("kinds",), ("teams",), ("teams",)])
    return Way(options, True, patches)


def _parts(draw: random.Random) -> Way:
    count = draw.choice([1, 2, 2, 3, 5])
    options: dict[str, Any] = {
        "parts": count, "partition": draw.choice(HOW), "exchange": draw.choice(EXCHANGES),
        "ranks_per_node": draw.choice([None, 1, 1, 2]), "direction": draw.choice(["push", "pull", "auto"]),
    }  # fmt: skip
    if draw.random() < 0.15:
        options["deterministic"] = True
    if draw.random() < 0.15:
        options["threads"] = 2
    devices: tuple[tuple[str, int], ...] = ()
    if draw.random() < 0.15:
        options.pop("ranks_per_node")
        devices = tuple((draw.choice(["cpu", "virtual"]), 1 if k % 2 else 0) for k in range(count))
        devices = tuple((kind, 1 if kind == "cpu" else draw.choice([0, 1 << 20])) for kind, _ in devices)
        options.pop("threads", None)
    return Way(options, True, (), devices)
