"""A piece of work with little more address space than there is: what comes of it, and whether the process goes on.

Run as ``python memory_limits.py WORK SLACK_BYTES``: prints one line, ``ok`` or the class of the error, then ``alive``.
"""

import faulthandler
import gc
import resource
import sys
import threading

import arcflux as af
from arcflux.spmd import pool


def limited(slack):
    """Limit the address space to what is used now and so many bytes more."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + slack, resource.RLIM_INFINITY))


SMALL = "kron:8"
WORK = {
    "generate": lambda graph: af.load("kron:16"),
    "pagerank": lambda graph: af.pagerank(graph, threads=2),
    "bfs": lambda graph: af.bfs(graph, graph.ids.to_ids([0])[0], threads=2),
    "many threads": lambda graph: af.bfs(graph, graph.ids.to_ids([0])[0], threads=2 if graph.vertices < 1000 else 17),
    "parts": lambda graph: af.pagerank(graph, parts=5, ranks_per_node=2),
    "many parts": lambda graph: af.bfs(graph, graph.ids.to_ids([0])[0], parts=16, ranks_per_node=4),
    "triangles": lambda graph: af.triangles(graph, threads=2),
    "components": lambda graph: af.connected_components(graph, threads=2),
    "betweenness": lambda graph: af.betweenness_centrality(graph, k=3, threads=2),
    "partition": lambda graph: af.partition(graph, 4, "degree"),
    "labels": lambda graph: af.label_propagation(graph, 3, threads=2),
    "two hops": lambda graph: af.two_hop_friends(graph, fraction=0.05, threads=2),
}


def main(name, slack):
    faulthandler.dump_traceback_later(200, exit=True)
    work, small = WORK[name], af.load(SMALL)
    work(small)  # compiled
    graph = af.load("kron:15" if name != "betweenness" else "kron:13")
    expected = af.triangle_count(small)
    gc.collect()
    before = threading.active_count()
    idle = sum(len(pools) * workers for (_, workers), pools in pool._idle.items())
    limited(slack)
    try:
        work(graph)
        outcome = "ok"
    except BaseException as error:
        outcome = type(error).__name__
        if not isinstance(error, af.errors.SpaceError):
            outcome += f" {error!r}"
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    right = af.triangle_count(af.load(SMALL)) == expected
    work(small)
    gc.collect()
    kept = sum(len(pools) * workers for (_, workers), pools in pool._idle.items())
    leaked = threading.active_count() - before - (kept - idle)
    print(outcome)
    print("alive" if right and leaked <= 0 else f"right {right}, {leaked} threads leaked", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
