"""How kernels reduce measures over vertices: residuals, and contributions to totals.

Every chunk of vertices, or every worker, reduces its own; these partial results are reduced in the order of the chunks
if the order affects the bits. A minimum or maximum of floats ignores NaN and is never a negative zero, so that it does
not depend on the order either.
"""

from __future__ import annotations

from arcflux.compile.lower import Lowered, Measure

__all__ = [
    "combined", "final", "identity", "imported", "in_any_order", "kept_at", "loaded_from", "none_yet", "nothing",
    "reduced_over", "side_by_side",
]  # fmt: skip

_LANES = {"f": "float64", "i": "int64", "u": "uint64", "b": "boolean"}
_SIGNS = {"or": "|", "and": "&"}
_CHOSEN = {"min": ("min", "smaller"), "max": ("max", "larger")}
# Reductions of floats in a form that a compiler may vectorise.
_SIDE_BY_SIDE = {"sum": "added", "min": "lesser", "max": "greater"}
_IMPORTED = "from arcflux.spmd.machine import added, greater, lesser\n\n\n"


def identity(operation: str, kind: str) -> str:
    """The expression for the identity of a total; `kind` is that of its dtype, of 64 bits or a flag."""
    if kind == "b":
        return str(operation == "and")
    name = {"f": "np.float64", "i": "np.int64", "u": "np.uint64"}[kind]
    if operation in ("sum", "or"):
        return f"{name}(0)"
    if operation == "and":
        return f"{name}({-1 if kind == 'i' else (1 << 64) - 1})"
    if kind == "f":
        return "math.inf" if operation == "min" else "-math.inf"
    least, most = (0, (1 << 64) - 1) if kind == "u" else (-(1 << 63), (1 << 63) - 1)
    return f"{name}({most if operation == 'min' else least})"


def nothing(measure: Measure) -> str:
    """The expression for the reduction of no vertex: for residuals 0, the smallest."""
    if not measure.is_total:
        return "0.0"
    value = identity(measure.operation, measure.dtype.kind)
    return value if measure.length is None else f"as_{_LANES[measure.dtype.kind]}({value}, {measure.length})"


def combined(measure: Measure, a: str, b: str) -> str:
    """The expression for two values reduced to one."""
    if measure.operation in _CHOSEN:
        return f"{_CHOSEN[measure.operation][measure.length is not None]}({a}, {b})"
    if measure.operation in _SIGNS:
        return f"{a} {_SIGNS[measure.operation]} {b}"
    if measure.dtype.kind == "i" and measure.length is None:  # wraps around, which LLVM must not assume away
        return f"np.int64(np.uint64({a}) + np.uint64({b}))"
    return f"{a} + {b}"


def in_any_order(lowered: Lowered, measure: Measure) -> bool:
    """Whether it is a total that may be reduced in any order, so that the compiler may vectorise it."""
    single = measure.is_total and measure.dtype.kind == "f" and measure.length is None
    return single and (measure.operation != "sum" or not lowered.deterministic)


def side_by_side(lowered: Lowered, measure: Measure, a: str, b: str) -> str:
    """The expression for two values reduced to one in a loop; if any order will do, in the form that vectorises."""
    if in_any_order(lowered, measure):
        return f"{_SIDE_BY_SIDE[measure.operation]}({a}, {b})"
    return combined(measure, a, b)


def imported(lowered: Lowered, measures: list[Measure]) -> str:
    """The imports that :func:`side_by_side` needs, before the kernel; "" if none."""
    return _IMPORTED if any(in_any_order(lowered, each) for each in measures) else ""


def final(measure: Measure, value: str) -> str:
    """The expression for a total of all vertices: without a negative zero, which would depend on the order."""
    if measure.operation not in _CHOSEN or measure.dtype.kind != "f":
        return value
    return f"{value} + {'0.0' if measure.length is None else f'as_float64(0.0, {measure.length})'}"


def none_yet(measures: list[Measure]) -> list[str]:
    """Statements that initialise reductions."""
    return [f"{each.running} = {nothing(each)}" for each in measures]


def loaded_from(measure: Measure, array: str, place: str) -> str:
    """The expression for an element of an array of such values."""
    return f"{array}[{place}]" if measure.length is None else f"load({array}, {place}, {measure.length})"


def kept_at(measure: Measure, array: str, place: str, value: str) -> str:
    """The statement that stores a value in an element of an array."""
    return f"{array}[{place}] = {value}" if measure.length is None else f"keep({array}, {place}, {value})"


def reduced_over(lowered: Lowered, places: str, count: str, name: str) -> list[str]:
    """Statements at the end of a superstep: partial results, reduced in order, are the residual and each total.

    `places` is the position of the `name`-th of `count` partial results. Every worker executes them.
    """
    lines = []
    for each in lowered.measures:
        into = f"g_{each.name}" if each.is_total else "total_sum"
        reduced = combined(each, into, loaded_from(each, each.sums, places))
        if not each.is_total and each.operation == "sum":
            lines += [f"{into} = 0.0", f"for {name} in range({count}):", f"    {into} += sums[{places}]"]
            continue
        lines += [f"{into} = {nothing(each)}", f"for {name} in range({count}):", f"    {into} = {reduced}"]
        if each.is_total and final(each, into) != into:
            lines.append(f"{into} = {final(each, into)}")
    return lines
