"""GPUs that have a node each exchange messages on a link: staged; MPI with CUDA and NCCL as lies that keep count."""

from types import SimpleNamespace

import numpy as np
import programs
import pytest
from samples import shapes
from test_links import Comm, Nccl, Post, simulated
from test_programs import run, same

import arcflux as af
from arcflux import algorithms
from arcflux.devices import CPU, Cuda
from arcflux.gpu import carry, links

GRAPH = shapes()["undirected"]
LINKED = [algorithms.BFS, algorithms.PageRank, algorithms.SSSP, algorithms.Components, programs.Vectors,
          programs.Widest]  # fmt: skip
# One program with values and one with vectors for the other links.
PAIRS = [("staged", each) for each in LINKED]
PAIRS += [(link, each) for link in ("mpi", "nccl") for each in (algorithms.SSSP, programs.Vectors)]


def gpus(count: int) -> list[Cuda]:
    return [Cuda(0) for _ in range(count)]


def _testall(requests: list[object]) -> bool:
    requests[:] = [done for done in requests if not done()]
    return not requests


@pytest.fixture
def link(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A link of this kind, and the calls that it was given: by rank, in order, with their bytes."""
    post, nccl = Post(), Nccl()
    mpi = SimpleNamespace(BYTE="bytes", Request=SimpleNamespace(Testall=_testall))
    seen = SimpleNamespace(calls={})

    def linked(transport: object) -> links.Link:
        make = {"staged": lambda: links.StagedLink(transport), "nccl": lambda: links.NcclLink(transport, nccl),
                "mpi": lambda: links.MpiLink(transport, mpi, Comm(post, transport.rank))}  # fmt: skip
        made = make[request.param]()
        calls = seen.calls.setdefault(transport.rank, [])
        for name in ("send", "receive", "finish"):
            plain = getattr(made, name)

            def noted(*given: object, name: str = name, plain: object = plain) -> None:
                calls.append((name, *(given[1:]), given[0].size * given[0].dtype.itemsize if given else 0))
                plain(*given)

            setattr(made, name, noted)
        return made

    monkeypatch.setattr("arcflux.gpu.executor.linked", linked)
    return seen


@simulated
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize(("link", "program"), PAIRS, indirect=["link"], ids=lambda p: getattr(p, "name", p))
def test_programs_give_the_same_on_every_link(program: object, direction: str, link: SimpleNamespace) -> None:
    plain = run(program, GRAPH, debug=True)
    there = run(program, GRAPH, devices=gpus(3), ranks_per_node=1, direction=direction, rebalance="off")
    assert there.supersteps == plain.supersteps
    same(program, plain, there)
    calls = link.calls
    assert sorted(calls) == [0, 1, 2]
    for rank, made in calls.items():
        for peer in {0, 1, 2} - {rank}:
            sent = [size for name, *rest, size in made if name == "send" and rest == [peer]]
            taken = [size for name, *rest, size in calls[peer] if name == "receive" and rest == [rank]]
            assert sent == taken
            assert all(sent)
    assert len({sum(name == "finish" for name, *_ in made) for made in calls.values()}) == 1
    moved = sum(size for made in calls.values() for name, *_, size in made if name == "send")
    assert moved >= sum(step.bytes for step in there.history)  # the first messages are of no superstep
    assert (moved > 0) == (program is not algorithms.BFS)  # who is in the frontier is all that a search tells


@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
def test_split_in_edges(exchange: str) -> None:
    for program in (algorithms.BFS, programs.Widest):
        there = run(program, GRAPH, devices=gpus(2), ranks_per_node=1, exchange=exchange)
        same(program, run(program, GRAPH, debug=True), there)


def test_deterministic_bits_are_those_of_cores() -> None:
    cores = run(algorithms.PageRank, GRAPH, deterministic=True)
    there = run(algorithms.PageRank, GRAPH, deterministic=True, devices=gpus(2), ranks_per_node=1)
    np.testing.assert_array_equal(there["rank"], cores["rank"])


@pytest.mark.parametrize(
    ("devices", "per_node", "expected"),
    [
        ("gpu gpu", 1, True),
        ("gpu cpu", 1, False),
        ("gpu gpu", None, False),
        ("gpu gpu gpu", 2, False),
        ("gpu", 1, False),
    ],
)
def test_links_are_for_gpus_that_have_a_node_each(
    devices: str, per_node: int | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    plain = carry.linked
    monkeypatch.setattr(
        "arcflux.gpu.executor.linked", lambda transport: made.append(transport.rank) or plain(transport)
    )
    there = [Cuda(0) if name == "gpu" else CPU(1) for name in devices.split()]
    found = run(algorithms.BFS, GRAPH, devices=there, ranks_per_node=per_node)
    assert found["level"].tolist() == af.bfs(GRAPH, 0)["level"].tolist()
    assert bool(made) == expected


def test_a_link_that_is_asked_for_and_not_there_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_GPU_LINK", "nccl")
    monkeypatch.setattr(links, "find_spec", lambda name: None)
    with pytest.raises(af.errors.UsageError, match="ARCFLUX_GPU_LINK is 'nccl'"):
        run(algorithms.BFS, GRAPH, devices=gpus(2), ranks_per_node=1)
