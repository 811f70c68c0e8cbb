"""What `arcflux run` refuses: before anything runs, with what was expected, and with the exit code of the class."""

import json
import os
from pathlib import Path

import pytest
from command_line import failing, put

import arcflux
import arcflux.io
from arcflux.algorithms.registry import Algorithm
from arcflux.applications import target

GOOD = """
import arcflux as af

class Plain:
    pass

@af.program
class Hops:
    source: af.vertex
    limit: int = 3
    hops: af.i64
    def start(v, p):
        v.hops = 0 if v.number == p.source else 1000
        return v.number == p.source
    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)
    def update(v, old):
        return v.hops < old.hops
"""
TWO = GOOD + GOOD.partition("@af")[1] + GOOD.partition("@af")[2].replace("Hops", "More")
FILES = {
    "g.txt": "1 2\n2 3\n",
    "names.csv": "ada,bob\n",
    "good.py": GOOD,
    "two.py": TWO,
    "refers.py": GOOD.replace("    hops: af.i64\n", "    hops: af.i64\n    who: af.ref\n"),
    "none.py": "import math\n",
    "syntax.py": "import math\ndef f(:\n",
    "raises.py": "import math\n\nmath.sqrt(-1)\n",
    "leaves.py": "raise SystemExit(3)\n",
    "absent.py": "import no_such_module\n",
    "wrong.py": GOOD.replace("        return v.hops < old.hops", "        print(v.hops)\n        return False"),
    "missing.py": GOOD.partition("    def compute")[0],
}
BEFORE = [
    (["pagerankk", "g.txt"], 2, "'pagerankk' names no algorithm", "pagerank"),
    (["zzz", "g.txt"], 2, "'zzz' names no algorithm", "my_program.py:MyProgram"),
    (["PageRank", "g.txt"], 2, "'PageRank' names no algorithm", "pagerank"),
    (["bfs", "g.txt"], 2, "bfs needs source", ""),
    (["good.py", "g.txt"], 2, "Hops needs source", ""),
    (["pagerank", "g.txt", "--source", "1"], 2, "pagerank has no parameter 'source'", ""),
    (["pagerank", "g.txt", "--set", "dampening=1"], 2, "pagerank has no parameter 'dampening'", "damping"),
    (["pagerank", "g.txt", "--set", "graph=x"], 2, "pagerank has no parameter 'graph'", ""),
    (["pagerank", "g.txt", "--set", "threads=1"], 2, "pagerank has no parameter 'threads'", ""),
    (["pagerank", "g.txt", "--set", "damping"], 2, "--set 'damping' has no value", ""),
    (["pagerank", "g.txt", "--set", "=3"], 2, "--set '=3' has no value", ""),
    (["pagerank", "g.txt", "--set", "damping=1", "--set", "damping=0"], 2, "damping is given twice", ""),
    (["bfs", "g.txt", "--set", "source=1", "--source", "1"], 2, "source is given twice", ""),
    (["pagerank", "g.txt", "--set", "damping=high"], 2, "damping is 'high'", ""),
    (["good.py", "g.txt", "--source", "1", "--set", "limit=1.5"], 2, "limit is '1.5'", ""),
    (["good.py", "g.txt", "--source", "1", "--validate"], 2, "no rules to check Hops by", "leave --validate out"),
    (["bfs", "g.txt", "--source", "1", "--top", "2", "--field", "parent"], 2, "parent have no order", ""),
    (["cf", "g.txt", "--top", "2"], 2, "factors have no order", ""),
    (["refers.py", "g.txt", "--source", "1", "--top", "2", "--field", "who"], 2, "who have no order", ""),
    (["pagerank", "g.txt", "--out", "rank.doc"], 2, "rank.doc: the suffix '.doc' names no format", ""),
    (["pagerank", "g.txt", "--out", "rank"], 2, "the suffix '' names no format", ""),
    (["pagerank", "g.txt", "--out", "g.txt/rank.csv"], 5, "g.txt/rank.csv cannot be written", "a folder that is yours"),
    (["pagerank", "g.txt", "--out", "folder.csv"], 5, "folder.csv cannot be written: it is a folder", ""),
    (["pagerank", "g.txt", "--field", "level"], 2, "pagerank has no field 'level'", ""),
    (["pagerank", "g.txt", "--direction", "sideways"], 2, "'sideways'", ""),
    (["pagerank", "g.txt", "--repeat", "0"], 2, "'--repeat'", ""),
    (["pagerank", "g.txt", "--top", "0"], 2, "'--top'", ""),
    (["pagerank", "g.txt", "--max-supersteps", "-1"], 2, "'--max-supersteps'", ""),
    (["pagerank"], 2, "Missing argument 'GRAPH'", ""),
    (["nowhere.py:Hops", "g.txt"], 3, "nowhere.py: no such file", ""),
    (["nowhere.py", "g.txt"], 3, "nowhere.py: no such file", ""),
    (["good.py:Hop", "g.txt"], 2, "good.py has no program 'Hop'", "good.py:Hops"),
    (["good.py:Plain", "g.txt"], 2, "Plain in good.py is not a program", "@af.program"),
    (["good.py:", "g.txt"], 2, "Hops needs source", ""),
    (["two.py", "g.txt"], 2, "two.py has 2 programs", ""),
    (["none.py", "g.txt"], 2, "none.py has no program", ""),
    (["none.py:Hops", "g.txt"], 2, "none.py has no program 'Hops'", ""),
    (["syntax.py", "g.txt"], 8, "syntax.py:2: SyntaxError: ", ""),
    (["raises.py:X", "g.txt"], 8, "raises.py:3: ValueError: math domain error", ""),
    (["leaves.py:X", "g.txt"], 8, "leaves.py:1: SystemExit: 3", ""),
    (["absent.py:X", "g.txt"], 8, "absent.py:1: ModuleNotFoundError: No module named 'no_such_module'", ""),
    (["missing.py", "g.txt"], 8, "the function compute is missing", "add `def compute"),
]
AFTER = [
    (["pagerank", "absent.el"], 3, "absent.el: no such file", ""),
    (["bfs", "g.txt", "--source", "9"], 4, "vertex 9 is not in the graph", ""),
    (["bfs", "g.txt", "--source", "x"], 4, "vertex 'x' is not in the graph", ""),
    (["bfs", "names.csv", "--source", "eve"], 4, "vertex 'eve' is not in the graph", ""),
    (["cc", "g.txt"], 4, "the graph is directed", ""),
    (["sssp", "g.txt", "--source", "1"], 4, "no edge column 'weight'", ""),
    (["pagerank", "g.txt", "--set", "alpha=1"], 2, "the damping is 1.0", ""),
    (["pagerank", "g.txt", "--set", "personalization=1,9:2"], 4, "vertex 9 is not in the graph", ""),
    (["pagerank", "g.txt", "--threads", "0"], 2, "threads is 0", ""),
    (["wrong.py", "g.txt", "--source", "1"], 8, "print", ""),
]


@pytest.fixture
def files(run):
    for name, content in FILES.items():
        put(name, content)
    Path("folder.csv").mkdir()
    return {*FILES, "folder.csv"}


def refused(run, files, arguments, code, said, remedy):
    found, error, err = failing(run, "run", *arguments)
    assert found == code
    assert said in err
    assert remedy in error["remedy"]
    assert {name for name in os.listdir() if name != "__pycache__"} == files


@pytest.mark.parametrize(("arguments", "code", "said", "remedy"), BEFORE)
def test_refused_before_the_graph_is_loaded(run, files, monkeypatch, arguments, code, said, remedy):
    monkeypatch.setattr(arcflux.io, "load", lambda *given, **named: pytest.fail("the graph was loaded"))
    refused(run, files, arguments, code, said, remedy)


@pytest.mark.parametrize(("arguments", "code", "said", "remedy"), AFTER)
def test_refused_when_the_graph_is_known(run, files, arguments, code, said, remedy):
    refused(run, files, arguments, code, said, remedy)


def test_a_program_imports_its_neighbours(run, files):
    put("neighbour.py", "LIMIT = 7\n")
    put("imports.py", GOOD.replace("import arcflux as af", "import arcflux as af\nfrom neighbour import LIMIT"))
    code, out, _ = run("run", "imports.py:Hops", "g.txt", "--source", 1, "--json")
    assert (code, json.loads(out)["supersteps"]) == (0, 3)


def limited(graph, sources, depths: list[int] | None = None, *, threads: int | None = None, mode: str = "fast"):
    """Something. Else."""


def test_options_and_lists_of_other_algorithms(run, files, monkeypatch):
    entry = Algorithm(limited, ("x",))
    assert entry.summary == "Something."
    assert entry.options == {"threads"}
    assert list(entry.arguments) == ["sources", "depths", "mode"]
    assert (entry.arguments["sources"].many, entry.arguments["sources"].required) == (True, True)
    assert (entry.arguments["depths"].many, entry.arguments["depths"].kind) == (True, int)
    chosen = target.Target("limited", limited, entry.arguments, entry.options, entry.fields, entry)
    values, ids = target.split_settings(chosen, ("depths=1,5", "mode=slow"), "2,3")
    assert (values, ids) == ({"depths": [1, 5], "mode": "slow"}, {"sources": "2,3"})
    assert target.split_settings(chosen, ("depths=none", "mode=none"), "2")[0] == {"depths": None, "mode": "none"}
    assert target.with_ids(chosen, arcflux.Graph.from_edges([1, 2], [2, 3]), ids) == {"sources": [2, 3]}
    monkeypatch.setattr(target, "find", lambda name: entry)
    refused(run, files, ["limited", "g.txt", "--source", "1", "--debug"], 2, "limited does not take --debug", "leave")
    refused(run, files, ["limited", "g.txt"], 2, "limited needs sources", "")
