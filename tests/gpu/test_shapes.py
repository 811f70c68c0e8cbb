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
    Shapes(threads=32, block_threads=128, blocks=3, warp_from=1000, block_from=2000),
]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("asked", ASKED, ids=["long rows", "short rows"])
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
