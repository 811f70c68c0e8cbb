"""Bytes of kernels, counted by hand for two of them; a pull on a GPU moves no more than one on cores."""

import re

import numpy as np
import pytest
from samples import PROGRAMS

from arcflux import algorithms
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.cuda.scan import scannable
from arcflux.compile.lower import Lowered, lower
from arcflux.gpu.account import Cost, cost, cpu_pull_cost
from arcflux.program import REF32

COLUMNS = {"weight": np.dtype("i4")}


def lowered(program: object, deterministic: bool = False) -> Lowered:
    found = lower(program.retyped(**dict.fromkeys(program.references, REF32)), COLUMNS, deterministic)
    return found.unordered() if found.ordered else found


def test_pagerank_reads_a_neighbour_and_its_share_for_every_edge() -> None:
    found = cost(lowered(algorithms.PageRank), "pull_thread", COLUMNS)
    assert (found.edge_read, found.edge_written) == (4 + 8, 0)
    # which, mine, rows, rank, two offsets of out-edges; moves, rank, what is sent
    assert (found.vertex_read, found.vertex_written) == (4 + 4 + 4 + 8 + 16, 1 + 8 + 8)


def test_bfs_reads_a_neighbour_and_a_word_of_the_frontier_for_every_edge() -> None:
    assert cost(lowered(algorithms.BFS), "pull_warp", COLUMNS).edge_read == 4 + 4


def test_push_reads_and_writes_the_accumulator_of_every_edge() -> None:
    found = cost(lowered(algorithms.SSSP), "push", COLUMNS)
    assert found.edge_written == 8 + 1 + 4  # the distance, the mark of who received, and the list of them
    assert found.edge_read >= 4 + 4 + 8 + 8  # neighbour, weight, message, distance


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("deterministic", [False, True])
def test_an_edge_costs_no_more_on_a_gpu_than_on_cores(program: object, deterministic: bool) -> None:
    found = lowered(program, deterministic)
    there = re.findall(r"def part_(pull_\w+)", cuda_source(found))
    assert set(there) >= {"pull_thread", "pull_warp", *(["pull_scan"] if scannable(found) else [])}
    for kernel in there:
        assert 0 < cost(found, kernel, COLUMNS).edge_read <= 1.1 * cpu_pull_cost(found, COLUMNS).edge_read


def test_the_sum_is_what_it_says() -> None:
    assert Cost(1, 2, 3, 4).bytes(10, 100) == 10 * 3 + 100 * 7
