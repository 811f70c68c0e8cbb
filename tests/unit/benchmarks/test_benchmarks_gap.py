"""The parts of benchmarks/gap.py: who is right, who is slow, what the table says."""

import math
import stat
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from checks import agree, checksum
from families import FAMILIES, family
from gap import contest, options, prepared
from peers import Arrays, levels_of_layers, levels_of_parents, opened
from rivals import Answer, Failed, Ours, Peer
from standings import Entry, Row, as_json, summary, table
from suite import Suite, trial_times

OUTPUT = """Graph has 16 nodes and 30 undirected edges for degree: 1
Trial Time:          0.02104
Trial Time:          1.5e-05
Average Time:        0.01053
"""


def test_trial_times() -> None:
    assert trial_times(OUTPUT) == [0.02104, 1.5e-05]
    assert trial_times("Average Time: 3\nxTrial Time: 4\n") == []


@pytest.mark.parametrize(
    ("kernel", "right", "same", "wrong"),
    [
        ("bfs", [0, 1, 2, -1], [0, 1, 2, -1], [0, 1, 1, -1]),
        ("sssp", [0, 3.0, math.inf], np.array([0, 3, math.inf], np.float32), [0, 3.0, 4.0]),
        ("cc", [0, 0, 2, 2], [7, 7, 5, 5], [0, 0, 0, 2]),
        ("pr", [0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0.1, 0.2, 0.31]),
        ("bc", [0.0, 1.0, 3.0], [9.0, 2.0, 6.0], [0.0, 1.0, 3.1]),
        ("tc", 5, 5.0, 6),
    ],
)
def test_answers_agree_or_not(kernel: str, right: object, same: object, wrong: object) -> None:
    ours = checksum(kernel, right, 0)
    assert agree(kernel, ours, checksum(kernel, same, 0))
    assert not agree(kernel, ours, checksum(kernel, wrong, 0))


def test_levels_of_what_libraries_give() -> None:
    tree = nx.random_labeled_rooted_tree(60, seed=4)
    root = tree.graph["root"]
    parents = np.full(61, -1)
    parents[root] = root
    for above, below in nx.bfs_edges(tree, root):
        parents[below] = above
    expected = [*(nx.shortest_path_length(tree, root, v) for v in range(60)), -1]
    assert levels_of_parents(parents).tolist() == expected
    assert levels_of_layers(np.array([2, 0, 3]), np.array([0, 1, 3]), 4).tolist() == [1, -1, 0, 1]


def test_arrays_are_kept(tmp_path: Path) -> None:
    arrays = Arrays(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([5, 5, 6, 6], np.int32))
    arrays.save(tmp_path / "graph")
    found = opened(tmp_path / "graph")
    assert [part.tolist() for part in found.edges()] == [[0, 1], [1, 2], [5, 6]]
    assert found.degrees.tolist() == [1, 2, 1]


class Scripted:
    """Gives the answers that it was told to."""

    def __init__(self, name: str, *answers: Answer | Failed) -> None:
        self.name, self.answers, self.kernels = name, list(answers), {"tc"}

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        answer = self.answers.pop(0)
        if isinstance(answer, Failed):
            raise answer
        return answer

    def close(self) -> None:
        pass


class Slow(Scripted, Peer):
    """A library by its class, which runs once only when it is slow."""


def test_a_contest_warms_up_checks_and_is_patient() -> None:
    who = [
        Scripted("Arcflux", *(Answer(s, [6], s + 1) for s in (9.0, 2.0, 3.0, 4.0))),
        Scripted("GAP", *(Answer(s, [6]) for s in (9.0, 6.0, 6.0, 6.0))),
        Slow("slow", Answer(8.0, [6])),
        Slow("wrong", *(Answer(0.1 + turn, [7]) for _ in range(4) for turn in (0, 1, 0))),
        Slow("broken", Answer(1.0, [6]), Failed("its process ended with -9")),
    ]
    row = Row("tc", "kron:4", {rival.name: Entry() for rival in who})
    contest(row, who, [1, 2, 3], patience=5.0)
    assert {name: entry.text() for name, entry in row.entries.items()} == {
        "Arcflux": "3000", "GAP": "6000", "slow": "8000*", "wrong": "100.0!", "broken": "failed",
    }  # fmt: skip
    assert not who[3].answers, "who is quick has three runs a turn"
    assert row.ratio("GAP") == 0.5
    assert row.best_peer() == "slow"
    assert row.call_ratio("GAP") == pytest.approx(4 / 6)
    assert row.speed_up() == pytest.approx(8 / 4)
    assert as_json(row)["entries"]["wrong"]["median"] is None


def test_table_and_summary() -> None:
    rows = [
        Row("bfs", "kron:4", {"Arcflux": Entry([0.002], [0.004]), "GAP": Entry([0.004]), "scipy": Entry([0.02])}),
        Row("cc", "kron:4", {"Arcflux": Entry([0.002], [0.004]), "GAP": Entry([0.001]), "scipy": Entry([0.008])}),
        Row("tc", "kron:4", {"Arcflux": Entry(), "GAP": Entry([0.5]), "scipy": Entry()}),
    ]
    lines = table(rows, ["Arcflux", "GAP", "scipy"]).splitlines()
    assert lines[2].split() == ["bfs", "kron:4", "2.00", "4.00", "4.00", "20.0", "1.00", "scipy", "5.00"]
    assert lines[4].split() == ["tc", "kron:4", "-", "-", "500.0", "-", "-", "-", "-"]
    made = summary(rows)
    assert made["geometric mean of our kernel / GAP"] == pytest.approx(1.0)
    assert made["geometric mean of our whole call / GAP"] == pytest.approx(2.0)
    assert (made["largest whole call / GAP"], made["rows above 1.0"]) == (4.0, 1)
    assert made["least times faster than the best library"] == 2.0
    assert made["median times faster than the best library"] == 3.5


def test_the_suite_settles_on_its_best_delta(tmp_path: Path) -> None:
    binary = tmp_path / "sssp"
    binary.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "given = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        "seconds = abs(int(given['-d']) - 16) + (0.5 if 'GLIBC_TUNABLES' in os.environ else 0.75)\n"
        "print(f'Trial Time:  {seconds}\\n' * int(given['-n']) + 'SSSP Tree reaches 12 nodes')\n"
    )
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    suite = Suite(tmp_path, tmp_path / "graph", threads=1, patience=5.0)
    assert suite.kernels == {"sssp"}
    assert suite.run("sssp", 3, limit=60.0) == Answer(0.5, [12])
    assert suite.settled["sssp"] == ["sssp", "-d", "16", "glibc.malloc.hugetlb=1"]


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_simple_weighted_and_the_same_again(name: str) -> None:
    g = family(f"{name}:9")
    assert g.vertices == 512
    assert not g.directed
    assert g.edges > 300
    assert not any(g.has_edge(v, v) for v in range(512))
    assert {1 <= weight <= 255 for weight in g.columns["weight"].tolist()} == {True}
    again, other = family(f"{name}:9"), family(f"{name}:9", seed=2)
    assert again.out.neighbours.tolist() == g.out.neighbours.tolist()
    assert other.columns["weight"].tolist() != g.columns["weight"].tolist()


def test_families_at_scales_come_beside_the_graphs_that_are_named() -> None:
    assert options([]).graphs == ["kron:20", "urand:20", "grid:1024x1024"]
    assert options(["--graphs", "kron:5"]).graphs == ["kron:5"]
    found = options(["--families", "5", "6"]).graphs
    assert (len(found), found[:3], found[-1]) == (38, ["kron:5", "urand:5", "grid:4x8"], "sparse:6")


def test_a_suite_that_fails_says_so(tmp_path: Path) -> None:
    binary = tmp_path / "cc"
    binary.write_text("#!/bin/sh\necho no graph >&2\nexit 3\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(Failed, match="ended with 3: no graph"):
        Suite(tmp_path, tmp_path / "graph", threads=1, patience=5.0).run("cc", 0, limit=60.0)


def test_arcflux_and_a_library_in_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_THREADS", "2")
    given = options(["--graphs", "kron:7", "--peers", "scipy", "--folder", str(tmp_path), "--threads", "2"])
    graph, place = prepared("kron:7", given)
    ours, peer = Ours(graph, 2), Peer("scipy", place, 2)
    try:
        source = int(np.argmax(graph.out_degrees))
        for kernel in ("bfs", "sssp", "pr", "cc"):
            theirs = peer.run(kernel, source, 60.0)
            assert theirs.check is not None
            assert agree(kernel, ours.run(kernel, source, 60.0).check or [], theirs.check), kernel
        assert peer.process is not None
        peer.process.kill()
        with pytest.raises(Failed, match="its process"):
            peer.run("cc", source, 60.0)
        assert peer.run("cc", source, 60.0).check == theirs.check  # started again
    finally:
        peer.close()
