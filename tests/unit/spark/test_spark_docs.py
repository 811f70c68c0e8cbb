"""The examples of the page about Spark run, with a session and edges as they assume them."""

import re
from pathlib import Path

import pytest

import arcflux as af

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/spark.md"
EXAMPLES = re.findall(r'^```python title="([^"]+)"\n(.*?)^```', PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("title", "code"), EXAMPLES)
def test_example_runs(title, code, session, frame_of, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    af.Graph.from_edges([0, 1], [1, 2]).save("graph.arcflux")
    edges = frame_of([("alice", "bob"), ("bob", "eve"), ("eve", "alice")], "src string, dst string")
    path = tmp_path / "example.py"
    path.write_text(code)
    found = {"session": session, "edges": edges, "__name__": "example", "__file__": str(path)}
    exec(compile(code, str(path), "exec"), found)
    if title == "one load":
        assert "out of Spark" in capsys.readouterr().out
    if title == "a store":
        assert found["frame"].count() == 2
