"""Reports, for people and for programs; and that asking for them loads no compiler."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import ArcfluxError, ValidationError
from arcflux.validate import Offence, Report, Rule, bfs, pagerank


# The path a -> <b> -> c, whose numbers are 1 -> 0 -> 2: "<" comes before "a".
@pytest.fixture
def good() -> Report:
    return bfs(af.Graph.from_edges(["a", "<b>"], ["<b>", "c"]), "a", level=[1, 0, 2])


@pytest.fixture
def bad() -> Report:
    return bfs(af.Graph.from_edges(["a", "<b>"], ["<b>", "c"]), "a", level=[3, 0, -1])


def test_truth(good: Report, bad: Report) -> None:
    assert good
    assert not bad
    assert good.failures == ()
    assert {rule.name for rule in bad.failures} == {"range", "in-edge", "edges", "span"}
    assert [rule.name for rule in bad] == ["range", "source", "in-edge", "edges", "span"]
    assert bad["source"].passed
    with pytest.raises(KeyError):
        bad["nothing"]


def test_raising(good: Report, bad: Report) -> None:
    good.raise_for_failure()
    with pytest.raises(
        ValidationError, match="breaks 4 of 5 rules: range, in-edge, edges, span; vertex <b> has level 3"
    ) as caught:
        bad.raise_for_failure()
    assert isinstance(caught.value, ArcfluxError)
    assert caught.value.exit_code == 7
    assert caught.value.report is bad
    assert caught.value.expected
    assert caught.value.remedy


def test_raising_for_a_result_as_a_whole() -> None:
    report = pagerank(af.Graph.from_edges([0, 1], [1, 0]), [0.6, 0.6], tolerance=0.1)
    with pytest.raises(ValidationError, match="breaks 1 of 3 rules: sum") as caught:
        report.raise_for_failure()
    assert "found 1.2" in caught.value.expected


def test_for_the_terminal(good: Report, bad: Report) -> None:
    assert repr(good) == "<Report bfs from a: ok, 5 rules>"
    assert repr(bad) == "<Report bfs from a: FAILED, 4 of 5 rules are broken>"
    assert str(good).count("ok  ") == 5
    lines = str(bad).splitlines()
    assert lines[1].startswith("  FAIL  range")
    assert lines[2] == "          vertex <b>: found level 3, expected -1, or 0 to 2"


def test_for_notebooks(good: Report, bad: Report) -> None:
    for report in (good, bad):
        tree = ElementTree.fromstring(report._repr_html_())
        assert len(tree.findall("table/tr")) == 5
    assert "vertex &lt;b&gt;: found level 3" in bad._repr_html_()


def test_for_json(bad: Report) -> None:
    told = json.loads(json.dumps(bad.to_dict()))
    assert (told["subject"], told["ok"]) == ("bfs from a", False)
    assert told["rules"][0] == {
        "name": "range",
        "sentence": "every level is -1 (unreached) or from 0 to 2",
        "passed": False,
        "count": 1,
        "unit": "vertices",
        "offences": [{"vertex": "<b>", "found": "level 3", "expected": "-1, or 0 to 2"}],
    }


def test_numbers_of_numpy_become_plain() -> None:
    assert type(Offence(np.int64(3), "", "").vertex) is int
    json.dumps(bfs(af.Graph.from_edges([0], [1]), 0, level=[0, 7]).to_dict())


def test_ten_offences_are_shown() -> None:
    rule = Rule.checked("all", "none", list(range(25)), lambda v: Offence(v, "here", "nowhere"))
    assert (rule.count, len(rule.offences), rule.passed) == (25, 10, False)
    assert "broken by 25 vertices" in str(Report("x", (rule,)))
    one = Rule.checked("one", "none", [1], lambda v: Offence(v, "here", "nowhere"), unit="edges")
    assert "broken by 1 edge\n" in str(Report("x", (one,)))


def test_importing_loads_no_compiler() -> None:
    code = "import sys, arcflux.validate; print(sorted({'numba', 'scipy', 'pyarrow', 'llvmlite'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.home())
    assert done.stdout.strip() == "[]"
