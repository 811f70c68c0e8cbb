"""All kernels of native algorithms for GPUs, with the argument types of a launch: for tables, and for tests."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["kernels"]

_ALGORITHMS = ("triangles", "components", "label_propagation", "betweenness", "two_hop_friends", "sssp", "bfs_grid")


def kernels() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """By name: the kernel and its types, for :func:`~arcflux.gpu.cubin.compiled_kernel`."""
    found: dict[str, tuple[Any, tuple[str, ...]]] = {}
    for name in _ALGORITHMS:
        found |= import_module(f"arcflux.algorithms.{name}.cuda").KERNELS
    return found
