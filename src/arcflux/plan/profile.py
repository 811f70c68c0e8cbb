"""A machine in numbers: devices, the speed of each memory and link, the price, and the sources.

Shipped profiles are the machines of the papers that Arcflux follows, in ``profiles/*.toml``; a file of the same form
describes any other. Reading rejects figures that are missing, negative, not numbers, or unknown to every model. In
memory all figures are in bytes, seconds and bytes a second.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from arcflux.checks import path
from arcflux.errors import FormatError, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["ACCESSES", "PLACES", "Profile", "profile_names", "read"]

ACCESSES = tuple(f"{way}_{what}" for way in ("regular", "random") for what in ("read", "write", "update"))
"""What HIVE's micro-benchmark does to memory."""
PLACES = ("self", "peer", "host", "all")
"""Where that memory is."""

_GB, _MB, _US = 1e9, 1e6, 1e-6
# For each place in the file: the attribute of Profile, its unit, and whether it may be left out.
_FIGURES: dict[str, tuple[str, float, bool]] = {
    "machine.nodes": ("nodes", 1, False),
    "node.devices": ("devices", 1, False),
    "node.memory_gb": ("node_memory", _GB, False),
    "device.memory_gb": ("memory", _GB, False),
    "device.bandwidth_gbs": ("bandwidth", _GB, False),
    "device.cache_mb": ("cache", _MB, False),
    "device.sector_bytes": ("sector", 1, False),
    "device.launch_us": ("launch", _US, False),
    "device.efficiency": ("efficiency", 1, False),
    "device.traversal_gteps": ("traversal", 1e9, True),
    "link.host_gbs": ("host", _GB, False),
    "link.host_sharers": ("host_sharers", 1, False),
    "link.host_latency_us": ("host_latency", _US, False),
    "link.peer_gbs": ("peer", _GB, True),
    "link.peer_latency_us": ("peer_latency", _US, True),
    "link.lanes": ("lanes", 1, True),
    "link.lane_gbs": ("lane", _GB, True),
    "network.gbs": ("network", _GB, True),
    "network.latency_us": ("network_latency", _US, True),
    "network.device_gbs": ("device_network", _GB, True),
    "price.node_usd": ("node_price", 1, True),
    "price.device_usd": ("device_price", 1, True),
    "price.hour_usd": ("hour_price", 1, True),
}
_WHOLE = ("nodes", "devices", "host_sharers", "lanes", "sector")
_MAY_BE_ZERO = ("device_price", "node_price", "launch", "host_latency", "peer_latency", "network_latency")
_TABLES = {"throughput_gbs": ("throughput", _GB), "latency_us": ("latency", _US)}


@dataclass(frozen=True)
class Profile:
    """A machine: bytes, seconds, bytes per second and US dollars; None is unknown.

    `host_sharers` devices have one link of `host` bytes a second to the memory of their node; `peers` says which
    devices access each other's memory (all of them, when it is empty and `peer` is given). `device_network` is the
    bandwidth of one device into the network, when that is less than the network's. `throughput` and `latency` are the
    tables of HIVE's micro-benchmark: by access and place.
    """

    name: str
    title: str
    kind: str
    nodes: int
    devices: int
    node_memory: float
    memory: float
    bandwidth: float
    cache: float
    sector: int
    launch: float
    efficiency: float
    host: float
    host_sharers: int
    host_latency: float
    traversal: float | None = None
    peer: float | None = None
    peer_latency: float | None = None
    lanes: int | None = None
    lane: float | None = None
    network: float | None = None
    network_latency: float = 0.0
    device_network: float | None = None
    node_price: float | None = None
    device_price: float | None = None
    hour_price: float | None = None
    peers: tuple[tuple[bool, ...], ...] = ()
    throughput: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    latency: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    def price(self, devices: int) -> float | None:
        """The price of the nodes for a number of devices; None when there is no price."""
        if self.node_price is None or self.device_price is None:
            return None
        return math.ceil(devices / self.devices) * self.node_price + devices * self.device_price

    def reachable(self, device: int) -> list[int]:
        """The devices of a node whose memory `device` can read directly.

        Examples
        --------
        >>> read("dgx1").reachable(0)
        [1, 2, 3, 4]
        """
        others = [other for other in range(self.devices) if other != device]
        if self.peers:
            return [other for other in others if self.peers[device][other]]
        return others if self.peer is not None else []


def profile_names() -> list[str]:
    """The names of the shipped machines.

    Examples
    --------
    >>> profile_names()
    ['dgx1', 'dgx2', 'ec2-m2050', 'lonestar5', 'sci-k20', 'xstream']
    """
    folder = resources.files("arcflux.plan") / "profiles"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read(machine: str | os.PathLike[str] | Profile) -> Profile:
    """The profile of a machine: a shipped one by its name, or one of your own by its TOML file.

    "here" is this machine, whose profile other_machine.py makes.

    Examples
    --------
    >>> read("sci-k20").nodes
    32
    >>> read("dgx3")
    Traceback (most recent call last):
    ...
    arcflux.errors.UsageError: 'dgx3' names no machine
      expected: one of dgx1, dgx2, ec2-m2050, lonestar5, sci-k20, xstream, here, or a file NAME.toml
      try: dgx2
    """
    if isinstance(machine, Profile):
        return machine
    named = os.fspath(path("on", machine))
    if named in profile_names():
        text = (resources.files("arcflux.plan") / "profiles" / f"{named}.toml").read_text(encoding="utf-8")
        return _profile(_parsed(text, named), named)
    if not named.endswith(".toml"):
        near = get_close_matches(named, profile_names(), n=1)
        raise UsageError(
            f"{named!r} names no machine",
            expected=f"one of {', '.join(profile_names())}, here, or a file NAME.toml",
            remedy=near[0] if near else "dgx1",
        )
    try:
        text = Path(named).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot be read: {error}", path=named, expected="a profile of a machine, in TOML") from error
    return _profile(_parsed(text, named), named)


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"is no TOML: {error}", path=path) from error


def _profile(given: dict[str, Any], path: str) -> Profile:
    """The profile that a parsed file describes."""
    sources = given.get("sources", {})
    figures: dict[str, Any] = {"name": given.get("name", Path(path).stem), "title": given.get("title", "")}
    sources_of: dict[str, str] = {}
    for place, (attribute, unit, optional) in _FIGURES.items():
        section, _, key = place.partition(".")
        entry = _section(given, section, path).get(key)
        if entry is None:
            if optional:
                continue
            raise FormatError(f"{place} is missing", path=path, expected=f"a number at [{section}] {key}")
        value, source = (entry.get("value"), entry.get("source", "")) if isinstance(entry, dict) else (entry, "")
        figures[attribute] = _number(value, attribute, place, path) * unit
        if attribute in _WHOLE:
            figures[attribute] = int(figures[attribute])
        sources_of[attribute] = sources.get(source, source) or f"given in {path}"
    _refuse_unknown(given, path)
    figures["kind"] = _section(given, "device", path).get("kind", "device")
    figures["peers"] = _matrix(_section(given, "link", path).get("peers"), figures["devices"], path)
    for section, (attribute, unit) in _TABLES.items():
        if section in given:
            figures[attribute] = _table(given[section], section, unit, path)
            source = given[section].get("source", "")
            sources_of[attribute] = sources.get(source, source) or f"given in {path}"
    if figures["efficiency"] > 1:
        raise FormatError(f"device.efficiency is {figures['efficiency']}", path=path, expected="a share, at most 1")
    if figures["nodes"] > 1 and "network" not in figures:
        raise FormatError("network.gbs is missing, and there are several nodes", path=path, expected="GB/s of a node")
    return Profile(**figures, sources=sources_of)


def _section(given: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    section = given.get(name, {})
    if not isinstance(section, dict):
        raise FormatError(f"{name} is {section!r}", path=path, expected=f"a table [{name}]")
    return section


def _number(value: Any, attribute: str, place: str, path: str) -> float:
    whole = attribute in _WHOLE
    lowest = "0 or more" if attribute in _MAY_BE_ZERO else "more than 0"
    expected = f"a {'whole ' if whole else ''}number, {lowest}"
    sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not sound or value < 0 or (value == 0 and attribute not in _MAY_BE_ZERO) or (whole and value != int(value)):
        raise FormatError(f"{place} is {value!r}", path=path, expected=expected)
    return float(value)


def _matrix(rows: Any, devices: int, path: str) -> tuple[tuple[bool, ...], ...]:
    """Which devices access each other; symmetric, and false on the diagonal."""
    if rows is None:
        return ()
    square = isinstance(rows, list) and len(rows) == devices and all(
        isinstance(row, list) and len(row) == devices and all(one in (0, 1) for one in row) for row in rows
    )  # fmt: skip
    if not square or any(rows[i][j] != rows[j][i] or rows[i][i] for i in range(devices) for j in range(devices)):
        raise FormatError(
            "link.peers is no such matrix", path=path,
            expected=f"{devices} rows of {devices} zeros and ones, the same both ways, with zeros on the diagonal",
        )  # fmt: skip
    return tuple(tuple(bool(one) for one in row) for row in rows)


def _table(rows: dict[str, Any], name: str, unit: float, path: str) -> dict[str, dict[str, float]]:
    """A table of HIVE's micro-benchmark: for each access a number for each place."""
    table = {}
    for access in ACCESSES:
        row = rows.get(access)
        if not isinstance(row, list) or len(row) != len(PLACES):
            raise FormatError(f"{name}.{access} is {row!r}", path=path, expected=f"numbers for {', '.join(PLACES)}")
        checked = [_number(one, "", f"{name}.{access}", path) for one in row]
        table[access] = {place: one * unit for place, one in zip(PLACES, checked, strict=True)}
    return table


def _refuse_unknown(given: dict[str, Any], path: str) -> None:
    """An unknown figure is a typing error, and would otherwise be ignored silently."""
    others = {"name", "title", "sources", *_TABLES, "device.kind", "link.peers"}
    for section, entries in given.items():
        names = [f"{section}.{key}" for key in entries] if isinstance(entries, dict) else [section]
        for place in names:
            if section in others or place in others or place in _FIGURES:
                continue
            near = get_close_matches(place, _FIGURES, n=1)
            raise FormatError(f"{place} is no figure of a machine", path=path, remedy=near[0] if near else "")
