"""Plans as people see them: a table that says "predicted", and a plot of time and speed-up over devices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from arcflux.errors import MissingExtraError
from arcflux.trace import readable

if TYPE_CHECKING:
    from arcflux.plan.choose import Plan, Row

__all__ = ["plot", "seconds", "text"]


def seconds(value: float) -> str:
    """A time with three digits, in the unit that suits it.

    Examples
    --------
    >>> seconds(0.0429), seconds(7.2e-6), seconds(250)
    ('42.9 ms', '7.2 us', '250 s')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= unit or name == "us":
            return f"{value / unit:.3g} {name}"
    raise AssertionError


def text(plan: Plan) -> str:
    """The plan as a table; every number in it is predicted."""
    shape = plan.graph
    traversal = any(row.gteps is not None for row in plan.rows)
    lines = [
        f"predicted: {plan.algorithm} on {shape.name} ({shape.vertices:,} vertices, {shape.arcs:,} arcs)",
        f"      on: {plan.machine.name}, {plan.machine.title}",
        "",
        f"  {'nodes':>5} {'devices':>7} {'seconds':>9} {'range':>19} {'speed-up':>8} {'eff.':>5} {'bytes':>9} "
        f"{'memory':>9} {'fits':>5}" + (f" {'GTEPS':>7}" if traversal else "") + f" {'cost':>9}  way",
    ]
    lines += [_line(row, traversal) for row in plan.rows]
    best, row = plan.best, plan.best.best
    lines += ["", f"  best: {best.devices} devices, {row.name}: {_phases(best)}"]
    others = [one for one in best.candidates[1:] if one.seconds > 0]
    if others:
        second = others[0]
        why = f"{second.seconds / row.seconds:.2f} times as long" if second.fits else "does not fit"
        if second.fits and second.seconds < row.seconds:
            why += ", but nothing of its kind was measured there"
        lines.append(f"  runner-up: {second.name}: {why}")
    ratio = "nothing is sent" if math.isinf(best.ratio) else f"{best.ratio:.3g} operations a byte"
    lines.append(f"  scalability: {best.scalability} ({ratio}; {best.needed:.3g} are needed on this machine)")
    lines += [f"  note: {note}" for note in plan.notes]
    return "\n".join(lines)


def _line(row: Row, traversal: bool) -> str:
    best = row.best
    low, high = best.range
    cost = "-" if row.cost is None else f"${row.cost:.2g}"
    gteps = f" {row.gteps:7.3g}" if traversal else ""
    between = f"{seconds(low)} - {seconds(high)}"
    return (
        f"  {row.nodes:5} {row.devices:7} {seconds(best.seconds):>9} {between:>19} {row.speedup:8.2f} "
        f"{row.efficiency:5.2f} {readable(round(best.bytes)):>9} {readable(round(best.memory)):>9} "
        f"{'yes' if best.fits else 'no':>5}{gteps} {cost:>9}  {best.name}"
    )


def _phases(row: Row) -> str:
    parts = row.best.phases
    shares = {name: getattr(parts, name) / parts.seconds for name in ("load", "compute", "transfer", "overhead")}
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= 0.005)


def plot(plan: Plan, target: Any) -> None:
    """Draw predicted seconds by phase, and speed-up, over the number of devices."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "drawing a plan") from error
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    devices = [row.devices for row in plan.rows]
    places, bottom = range(len(devices)), [0.0] * len(devices)
    for name in ("load", "compute", "transfer", "overhead"):
        heights = [getattr(row.best.phases, name) for row in plan.rows]
        left.bar(places, heights, bottom=bottom, label=name)
        bottom = [one + more for one, more in zip(bottom, heights, strict=True)]
    left.set_xticks(list(places), [str(count) for count in devices])
    left.set(xlabel="devices", ylabel="seconds (predicted)")
    left.legend()
    right.plot(devices, [row.speedup for row in plan.rows], "o-", label="predicted")
    right.plot(devices, devices, "--", color="grey", label="as many times as devices")
    right.set(xlabel="devices", ylabel="speed-up (predicted)", xscale="log", yscale="log")
    right.legend()
    figure.suptitle(f"predicted: {plan.algorithm} on {plan.graph.name}, {plan.machine.name}")
    figure.savefig(target)
