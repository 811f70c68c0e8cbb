"""Both ways in which messages of others come to a GPU (Lux, figure 13) bring the same, in an order that is safe."""

import numpy as np
import programs
import pytest
from samples import shapes
from test_programs import run, same

from arcflux import algorithms
from arcflux.devices import CPU, Cuda
from arcflux.errors import UsageError
from arcflux.gpu import api, load
from arcflux.gpu.launch import chosen
from arcflux.gpu.load import Loader

GRAPH = shapes()["undirected"]
LOADED = [algorithms.BFS, algorithms.PageRank, algorithms.SSSP, programs.Vectors, programs.Widest]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("way", ["kernel", "cores"])
@pytest.mark.parametrize("program", LOADED, ids=lambda p: p.name)
def test_programs_give_the_same_either_way(program: object, way: str, direction: str) -> None:
    plain = run(program, GRAPH, debug=True)
    there = run(program, GRAPH, devices=[Cuda(0, load=way), CPU(1)], direction=direction)
    assert there.supersteps == plain.supersteps
    same(program, plain, there)


@pytest.mark.parametrize(
    ("asked", "direction", "expected"),
    [("auto", "pull", "kernel"), ("auto", "push", "cores"), ("cores", "pull", "cores"), ("kernel", "push", "kernel")],
)
def test_kernels_load_for_pull_and_cores_for_push(
    asked: str, direction: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for name in ("kernel", "cores"):
        plain = getattr(Loader, f"_by_{name}")
        monkeypatch.setattr(
            Loader, f"_by_{name}", lambda self, *given, name=name, plain=plain: seen.add(name) or plain(self, *given)
        )
    run(algorithms.PageRank, GRAPH, devices=[Cuda(0, load=asked), CPU(1)], direction=direction)
    assert seen == {expected}


def test_what_is_asked_for_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_GPU_LOAD", "cores")
    assert (Cuda(0).load, Cuda(0, load="kernel").load) == ("cores", "kernel")
    monkeypatch.setenv("ARCFLUX_GPU_LOAD", "magic")
    with pytest.raises(UsageError, match="ARCFLUX_GPU_LOAD is 'magic'"):
        Cuda(0)
    with pytest.raises(UsageError, match="load of a GPU is 'magic'"):
        Cuda(0, load="magic")


def _loader(asked: str, size: int = 50) -> tuple[Loader, list[np.ndarray], list[object]]:
    there = [np.arange(size) * 1.5, np.arange(3 * size, dtype=np.float32).reshape(size, 3)]
    here = [api.to_device(np.full_like(array, -1)) for array in there]
    mapped = [api.mapped(array)[0] for array in there]
    return Loader(there, here, mapped, api.stream(), asked, 1), there, here


@pytest.mark.parametrize("asked", ["kernel", "cores"])
@pytest.mark.parametrize("count", [0, 1, 8, 9, 40])
def test_listed_rows_come_and_no_others(asked: str, count: int) -> None:
    loader, there, here = _loader(asked)
    places = np.random.default_rng(count).permutation(50)[:count].astype(np.uint32)
    pieces = list(loader.brought(places, api.to_device(places), True, chosen(np.zeros(0))))
    assert [k for first, last in pieces for k in range(first, last)] == list(range(count))
    others = np.setdiff1d(np.arange(50), places)
    for array, device in zip(there, here, strict=True):
        came = device.copy_to_host()
        np.testing.assert_array_equal(came[places], array[places])
        assert (came[others] == -1).all()


class _Event:
    """A mark that writes down what is done with it."""

    def __init__(self, log: list[tuple[str, ...]], name: str) -> None:
        self.log, self.name = log, name

    def synchronize(self) -> None:
        self.log.append(("host waits for", self.name))

    def wait(self, stream: object) -> None:
        self.log.append(("stream waits for", self.name))

    def record(self, stream: object) -> None:
        self.log.append(("marked", self.name))


def test_a_buffer_is_filled_only_when_its_copy_has_gone_and_its_kernels_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[tuple[str, ...]] = []
    loader, _, _ = _loader("cores")
    loader._buffers = [load._Buffer(loader.piece, loader.there) for _ in range(2)]
    for number, buffer in enumerate(loader._buffers):
        buffer.came, buffer.used = _Event(log, f"came {number}"), _Event(log, f"used {number}")
    plain = load.run
    monkeypatch.setattr(load, "run", lambda *given, **more: (log.append(("gathers",)), plain(*given, **more)))
    places = np.arange(3 * loader.piece, dtype=np.uint32)
    for first, _ in loader.brought(places, api.to_device(places), True, chosen(np.zeros(0))):
        log.append(("computes", str(first // loader.piece)))

    def one(number: int, piece: int) -> list[tuple[str, ...]]:
        """Of a piece: gather when the last copy of the buffer has gone, copy when kernels are done, then compute."""
        came, used = f"came {number}", f"used {number}"
        gathers = [("host waits for", came), ("gathers",), ("gathers",)]
        copies = [("stream waits for", used), ("marked", came), ("stream waits for", came)]
        return [*gathers, *copies, ("computes", str(piece)), ("marked", used)]

    assert log == [*one(0, 0), *one(1, 1), *one(0, 2)]
