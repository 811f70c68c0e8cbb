"""Kernels of programs with mail as compiled for GPUs that are not here."""

import mailing
import numpy as np
import pytest

from arcflux.compile.lower import lower

COLUMNS = {"weight": np.dtype("i8")}


@pytest.mark.parametrize("program", mailing.MAILED, ids=lambda program: program.name)
def test_all_kernels_compile(program: object) -> None:
    """To machine code, for the oldest architecture and the newest."""
    from arcflux.gpu.cubin import compiled, kernels

    lowered = lower(program, COLUMNS)
    each = "apply" if lowered.around is None else "pull_thread"
    assert kernels(lowered) == ["start_count", "start", f"{each}_count", each, "publish"]
    for kernel in kernels(lowered):
        for architecture in (80, 100):
            assert compiled(lowered, kernel, architecture, COLUMNS).registers > 0, kernel
