"""What runs a part: a device with its memory, its speed and its link; and the placement of edges in memories.

`CPU` runs at full speed in the memory of its node. `Cuda` is a GPU. `Virtual` is a CPU that simulates another device:
slower, with a memory of its own, behind a link; runs on unequal devices can be tested with it without the hardware.
`named` resolves names of devices such as "cuda:0-3".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.devices.base import Device, Timing
    from arcflux.devices.choose import named
    from arcflux.devices.cpu import CPU
    from arcflux.devices.cuda import Cuda
    from arcflux.devices.placement import Demand, Placed, Placement, place
    from arcflux.devices.virtual import Virtual
    from arcflux.gpu.launch import Shapes

__all__ = ["CPU", "Cuda", "Demand", "Device", "Placed", "Placement", "Shapes", "Timing", "Virtual", "named", "place"]

import_lazily(
    __name__,
    {
        "base": "Device Timing",
        "choose": "named",
        "cpu": "CPU",
        "cuda": "Cuda",
        "placement": "Demand Placed Placement place",
        "virtual": "Virtual",
        "arcflux.gpu.launch": "Shapes",
    },
)
