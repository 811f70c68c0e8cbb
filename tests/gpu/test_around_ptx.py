"""Neighbourhoods as compiled for GPUs that are not here."""

import around_programs as around
import numpy as np
import pytest

from arcflux.compile.lower import lower

COLUMNS = {"weight": np.dtype("f8")}
PROGRAMS = [around.Labels, around.SparseLabels, around.Closing, around.Everything, around.Hops, around.Settling,
            around.Triangles]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_all_kernels_compile(program: object) -> None:
    """To machine code, for the oldest architecture and the newest."""
    from arcflux.gpu.cubin import compiled, kernels

    lowered = lower(program, COLUMNS)
    assert kernels(lowered) == ["start", "pull_thread", "pull_warp", "publish"]
    for kernel in kernels(lowered):
        for architecture in (80, 100):
            assert compiled(lowered, kernel, architecture, COLUMNS).registers > 0, kernel


def test_a_mode_needs_no_memory_of_a_thread() -> None:
    """What a thread collects stands where its row has a place."""
    from arcflux.gpu.cubin import compiled

    for kernel in ("pull_thread", "pull_warp"):
        found = compiled(lower(around.Labels, COLUMNS), kernel, 80, COLUMNS)
        assert found.spilled == 0
        assert ".local" not in found.ptx
