"""The kernel for a GPU that pulls along rows of middle length: a block shares the edges of its rows by a scan.

Every thread has a vertex, and a scan of the degrees numbers all edges of the block (Merrill, Garland and Grimshaw's
gathering). Threads then read consecutive edges in parallel, whatever their row, and store the messages in shared
memory; from there every thread reduces those of its own vertex, in order. So loads are balanced and close to each
other, as with a warp for each vertex, and no lane is without an edge where rows are shorter than a warp; and sums have
the order of the edges in every run.
"""

from __future__ import annotations

from dataclasses import replace

from arcflux.compile.cuda.pull import enter_edges, leave_edges
from arcflux.compile.cuda.source import in_frontier, kernel, message_loads
from arcflux.compile.cuda.vectors import vectors
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import edge_call
from arcflux.compile.pieces.source import edge_reads, inside

__all__ = ["scannable", "scans"]

# The most threads of a block; the bytes of shared memory for messages; and the most edges that a thread reads at a
# time.
_THREADS = 256
_BYTES = 16 << 10
_EDGES = 4


def scannable(lowered: Lowered) -> bool:
    """Whether a program has the kernel: not if vectors use shared memory, or if the first message ends the row."""
    return not lowered.by_rows and not vectors(lowered) and not (lowered.only_any and lowered.sparse)


def scans(lowered: Lowered) -> list[str]:
    """The kernel `pull_scan`, or nothing."""
    if not scannable(lowered):
        return []
    tiles = _tiles(lowered)
    each = max(1, min(_EDGES, _BYTES // (_THREADS * sum(size for _, size, _ in tiles.values()) or 1)))
    room = [f"tile_{name} = cuda.shared.array({each * _THREADS}, np.{kind})" for name, (kind, _, _) in tiles.items()]
    room += [
        "scratch = cuda.shared.array(33, np.int64)",
        f"starts = cuda.shared.array({_THREADS}, np.uint32)",
        f"firsts = cuda.shared.array({_THREADS}, np.uint64)",
        "own = np.uint32(cuda.threadIdx.x)",
        "width = np.uint32(cuda.blockDim.x)",
        f"wide = np.uint32(np.uint32({each}) * width)",
    ]
    scan = [
        "place = np.uint32(numbered(np.int64(end - begin), scratch))",
        "stop = np.uint32(place + np.uint32(end - begin))",
        "starts[own] = place",
        "firsts[own] = begin",
        "cuda.syncthreads()",
        "total_edges = np.uint32(scratch[cuda.blockDim.x >> 5])",
    ]
    window = [*_read(lowered), "cuda.syncthreads()", "last = min(stop, np.uint32(window + wide))"]
    window += ["while cuda.any_sync(FULL, place < last):", "    if place < last:", *inside(_taken(lowered), 2)]
    window += ["cuda.syncthreads()"]
    loop = _counted("window", "np.uint32(0)", "total_edges", "wide", window)
    return [kernel(lowered, "pull_scan", [*room, *enter_edges(lowered, []), *scan, *loop, *leave_edges(lowered, [])])]


def _tiles(lowered: Lowered) -> dict[str, tuple[str, int, str]]:
    """The values of an edge by name: type in shared memory, bytes, and expression."""
    kinds = lowered.functions["compute"].types
    values = {m.name: (_name(m.dtype), m.dtype.itemsize, f"r_{m.name}[u]") for m in lowered.messages}
    for column in lowered.columns:
        stored = kinds[f"e_{column}"].stored
        values[f"c_{column}"] = (_name(stored), stored.itemsize, f"c_{column}[i]")
    if "u_number" in edge_reads(lowered):
        values["u"] = ("uint64", 8, "u")
    if in_frontier(lowered):
        values["known"] = ("uint8", 1, f"np.uint8({in_frontier(lowered)})")
    return values


def _name(dtype: object) -> str:
    return "bool_" if str(dtype) == "bool" else str(dtype)


def _read(lowered: Lowered) -> list[str]:
    """Statements in which threads read the edges of a window in parallel."""
    lines = [
        "number = np.uint32(window + slot)",
        "if number < total_edges:",
        "    owner = owner_of(starts, width, number)",
        "    i = firsts[owner] + np.uint64(np.uint32(number - starts[owner]))",
        "    u = np.uint64(neighbours[i])",
        *inside([f"tile_{name}[slot] = {value}" for name, (_, _, value) in _tiles(lowered).items()]),
    ]
    return _counted("slot", "own", "wide", "width", lines)


def _counted(name: str, begin: str, end: str, step: str, body: list[str]) -> list[str]:
    """A loop in 32 bits: Numba would widen the sum of two such numbers."""
    return [f"{name} = {begin}", f"while {name} < {end}:", *inside([*body, f"{name} = np.uint32({name} + {step})"])]


def _taken(lowered: Lowered) -> list[str]:
    """Statements in which a thread reduces the next message of its own vertex."""
    tiles = _tiles(lowered)
    lines = ["slot = np.uint32(place - window)"]
    for line in message_loads(lowered):
        name, _, value = line.partition(" = ")
        for tile, (_, _, expression) in tiles.items():
            whole = tile in ("u", "known")  # short words, which occur in other expressions, too
            value = value.replace(f"({expression})" if whole else expression, f"(tile_{tile}[slot])")
        lines.append(f"{name} = {value}")
    call = [edge_call(replace(lowered, deterministic=True, facts={})), *(["got = True"] if lowered.sparse else [])]
    return [
        *lines,
        *(["if tile_known[slot] != 0:", *inside(call)] if "known" in tiles else call),
        "place = np.uint32(place + np.uint32(1))",
    ]
