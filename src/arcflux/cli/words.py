"""What errors and notes say, in the words of the command line: ``weight=None`` is ``--set weight=none`` there."""

from __future__ import annotations

import re

__all__ = ["translate"]

_FLAGS = {
    "directed=False": "--undirected", "directed=True": "--directed", "header=True": "--header",
    "header=False": "--no-header", "weights=False": "--no-weights", "debug=True": "--debug",
    "deterministic=True": "--deterministic", "symmetrise=True": "--symmetrise",
    "drop_self_loops=True": "--drop-self-loops",
}  # fmt: skip
_OPTIONS = (
    "direction", "threads", "max_supersteps", "timeout", "checkpoint", "parts", "partition", "exchange", "devices",
    "rebalance", "ids", "delimiter", "deduplicate", "source", "vertices", "ranks_per_node", "on", "nodes", "supersteps",
)  # fmt: skip
# An argument in a sentence. What follows a comma belongs to a spec such as kron:20,ef=8; what follows --set is said.
_ARGUMENT = re.compile(
    r"(?<![\w,:.\-=])(?<!--set )([a-z_]+)=('[^']*'|None|True|False|-?[0-9][0-9.e-]*(?<!\.))?(?![\w(\[])"
)
_CALL = re.compile(r",? or (?:af|Graph)\.\w+\([^()]*\)")


def translate(text: str) -> str:
    """A sentence in terms of the command line.

    Examples
    --------
    >>> translate("weight=None when every edge counts 1, or directed=False")
    '--set weight=none when every edge counts 1, or --undirected'
    >>> translate("kron:20,ef=8,seed=3")
    'kron:20,ef=8,seed=3'
    """
    return _ARGUMENT.sub(lambda found: _option(found[0], found[1], found[2]), _CALL.sub("", text))


def _option(whole: str, name: str, value: str | None) -> str:
    if whole in _FLAGS:
        return _FLAGS[whole]
    shown = "" if value is None else value.strip("'")
    if name in _OPTIONS:
        return f"--{name.replace('_', '-')} {shown}".rstrip()
    return f"--set {name}={shown.lower() if value in ('None', 'True', 'False') else shown}"
