"""The same seed gives the same bytes: on any number of threads, and next year."""

import subprocess
import sys

import numpy as np
import pytest
from generated import SPECS, TINY, digest

from arcflux import generate, trace
from arcflux.errors import UsageError

GOLDEN = {
    "kron:10": "1d83547372c70e2e",
    "kron:10,ef=8,seed=3,weights=1-255": "1e1becdad4dfe8b4",
    "rmat:9,a=.5,b=.2,c=.2,weights=0.0-1.0": "04ec45c590bdfd58",
    "urand:10": "be2d49052c6a5145",
    "urand:n=1000,m=5000": "a16351fa48c57e38",
    "grid:30x40,weights=1-255": "d2ae610e06a9f13d",
    "path:100": "bda8b827e5861d39",
    "cycle:100": "d314b84d3f02f4ad",
    "star:100": "11607612c996c442",
    "complete:50": "28ad46d361543026",
    "ws:1000,k=10,p=0.1": "5a552d7f3c9bbfbc",
    "worlds:10x100,k=10,rewire=0.1": "e1e4f56ddfd2683e",
    "worlds:8x64,k=6,kind=rmat": "48d41113c437efce",
    "ratings:100x50,per=20": "b7b763845ac84a30",
    "planted:4x100": "30e4f0a6d4ab8f5f",
    "lfr:500": "090cf2dc58b0ee2b",
    "cliques:10x5": "24a176c16f32e22a",
    "correlated:200": "5f830cb484e9717e",
    "correlated:200,copy": "c2c5d3220da656da",
    "genrmf:4x5": "acbd41010a980fd7",
    "geometric:500,radius=0.1": "625648d6fddd0fb6",
    "geometric:500,radius=0.2,surface=sphere": "b2869d0645be5cfc",
}


@pytest.mark.parametrize("spec", SPECS)
def test_any_number_of_threads(spec):
    alone = generate.from_spec(spec, threads=1)
    assert {digest(generate.from_spec(spec, threads=threads)) for threads in (2, 3, 7)} == {digest(alone)}


@pytest.mark.parametrize(("spec", "expected"), GOLDEN.items())
def test_the_bytes_are_those_of_the_first_release(spec, expected):
    assert digest(generate.from_spec(spec)) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "kron:9",
        "rmat:9",
        "urand:9",
        "ws:500",
        "worlds:9x99",
        "ratings:99x99",
        "planted:4x50",
        "lfr:300",
        "correlated:99",
        "genrmf:4x4",
        "geometric:300",
    ],
)
def test_seeds_differ(spec):
    seeds = (1, 2, 3, (1 << 64) - 1)
    assert len({digest(generate.from_spec(f"{spec},seed={seed}")) for seed in seeds}) == len(seeds)


@pytest.mark.parametrize("spec", [*SPECS, *TINY])
def test_the_name_of_a_graph_generates_it_again(spec):
    graph = generate.from_spec(spec)
    assert generate.is_spec(graph.name)
    assert generate.from_spec(graph.name).equals(graph)
    assert generate.from_spec(graph.name).name == graph.name


@pytest.mark.parametrize("spec", TINY)
def test_tiny_graphs_are_sound(spec):
    graph = generate.from_spec(spec)
    offsets, neighbours = graph.out
    assert (len(offsets), int(offsets[0]), int(offsets[-1])) == (graph.vertices + 1, 0, len(neighbours))
    assert not len(neighbours) or neighbours.max() < graph.vertices


def test_numpy_numbers_will_do():
    graph = generate.kronecker(np.int64(6), np.uint8(4), seed=np.uint64(7), weights=(np.int32(1), np.int32(9)))
    assert graph.name == "kron:6,ef=4,seed=7,weights=1-9"
    assert graph.equals(generate.from_spec(graph.name))


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "one", None, True])
def test_bad_seeds(seed):
    with pytest.raises(UsageError, match="seed is"):
        generate.kronecker(3, seed=seed)


def test_progress_is_told():
    told = []
    with trace.listen(lambda event: told.append(getattr(event, "name", ""))):
        generate.kronecker(8, weights=(1, 2))
    assert told.index("generate kron:8,weights=1-2") < told.index("build") < told.index("weigh kron:8,weights=1-2")


def test_importing_the_generators_imports_no_compiler():
    code = "import sys, arcflux.generate; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
