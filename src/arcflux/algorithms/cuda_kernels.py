"""All kernels of native algorithms for GPUs, with the types that a launch gives them: for tables, and for tests."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["kernels"]

_FILES = (
    "algorithms.triangles.cuda", "algorithms.components.cuda", "algorithms.label_propagation.cuda",
    "algorithms.betweenness.cuda", "algorithms.two_hop_friends.cuda",
    "algorithms.sssp.cuda", "gpu.algorithms.grid",
)  # fmt: skip


def kernels() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """By name: the kernel and its types, as :func:`~arcflux.gpu.cubin.compiled_kernel` takes them."""
    found: dict[str, tuple[Any, tuple[str, ...]]] = {}
    for name in _FILES:
        found |= import_module(f"arcflux.{name}").KERNELS
    return found
