"""NetworkX's own tests through the backend, in a process of its own, found by the entry points of pyproject.toml.

A quick part of them by default; ``make test-networkx`` (ARCFLUX_NETWORKX_SUITE=whole) takes all that call a function of
the backend, with and without NetworkX to fall back on.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from _arcflux_networkx import FUNCTIONS

tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
WHOLE = os.environ.get("ARCFLUX_NETWORKX_SUITE") == "whole"
# What calls each of the functions.
DIRECT = [
    "shortest_paths.tests.test_unweighted", "shortest_paths.tests.test_weighted", "shortest_paths.tests.test_generic",
    "components", "link_analysis", "tests.test_core", "tests.test_cluster", "tests.test_dag", "traversal",
    "centrality.tests.test_degree_centrality", "centrality.tests.test_betweenness_centrality",
    "centrality.tests.test_closeness_centrality", "centrality.tests.test_harmonic_centrality",
    "centrality.tests.test_katz_centrality", "centrality.tests.test_eigenvector_centrality",
    "tests.test_distance_measures", "tests.test_wiener", "tests.test_reciprocity", "tests.test_isolate",
    "tree.tests.test_mst", "tree.tests.test_recognition", "tests.test_bridges", "tests.test_triads",
    "tests.test_link_prediction", "coloring", "bipartite.tests.test_basic", "assortativity.tests.test_correlation",
    "centrality.tests.test_betweenness_centrality_subset",
]  # fmt: skip
# 500 small graphs, each by five functions: a minute.
QUICK = "not use_bounds"
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "count_calls"]


def entry_points(folder):
    """What installing the package would tell NetworkX, for a process that has it on its path only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    home = folder / "arcflux-0.1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: arcflux\nVersion: 0.1.0\n")
    groups = {group: lines for group, lines in project["entry-points"].items() if group.startswith("networkx.")}
    text = [
        line for group, lines in groups.items() for line in (f"[{group}]", *(f"{a} = {b}" for a, b in lines.items()))
    ]
    (home / "entry_points.txt").write_text("\n".join(text) + "\n")


def run_suite(folder, fallback, modules, *more):
    entry_points(folder)
    calls = folder / "calls.json"
    path = os.pathsep.join([str(folder), str(HERE), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "arcflux", "PYTHONPATH": path, "CALLS": str(calls)}
    environment.pop("NETWORKX_FALLBACK_TO_NX", None)
    if fallback:
        environment["NETWORKX_FALLBACK_TO_NX"] = "True"
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--pyargs", *modules, *more]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done, json.loads(calls.read_text())


def test_the_direct_tests_pass_and_every_function_runs(tmp_path):
    done, calls = run_suite(tmp_path, True, [f"networkx.algorithms.{name}" for name in DIRECT], "-k", QUICK)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert not [name for name in FUNCTIONS if not calls.get(name)]


DISPATCH = """
import sys
import networkx as nx
assert "arcflux" not in sys.modules
graph = nx.gnm_random_graph(300, 2000, seed=1)
expected = nx.triangles(graph)
nx.config.warnings_to_ignore.add("cache")
nx.config.backends.arcflux.threads = 1
assert nx.triangles(graph, backend="arcflux") == expected
first = next(iter(graph.__networkx_cache__["backends"]["arcflux"].values()))
assert list(nx.core_number(graph, backend="arcflux").items()) == list(nx.core_number(graph).items())
assert next(iter(graph.__networkx_cache__["backends"]["arcflux"].values())) is first
graph.add_edge(0, 1000)
assert 1000 in nx.core_number(graph, backend="arcflux")
nx.config.backend_priority = ["arcflux"]
assert nx.triangles(nx.path_graph(3)) == {0: 0, 1: 0, 2: 0}  # too small: NetworkX's own
assert nx.pagerank(graph, dangling={0: 1})  # not ours: NetworkX's own
converted = nx.utils.backends._load_backend("arcflux").convert_from_nx(graph)
assert nx.number_connected_components(converted) == nx.number_connected_components(graph)
"""


def test_networkx_finds_the_backend_keeps_what_it_converts_and_goes_on_without_it(tmp_path):
    entry_points(tmp_path)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", DISPATCH], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not WHOLE, reason="make test-networkx")
@pytest.mark.parametrize("fallback", [True, False])
def test_the_whole_suite_passes(tmp_path, fallback):
    done, calls = run_suite(tmp_path, fallback, ["networkx"])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert sum(calls.values()) > 1000
