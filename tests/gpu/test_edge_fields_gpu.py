"""Fields of edges on simulated GPUs: one, and several whose cut edges cross between them."""

from __future__ import annotations

import pytest
from edge_programs import NAMES, check, graph_of

from arcflux.devices.cuda import Cuda


@pytest.mark.parametrize("devices", [1, 2, 3])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_gives_what_loops_give(name: str, directed: bool, devices: int) -> None:
    check(name, graph_of(name, directed), devices=[Cuda(0) for _ in range(devices)])


@pytest.mark.parametrize("name", NAMES)
def test_gpus_on_nodes_of_their_own(name: str) -> None:
    check(name, graph_of(name, directed=True), devices=[Cuda(0), Cuda(0)], ranks_per_node=1)


@pytest.mark.parametrize("name", ["echo", "ripple"])
def test_edges_that_stream_through_the_device(name: str) -> None:
    """Columns and neighbours come block by block; fields of edges are on the device all the time."""
    check(name, graph_of(name, directed=False), devices=[Cuda(0, memory=9000)])
