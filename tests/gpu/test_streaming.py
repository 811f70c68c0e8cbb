"""A part whose edges do not fit a GPU: they stream through it in blocks, and the result is the same."""

import numpy as np
import programs
import pytest
from samples import shapes
from test_programs import run, same

import arcflux as af
from arcflux import algorithms
from arcflux.devices.cuda import Cuda
from arcflux.gpu.edges import Edges


def _fixed(program: object, graph: af.Graph) -> tuple[int, int]:
    """Bytes that a run holds for vertices, and for edges, as the device counts them."""
    device = Cuda(0)
    seen = []
    device.hold = lambda nbytes, what: seen.append(nbytes)
    device.release = lambda nbytes: None
    run(program, graph, devices=[device])
    arc = 4 + (graph.in_columns["weight"].dtype.itemsize if program is not algorithms.PageRank else 0)
    edges = graph.arcs * arc
    return seen[0] - edges, edges  # out-edges are held later, if at all


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("program", [algorithms.PageRank, programs.Counts, programs.Widest], ids=lambda p: p.name)
def test_edges_that_do_not_fit_stream(program: object, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = shapes()["undirected"]
    fixed, edges = _fixed(program, graph)
    widest = int(np.diff(graph.into.offsets.astype(np.int64)).max()) * (edges // graph.arcs)
    brought = []
    plain_bring = Edges._bring
    monkeypatch.setattr(Edges, "_bring", lambda self, block: (brought.append(block), plain_bring(self, block)))
    device = Cuda(0, memory=fixed + max(2 * widest, int(share * edges)))
    there = run(program, graph, devices=[device], direction="pull")
    same(program, run(program, graph, debug=True), there)
    assert (device.transferred > 0) == bool(brought)
    assert brought or share > 0.5
    assert device.held == 0


def test_push_maps_edges_that_do_not_fit() -> None:
    graph = shapes()["undirected"]
    fixed, edges = _fixed(algorithms.PageRank, graph)
    widest = int(np.diff(graph.into.offsets.astype(np.int64)).max()) * 4
    device = Cuda(0, memory=fixed + max(2 * widest, edges // 4))
    there = run(algorithms.PageRank, graph, devices=[device], direction="push")
    same(algorithms.PageRank, run(algorithms.PageRank, graph, debug=True), there)


def test_out_edges_are_counted_and_mapped_when_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = shapes()["undirected"]
    fixed, edges = _fixed(algorithms.PageRank, graph)
    fitting, plain_out = [], Edges.out

    def noted(self: Edges, offsets: object, arrays: object, fits: bool) -> object:
        fitting.append(fits)
        return plain_out(self, offsets, arrays, fits)

    monkeypatch.setattr(Edges, "out", noted)
    plain = run(algorithms.PageRank, graph, debug=True)
    out = edges + 4 * (graph.vertices + 1)
    for room, fits in ((out, True), (out - 1, False)):
        device = Cuda(0, memory=fixed + edges + room)
        there = run(algorithms.PageRank, graph, devices=[device], direction="push")
        same(algorithms.PageRank, plain, there)
        assert fitting.pop() == fits
        assert device.held == 0
