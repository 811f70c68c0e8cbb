"""Every rank: applications on ranks of MPI give what one process does. Run by test_applications_on_ranks.py."""

import sys

import numpy as np

import arcflux as af

graph = af.load("kron:7,weights=1-9")
places = np.full((graph.vertices, 2), np.nan)
places[::3] = np.stack([np.arange(0, 128, 3) / 2, np.arange(0, 128, 3)], 1)
features = np.random.default_rng(1).normal(size=(graph.vertices, 4))
CALLS = {
    "walks": lambda **where: af.random_walks(graph, walk_length=6, p=0.5, q=2.0, **where).walks,
    "search": lambda **where: af.graph_search(graph, mode="stochastic_greedy", **where).walks,
    "scan": lambda **where: af.scan_statistics(graph, method="wedges", **without(where))["statistic"],
    "clusters": lambda **where: af.local_clustering(graph, [0, 3, 5], rho=1e-3, **without(where)).scores,
    "places": lambda **where: np.nan_to_num(af.geolocate(graph, places, **without(where))["latitude"]),
    "peers": lambda **where: np.nan_to_num(af.geolocate(graph, places, exchange="peer", **without(where))["latitude"]),
    "sage": lambda **where: af.graphsage(
        graph, features, children=3, share_samples=True, feature_source="streamed", **without(where)
    )["embedding"].round(4),
}


def without(where: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in where.items() if name != "distributed"}


def main() -> None:
    for name, call in CALLS.items():
        alone = np.asarray(call(transport="local", parts=1))
        for distributed in (False, True):
            found = np.asarray(call(ranks_per_node=int(sys.argv[1]), distributed=distributed))
            same = np.allclose(found, alone, atol=2e-4) if name == "sage" else (found == alone).all()
            assert same, (name, distributed)
    print("all the same")


if __name__ == "__main__":
    main()
