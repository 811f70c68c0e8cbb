"""Vectors too long for shared memory, as compiled for GPUs that are not here."""

import pytest
from test_long_vectors_gpu import Tastes

from arcflux.compile.lower import lower


@pytest.mark.parametrize("k", [260])
def test_all_kernels_compile(k: int) -> None:
    from arcflux.gpu.cubin import compiled, kernels

    lowered = lower(Tastes(k=k), {})
    for kernel in kernels(lowered):
        assert compiled(lowered, kernel, 80, {}).registers > 0, kernel
