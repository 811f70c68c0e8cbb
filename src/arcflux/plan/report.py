"""Plots: seconds by phase and speed-up over devices, predicted beside measured, the bandwidth of each memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arcflux.checks import path as path_rule
from arcflux.errors import MissingExtraError, UsageError, did_you_mean
from arcflux.io.loaded import replacing
from arcflux.trace import readable

__all__ = ["beside", "memories", "scaling"]

_PICTURES = (".png", ".svg", ".pdf")


def _figure(purpose: str, size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", purpose) from error
    return Figure(figsize=size, layout="constrained")


def _stack(axes: Any, stacks: Mapping[str, Sequence[float]]) -> None:
    """Stacked bars, by name."""
    bottom = [0.0] * max(map(len, stacks.values()), default=0)
    for name, heights in stacks.items():
        axes.bar(range(len(heights)), heights, bottom=bottom, label=name)
        bottom = [one + more for one, more in zip(bottom, heights, strict=True)]


def scaling(
    devices: Sequence[int], stacks: Mapping[str, Sequence[float]], speedups: Sequence[float], title: str, target: Any
) -> None:
    """Draw predicted seconds by phase, and speed-up, over the number of devices."""
    figure = _figure("drawing a plan", (9, 4))
    left, right = figure.subplots(1, 2)
    _stack(left, stacks)
    left.set_xticks(list(range(len(devices))), [str(count) for count in devices])
    left.set(xlabel="devices", ylabel="seconds (predicted)")
    left.legend()
    right.plot(devices, speedups, "o-", label="predicted")
    right.plot(devices, devices, "--", color="grey", label="as many times as devices")
    right.set(xlabel="devices", ylabel="speed-up (predicted)", xscale="log", yscale="log")
    right.legend()
    figure.suptitle(title)
    _save(figure, target)


def beside(
    names: Sequence[str], stacks: Mapping[str, Sequence[float]], measured: float, title: str, target: Any
) -> None:
    """Draw predicted seconds by phase of every candidate beside the measured ones, as figure 20 of Lux does."""
    figure = _figure("drawing an explanation", (7, 4))
    axes = figure.subplots()
    _stack(axes, stacks)
    axes.bar(len(names), measured, color="grey", label="measured")
    axes.set_xticks(range(len(names) + 1), [*(f"{name}\n(predicted)" for name in names), "measured"])
    axes.set(ylabel="seconds", title=title)
    axes.legend()
    _save(figure, target)


def memories(
    throughput: Mapping[str, Mapping[str, float]], hierarchy: Sequence[Mapping[str, float]], title: str, target: Any
) -> None:
    """Draw the bandwidth of each memory, in order and at random, as figure 2 of Lux does; and by the size of arrays."""
    figure = _figure("drawing a calibration", (11, 4))
    left, right = figure.subplots(1, 2)
    places = list(next(iter(throughput.values())))
    accesses = list(throughput)
    wide = 0.8 / len(places)
    for k, place in enumerate(places):
        heights = [throughput[access][place] / 1e9 for access in accesses]
        left.bar([n + (k - (len(places) - 1) / 2) * wide for n in range(len(accesses))], heights, wide, label=place)
    left.set_xticks(range(len(accesses)), [access.replace("_", " ") for access in accesses], rotation=30)
    left.set(ylabel="GB/s (measured)", yscale="log")
    left.legend()
    rows = hierarchy
    for shift, way in ((-0.2, "regular"), (0.2, "random")):
        right.bar([n + shift for n in range(len(rows))], [row[way] / 1e9 for row in rows], 0.4, label=way)
    right.set_xticks(range(len(rows)), [readable(round(row["bytes"])) for row in rows], rotation=30)
    right.set(xlabel="memory that is read", ylabel="GB/s (measured)", yscale="log")
    right.legend()
    figure.suptitle(title)
    _save(figure, target)


def _save(figure: Any, target: Any) -> None:
    """Write a picture to a file, atomically."""
    path = Path(path_rule("target", target))
    if path.suffix not in _PICTURES:
        raise UsageError(
            f"{path}: the suffix {path.suffix!r} names no picture", expected=" ".join(_PICTURES),
            remedy=did_you_mean(path.suffix, _PICTURES),
        )  # fmt: skip
    with replacing(path) as work:
        figure.savefig(work, format=path.suffix[1:])
