"""node2vec and DeepWalk: blocks of a planted graph are told apart, and one thread always gives the same bits."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import arcflux as af

QUICK = {"walk_length": 20, "walks_per_vertex": 10, "window": 3, "epochs": 3}


def contrast(vectors: np.ndarray, block: np.ndarray) -> float:
    """The mean cosine within blocks, less that between them."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine, same = unit @ unit.T, block[:, None] == block[None]
    np.fill_diagonal(same, False)
    return float(cosine[same].mean() - cosine[block[:, None] != block[None]].mean())


@pytest.mark.parametrize("embed", [af.node2vec, af.deepwalk])
@pytest.mark.parametrize("where", [{"threads": 1}, {"threads": 2}, {"parts": 2, "ranks_per_node": 1}])
def test_blocks_are_told_apart(embed, where: dict[str, int]) -> None:
    planted = nx.planted_partition_graph(3, 25, 0.5, 0.01, seed=1)
    found = embed(planted, 16, **QUICK, seed=2, **where)
    assert found["embedding"].shape == (75, 16)
    assert found["embedding"].dtype == np.float32
    assert found.validate()
    assert contrast(found["embedding"], np.repeat(np.arange(3), 25)) > 0.3


def test_one_thread_gives_the_same_bits_for_a_seed() -> None:
    one, two = (af.node2vec("worlds:4x20", 8, **QUICK, p=0.5, q=2.0, seed=3, threads=1)["embedding"] for _ in range(2))
    assert (one == two).all()
    assert (af.node2vec("worlds:4x20", 8, **QUICK, p=0.5, q=2.0, seed=4, threads=1)["embedding"] != one).any()


def test_deepwalk_is_node2vec_with_uniform_walks() -> None:
    graph = af.load("grid:5x5,weights=1-9")
    walked = af.deepwalk(graph, 4, **QUICK, threads=1)
    assert walked.name == "deepwalk"
    assert (walked["embedding"] == af.node2vec(graph, 4, **QUICK, weight=None, threads=1)["embedding"]).all()


def test_a_lone_vertex_keeps_its_first_vector() -> None:
    graph = af.Graph.from_edges([0], [1], vertices=3, directed=False)
    short, long = (af.node2vec(graph, 4, walk_length=5, epochs=epochs, threads=1)["embedding"] for epochs in (1, 5))
    assert (short[2] == long[2]).all()
    assert (short[0] != long[0]).any()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": 0}, "dimensions is 0"), ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"), ({"window": 0}, "window is 0"),
        ({"walk_length": 1}, "walk_length is 1"), ({"p": 0.0}, "p is 0.0"), ({"epochs": 0}, "epochs is 0"),
        ({"negative": -1}, "negative is -1"), ({"weight": "toll"}, "no edge column"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=said):
        af.node2vec("path:4", **options)
