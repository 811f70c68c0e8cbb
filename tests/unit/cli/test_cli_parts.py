"""`arcflux run` on parts, on threads and on processes that it starts: the same answer, told once."""

import json
import subprocess
import sys

import numpy as np
import pytest
from command_line import failing, put

EDGES = "alice,bob,2\nbob,carol,1\ncarol,dave,4\nalice,dave,9\nerin,erin,1\n"


def levels(path):
    return dict(line.split(",")[:2] for line in path.read_text().splitlines()[1:])


@pytest.mark.parametrize("how", ["ranges", "grid", "degree", "random", "mincut", "duplicate"])
@pytest.mark.parametrize("per_node", [[], ["--ranks-per-node", "2"]])
def test_any_parts_give_the_same_file(run, tmp_path, how, per_node):
    put("friends.csv", EDGES)
    run("run", "sssp", "friends.csv", "--source", "alice", "--out", "whole.csv")
    code, out, _ = run("run", "sssp", "friends.csv", "--source", "alice", "--out", "parts.csv", "--parts", 3,
                       "--partition", how, *per_node)  # fmt: skip
    assert code == 0
    assert f"3 parts by {how}" in out
    assert ("2 nodes" in out) == bool(per_node)
    assert levels(tmp_path / "parts.csv") == levels(tmp_path / "whole.csv")


def test_json_says_how_the_run_was_spread(run):
    code, out, _ = run("run", "pagerank", "kron:8", "--parts", 4, "--ranks-per-node", 2, "--exchange", "owners",
                       "--rebalance", "off", "--json")  # fmt: skip
    found = json.loads(out)
    spread = found["spread"]
    assert code == 0
    assert {name: spread[name] for name in ("parts", "partition", "transport", "nodes")} == {
        "parts": 4, "partition": "ranges", "transport": "local", "nodes": 2,
    }  # fmt: skip
    assert spread["bytes"] == sum(step["bytes"] for step in found["history"]) > 0
    assert all(len(step["part_seconds"]) == 4 for step in found["history"])


def test_a_run_that_is_not_spread_says_nothing_of_parts(run):
    _, out, _ = run("run", "pagerank", "kron:8", "--json")
    found = json.loads(out)
    assert "spread" not in found
    assert "part_seconds" not in found["history"][0]


def test_a_folder_of_parts_is_run_as_it_was_split(run):
    run("partition", "kron:8", "-k", 3, "--how", "random", "--out", "split")
    _, whole, _ = run("run", "cc", "kron:8", "--json", "--top", 3)
    code, out, _ = run("run", "cc", "split", "--json", "--top", 3)
    assert code == 0
    found = json.loads(out)
    assert found["spread"]["partition"] == "random"
    assert found["top"] == json.loads(whole)["top"]
    assert failing(run, "run", "cc", "split", "--undirected")[0] == 2


@pytest.mark.parametrize(("parts", "said"), [(7, "8 cells of 2 x 4"), (6, "")])
def test_a_grid_that_is_none_is_said_so(run, parts, said):
    code, _, notes = run("run", "bfs", "kron:8", "--source", "1", "--parts", parts, "--partition", "grid", "--validate")
    assert code == 0
    assert said in notes
    assert ("parts by grid: no grid near a square" in notes) == bool(said)


@pytest.mark.parametrize("option", ["--partition=grid", "--exchange=owners", "--rebalance=off", "--ranks-per-node=2"])
def test_options_of_parts_need_parts(run, option):
    code, error, _ = failing(run, "run", "pagerank", "kron:6", option)
    assert code == 2
    assert "--parts" in error["remedy"]


def started(*arguments):
    pytest.importorskip("mpi4py")
    line = [sys.executable, "-m", "arcflux", "run", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("more", [[], ["--ranks-per-node", "1", "--partition", "random"]])
def test_workers_are_processes_and_one_of_them_speaks(more, tmp_path):
    out = tmp_path / "ranks.npy"
    done = started("pagerank", "kron:8", "--workers", "2", "--json", "--validate", "--out", str(out), *more)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["spread"]["parts"] == 2
    assert found["spread"]["transport"] == "mpi"
    assert found["validation"]["ok"]
    assert np.load(out).sum() == pytest.approx(1.0)


def test_ranks_run_by_one_plan(monkeypatch):
    """Whatever the first rank chose: both run it, and the result says what it was."""
    monkeypatch.setenv("ARCFLUX_PLAN", "1")
    done = started("pagerank", "kron:8", "--workers", "2", "--ranks-per-node", "1", "--validate", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["validation"]["ok"]
    assert found["spread"]["nodes"] == 2
    assert found["spread"]["partition"] == found["plan"]["partition"]
    assert found["spread"]["exchange"] == found["plan"]["exchange"]
    assert found["plan"]["reason"]
    assert found["spread"]["bytes"] > 0


def test_a_grid_is_validated_by_all_ranks():
    done = started("bfs", "kron:8", "--source", "1", "--workers", "4", "--partition", "grid", "--validate", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["validation"]["ok"]


def test_an_error_of_all_ranks_is_told_once():
    done = started("bfs", "kron:8", "--source", "nobody", "--workers", "2")
    assert done.returncode != 0
    assert done.stderr.count("arcflux: error") == 1


def test_a_lost_rank_is_told_in_json(tmp_path):
    """No rank can: the others are ended by MPI."""
    file = tmp_path / "killing.py"
    file.write_text(
        "import os, signal, time\n"
        "if os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('PMI_RANK')) == '1':\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(600)\n"
    )
    done = started(f"{file}:Any", "path:5", "--workers", "3", "--json")
    assert done.returncode == 9, done.stderr
    error = json.loads(done.stdout)["error"]
    assert (error["class"], error["exit_code"]) == ("RankError", 9)
    assert "rank 1 was killed" in error["what"]
    assert f"arcflux: error: {error['what']}" in done.stderr


def test_time_is_over_in_a_native_algorithm(run):
    code, error, _ = failing(run, "run", "triangles", "kron:10", "--timeout", "0")
    assert (code, error["class"]) == (11, "CancelledError")
    assert "triangles was not over after 0 s" in error["what"]
