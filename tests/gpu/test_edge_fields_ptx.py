"""Programs with fields of edges as compiled for GPUs that are not here."""

from __future__ import annotations

import numpy as np
import pytest
from edge_programs import Echo, Matrices, Ripple, Tide

from arcflux.compile.lower import lower
from arcflux.program import Program

COLUMNS = {"weight": np.dtype("f8")}
PROGRAMS = [Echo, Ripple, Matrices, *Tide.phase_programs().values()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_all_kernels_compile(program: Program) -> None:
    """To machine code, for the oldest architecture and the newest."""
    from arcflux.gpu.cubin import compiled, kernels

    lowered = lower(program, COLUMNS)
    assert kernels(lowered) == ["start", "pull_thread", "publish"]
    for kernel in kernels(lowered):
        for architecture in (80, 100):
            assert compiled(lowered, kernel, architecture, COLUMNS).registers > 0, kernel
