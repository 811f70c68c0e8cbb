"""Vectors too long for a warp's shared memory: a GPU gives what plain Python gives, with a thread for each vertex."""

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import lower
from arcflux.devices.cuda import Cuda


@af.program
class Tastes:
    k: int = 4
    taste: af.f64[k]

    def start(v, p):
        for k in range(p.k):
            v.taste[k] = (v.number * 3 + k) % 7
        return True

    def init(v):
        v.taste = 0.0

    def compute(v, u, old):
        v.taste += af.dot(u.taste, old.taste) * u.taste

    def update(v, old, step):
        before = v.taste
        v.taste[1] = 5.0
        v.taste = max(v.taste, before - old.taste)
        return step < 1


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_a_gpu_gives_what_plain_python_gives(direction: str) -> None:
    graph = af.load("kron:3,directed=true")
    plain = af.run(Tastes, graph, k=260, debug=True)
    there = af.run(Tastes, graph, k=260, devices=[Cuda(0)], direction=direction)
    np.testing.assert_array_equal(there["taste"], plain["taste"])


def test_a_thread_for_each_vertex() -> None:
    assert "def part_pull_warp(" in cuda_source(lower(Tastes(k=40), {}))
    text = cuda_source(lower(Tastes(k=260), {}))
    assert "def part_pull_thread(" in text
    assert "def part_pull_warp(" not in text
    assert "shared.array" not in text.partition("def part_pull_thread(")[2].partition("@kernel")[0]
