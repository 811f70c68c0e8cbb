"""The command line: results on stdout, everything else on stderr, and an exit code for each kind of trouble."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from bdb import BdbQuit
from pathlib import Path

import numpy as np
import pytest
from command_line import failing, put

import arcflux as af
from arcflux.cli import commands
from arcflux.errors import UsageError

COMMANDS = ["info", "convert", "generate", "verify", "partition", "run", "plan", "explain", "calibrate", "algorithms",
            "cache", "doctor", "serve", "submit", "jobs", "cancel", "result"]  # fmt: skip


BAD = [
    ("g.txt", "", 3, "g.txt: the file is empty"),
    ("g.csv", "source,target\n", 3, "g.csv: the file has a header and no edges"),
    ("g.txt", "# nothing\n", 3, "g.txt: the file has no edges"),
    ("g.txt", "1 2\n3\n", 3, "g.txt:2: 1 field where 2 belong"),
    ("g.txt", "1 2\nx y\n", 3, "g.txt:2: 'x' is not an integer source id"),
    ("g.txt", "1 2 3\n4 5 six\n", 3, "g.txt:2: 'six' is not a number"),
    ("g.txt", "1 2\n\n1 9223372036854775808\n", 3, "g.txt:3: the target id 9223372036854775808 is not within 64 bits"),
    ("g.csv", "a,b\nc\n", 3, "g.csv:2: Expected 2 columns, got 1"),
    ("g.el.gz", gzip.compress(b"1 2\n" * 999, mtime=0)[:-9], 3, "g.el.gz: the archive is damaged or cut short"),
    ("g.el.gz", b"1 2\n", 3, "g.el.gz: the archive is damaged or cut short"),
    ("g.xyz", "1 2\n", 3, "g.xyz: the suffix .xyz names no format"),
    ("g.txt", "# arcflux directed ids=0..1\n0 7\n", 4, "an edge names vertex 7"),
    ("g.txt", "# arcflux directed ids=1..9000000000000000000\n0 7\n", 5, "bytes of memory"),
]


@pytest.mark.parametrize(("name", "content", "expected", "said"), BAD)
def test_bad_files(run, name, content, expected, said):
    code, error, err = failing(run, "info", put(name, content))
    assert code == expected
    assert err.startswith("arcflux: error: ")
    assert said in err.splitlines()[0]
    assert error["class"] == {3: "FormatError", 4: "IdError", 5: "SpaceError"}[expected]
    if expected == 3:
        place, line = said.split(": ")[0].partition(":")[::2]
        assert (error["path"], error["line"]) == (place, int(line or 0))
        assert error["remedy"] or error["expected"]
    assert failing(run, "convert", name, "out.arcflux")[0] == expected
    assert os.listdir() == [name]


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "said"),
    [
        (["info", "absent.el"], 3, "FormatError", "absent.el: no such file"),
        (["info", "absent"], 3, "FormatError", "absent: no such file, folder or generator"),
        (["info", "folder"], 3, "StoreError", "folder: this is not a store"),
        (["verify", "folder"], 3, "StoreError", "folder: this is not a store"),
        (["verify", "absent"], 3, "StoreError", "absent: no such store"),
        (["info", "kron:x"], 2, "SpecError", "the size is 'x'"),
        (["generate", "kron:38", "out.el"], 5, "SpaceError", "kron:38"),
        (["generate", "krone:9", "out.el"], 2, "SpecError", "names no generator"),
        (["info", "g.txt", "--threads", "0"], 2, "UsageError", "threads is 0"),
        (["info", "g.txt", "--delimiter", "ab"], 2, "UsageError", "delimiter is 'ab'"),
        (["info", "path:5", "--directed"], 2, "UsageError", "finished graph, which directed cannot change"),
        (["info", "path:5", "--no-header"], 2, "UsageError", "finished graph, which header cannot change"),
        (["convert", "g.txt", "out.xyz"], 3, "FormatError", "out.xyz: the suffix .xyz names no format"),
        (["convert", "g.txt", "g.txt/out.el"], 5, "SpaceError", "g.txt/out.el cannot be written"),
        (["convert", "g.txt", "folder"], 3, "StoreError", "would be lost"),
        (["info"], 2, "UsageError", "Missing argument 'GRAPH'"),
        (["info", "g.txt", "--ids", "roman"], 2, "UsageError", "'roman'"),
        (["info", "g.txt", "--nonsense"], 2, "UsageError", "No such option"),
        (["nonsense"], 2, "UsageError", "No such command"),
    ],
)
def test_bad_arguments(run, arguments, code, kind, said):
    put("g.txt", "1 2\n")
    Path("folder").mkdir()
    put("folder/mine.txt", "keep")
    found, error, err = failing(run, *arguments)
    assert (found, error["class"]) == (code, kind)
    assert said in err
    assert sorted(os.listdir()) == ["folder", "g.txt"]
    assert os.listdir("folder") == ["mine.txt"]


def test_damaged_stores(run):
    af.Graph.from_edges([0, 1], [1, 2]).save("g.arcflux")
    assert run("verify", "g.arcflux") == (0, "g.arcflux: every checksum is right\n", "")
    assert json.loads(run("verify", "g.arcflux", "--json")[1]) == {"store": "g.arcflux", "ok": True}
    file = Path("g.arcflux/neighbours.npy")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    code, error, err = failing(run, "verify", "g.arcflux")
    assert (code, error["class"], error["path"]) == (3, "ChecksumError", str(file))
    assert "restore the file from a copy" in err
    file.unlink()
    assert "neighbours.npy is missing" in failing(run, "info", "g.arcflux")[2]


@pytest.mark.parametrize(
    ("ends", "listed", "vertices"),
    [([], None, 0), ([], 1, 1), ([4, 5], None, 2), ([], ["ada", "bob"], 2)],
    ids=["nothing", "one vertex", "self-loops", "isolated"],
)
def test_strange_graphs(run, ends, listed, vertices):
    graph = af.Graph.from_edges(ends, ends, vertices=listed, directed=False)
    for name in ("g.arcflux", "g.el", "g.csv", "g.parquet"):
        graph.save(name)
        code, out, _ = run("info", name)
        assert (code, f"vertices  {vertices}\n" in out) == (0, True)
        found = json.loads(run("info", name, "--json")[1])
        assert (found["vertices"], found["edges"]) == (vertices, len(ends))
        code, out, _ = run("convert", name, f"again-{name}", "--json")
        assert json.loads(out)["vertices"] == vertices
        assert af.load(f"again-{name}").equals(graph)


def test_strange_weights(run):
    put("g.txt", "0 1 nan\n1 2 -inf\n2 3 -5\n3 4 inf\n")
    found = json.loads(run("info", "g.txt", "--json")[1])
    assert found["columns"] == {"weight": "float64"}
    assert (found["vertices"], found["edges"]) == (5, 4)
    assert np.isnan(af.load("g.txt").columns["weight"][0])


def test_results_on_stdout_and_notes_on_stderr(run, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    put("g.txt", "7 8 1\n8 9 2\n8 9 3\n9 9 4\n")
    code, out, err = run("info", "g.txt", "--undirected", "--deduplicate", "sum", "--drop-self-loops")
    assert code == 0
    assert out.startswith("g.txt\n  vertices  3\n  edges     2 undirected")
    assert "1 parallel edges were merged" in out
    assert "arcflux: g.txt: weighted: column 3 is 'weight' (int32)" in err
    assert run("-q", "info", "g.txt")[2] == ""
    monkeypatch.setenv("ARCFLUX_QUIET", "1")
    assert run("info", "g.txt")[2] == ""
    code, out, err = run("info", "g.txt", "--json", "--symmetrise", "--no-weights")
    found = json.loads(out)
    assert (found["directed"], found["columns"], found["changes"]["symmetrised"]) == (False, {}, True)
    put("g.csv", "source,target\na,b\n")
    assert json.loads(run("info", "g.csv", "--json", "--no-header")[1])["edges"] == 2
    assert json.loads(run("info", "g.txt", "--json", "--ids", "text")[1])["ids"] == "text"
    put("d.txt", "1:2\n")
    assert json.loads(run("info", "d.txt", "--json", "--delimiter", ":")[1])["vertices"] == 2


def test_generate_and_convert(run):
    code, out, _ = run("info", "kron:10", "--json")
    assert (code, json.loads(out)["vertices"]) == (0, 1024)
    code, out, _ = run("generate", "kron:8,weights=1-9", "k.wel", "--json")
    made = json.loads(out)
    assert (code, made["target"], made["vertices"], made["bytes"]) == (0, "k.wel", 256, Path("k.wel").stat().st_size)
    code, out, _ = run("convert", "k.wel", "k")
    assert out.startswith(f"k: 256 vertices, {made['edges']:,} edges, ")
    assert json.loads(run("convert", "k", "k.sg", "--json")[1])["edges"] == made["edges"]
    assert af.load("k").equals(af.load("kron:8,weights=1-9"))


def test_trouble_of_the_system(run, monkeypatch):
    put("g.txt", "1 2\n")
    for error, code, kind in [
        (MemoryError(), 5, "SpaceError"),
        (OSError(5, "Input/output error"), 5, "SpaceError"),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (BdbQuit(), 130, "Interrupted"),
    ]:
        monkeypatch.setattr(af.Graph, "assemble", lambda *given, trouble=error, **named: (_ for _ in ()).throw(trouble))
        _, found, _ = failing(run, "info", "g.txt")
        assert (found["exit_code"], found["class"]) == (code, kind)


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError(), 5), (OSError(5, "no"), 5), (UsageError("no"), 2)]
)
def test_a_rank_that_leaves_speaking_to_another_has_the_same_exit_code(run, monkeypatch, error, code):
    """mpiexec leaves with the code of the rank that ends first, which may be this one."""
    put("g.txt", "1 2\n")
    monkeypatch.setattr("arcflux.cli.entry.tells", lambda error: False)
    monkeypatch.setattr(af.Graph, "assemble", lambda *given, **named: (_ for _ in ()).throw(error))
    left, out, err = run("info", "g.txt")
    assert (left, out, err.strip()) == (code, "", "")


def test_help_has_examples_that_exist(run):
    for name in COMMANDS:
        code, out, _ = run(name, "--help")
        lines = out.split("Examples:\n")[1].splitlines()
        assert code == 0
        assert lines
        for line in lines:
            program, command, *rest = line.split()
            assert (program, command) == ("arcflux", name)
            context = commands.commands[name].make_context(name, rest)
            assert context.params or name == "cache"
    assert list(commands.commands) == COMMANDS
    assert all(f"\n  {name} " in run("--help")[1] for name in COMMANDS)
    assert run("--version")[1] == f"arcflux, version {af.__version__}\n"
    assert run()[0] == 2


def test_as_a_module():
    found = subprocess.run([sys.executable, "-m", "arcflux", "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"arcflux, version {af.__version__}\n"


def test_terminals_without_blocks(tmp_path):
    af.load("path:3").save(tmp_path / "g")
    command = [sys.executable, "-m", "arcflux", "info", str(tmp_path / "g")]
    found = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert b"???" in found.stdout


@pytest.mark.parametrize("target", ["out.csv.gz", "out.el"])
def test_interrupted_while_writing(tmp_path, target):
    af.load("grid:2000x1000").save(tmp_path / "g")
    command = [sys.executable, "-m", "arcflux", "convert", str(tmp_path / "g"), str(tmp_path / target), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as work:
        while work.poll() is None and not any(file.name.startswith(f".{target}") for file in tmp_path.iterdir()):
            time.sleep(0.005)
        work.send_signal(signal.SIGINT)
        out, err = work.communicate(timeout=60)
    assert (work.returncode, json.loads(out)["error"]["class"]) == (130, "Interrupted")
    assert "interrupted; nothing half-written is left" in err
    assert "Traceback" not in err
    assert [file.name for file in tmp_path.iterdir()] == ["g"]


def test_trust_skips_the_looks_at_a_store(run):
    assert run("convert", put("g.el", "0 1\n1 2\n"), "damaged.arcflux")[0] == 0
    file = Path("damaged.arcflux", "neighbours.npy")
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1 << 7
    file.write_bytes(raw)
    code, error, _ = failing(run, "info", "damaged.arcflux")
    assert (code, error["class"]) == (3, "ChecksumError")
    assert run("info", "damaged.arcflux", "--trust")[0] == 0
