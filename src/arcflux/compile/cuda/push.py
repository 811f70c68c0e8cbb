"""Kernels for a GPU with a thread for each edge: push along out-edges of senders, gather along rows of in-edges.

A scan of the senders' degrees numbers all their edges; a block claims the next edges, as many as it has threads, finds
between which senders they are, and every thread finds its own among those. So a vertex of a million edges is processed
by many blocks, and a million vertices of one edge by as many. In a dense program, the rows' own offsets are the scan,
of all vertices or of those from `lowest` on.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import loads
from arcflux.compile.cpu.lists import received_along
from arcflux.compile.cuda.source import in_frontier, kernel, message_loads, native, old, strided_loop
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import Shared, push_reads
from arcflux.compile.pieces.source import call, inside

__all__ = ["CudaShared", "expansions"]


class CudaShared(Shared):
    """``reduce_min(v_dist, e)`` becomes ``hit = into_min(a_dist, v, np.float64(e)) or hit``, or the native form."""

    def reduced(self, operation: str, field: str, index: str | None, value: str) -> str:
        """The statements that reduce a value into a field of v, or into an element of it."""
        dtype, length = self.lowered.fields[field]
        form = f"hit = into_{operation}{native(operation, dtype)}(a_{field}, %s, np.{dtype.type.__name__}(%s)) or hit"
        value = self.within(operation, field, index, value)
        if length is None:
            return form % ("v", value)
        if index is not None:
            return form % (f"(v, np.uint64({index}))", value)
        each = [form % (f"(v, np.uint64({k}))", f"t_{field}[{k}]") for k in range(length)]
        return "\n".join([f"t_{field} = {value}", *each])


def expansions(lowered: Lowered) -> list[str]:
    """The kernels `push` and `gather`."""
    lines = ["u = np.uint64(queue[k])" if lowered.sparse else "u = k + lowest"]
    place = "np.uint64(rows[u]) + (number - np.uint64(scan[k]))" if lowered.sparse else "number"
    lines += [f"i = {place}", "v = np.uint64(neighbours[i])", *message_loads(lowered)]
    wanted = "wants" in lowered.functions and lowered.sparse
    if wanted:
        lines += ["wanted = True", "if whole:", *inside(loads(lowered, ("wants",)))]
        lines += [f"    wanted = {call(lowered, 'wants')}", "if wanted:", *inside(_reduced(lowered))]
    else:
        lines += _reduced(lowered)
    scan, many = ("scan", "np.uint64(size)") if lowered.sparse else ("rows", "(np.uint64(rows.size) - one)")
    push = kernel(lowered, "push", _edges(lowered, scan, many, lines))
    lines = ["i = number", "v = np.uint64(targets[k])", "u = np.uint64(neighbours[i])"]
    test = in_frontier(lowered)
    body = [*message_loads(lowered), *_reduced(lowered)]
    lines += [f"if {test}:", *inside(body)] if test else body
    return [push, kernel(lowered, "gather", _edges(lowered, "rows", "np.uint64(targets.size)", lines))]


def _reduced(lowered: Lowered) -> list[str]:
    """Statements that reduce a message into v, and set `first_here` if it is the first that v received."""
    if not lowered.sparse:
        return [*old(lowered), f"push_edge({', '.join(push_reads(lowered))})"]
    listing = [
        "before = stamp[v]",
        "while before != mark and not first_here:",
        "    first_here = swap(stamp, v, before, mark)",
        "    before = stamp[v]",
    ]
    return [*old(lowered), *received_along(lowered, listing)]


def _edges(lowered: Lowered, scan: str, many: str, body: list[str]) -> list[str]:
    """A loop over the edges of this many senders or rows, a block's threads at a time; `scan` has where each begins."""
    listed = ["place = claim(first_here, counts, 0, scratch)", "if first_here:", "    reached[place] = v"]
    loop = [
        "if own < np.uint64(2):",
        "    end = first if own == zero else min(first + width, total_edges) - one",
        f"    between[own] = search({scan}, zero, {many} - one, end)",
        "cuda.syncthreads()",
        "low, high = between[0], between[1]",
        "cuda.syncthreads()",
        "number = first + own",
        *(["first_here = False", "v = zero"] if lowered.sparse else []),
        "if number < total_edges:",
        f"    k = search({scan}, low, high, number)",
        *inside(body),
        *(listed if lowered.sparse else []),
    ]
    begin = f"np.uint64({scan}[0]) + np.uint64(cuda.blockIdx.x) * width"
    return [
        *(["scratch = cuda.shared.array(33, np.int64)"] if lowered.sparse else []),
        "between = cuda.shared.array(2, np.uint64)",
        f"total_edges = np.uint64({scan}[{many}])",
        "width = np.uint64(cuda.blockDim.x)",
        "own = np.uint64(cuda.threadIdx.x)",
        *strided_loop("first", begin, "total_edges", "np.uint64(cuda.gridsize(1))", loop),
    ]
