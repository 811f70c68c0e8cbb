"""Parts on GPUs and on cores in one run, on one node and on several, give what plain Python gives."""

import numpy as np
import programs
import pytest
from samples import shapes
from test_programs import run, same

from arcflux import algorithms, trace
from arcflux.devices import CPU
from arcflux.devices.cuda import Cuda
from arcflux.partition import PARTITIONERS

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


SPLIT = [algorithms.BFS, algorithms.SSSP, algorithms.Components, algorithms.PageRank, programs.Widest, programs.Sketch]
WHO = ("gpu gpu", "gpu cpu", "cpu gpu gpu cpu")
EXCHANGES = ("readers", "owners", "allreduce", "mixed")
WAYS = [(how, exchange) for how in PARTITIONERS for exchange in EXCHANGES]


def _devices(who: str) -> list[object]:
    return [Cuda(0) if name == "gpu" else CPU(1) for name in who.split()]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize(("how", "exchange"), WAYS)
def test_gpus_of_a_node_agree_however_edges_are_split(how: str, exchange: str, direction: str) -> None:
    """Every partitioner with every model of exchange; programs and devices take turns."""
    turn, graph = WAYS.index((how, exchange)) + (direction == "push"), SHAPES["undirected"]
    for k in range(2):
        program, who = SPLIT[(turn + 3 * k) % len(SPLIT)], WHO[(turn + k) % len(WHO)]
        spread = run(program, graph, devices=_devices(who), partition=how, exchange=exchange, direction=direction)
        plain = run(program, graph, debug=True)
        assert spread.supersteps == plain.supersteps
        same(program, plain, spread)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("program", SPLIT, ids=lambda p: p.name)
def test_split_in_edges_give_the_bits_of_the_cores_when_a_run_is_deterministic(program: object, who: str) -> None:
    graph = SHAPES["undirected"]
    cores = run(program, graph, deterministic=True, threads=2)
    spread = run(program, graph, deterministic=True, devices=_devices(who), partition="grid", exchange="owners")
    for name, values in cores.values.items():
        np.testing.assert_array_equal(spread[name], values)


@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
def test_pretended_nodes_and_gpus_that_become_nodes_agree(exchange: str) -> None:
    graph = SHAPES["skewed"]
    for program in (algorithms.BFS, programs.Widest, algorithms.PageRank):
        plain = run(program, graph, debug=True)
        for near in ({"ranks_per_node": 1}, {"ranks_per_node": 2}, {}):
            spread = run(program, graph, devices=_devices("gpu cpu gpu"), exchange=exchange, **near)
            same(program, plain, spread)


def test_that_gpus_become_nodes_is_said_once_in_a_run_and_only_where_they_do() -> None:
    def notes(**options: object) -> list[str]:
        said: list[str] = []
        with trace.listen(lambda event: said.append(event.text) if isinstance(event, trace.Note) else None):
            run(algorithms.BFS, SHAPES["star"], devices=_devices("gpu gpu"), **options)
        return [text for text in said if "node of its own" in text]

    assert len(notes(exchange="owners")) == 1
    assert notes(exchange="owners", ranks_per_node=1) == []
    assert notes(exchange="readers") == []


def test_what_a_gpu_sends_to_owners_is_counted() -> None:
    spread = run(algorithms.SSSP, SHAPES["undirected"], devices=_devices("gpu gpu"), exchange="owners")
    assert sum(step.bytes for step in spread.history) > 0
