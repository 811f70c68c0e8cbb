"""The speed of this machine's memory, barriers and transports: HIVE's micro-benchmark, on cores.

The study's places are GPUs; the places here, on cores, are these. "self" is one worker alone, in its own part of
memory. "peer" is one worker reading what another has just written, which is in that core's cache (64 KiB). "host" are
all workers at once, each in its own part of the memory they share; "all" are all workers at once, everywhere in it.
Elements have 4 bytes, as in the study. Throughput is the best of a few tries: other load on the machine only lowers it.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run

__all__ = ["accesses", "barrier_seconds", "exchange", "hierarchy", "launch_seconds"]

_LARGE = 1 << 25  # elements of 4 bytes: beyond every cache
_TRIES = 3
_WAYS = ("read", "write", "update")
_ORDERS = ("regular", "random")


def _best(work: Callable[[], Any], tries: int = _TRIES) -> float:
    """Seconds of the fastest of some tries, after one that compiles."""
    times = []
    for _ in range(tries + 1):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times[1:])


def accesses(elements: int = _LARGE) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Bytes a second, and seconds of a single access, by access and place."""
    from arcflux.plan import kernels

    data: NDArray[Any] = empty(elements, np.uint32)
    data[:] = 0
    every, count = config.threads(), min(elements, 1 << 20)
    throughput: dict[str, dict[str, float]] = {}
    for what, name in enumerate(_WAYS):
        throughput[f"regular_{name}"] = {
            "self": 4.0 * elements / _pass(kernels.regular, data, what, 1, 1),
            "peer": 4.0 / _handover_seconds("regular", what, throughput=True),
            "host": 4.0 * elements / _pass(kernels.regular, data, what, 1, every),
            "all": 4.0 * elements * every / _pass(kernels.across, data, what, 1, every),
        }
        throughput[f"random_{name}"] = {
            "self": 4.0 * count / _pass(kernels.scattered, data, what, count, 1, True),
            "peer": 4.0 / _handover_seconds("random", what, throughput=True),
            "host": 4.0 * count * every / _pass(kernels.scattered, data, what, count, every, True),
            "all": 4.0 * count * every / _pass(kernels.scattered, data, what, count, every, False),
        }
    return throughput, latencies(elements, data)


def latencies(elements: int, data: NDArray[Any]) -> dict[str, dict[str, float]]:
    """Seconds of an access that depends on the one before: in the worker's own part of memory, or anywhere."""
    from arcflux.plan import kernels

    every, steps = config.threads(), min(elements, 1 << 15)
    own = elements >> (every - 1).bit_length()  # of a power of two, a part for each worker
    seconds: dict[str, dict[str, float]] = {f"{way}_{name}": {} for way in _ORDERS for name in _WAYS}
    for way in _ORDERS:
        for place, workers, share in (("self", 1, elements), ("host", every, own), ("all", every, elements)):
            data[:] = np.tile(_cycle(share, way), elements // share)
            for what, name in enumerate(_WAYS):
                seconds[f"{way}_{name}"][place] = _pass(kernels.chase, data, what, steps, workers, share) / steps
        for what, name in enumerate(_WAYS):
            seconds[f"{way}_{name}"]["peer"] = _handover_seconds(way, what, throughput=False)
    return seconds


def _pass(kernel: Any, data: NDArray[Any], what: int, count: int, workers: int, *more: Any) -> float:
    out = np.zeros(8 * workers, np.uint64)
    return _best(lambda: run(kernel, workers, data, what, count, out, *more, threads=workers))


def _handover_seconds(way: str, what: int, *, throughput: bool) -> float:
    """Seconds of an access to what another worker has just written, each dependent on the last unless `throughput`.

    At random, each access names the next in either case, so that neither is faster than the other.
    """
    from arcflux.plan import kernels
    from arcflux.spmd.barrier import WORDS

    size, rounds, workers = 1 << 14, 50, min(2, config.threads())
    data: NDArray[Any] = empty(size, np.uint32)
    count = 0 if throughput and way == "regular" else size
    times = []
    for _ in range(_TRIES + 1):
        if way == "random":  # small enough for a cycle without a pattern, which no prefetcher predicts
            order = np.random.default_rng(1).permutation(size)
            data[order] = np.roll(order, -1)
        else:
            data[:] = _cycle(size, way)
        out, barrier = np.zeros(24, np.uint64), np.zeros(WORDS, np.int64)
        begun = time.perf_counter()
        run(kernels.hand_over, workers, barrier, data, what, count, rounds, out, threads=workers)
        tick = (time.perf_counter() - begun) / max(1, int(out[16]))
        times.append(int(out[8]) * tick / (rounds * size))
    return min(times[1:])


def _cycle(elements: int, way: str) -> NDArray[Any]:
    """Successors that go through all elements: the next one, or one far away."""
    if way == "regular":
        return np.roll(np.arange(elements, dtype=np.uint32), -1)
    # An odd step visits all of a power of two; consecutive places are always far apart.
    step = 0x9E3779B97F4A7C15 % elements | 1
    return np.roll(np.arange(elements, dtype=np.uint32), -step)


def hierarchy(smallest: int = 1 << 14, largest: int = 1 << 28) -> list[dict[str, float]]:
    """Bytes, and bytes per second in order and at random, for arrays from a first-level cache to memory."""
    from arcflux.plan import kernels

    workers, rows = config.threads(), []
    size = smallest
    while size <= largest:
        data: NDArray[Any] = empty(size // 4, np.uint32)
        data[:] = 0
        rounds = max(1, (1 << 25) // size)
        in_order = _pass(kernels.regular, data, kernels.READ, rounds, workers)
        count = 1 << 20
        at_random = _pass(kernels.scattered, data, kernels.READ, count, workers, False)
        rows.append({
            "bytes": float(size), "regular": size * rounds / in_order, "random": 4.0 * count * workers / at_random,
        })  # fmt: skip
        size *= 4
    return rows


def barrier_seconds(count: int = 20_000) -> float:
    """Seconds of a barrier of all workers."""
    from arcflux.plan import kernels
    from arcflux.spmd.barrier import WORDS

    workers, barrier = config.threads(), np.zeros(WORDS, np.int64)
    return _best(lambda: run(kernels.barriers, workers, barrier, count)) / count


def launch_seconds(count: int = 200) -> float:
    """Seconds of an empty launch."""
    from arcflux.plan import kernels

    def launches() -> None:
        for _ in range(count):
            run(kernels.nothing, config.threads())

    return _best(launches) / count


def pingpong(transport: Any, sizes: tuple[int, ...] = (8, 1 << 22), rounds: int = 30) -> list[float]:
    """Seconds of a message each way between ranks 0 and 1, for each size."""
    other, times = 1 - transport.rank, []
    for size in sizes:
        message = np.zeros(size, np.uint8)
        transport.barrier()
        begun = time.perf_counter()
        for _ in range(rounds):
            if transport.rank == 0:
                transport.post(other, [message])
                transport.collect(other)
            else:
                transport.collect(other)
                transport.post(other, [message])
            transport.finish()
        times.append((time.perf_counter() - begun) / rounds / 2)
    return times


def exchange(*, processes: bool = True) -> dict[str, dict[str, float]]:
    """Latency and bytes per second of messages between two ranks, for each available transport."""
    from arcflux.transports import run_local

    times = run_local(2, pingpong, ranks_per_node=1)[0]
    rates = {"local": _rates(times)}
    by_mpi = _with_mpi() if processes else None
    if by_mpi is not None:
        rates["mpi"] = _rates(by_mpi)
    return rates


def _rates(times: list[float], sizes: tuple[int, int] = (8, 1 << 22)) -> dict[str, float]:
    short, long = times
    return {"latency": short, "bandwidth": (sizes[1] - sizes[0]) / max(long - short, 1e-9)}


def _with_mpi() -> list[float] | None:
    """The same between two processes, when MPI is installed and starts."""
    from importlib.util import find_spec

    from arcflux.errors import ArcfluxError
    from arcflux.transports.launch import command

    if find_spec("mpi4py") is None:
        return None
    code = "from arcflux.plan.microbench import speak; speak()"
    try:
        words, environment = command(2, ["-c", code])
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=True)
    except (ArcfluxError, OSError, subprocess.SubprocessError):
        return None
    printed = re.search(r"\[[^\[\]m]+\]", done.stdout)  # Open MPI writes escape sequences after it
    return None if printed is None else list(json.loads(printed.group()))


def speak() -> None:
    """The program of an MPI process: rank 0 prints the times."""
    from arcflux.transports.launch import current

    transport = current(ranks_per_node=1)
    assert transport is not None
    times = pingpong(transport)
    if transport.rank == 0:
        print(json.dumps(times))
    transport.close()
