"""What other packages add by entry points; every page of docs/contributing is such a package, and works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import arcflux as af
from arcflux.algorithms.registry import ALGORITHMS, find
from arcflux.cli import commands
from arcflux.errors import FormatError, UsageError
from arcflux.extensions import GROUPS, extension

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONTRIBUTING = Path(__file__).resolve().parents[2] / "docs/contributing"
PAGES = sorted(page.stem for page in CONTRIBUTING.glob("*.md") if page.stem != "index")


def blocks(page):
    """The blocks of code of a page: language, title or None, text."""
    return re.findall(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', page.read_text(), re.MULTILINE | re.DOTALL)


def install(folder, project):
    """Lay out what pip would write about a package in this folder, by its pyproject.toml."""
    about = tomllib.loads(project)["project"]
    info = folder / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in about["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_a_package_that_works(name, tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    examples = []
    for language, title, text in blocks(CONTRIBUTING / f"{name}.md"):
        if language == "toml":
            install(site, text)
        elif title:
            (site / title).write_text(text)
        else:
            examples.append(text)
    assert examples
    for number, example in enumerate(examples):
        (work / f"example{number}.py").write_text(f"import sys\nsys.path.insert(0, {str(site)!r})\n{example}")
        done = subprocess.run(
            [sys.executable, f"example{number}.py"], cwd=work, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that installs a package with these entry points of a group and this module."""

    def installed(group, entries, module="", name="extra"):
        (tmp_path / f"{name}_module.py").write_text(module)
        lines = "".join(f'"{key}" = "{value}"\n' for key, value in entries.items())
        install(tmp_path, f'[project]\nname = "{name}"\nversion = "1"\n[project.entry-points."{group}"]\n{lines}')

    monkeypatch.syspath_prepend(tmp_path)
    yield installed
    for name in [name for name in sys.modules if name.endswith("_module")]:
        del sys.modules[name]


ECHO = """
import arcflux as af
from arcflux.algorithms.registry import Algorithm
def echo(graph, times: int = 1): "How many vertices there are, some times."
entry = Algorithm(echo, ("count",))
"""


def test_algorithms_of_packages_are_found_and_listed(package):
    package("arcflux.algorithms", {"echo": "extra_module:entry"}, ECHO)
    assert find("echo").fields == ("count",)
    assert list(find("echo").arguments) == ["times"]
    with pytest.raises(UsageError, match="did you mean echo"):
        find("ecko")


def test_the_command_line_lists_them(package):
    package("arcflux.algorithms", {"echo": "extra_module:entry"}, ECHO)
    shown = CliRunner().invoke(commands, ["algorithms"]).output
    assert "How many vertices there are, some times" in shown
    assert all(name in shown for name in ALGORITHMS)


def test_what_is_no_algorithm_is_refused(package):
    package("arcflux.algorithms", {"echo": "extra_module:echo"}, "def echo(graph): pass")
    with pytest.raises(UsageError, match="is a function"):
        find("echo")


def test_a_built_in_is_never_replaced(package):
    package("arcflux.algorithms", {"bfs": "extra_module:gone"})
    package("arcflux.partitioners", {"ranges": "other_module:gone"}, name="other")
    assert find("bfs") is ALGORITHMS["bfs"]
    assert af.partition("path:4", 2).how == "ranges"


def test_two_packages_with_one_name_are_told_apart(package):
    package("arcflux.partitioners", {"halves": "extra_module:split"})
    package("arcflux.partitioners", {"halves": "other_module:split"}, name="other")
    with pytest.raises(UsageError, match="added by extra and by other"):
        af.partition("path:4", 2, "halves")


@pytest.mark.parametrize("value", ["nowhere_at_all:split", "extra_module:gone"])
def test_a_broken_package_is_named(package, value):
    package("arcflux.partitioners", {"halves": value})
    with pytest.raises(UsageError, match=r"'halves' of the package extra cannot be loaded"):
        af.partition("path:4", 2, "halves")


def test_suffixes_of_packages_are_named_in_errors(package, tmp_path):
    package("arcflux.formats", {"lists": "extra_module"})
    (tmp_path / "x.lis").write_text("")
    with pytest.raises(FormatError, match=r"did you mean \.lists"):
        af.load(tmp_path / "x.lis")
    (tmp_path / "x.lists").write_text("")
    with pytest.raises(FormatError, match="can be read but not written"):
        af.load("path:3").save(tmp_path / "x.lists")


def test_parts_of_a_partitioner_of_a_package_are_kept_and_opened(package, tmp_path):
    made = """
import numpy as np
from arcflux.partition.parts import Parts
def split(graph, k): return Parts(graph, k, "halves", owner=(np.arange(graph.vertices) % k).astype(np.uint8))
"""
    package("arcflux.partitioners", {"halves": "extra_module:split"}, made)
    af.partition("path:5", 2, "halves").save(tmp_path / "parts")
    opened = af.load_parts(tmp_path / "parts")
    assert (opened.how, opened.owner.tolist()) == ("halves", [0, 1, 0, 1, 0])


def test_nobody_has_what_nobody_adds():
    assert [extension(group, "nobody-adds-this") for group in GROUPS] == [None] * 5
