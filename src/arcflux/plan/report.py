"""Plans as people see them: a table that says "predicted", and a plot of time and speed-up over devices."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcflux.errors import MissingExtraError, UsageError, did_you_mean
from arcflux.io.loaded import replacing
from arcflux.trace import readable

if TYPE_CHECKING:
    from arcflux.plan.calibrate import Calibration
    from arcflux.plan.choose import Plan, Row
    from arcflux.plan.expect import Estimate
    from arcflux.plan.explain import Explanation

__all__ = ["beside", "estimated", "helping", "memories", "plot", "seconds", "text"]


_PICTURES = (".png", ".svg", ".pdf")
_HELP = {
    "load": "a larger cache, or vertices in an order in which neighbours are near",
    "compute": "more cores, or more memory bandwidth",
    "update": "more cores",
    "barriers": "fewer workers, since supersteps are short",
    "launch": "nothing: the graph is small",
    "transfer": "a faster link, fewer parts, or a partitioning that cuts less",
    "overhead": "fewer parts, since supersteps are short",
}


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
    if len(best.candidates) > 1 and row.seconds > 0:
        second = best.candidates[1]
        why = f"{second.seconds / row.seconds:.2f} times as long" if second.fits else "does not fit"
        if second.fits and second.seconds < row.seconds:
            why += ", but nothing of its kind was measured there"
        lines.append(f"  runner-up: {second.name}: {why}")
    ratio = "nothing is sent" if math.isinf(best.ratio) else f"{best.ratio:.3g} operations a byte"
    short = "" if best.ratio >= best.needed else ": here links are the limit"
    lines.append(f"  scalability: {best.scalability}, as the HIVE study classes its kind ({ratio}, and "
                 f"{best.needed:.3g} are needed on this machine{short})")  # fmt: skip
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
    shares = {
        name: getattr(parts, name) / (parts.seconds or 1.0) for name in ("load", "compute", "transfer", "overhead")
    }
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= 0.005)


def _figure(purpose: str, size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", purpose) from error
    return Figure(figsize=size, layout="constrained")


def plot(plan: Plan, target: Any) -> None:
    """Draw predicted seconds by phase, and speed-up, over the number of devices."""
    figure = _figure("drawing a plan", (9, 4))
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
    _save(figure, target)


def estimated(found: Estimate) -> str:
    """An estimate as a tree: what would be done, why, what else could be, and what would help most."""
    shape, (low, high) = found.graph, found.range
    first, *others = found.ways
    phases = sorted(((share, name) for name, share in first.phases.items() if share > 0), reverse=True)
    lines = [
        f"predicted: {found.algorithm} on {shape.name} ({shape.vertices:,} vertices, {shape.arcs:,} arcs)",
        f"      on: {found.machine}",
        f"├─ {seconds(found.seconds)}, between {seconds(low)} and {seconds(high)}; "
        f"{readable(round(found.bytes))} moved, {readable(round(found.memory))} at the peak",
        f"├─ {first}" + (f", {found.supersteps:.0f} supersteps" if found.supersteps else ""),
    ]
    lines += [f"│  ├─ {name}: {seconds(share)}, {100 * share / first.seconds:.0f} %" for share, name in phases]
    if found.crossing:
        lines.append(f"├─ {readable(round(found.crossing))} between nodes")
    if first.setup:
        lines.append(f"├─ before that, once: {seconds(first.setup)} to split the graph")
    for other in others[: 3 if first.where is None else 6]:
        before = f", and {seconds(other.setup)} to split" if other.setup else ""
        times = other.total / first.total
        lines.append(f"├─ instead {other}: {seconds(other.seconds)}{before}, {times:.2f} times as long")
    lines.append(f"└─ what would help most: {helping(found)}")
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def helping(found: Estimate) -> str:
    """What would help most: whatever shortens the longest phase."""
    phases, way = found.ways[0].phases, found.ways[0]
    longest = max(phases, key=lambda name: phases[name], default="")
    if way.where is not None and way.where.nodes > 1 and longest == "barriers":
        return "fewer parts, or one node, since supersteps are short"
    return _HELP.get(longest, "a faster device") if phases.get(longest) else "nothing"


def beside(explanation: Explanation, target: Any) -> None:
    """Draw predicted seconds by phase as a stack, for every way, beside what was measured, as figure 20 of Lux does."""
    figure = _figure("drawing an explanation", (7, 4))
    axes = figure.subplots()
    ways = explanation.estimate.ways
    names = list(dict.fromkeys(name for way in ways for name in way.phases))
    bottom = [0.0] * len(ways)
    for name in names:
        heights = [way.phases.get(name, 0.0) for way in ways]
        axes.bar(range(len(ways)), heights, bottom=bottom, label=name)
        bottom = [one + more for one, more in zip(bottom, heights, strict=True)]
    axes.bar(len(ways), explanation.result.seconds, color="grey", label="measured")
    axes.set_xticks(range(len(ways) + 1), [*(f"{way}\n(predicted)" for way in ways), "measured"])
    axes.set(ylabel="seconds", title=f"{explanation.estimate.algorithm} on {explanation.estimate.graph.name}")
    axes.legend()
    _save(figure, target)


def memories(calibration: Calibration, target: Any) -> None:
    """Draw the bandwidth of each memory, in order and at random, as figure 2 of Lux does; and by the size of arrays."""
    figure = _figure("drawing a calibration", (11, 4))
    left, right = figure.subplots(1, 2)
    places = list(next(iter(calibration.throughput.values())))
    accesses = list(calibration.throughput)
    wide = 0.8 / len(places)
    for k, place in enumerate(places):
        heights = [calibration.throughput[access][place] / 1e9 for access in accesses]
        left.bar([n + (k - (len(places) - 1) / 2) * wide for n in range(len(accesses))], heights, wide, label=place)
    left.set_xticks(range(len(accesses)), [access.replace("_", " ") for access in accesses], rotation=30)
    left.set(ylabel="GB/s (measured)", yscale="log")
    left.legend()
    rows = calibration.hierarchy
    for shift, way in ((-0.2, "regular"), (0.2, "random")):
        right.bar([n + shift for n in range(len(rows))], [row[way] / 1e9 for row in rows], 0.4, label=way)
    right.set_xticks(range(len(rows)), [readable(round(row["bytes"])) for row in rows], rotation=30)
    right.set(xlabel="memory that is read", ylabel="GB/s (measured)", yscale="log")
    right.legend()
    figure.suptitle(f"{calibration.machine['model']}, {calibration.machine['threads']} threads")
    _save(figure, target)


def _save(figure: Any, target: Any) -> None:
    """Write a picture where it is wanted, whole or not at all."""
    path = Path(target)
    if path.suffix not in _PICTURES:
        raise UsageError(
            f"{path}: the suffix {path.suffix!r} names no picture", expected=" ".join(_PICTURES),
            remedy=did_you_mean(path.suffix, _PICTURES),
        )  # fmt: skip
    with replacing(path) as work:
        figure.savefig(work, format=path.suffix[1:])
