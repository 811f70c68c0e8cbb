"""How the simulator runs a block: one lane at a time, each until it waits or ends, in an order chosen by a seed.

Numba's simulator has a thread for each lane, all running at once, and polls them. Here a lane is a greenlet, which runs
alone until a barrier, a warp operation, or (when shuffled) an atomic; then another is chosen. So a schedule can be
repeated, and any schedule can be tried: with `shuffled(seed)`, blocks and lanes come in another order, and lanes change
before each atomic. The warp operations work only for whole, converged warps, and a deadlocked block reports which lane
waits for what.
"""

from __future__ import annotations

import ast
import functools
import inspect
import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from arcflux.errors import MissingExtraError
from arcflux.parsing import parse

try:
    from greenlet import greenlet
except ImportError as error:
    raise MissingExtraError("greenlet", "cuda", "simulating a GPU") from error

__all__ = ["DivergenceError", "install", "shuffled", "switch", "typed"]

WARP = 32
_FULL = 0xFFFFFFFF
# The seed of the schedule; None for lanes in order.
_seed: int | None = None


class DivergenceError(Exception):
    """Lanes of a block wait for different things, or for lanes that have ended."""


@contextmanager
def shuffled(seed: int) -> Iterator[None]:
    """Run kernels in an order of blocks and lanes chosen by `seed`, and switch lanes before every atomic."""
    global _seed
    before, _seed = _seed, seed
    try:
        yield
    finally:
        _seed = before


class _Lane:
    """One thread of the block: what it waits for, and the value that it passes to the lanes that wait with it."""

    def __init__(self, block: _Block, number: int, block_index: Any, thread_index: Any) -> None:
        self.block, self.thread_id = block, number
        self.blockIdx, self.threadIdx = block_index, thread_index
        self.waits: Any = None
        self.given: Any = None
        self.greenlet = greenlet(block.work)

    def pause(self, waits: Any, given: Any = None) -> None:
        """Let other lanes run, until what this lane waits for is complete."""
        self.waits, self.given = waits, given
        self.block.home.switch()

    def in_warp(self, operation: str, value: Any) -> list[Any]:
        """Wait for the warp; returns the values that its lanes passed."""
        self.pause((operation, self.thread_id // WARP), value)
        return self.block.in_warps[self.thread_id // WARP]

    def in_block(self, operation: str, value: Any = None) -> list[Any]:
        """Wait for the block; returns the values that its lanes passed."""
        self.pause(operation, value)
        return self.block.gathered


_running: _Lane


class _Block:
    """Runs a block, in place of the simulator's BlockManager."""

    def __init__(self, f: Callable[..., None], grid_dim: Any, block_dim: Any, debug: bool) -> None:
        self.f, self.grid, self.dim = f, tuple(grid_dim), tuple(block_dim)
        self.gathered: list[Any] = []
        self.in_warps: dict[int, list[Any]] = {}
        self.home = greenlet.getcurrent()
        self.work: Callable[[], None] = lambda: None

    def run(self, grid_point: tuple[int, ...], *args: Any) -> None:
        """Run one block of the grid, chosen by the schedule."""
        from numba.cuda.simulator.kernelapi import Dim3

        rank = _rank(grid_point, self.grid)
        order = random.Random(None if _seed is None else f"{_seed} {rank}")
        where = Dim3(*_point(_permuted(rank, self.grid), self.grid))

        def work() -> None:
            with np.errstate(all="ignore"):  # as hardware does; the surrounding setting belongs to another greenlet
                self.f(*args)

        self.work = work
        width, height, depth = self.dim
        if width * height * depth % WARP:
            raise DivergenceError(f"a block of {width * height * depth} threads: whole warps are needed, of {WARP}")
        lanes = [
            _Lane(self, k, where, Dim3(k % width, k // width % height, k // width // height))
            for k in range(width * height * depth)
        ]
        self._schedule(lanes, order)

    def _schedule(self, lanes: list[_Lane], order: random.Random) -> None:
        global _running
        ready = list(lanes)
        while True:
            if _seed is not None:
                order.shuffle(ready)
            for lane in ready:
                lane.waits = None
                _running = lane
                lane.greenlet.switch()
            alive = [lane for lane in lanes if not lane.greenlet.dead]
            if not alive:
                return
            ready = [lane for lane in alive if lane.waits == "turn"] or self._released(lanes, alive)

    def _released(self, lanes: list[_Lane], alive: list[_Lane]) -> list[_Lane]:
        """The lanes that may continue, now that all wait: whole warps at a warp operation, else the whole block."""
        released = []
        for first in range(0, len(lanes), WARP):
            warp = lanes[first : first + WARP]
            asked = {lane.waits for lane in warp}
            if len(asked) == 1 and isinstance(warp[0].waits, tuple) and not any(lane.greenlet.dead for lane in warp):
                self.in_warps[first // WARP] = [lane.given for lane in warp]
                released += warp
        if released:
            return released
        asked = {lane.waits for lane in alive}
        if len(asked) == 1 and isinstance(alive[0].waits, str):
            self.gathered = [lane.given for lane in alive]
            return alive
        said = ", ".join(f"{lane.thread_id}: {'ended' if lane.greenlet.dead else lane.waits}" for lane in lanes[:WARP])
        raise DivergenceError(f"the lanes of a block wait for different things: {said}")


def _rank(point: tuple[int, ...], shape: tuple[int, ...]) -> int:
    return (point[0] * shape[1] + point[1]) * shape[2] + point[2]


def _point(rank: int, shape: tuple[int, ...]) -> tuple[int, int, int]:
    return rank // (shape[1] * shape[2]), rank // shape[2] % shape[1], rank % shape[2]


def _permuted(rank: int, shape: tuple[int, ...]) -> int:
    """The block that runs as the `rank`-th."""
    if _seed is None:
        return rank
    blocks = list(range(shape[0] * shape[1] * shape[2]))
    random.Random(_seed).shuffle(blocks)
    return blocks[rank]


# --- operations that Numba's simulator lacks


def _whole(mask: int) -> None:
    if mask != _FULL:
        raise DivergenceError(f"a warp operation with mask {mask:#x}: the simulator knows whole warps alone")


def _syncwarp(self: Any, mask: int = _FULL) -> None:
    _whole(mask)
    _running.in_warp("syncwarp", None)


def _ballot(self: Any, mask: int, predicate: Any) -> int:
    _whole(mask)
    return sum(1 << k for k, said in enumerate(_running.in_warp("ballot_sync", bool(predicate))) if said)


def _any(self: Any, mask: int, predicate: Any) -> bool:
    return bool(_ballot(self, mask, predicate))


def _all(self: Any, mask: int, predicate: Any) -> bool:
    return _ballot(self, mask, predicate) == _FULL


def _shuffle(operation: str, source: Callable[[int, int], int]) -> Callable[..., Any]:
    def shuffle(self: Any, mask: int, value: Any, which: int) -> Any:
        _whole(mask)
        lane = _running
        values, own = lane.in_warp(operation, value), lane.thread_id % WARP
        place = source(own, int(which))
        return values[place] if 0 <= place < WARP else values[own]

    return shuffle


def _shared_array(self: Any, shape: Any, dtype: Any, alignment: Any = None) -> Any:
    """Like Numba's, identified by the calling line, but without reading the whole stack."""
    from numba.cuda.np import numpy_support

    caller = sys._getframe(1)
    key = caller.f_code.co_filename, caller.f_lineno
    if key not in self._allocations:
        kind = dtype if isinstance(dtype, (type, np.dtype)) else numpy_support.as_dtype(dtype)
        self._allocations[key] = np.zeros(shape, kind)
        self._allocations[key].view(np.uint8)[:] = 0xA5  # kernels must not rely on zeros
    return self._allocations[key]


def _yielding(atomic: Callable[..., Any]) -> Callable[..., Any]:
    def changed(self: Any, *given: Any) -> Any:
        if _seed is not None:
            _running.pause("turn")
        return atomic(self, *given)

    return changed


def switch() -> None:
    """Let another lane run here, if schedules are shuffled."""
    if _seed is not None:
        _running.pause("turn")


# --- numbers as compiled code has them


def typed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in which literals are int64 and float64, as in compiled code.

    A Python number takes the type of the float32 that it meets, and is rounded to it; a literal in a kernel is not.
    """
    tree = _Typed().visit(parse(textwrap.dedent(inspect.getsource(function))))
    tree.body[0].decorator_list = []
    space: dict[str, Any] = {}
    where = function.__globals__
    exec(compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec"), where, space)
    return functools.wraps(function)(space[function.__name__])


class _Typed(ast.NodeTransformer):
    """Wraps literals, except for lengths and indices."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        kind = {int: "int64", float: "float64"}.get(type(node.value))
        return (
            node if kind is None else ast.Call(ast.Attribute(ast.Name("np", ast.Load()), kind, ast.Load()), [node], [])
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        counted = isinstance(node.func, ast.Name) and (node.func.id in ("range", "put") or node.func.id[:3] == "as_")
        node.args = [part if counted and isinstance(part, ast.Constant) else self.visit(part) for part in node.args]
        return node


def _widened(read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Read signed numbers with 64 bits, as compiled code computes with them: NumPy's narrow sums wrap around."""

    def wide(self: Any, place: Any) -> Any:
        found = read(self, place)
        return np.int64(found) if isinstance(found, np.signedinteger) else found

    return wide


def install() -> None:
    """Replace the operations of Numba's simulator by these."""
    from numba.cuda.simulator import kernel, kernelapi
    from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray

    module, atomic = kernelapi.FakeCUDAModule, kernelapi.FakeCUDAAtomic
    if kernel.BlockManager is _Block:
        return
    kernel.BlockManager = _Block
    kernelapi.FakeCUDAShared.array = _shared_array
    FakeWithinKernelCUDAArray.__getitem__ = _widened(FakeWithinKernelCUDAArray.__getitem__)
    module.threadIdx = property(lambda self: _running.threadIdx)
    module.blockIdx = property(lambda self: _running.blockIdx)
    module.laneid = property(lambda self: _running.thread_id % WARP)
    module.syncthreads = lambda self: _running.pause("syncthreads")
    module.syncthreads_count = lambda self, value: sum(_running.in_block("syncthreads_count", bool(value)))
    module.syncthreads_and = lambda self, value: int(all(_running.in_block("syncthreads_and", bool(value))))
    module.syncthreads_or = lambda self, value: int(any(_running.in_block("syncthreads_or", bool(value))))
    module.syncwarp, module.ballot_sync, module.any_sync, module.all_sync = _syncwarp, _ballot, _any, _all
    module.shfl_sync = _shuffle("shfl_sync", lambda own, which: which % WARP)
    module.shfl_down_sync = _shuffle("shfl_down_sync", lambda own, delta: own + delta)
    module.shfl_up_sync = _shuffle("shfl_up_sync", lambda own, delta: own - delta)
    module.shfl_xor_sync = _shuffle("shfl_xor_sync", lambda own, bits: own ^ bits)
    for name in ("add", "sub", "and_", "or_", "xor", "inc", "dec", "exch", "max", "min", "cas", "compare_and_swap"):
        setattr(atomic, name, _yielding(getattr(atomic, name)))
