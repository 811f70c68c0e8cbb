"""Launch shapes that a user asks for are those of every launch, and change no result."""

import numpy as np
import programs
import pytest
from samples import shapes
from test_programs import run, same

from arcflux import algorithms
from arcflux.devices import Cuda, Shapes
from arcflux.errors import UsageError
from arcflux.gpu import api, launch

GRAPH = shapes()["undirected"]
ASKED = [
    Shapes(threads=64, block_threads=32, blocks=1, warp_from=2, block_from=6),
    Shapes(threads=32, block_threads=128, blocks=3, scan_from=1000, warp_from=1000, block_from=2000),
    Shapes(threads=32, block_threads=128, blocks=3, scan_from=1, warp_from=1000, block_from=2000),
]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("asked", ASKED, ids=["long rows", "short rows", "scanned rows"])
@pytest.mark.parametrize("program", [algorithms.BFS, algorithms.PageRank, programs.Vectors], ids=lambda p: p.name)
def test_shapes_change_no_result(
    program: object, asked: Shapes, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, plain_launch = {}, api.launch

    def noted(kernel: object, blocks: int, threads: int, *given: object, **more: object) -> None:
        name = getattr(kernel, "__name__", None) or kernel.fn.__name__
        seen.setdefault(name, set()).add(threads)
        plain_launch(kernel, blocks, threads, *given, **more)

    monkeypatch.setattr(api, "launch", noted)
    there = run(program, GRAPH, devices=[Cuda(0, shapes=asked)], direction=direction)
    same(program, run(program, GRAPH, debug=True), there)
    assert seen.pop("part_pull_block", {asked.block_threads}) == {asked.block_threads}
    assert set().union(*seen.values()) == {asked.threads}
    if direction == "pull":
        assert ("part_pull_warp" in seen) == (asked.warp_from < 100)
        assert ("part_pull_scan" in seen) == (asked.scan_from == 1 and program is algorithms.PageRank)


SCANNED = [algorithms.PageRank, algorithms.SSSP, algorithms.Components, programs.Widest, programs.Counts,
           programs.Extremes, programs.Bits, programs.Wanting]  # fmt: skip


@pytest.mark.parametrize("program", SCANNED, ids=lambda p: p.name)
def test_rows_of_any_length_may_share_the_edges_of_a_block(program: object) -> None:
    """Blocks whose rows have many more edges than are read at a time, and rows that are in several of these times."""
    asked = Shapes(threads=32, block_threads=64, blocks=2, scan_from=1, warp_from=1000, block_from=2000)
    there = run(program, GRAPH, devices=[Cuda(0, shapes=asked)], direction="pull")
    same(program, run(program, GRAPH, debug=True), there)
    cores = run(program, GRAPH, deterministic=True, threads=2)
    exact = run(program, GRAPH, deterministic=True, devices=[Cuda(0, shapes=asked)], direction="pull")
    for name, values in cores.values.items():
        np.testing.assert_array_equal(exact[name], values)


def test_rows_in_the_middle_are_scanned_when_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "simulated", lambda: False)
    rows = np.repeat([2, 16, 100], [800, 100, 100])
    assert (launch.chosen(rows, scans=True).scan_from, launch.chosen(rows, scans=True).warp_from) == (8, 32)
    for found in (launch.chosen(rows), launch.chosen(np.repeat([2, 16], [99, 1]), scans=True)):
        assert found.scan_from == found.warp_from


def test_as_many_blocks_as_the_gpu_has_processors_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "simulated", lambda: False)
    small, large = (launch.chosen(np.full(9, 40), processors).blocks for processors in (20, 132))
    assert large / small == 132 / 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"threads": 48}, "multiple of 32"), ({"block_threads": 512}, "at most 256"), ({"blocks": 0}, "above 0"),
     ({"warp_from": 1.5}, "above 0")],
)  # fmt: skip
def test_shapes_that_no_launch_can_have(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Shapes(**wrong)
    with pytest.raises(UsageError, match="shapes of a GPU"):
        Cuda(0, shapes=(64, 64))
