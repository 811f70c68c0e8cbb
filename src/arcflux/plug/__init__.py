"""The plug: accelerators inside other graph systems, by a daemon for each device and agents that reach it (GX-Plug)."""

from __future__ import annotations
