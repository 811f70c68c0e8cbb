"""Remedies of the command line are commands: options as they are typed, and what was meant by a slip."""

import pytest

from arcflux.cli import main
from arcflux.cli.words import translate

CASES = {
    "a column": (["run", "sssp", "path:5", "--source", "0"], "--set weight=none when every edge counts 1"),
    "direction": (["run", "triangles", "g.csv"], "try: load it with --undirected"),
    "a field": (["run", "pagerank", "path:5", "--top", "2", "--field", "rnk"], "did you mean rank?"),
    "a parameter": (["run", "pagerank", "path:5", "--set", "alfa=1"], "did you mean alpha?"),
    "an algorithm": (["run", "pagrank", "path:5"], "did you mean pagerank?"),
    "a generator": (["info", "gird:3x3"], "did you mean grid:3x3?"),
    "a vertex": (["run", "bfs", "g.csv", "--source", "adda"], "did you mean ada?"),
    "the only column": (["run", "sssp", "g.csv", "--source", "ada"], "--set weight=cost, or --set weight=none"),
    "a note": (["info", "g.csv"], "(--undirected reads both)"),
    "a header": (["info", "g.csv"], "(--no-header reads it as an edge)"),
    "a picture": (["plan", "bfs", "kron:9", "--on", "dgx1", "--plot", "a.pgn"], "did you mean .png?"),
}


@pytest.mark.parametrize("case", CASES)
def test_remedies_speak_the_language_of_commands(tmp_path, monkeypatch, capfd, case):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARCFLUX_QUIET", raising=False)
    (tmp_path / "g.csv").write_text("fan,star,cost\nada,bob,2\nbob,cy,3\n")
    arguments, wanted = CASES[case]
    with pytest.raises(SystemExit):
        main(arguments)
    shown = capfd.readouterr()
    assert wanted in shown.err + shown.out
    assert "directed=" not in shown.err
    assert "weight=None" not in shown.err


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("weight='cost'", "--set weight=cost"),
        ("ids='text' reads names", "--ids text reads names"),
        ("parts=4, or --workers 4", "--parts 4, or --workers 4"),
        ("max_supersteps=3", "--max-supersteps 3"),
        ("kron:20,ef=8,seed=3,weights=1-255", "kron:20,ef=8,seed=3,weights=1-255"),
        ("--set sources=", "--set sources="),
        ("debug=True", "--debug"),
        ("a == b", "a == b"),
    ],
)
def test_arguments_become_options(python, command):
    assert translate(python) == command
