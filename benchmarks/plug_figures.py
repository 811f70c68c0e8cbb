"""Figures 8 to 15 of GX-Plug from the tables of `benchmarks/plug.py` (matplotlib, the extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["FIGURES", "draw"]

Row = dict[str, Any]

# Colours that stay apart for the colour-blind (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
_SMALL = 8


def draw(experiment: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw the figures of an experiment; which files there are now: none where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    found = []
    for number, (source, title, plot) in FIGURES.items():
        if source != experiment:
            continue
        panels = sorted({row["algorithm"] for row in rows}) if plot is _block_counts else [title]
        figure = Figure(figsize=(4.2 * max(1.4, len(panels)), 3.4), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        figure.suptitle(f"Figure {number}: {title}", fontsize=10)
        plot(axes, list(rows))
        for one in axes:
            one.tick_params(labelsize=_SMALL)
            one.spines[["top", "right"]].set_visible(False)
        found.append(folder / f"figure-{number}.svg")
        figure.savefig(found[-1], metadata={"Date": None})
    return found


def _bars(axes: Any, groups: Sequence[str], series: dict[str, Sequence[float]], unit: str) -> None:
    """Groups of bars side by side, each bar with its number."""
    wide = 0.8 / len(series)
    for k, (name, values) in enumerate(series.items()):
        places = [group + (k - (len(series) - 1) / 2) * wide for group in range(len(groups))]
        drawn = axes.bar(places, values, wide, label=name, color=_COLOURS[k % len(_COLOURS)])
        axes.bar_label(drawn, fmt="{:.3g}", fontsize=6)
    axes.set_xticks(range(len(groups)), [group.replace(", ", "\n") for group in groups])
    axes.set_ylabel(unit, fontsize=_SMALL)
    if len(series) > 1:
        _legend_above(axes)


def _legend_above(axes: Any) -> None:
    axes.legend(fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _acceleration(axes: Any, rows: list[Row]) -> None:
    names = ("plain Python", "cpu", "virtual:4", "virtual:16")
    _bars(axes[0], [row["algorithm"] for row in rows], {name: [row[name] for row in rows] for name in names}, "seconds")
    axes[0].set_yscale("log")


def _by_workers(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["algorithm"], []).append(row)
    return found


def _scaling(axes: Any, rows: list[Row]) -> None:
    for colour, (name, some) in zip(_COLOURS, _by_workers(rows).items(), strict=False):
        axes[0].plot([row["workers"] for row in some], [row["seconds"] for row in some], "o-", color=colour, label=name)
    axes[0].set_xticks(sorted({row["workers"] for row in rows}))
    axes[0].set_xlabel("workers, of one thread each", fontsize=_SMALL)
    axes[0].set_ylabel("seconds", fontsize=_SMALL)
    axes[0].set_ylim(bottom=0)
    axes[0].legend(fontsize=7, frameon=False)


def _pipeline(axes: Any, rows: list[Row]) -> None:
    names = ("none", "fixed block", "Lemma 1", "best")
    series = {name: [row[name] / row["none"] for row in rows] for name in names}
    _bars(axes[0], [row["algorithm"] for row in rows], series, "time over that without a pipeline")


def _caching(axes: Any, rows: list[Row]) -> None:
    shares = {
        "downloads, cache": ("with cache", "downloaded, off"),
        "bytes, lazy uploading": ("bytes, lazy", "bytes, eager"),
        "synchronisations, skipping": ("skipping", "synchronisations"),
        "synchronisations, asynchronous": ("asynchronous", "synchronisations"),
    }
    series = {name: [row[one] / max(1, row[other]) for row in rows] for name, (one, other) in shares.items()}
    _bars(axes[0], [row["graph"] for row in rows], series, "what is left, of 1 without it")


def _balance(axes: Any, rows: list[Row]) -> None:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    seconds = {(row["case"], row["way"]): row["seconds"] for row in rows}
    _bars(axes[0], cases, {way: [seconds[case, way] for case in cases] for way in ways}, "seconds")


def _isolation(axes: Any, rows: list[Row]) -> None:
    _bars(axes[0], [row["way"] for row in rows], {"11 iterations": [row["seconds, 11 iterations"] for row in rows]},
          "seconds")  # fmt: skip


def _cost_ratio(axes: Any, rows: list[Row]) -> None:
    """The two parts of each run, one above the other."""
    shares = [row["middleware and devices"] for row in rows]
    places = range(len(rows))
    axes[0].bar(places, shares, color=_COLOURS[0], label="middleware and devices")
    axes[0].bar(places, [1 - one for one in shares], bottom=shares, color=_COLOURS[1], label="upper system")
    labels = [f"{row['algorithm'].split(',')[0]}\n{row['workers']}" for row in rows]
    axes[0].set_xticks(places, labels, rotation=40, ha="right")
    axes[0].set_ylabel("share of a run, by workers", fontsize=_SMALL)
    _legend_above(axes[0])


def _block_counts(axes: Any, rows: list[Row]) -> None:
    """The U of each algorithm: what was measured, the model, the count that was chosen, and Lemma 1's."""
    for one, (name, some) in zip(axes, sorted(_by_workers(rows).items()), strict=True):
        counts = [row["blocks"] for row in some]
        one.plot(counts, [row["seconds"] for row in some], "o-", color=_COLOURS[0], label="measured")
        one.plot(counts, [row["model"] for row in some], "--", color=_COLOURS[4], label="equation 1")
        for mark, sign, colour, said in (
            ("chosen", "*", _COLOURS[2], "s_opt"),
            ("Lemma 1", "^", _COLOURS[1], "Lemma 1"),
        ):
            at = [(row["blocks"], row["seconds"]) for row in some if row[mark]]
            one.plot(*zip(*at, strict=True), sign, color=colour, markersize=12, label=said, zorder=3)
        one.set_xscale("log", base=2)
        one.set_title(f"{name}, {some[0]['triplets']:,} triplets", fontsize=_SMALL)
        one.set_xlabel("blocks", fontsize=_SMALL)
        one.set_ylabel("seconds", fontsize=_SMALL)
        one.set_ylim(bottom=0)
        one.legend(fontsize=7, frameon=False)


# By number: the experiment that has the rows, what it shows, and how it is drawn.
FIGURES: dict[int, tuple[str, str, Callable[[Any, list[Row]], None]]] = {
    8: ("acceleration", "acceleration by daemons", _acceleration),
    9: ("cost_ratio", "scaling with workers", _scaling),
    10: ("pipeline", "pipeline and size of blocks", _pipeline),
    11: ("caching", "cache, lazy uploading, skipping", _caching),
    12: ("balance", "balance of unequal nodes", _balance),
    13: ("isolation", "a daemon that stays, or a new one each time", _isolation),
    14: ("cost_ratio", "cost of the middleware", _cost_ratio),
    15: ("block_counts", "seconds by the count of blocks", _block_counts),
}
