"""Native algorithms without kernels for GPUs say so."""

from __future__ import annotations

import pytest

import arcflux as af
from arcflux.gpu import api

pytestmark = pytest.mark.skipif(not api.simulated(), reason="the simulator always has a GPU")


def test_louvain_is_refused_on_a_gpu() -> None:
    with pytest.raises(af.errors.UsageError, match="louvain has no kernels for a device of kind 'cuda'"):
        af.louvain("path:4", devices="cuda")
