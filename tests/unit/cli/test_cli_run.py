"""`arcflux run`: what it prints, what it writes, and how it ends."""

import csv
import functools
import json
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from command_line import put

import arcflux as af
from arcflux import engine
from arcflux.algorithms.registry import ALGORITHMS, find
from arcflux.program import vertex

FRIENDS = "alice,bob\nbob,carol\ndave,erin\n"
PROGRAM = """
import math
import arcflux as af

@af.program
class Heat:
    source: af.vertex
    share: float = 0.5
    rounds: int = 3
    loud: bool = False
    heat: af.f64
    touched: af.i32

    def start(v, p):
        v.heat = 1.0 if v.number == p.source else 0.0
        return True

    def init(v):
        v.heat = 0.0

    def compute(v, u):
        v.heat += u.heat

    def update(v, p, step):
        v.heat = v.heat * p.share
        v.touched = v.touched + (2 if p.loud else 1)
        return step + 1 < p.rounds
"""

# On a star, ranks go to and fro between the centre and the rest, and so they hardly fade.
ENDLESS = ["--set", "tol=0", "--set", "alpha=0.9999999", "--set", "max_iter=1000000"]


def document(run, *arguments):
    code, out, _ = run(*arguments, "--json")
    found = json.loads(out)
    assert (code, "error" in found) == (0, False)
    return found


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", [known for entry in ALGORITHMS.values() for known in (entry.name, *entry.also)])
def test_every_listed_algorithm_runs(run, name):
    entry = find(name)
    needed = [argument for argument in entry.arguments.values() if argument.required]
    assert all(argument.kind is vertex for argument in needed)
    settings = [word for argument in needed for word in ("--set", f"{argument.name}=0")]
    graph = {"collaborative_filtering": "ratings:6x4,per=2"}.get(entry.name, "grid:3x3,weights=1-9")
    found = document(run, "run", name, graph, *settings, "--out", "out.csv", *["--validate"] * entry.checked)
    assert found["algorithm"] == entry.name
    assert found["graph"]["vertices"] == (10 if "ratings" in graph else 9)
    assert found["converged"] or entry.name == "label_propagation"  # so many rounds are its definition
    assert not found["warnings"]
    assert tuple(found["fields"]) == entry.fields
    columns = [re.sub(r"_\d+$", "", name) for name in rows("out.csv")[0]]
    assert list(dict.fromkeys(columns)) == ["vertex", *entry.fields]
    assert getattr(af, entry.name) is entry.call
    assert entry.name in af.__all__


def test_json_tells_all(run):
    found = document(run, "run", "bfs", "path:6", "--source", 2, "--repeat", 3, "--validate", "--threads", 2)
    assert found["graph"] == {"name": "path:6", "vertices": 6, "edges": 5, "arcs": 10, "directed": False}
    assert (found["supersteps"], found["converged"], found["interrupted"]) == (4, True, False)
    assert (found["parameters"], found["threads"], found["warnings"]) == ({"source": 2}, 2, [])
    assert len(found["all_seconds"]) == 3
    assert found["seconds"] == statistics.median(found["all_seconds"])
    assert all(found[key] > 0 for key in ("seconds", "load_seconds", "compile_seconds"))
    assert [step["frontier"] for step in found["history"]] == [1, 2, 2, 1]
    assert (found["validation"]["ok"], found["validation"]["subject"]) == (True, "bfs from 2")
    assert "all_seconds" not in document(run, "run", "pagerank", "path:6")


def test_speed_is_counted_as_documented(run):
    put("g.txt", "0 1\n1 2\n7 8\n8 9\n9 7\n")
    found = document(run, "run", "bfs", "g.txt", "--source", "0")
    assert found["edges_counted"] == 2
    assert found["edges_per_second"] == pytest.approx(2 / found["seconds"])
    assert document(run, "run", "bfs", "g.txt", "--source", "0", "--undirected")["edges_counted"] == 2
    assert document(run, "run", "bfs", "g.txt", "--source", "8", "--undirected")["edges_counted"] == 3
    ranks = document(run, "run", "pagerank", "g.txt", "--undirected")
    assert ranks["edges_counted"] == 10 * ranks["supersteps"]
    assert document(run, "run", "cc", "g.txt", "--undirected")["edges_counted"] == 5
    put("program.py", PROGRAM)
    assert document(run, "run", "program.py", "g.txt", "--source", "0")["edges_counted"] == 3 * 5


def test_text_for_a_person(run):
    put("friends.csv", FRIENDS)
    code, out, err = run("run", "pagerank", "friends.csv", "--undirected", "--top", 2, "--validate", "--repeat", 2)
    assert code == 0
    assert out.startswith("pagerank on friends.csv\n  graph     5 vertices, 3 undirected edges\n")
    assert "superstep" not in err
    assert "(median of 2: " in out
    assert " supersteps, converged\n" in out
    assert re.search(r"\n  speed     [0-9,.]+( million)? edges a second\n", out)
    assert "\n  vertex      rank\n     bob  " in out
    assert "\n  pagerank: ok, 3 rules\n" in out
    code, out, _ = run("run", "bfs", "friends.csv", "--source", "bob", "--threads", 1)
    assert "\nbfs on friends.csv, source bob\n" in "\n" + out
    assert "\n  steps     2 supersteps, converged\n" in out
    assert "\n  frontier  ██\n  level     -1 to 1\n  reached   2 of 5 vertices\n" in out
    assert " on 1 thread\n" in out


def test_top_is_the_largest_values_or_the_largest_groups(run):
    put("g.txt", "0 1 2.5\n1 2 4\n8 9 1\n7 8 1\n6 7 1\n")
    groups = document(run, "run", "cc", "g.txt", "--undirected", "--top", 1)["top"]
    assert groups == [{"component": groups[0]["component"], "vertices": 4}]
    assert "\n  component  2 different, the largest of 4 vertices\n" in run("run", "cc", "g.txt", "--undirected")[1]
    assert "component  vertices\n" in run("run", "cc", "g.txt", "--undirected", "--top", 1)[1]
    far = document(run, "run", "sssp", "g.txt", "--source", 0, "--top", 9)["top"]
    assert far == [{"vertex": 2, "distance": 6.5}, {"vertex": 1, "distance": 2.5}, {"vertex": 0, "distance": 0.0}]


def test_results_are_written_in_the_users_ids(run):
    put("friends.csv", FRIENDS)
    assert run("run", "bfs", "friends.csv", "--source", "alice", "--out", "levels.csv")[0] == 0
    assert [tuple(row.values()) for row in rows("levels.csv")] == [
        ("alice", "0", "alice"), ("bob", "1", "alice"), ("carol", "2", "bob"), ("dave", "-1", ""), ("erin", "-1", ""),
    ]  # fmt: skip
    put("g.txt", "10 20 5\n20 30 7\n40 50 1\n")
    document(run, "run", "bfs", "g.txt", "--source", "20", "--out", "levels.csv")
    assert [row["parent"] for row in rows("levels.csv")] == ["-1", "20", "20", "-1", "-1"]
    found = document(run, "run", "sssp", "g.txt", "--source", "10", "--out", "new/distance.csv")
    assert [row["distance"] for row in rows("new/distance.csv")] == ["0", "5", "12", "inf", "inf"]
    assert found["out"] == {"path": "new/distance.csv", "bytes": Path("new/distance.csv").stat().st_size}
    run("run", "pagerank", "g.txt", "--out", "rank.parquet")
    assert parquet.read_table("rank.parquet").column_names == ["vertex", "rank"]
    run("run", "bfs", "g.txt", "--source", "20", "--out", "level.npy")
    assert np.load("level.npy").tolist() == [-1, 0, 1, -1, -1]
    run("run", "bfs", "g.txt", "--source", "20", "--out", "parent.npy", "--field", "parent")
    assert np.load("parent.npy").tolist() == [-1, 20, 20, -1, -1]


def test_settings_are_read_by_the_kind_of_the_parameter(run):
    found = document(
        run, "run", "pagerank", "star:5", "--set", "damping=0.5", "--set", "tol=1e-3", "--set", "weight=none"
    )
    assert found["parameters"] == {"damping": 0.5, "tol": 1e-3, "weight": None}
    put("program.py", PROGRAM)
    given = ["--source", 1, "--set", "share=1", "--set", "rounds=2", "--set", "loud=yes"]
    found = document(run, "run", "program.py:Heat", "path:3", *given, "--out", "heat.csv")
    assert (found["algorithm"], found["supersteps"]) == ("Heat", 2)
    assert found["parameters"] == {"source": 1, "share": 1.0, "rounds": 2, "loud": True}
    assert [(row["heat"], row["touched"]) for row in rows("heat.csv")] == [("0", "4"), ("2", "4"), ("0", "4")]


def test_shares_of_vertices_are_ids_with_numbers(run):
    put("g.csv", "ada,bob\nbob,http://eve\nhttp://eve,ada\n")
    found = document(run, "run", "pagerank", "g.csv", "--set", "personalization=ada:3,http://eve", "--validate")
    assert found["parameters"]["personalization"] == {"ada": 3.0, "http://eve": 1.0}
    graph = af.load("g.csv")
    ranks = af.pagerank(graph, personalization={"ada": 3, "http://eve": 1}).top(1)
    assert document(run, "run", "pagerank", "g.csv", "--set", "personalization=ada:3,http://eve", "--top", 1)[
        "top"
    ] == [{"vertex": ranks[0][0], "rank": ranks[0][1]}]


def test_options_of_a_run_are_handed_on(run):
    steps = document(run, "run", "bfs", "kron:8", "--source", "1", "--direction", "push")["history"]
    assert {step["direction"] for step in steps} == {"push"}
    steps = document(run, "run", "bfs", "path:5", "--source", "1", "--debug")["history"]
    assert {step["direction"] for step in steps} == {"python"}


def test_only_options_that_are_given_are_handed_on(run, monkeypatch):
    handed = []

    @functools.wraps(engine.run)
    def recording(program, graph, **given):
        handed.append(given)
        return original(program, graph, **given)

    original = engine.run
    monkeypatch.setattr(af, "run", recording)
    document(run, "run", "bfs", "path:5", "--source", "1")
    document(run, "run", "bfs", "path:5", "--source", "1", "--deterministic", "--timeout", 9, "--threads", 1)
    assert handed == [{"source": 1}, {"source": 1, "deterministic": True, "timeout": 9.0, "threads": 1}]


def test_a_run_that_stops_early_warns(run):
    code, out, err = run("run", "bfs", "path:100", "--source", 0, "--max-supersteps", 7)
    assert (code, "not converged" in out) == (0, True)
    assert err == "arcflux: warning: BFS stopped after 7 supersteps before it converged\n"
    found = document(run, "run", "bfs", "path:100", "--source", 0, "--max-supersteps", 7)
    assert (found["converged"], len(found["warnings"])) == (False, 1)
    assert not document(run, "run", "pagerank", "star:9000", *ENDLESS, "--timeout", 0.1)["converged"]


def test_a_wrong_result_is_printed_and_fails(run):
    wrong = ["run", "bfs", "path:100", "--source", 0, "--max-supersteps", 7, "--validate"]
    code, out, err = run(*wrong, "--out", "level.csv")
    assert (code, len(rows("level.csv"))) == (7, 100)
    assert "bfs from 0: FAILED" in out
    assert "arcflux: error: bfs from 0 breaks 1 of 8 rules: span" in err
    code, out, _ = run(*wrong, "--json")
    found = json.loads(out)
    assert (code, found["validation"]["ok"]) == (7, False)
    assert (found["error"]["class"], found["error"]["exit_code"]) == ("ValidationError", 7)


def test_a_graph_without_vertices(run):
    af.Graph.from_edges([], []).save("g")
    found = document(run, "run", "pagerank", "g", "--top", 3, "--validate", "--out", "rank.csv")
    assert (found["supersteps"], found["top"], rows("rank.csv")) == (0, [], [])
    assert "no vertices" in run("run", "pagerank", "g", "--top", 3)[1]


WATCHED = """
import sys
from arcflux import trace
from arcflux.cli import main

def hear(event):
    if getattr(event, "unit", "") == "supersteps" and event.done > 9:
        print("running", file=sys.stderr, flush=True)

with trace.listen(hear):
    main(sys.argv[1:])
"""


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_ctrl_c_keeps_the_last_whole_superstep(tmp_path, form):
    graph = af.load("star:9000")
    graph.save(tmp_path / "g")
    put(tmp_path / "watched.py", WATCHED)
    endless = ["run", "pagerank", "g", *ENDLESS, "--validate", "--repeat", "3", "--out", "rank.npy"]
    command = [sys.executable, "watched.py", *endless, "--timeout", "20", *form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as work:
        while (line := work.stderr.readline()) and line != "running\n":
            pass
        work.send_signal(signal.SIGINT)
        out, err = work.communicate(timeout=120)
    assert work.returncode == 130, err
    assert "arcflux: error: interrupted; this is the last whole superstep" in err
    assert "arcflux: warning: PageRank stopped after " in err
    assert "Traceback" not in err
    if not form:
        assert " supersteps, interrupted\n" in out
        return
    found = json.loads(out)
    assert (found["error"]["class"], found["interrupted"], found["converged"]) == ("Interrupted", True, False)
    assert not {"validation", "all_seconds"} & set(found)
    same = af.pagerank(graph, alpha=0.9999999, tol=0, max_supersteps=found["supersteps"])
    assert np.array_equal(np.load(tmp_path / "rank.npy"), same["rank"])
