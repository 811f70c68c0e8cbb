"""A run takes no more of a GPU than was counted before its first superstep, and not much less: budgets are kept."""

import gc
from collections import defaultdict
from collections.abc import Iterator

import programs
import pytest
from samples import shapes
from test_programs import run, same

import arcflux as af
from arcflux import algorithms
from arcflux.devices import CPU, Cuda
from arcflux.gpu import api
from arcflux.gpu.memory import Memory

pytestmark = pytest.mark.skipif(
    not api.simulated(), reason="arrays of two GPUs are told apart by the simulator's names"
)
GRAPH = af.load("kron:5,weights=1-9,seed=2")
PROGRAMS = [algorithms.PageRank, algorithms.SSSP, programs.Vectors]


@pytest.fixture
def peaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The most bytes that arrays of each GPU ever took."""
    found: dict[str, int] = defaultdict(int)
    plain = Memory._made

    def made(self: Memory, *given: object) -> object:
        array = plain(self, *given)
        if self.held > found[self.name]:
            gc.collect()  # the simulator has cycles around arrays that are gone
            found[self.name] = max(found[self.name], self.held)
        return array

    monkeypatch.setattr(Memory, "_made", made)
    gc.collect()
    gc.freeze()
    yield found
    gc.unfreeze()


class _Counting(Cuda):
    """A GPU that knows the most that was counted for it."""

    most = 0

    def hold(self, nbytes: int, what: str) -> None:
        super().hold(nbytes, what)
        self.most = max(self.most, self.held)


def _devices(who: str) -> list[object]:
    made = [_Counting(0) if name == "gpu" else CPU(1) for name in who.split()]
    for number, device in enumerate(made):
        device.name = f"{device.name} of part {number}"
    return made


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize(
    ("who", "options"),
    [("gpu", {}), ("gpu gpu", {}), ("gpu cpu", {}), ("gpu gpu", {"ranks_per_node": 1}),
     ("gpu cpu", {"exchange": "owners"})],
    ids=["alone", "two", "cores beside", "linked", "owners"],
)  # fmt: skip
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_what_is_counted_is_what_is_taken(
    program: object, who: str, options: dict[str, object], direction: str, peaks: dict[str, int]
) -> None:
    devices = _devices(who)
    run(program, GRAPH, devices=devices, direction=direction, rebalance="off", **options)
    for device in devices:
        if isinstance(device, Cuda):
            assert 0.75 * device.most <= peaks[device.name] <= device.most
            assert device.held == 0


@pytest.mark.parametrize("program", [algorithms.PageRank, programs.Widest], ids=lambda p: p.name)
def test_a_budget_is_kept_when_edges_stream(program: object, peaks: dict[str, int]) -> None:
    graph = shapes()["undirected"]
    [whole] = _devices("gpu")
    run(program, graph, devices=[whole], direction="pull")
    least = whole.most - peaks.pop(whole.name) // 8  # less than all of it takes
    small = Cuda(0, memory=least)
    there = run(program, graph, devices=[small], direction="pull")
    assert small.transferred > 0
    assert 0 < peaks[small.name] <= least
    same(program, run(program, graph, debug=True), there)
