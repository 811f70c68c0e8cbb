"""The validator of communities, and what Louvain and Leiden make of it."""

from __future__ import annotations

import numpy as np
import pytest

import arcflux as af

BOTH = pytest.mark.parametrize("find", [af.louvain, af.leiden])


@BOTH
@pytest.mark.parametrize("spec", ["kron:9,weights=1-9", "planted:6x50", "lfr:600", "cliques:30x5", "grid:20x20"])
def test_no_single_move_improves_what_is_found(find, spec: str) -> None:
    for seed in range(2):
        report = find(spec, seed=seed).validate()
        assert report.ok, report


def test_the_constant_potts_model_too() -> None:
    for resolution in (0.05, 0.3):
        report = af.leiden("planted:5x40,in=0.6,out=0.02", resolution, objective="cpm").validate()
        assert report.ok, report


def test_pairs_of_cliques_beat_single_ones_beyond_the_resolution_limit() -> None:
    graph = af.load("cliques:30x5")
    single, pairs = np.arange(150) // 5, np.arange(150) // 10
    assert af.modularity(graph, single) == pytest.approx(1 - 2 / 22 - 1 / 30)
    assert af.modularity(graph, pairs) == pytest.approx(1 - 1 / 22 - 2 / 30)
    assert af.leiden(graph).modularity >= af.modularity(graph, single)


def test_gains_are_differences_of_modularity() -> None:
    graph = af.load("urand:n=30,m=60,weights=1-5")
    labels = np.random.default_rng(0).integers(0, 4, 30)
    report = af.validate.communities(graph, labels, tolerance=0.0)
    now = af.modularity(graph, labels)
    movable = set()
    for v in range(30):
        for other in [*range(4), 9]:
            moved = labels.copy()
            moved[v] = other
            if af.modularity(graph, moved) > now + 1e-12:
                movable.add(v)
    assert report["moves"].count == len(movable)


def test_what_is_wrong_is_noticed() -> None:
    graph = af.load("path:6")
    assert not af.validate.communities(graph, [0, 0, 0, 1, 1, 1], 0.9)["modularity"].passed
    assert not af.validate.communities(graph, [0, 1, 0, 1, 0, 1], connected=True)["connected"].passed
    assert not af.validate.communities(graph, np.arange(6))["moves"].passed


@BOTH
def test_a_threshold_ends_it_sooner(find) -> None:
    graph = af.load("kron:11")
    assert len(find(graph, threshold=0.5).levels) <= len(find(graph, threshold=1e-7).levels)
    with pytest.raises(af.errors.UsageError, match="threshold is"):
        find(graph, threshold=float("nan"))
