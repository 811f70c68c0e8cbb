"""All kernels of native algorithms for GPUs, with the types that a launch gives them: for tables, and for tests."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["kernels"]

_ALGORITHMS = ("triangles", "components", "label_propagation", "betweenness", "two_hop_friends", "sssp", "bfs_grid")


def kernels() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """By name: the kernel and its types, as :func:`~arcflux.gpu.cubin.compiled_kernel` takes them."""
    found: dict[str, tuple[Any, tuple[str, ...]]] = {}
    for name in _ALGORITHMS:
        found |= import_module(f"arcflux.algorithms.{name}.cuda").KERNELS
    return found
