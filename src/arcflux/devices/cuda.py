"""A GPU, by its number."""

from __future__ import annotations

from typing import Any

from arcflux.devices.base import Device

__all__ = ["Cuda"]


class Cuda(Device):
    """The GPU with this number."""

    def __init__(self, index: int = 0, memory: int | None = None) -> None:
        super().__init__(f"cuda:{index}", 1, memory or 1 << 30, bandwidth=24e9)
        self.index = index
        self.buckets = False

    def calls(self, node: Any, cores: Any) -> Any:
        """Kernels on this GPU."""
        from arcflux.gpu.executor import OnGpu

        return OnGpu(node, self, cores)
