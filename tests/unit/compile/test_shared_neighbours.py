"""Loops over what v and a neighbour share: `for w in af.intersect(v, u)`."""

import numpy as np
import pytest
from around_programs import Triangles

import arcflux as af
from arcflux.errors import ProgramError


def expected(graph: af.Graph) -> dict[str, list[float]]:
    weight: dict[tuple[int, int], float] = {}
    into: dict[int, list[int]] = {v: [] for v in range(graph.vertices)}
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    for u, v, w in zip(sources.tolist(), graph.out.neighbours.tolist(), graph.columns["weight"].tolist(), strict=True):
        into[v].append(u)
        weight.setdefault((u, v), w)
    found: dict[str, list[float]] = {"count": [], "heaviest": [], "first": [], "weight": []}
    for v in range(graph.vertices):
        count, heaviest, first, total = 0, 0, -1, 0.0
        for u in sorted(into[v]):
            for w in sorted(set(into[v]) & set(into[u])) if u != v else []:
                if w in (u, v):
                    continue
                count, heaviest, total = count + 1, max(heaviest, 100 * u + w), total + weight[w, v]
                if first < 0:
                    first = w
                    break
        for name, value in zip(found, (count, heaviest, first, total), strict=True):
            found[name].append(value)
    return found


@pytest.mark.parametrize("options", [{"debug": True}, {"threads": 1}, {"threads": 3}, {"parts": 3}], ids=str)
@pytest.mark.parametrize("directed", [True, False])
def test_loops_over_what_is_shared(options: dict[str, object], directed: bool) -> None:
    chance = np.random.default_rng(5)
    ends = chance.integers(0, 14, (2, 60))  # with parallel edges and self-loops
    graph = af.Graph.from_edges(*ends, columns={"weight": chance.integers(1, 9, 60) * 1.0}, directed=directed)
    found = af.run(Triangles, graph, **options)
    for name, values in expected(graph).items():
        assert found[name].tolist() == values, name
    assert max(found["count"]) > 0


def test_a_loop_over_what_two_neighbours_share_is_refused() -> None:
    @af.program
    class Wrong:
        x: af.i64

        def around(v, edges):
            for u in edges:
                for w in edges:
                    for both in af.intersect(u, w):
                        v.x += both.number

    with pytest.raises(ProgramError, match=r"(?s)a loop over what two neighbours share.*af.intersect\(v, u\)"):
        af.run(Wrong, "path:3")
