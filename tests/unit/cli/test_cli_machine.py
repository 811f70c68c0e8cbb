"""`arcflux algorithms` and `arcflux cache`."""

import json

import pytest
from click.shell_completion import ShellComplete

from arcflux.applications.registry import KNOWN
from arcflux.cli import commands


def test_algorithms_are_listed(run):
    code, out, err = run("algorithms")
    assert (code, err, len(out.splitlines())) == (0, "", len(KNOWN))
    assert [line.split()[0] for line in out.splitlines()] == list(KNOWN)
    assert all(len(line) <= 160 for line in out.splitlines())
    found = {entry["name"]: entry for entry in json.loads(run("algorithms", "--json")[1])}
    assert list(found) == list(KNOWN)
    assert found["bfs"]["parameters"]["source"] == {"type": "id", "required": True, "default": None}
    assert found["pagerank"]["parameters"]["alpha"] == {"type": "float", "required": False, "default": 0.85}
    assert found["pagerank"]["parameters"]["personalization"]["type"] == "id shares"
    assert found["multi_source_sssp"]["parameters"]["sources"]["type"] == "ids"
    assert "cc" in found["connected_components"]["also"]
    assert "(also components, cc" in out
    assert found["bfs"]["fields"] == ["level", "parent"]


def offered(words, begun):
    return [
        (item.value, item.type) for item in ShellComplete(commands, {}, "arcflux", "").get_completions(words, begun)
    ]


def test_a_shell_completes_names_and_files():
    assert offered([], "ru") == [("run", "plain")]
    assert offered(["run"], "pa") == [("pagerank", "plain"), ("pagerank_delta", "plain")]
    assert [name for name, _ in offered(["run"], "")] == list(KNOWN)
    assert offered(["run"], "./my_pro") == [("./my_pro", "file")]
    assert offered(["run", "bfs"], "gra") == [("gra", "file")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of two versions, and a file of somebody's beside it."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ARCFLUX_CACHE", str(folder))
    for name in ("programs/a.py", "programs/b.py", "kernels/old/x.nbc", "kernels/new/x.nbc", "kernels/new/x.nbi"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * 1000)
    (folder / "mine.txt").write_bytes(b"y" * 50)
    folder.chmod(0o700)
    return folder


def test_what_is_kept_is_said_and_removed(run, folder):
    said = {"folder": str(folder), "programs": 2, "kernels": 2, "bytes": 5000}
    assert json.loads(run("cache", "info", "--json")[1]) == said
    assert run("cache", "info") == (0, f"{folder}: 2 programs, 2 compiled kernels, 4.9 KiB\n", "")
    assert run("cache", "clear") == (0, f"{folder}: 4.9 KiB freed\n", "")
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert json.loads(run("cache", "clear", "--json")[1]) == {"folder": str(folder), "freed_bytes": 0}
    assert run("cache")[0] == 2
    assert "Examples:\n    arcflux cache clear" in run("cache", "clear", "--help")[1]


def test_a_cache_that_others_can_write_to_is_refused(run, folder):
    folder.chmod(0o777)
    code, out, err = run("cache", "clear")
    assert (code, out) == (5, "")
    assert "others can write to it" in err
    assert (folder / "programs/a.py").exists()
