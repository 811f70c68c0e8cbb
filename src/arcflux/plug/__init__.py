"""The plug: accelerators inside other graph systems, by daemons for devices and agents that use them (GX-Plug)."""

from __future__ import annotations
