"""Parts on GPUs and on cores in one run, on one node and on several, give what plain Python gives."""

import programs
import pytest
from samples import shapes
from test_programs import run, same

import arcflux as af
from arcflux import algorithms
from arcflux.devices import CPU
from arcflux.devices.cuda import Cuda

SHAPES = shapes()
MIXED = [algorithms.BFS, algorithms.PageRank, algorithms.SSSP, algorithms.Components, programs.Vectors, programs.Sketch,
         programs.Wanting, programs.Widest]  # fmt: skip


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("nodes", ["one node", "two nodes"])
@pytest.mark.parametrize("who", ["cpu gpu", "gpu gpu gpu"])
@pytest.mark.parametrize("program", MIXED, ids=lambda p: p.name)
def test_parts_on_gpus_and_cores_agree(program: object, who: str, nodes: str, direction: str) -> None:
    graph = SHAPES["undirected"]
    devices = [Cuda(0) if name == "gpu" else CPU(1) for name in who.split()]
    plain = run(program, graph, debug=True)
    near = {} if nodes == "one node" else {"ranks_per_node": 1 if len(devices) == 2 else 2}
    spread = run(program, graph, devices=devices, direction=direction, **near)
    assert spread.supersteps == plain.supersteps
    same(program, plain, spread)


@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
def test_gpus_reduce_for_vertices_of_other_nodes(exchange: str) -> None:
    graph = SHAPES["undirected"]
    for program in (algorithms.BFS, programs.Widest, algorithms.PageRank):
        plain = run(program, graph, debug=True)
        for direction in ("pull", "push"):
            spread = run(program, graph, devices=[Cuda(0), Cuda(0)], ranks_per_node=1, exchange=exchange,
                         direction=direction)  # fmt: skip
            same(program, plain, spread)


def test_a_gpu_that_would_have_to_share_accumulators_says_so() -> None:
    with pytest.raises(af.errors.UsageError, match="shares its node"):
        run(algorithms.BFS, SHAPES["star"], devices=[Cuda(0), Cuda(0)], exchange="owners")
