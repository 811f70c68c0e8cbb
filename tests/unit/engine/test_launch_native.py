"""All native algorithms take the same options, with the same errors, and say where they ran."""

import numpy as np
import pytest

import arcflux as af
from arcflux.engine.launch import launch
from arcflux.engine.worker import Cores, Worker
from arcflux.errors import UsageError
from arcflux.spmd.team import Team

CALLS = [
    af.connected_components, af.weakly_connected_components, af.label_propagation, af.triangles, af.clustering,
    af.two_hop_friends, af.betweenness_centrality,
]  # fmt: skip
REFUSED = [
    ({"threads": 0}, "threads is 0"),
    ({"parts": 0}, "k is 0"),
    ({"parts": 2, "threads": 2}, "each is the work of one thread"),
    ({"parts": 2, "partition": "stripes"}, "no partitioner 'stripes'"),
    ({"parts": 2, "transport": "pigeon"}, "transport is 'pigeon'"),
    ({"parts": 2, "ranks_per_node": 0}, "ranks_per_node is 0"),
    ({"ranks_per_node": 2}, "ranks_per_node is given, and parts is not"),
    ({"partition": "grid"}, "partition is given, and parts is not"),
    ({"transport": "mpi"}, "was not started by mpiexec"),
    ({"direction": "push"}, "does not take direction"),
    ({"thread": 1}, "does not take thread"),
    ({"devices": "gpu"}, "devices is 'gpu'"),
    ({"devices": [af.devices.CPU(1), af.devices.CPU(1)]}, "this is no vertex program"),
    ({"devices": [af.devices.Virtual(2.0)]}, "this is no vertex program"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED, ids=[said for _, said in REFUSED])
@pytest.mark.parametrize("call", CALLS)
def test_the_same_options_are_refused_alike(call, options, said):
    with pytest.raises(UsageError, match=said):
        call(af.load("path:5"), **options)


@pytest.mark.parametrize("call", CALLS)
def test_results_say_where_they_were_made(call):
    graph = af.load("kron:6")
    assert (call(graph).where, call(graph).exchange, call(graph).notes) == ("", "", ())
    together = call(graph, parts=3, partition="random")
    assert (together.where, together.exchange) == ("3 workers on shared memory", "shared")
    assert together.notes == ("parts by random have no effect: every worker sees the whole graph",)
    apart = call(graph, parts=3, ranks_per_node=2)
    assert (apart.where, apart.exchange, apart.notes) == ("3 parts on 2 nodes", "", ())


def gathered(worker: Worker) -> tuple[int, int, list[int], list[float], list[int]]:
    mine = np.array([worker.rank, *worker.share(100), *worker.share_of_rows(), worker.cores.workers])
    return worker.size, worker.nodes, worker.gather(mine).tolist(), worker.sum(np.ones(2)).tolist(), worker.broadcast(
        np.array([worker.rank + 7]), worker.size - 1
    ).tolist()  # fmt: skip


def test_nodes_are_workers_and_share_by_their_cores():
    graph = af.load("path:9")
    assert launch(graph, {"threads": 2}, gathered).answer == (1, 1, [0, 0, 100, 0, 9, 2], [1.0, 1.0], [7])
    assert launch(graph, {"parts": 5}, gathered).answer == (1, 1, [0, 0, 100, 0, 9, 5], [1.0, 1.0], [7])
    size, nodes, mine, ones, told = launch(graph, {"parts": 4, "ranks_per_node": 3}, gathered).answer
    assert (size, nodes, ones, told) == (2, 2, [2.0, 2.0], [8])
    assert mine[0:3] + mine[6:9] == [0, 0, 75, 1, 75, 100]
    assert (mine[5], mine[11]) == (3, 1)
    assert (mine[3], mine[4], mine[10]) == (0, mine[9], 9)
    assert mine[4] == np.searchsorted(graph.out.offsets, 12)


@pytest.mark.parametrize("nodes", range(1, 9))
def test_what_is_merged_comes_from_everyone(nodes):
    def work(worker: Worker) -> list[int]:
        held = np.zeros(nodes, np.int64)
        held[worker.rank] = 1

        def absorb(other):
            held[:] += other

        return worker.merge(lambda: held, absorb).tolist()

    assert launch(af.load("path:3"), {"parts": nodes, "ranks_per_node": 1}, work).answer == [1] * nodes


def test_a_share_without_chunks_has_progress_that_can_be_told():
    """The pool divides by the chunks while it waits for a kernel, if it has to wait."""

    class Noting(Team):
        def launch(self, kernel, chunks, *arguments, **watch):
            noted.append(chunks)

    class Compiled:
        def ready(self, *arguments):
            pass

    noted: list[int] = []
    Cores(Noting(2)).launch(Compiled(), 0)
    assert noted == [1]


def test_an_error_of_one_worker_is_raised():
    def work(worker: Worker) -> None:
        if worker.rank == 1:
            raise ValueError("the second fails")
        worker.sum(np.ones(1))

    with pytest.raises(ValueError, match="the second fails"):
        launch(af.load("path:3"), {"parts": 3, "ranks_per_node": 1}, work)
