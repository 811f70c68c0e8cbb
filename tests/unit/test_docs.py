"""Every Python example of the README and the documentation runs."""

import re
import runpy
from pathlib import Path

import pytest

from arcflux.algorithms.registry import ALGORITHMS, Algorithm
from arcflux.applications.registry import APPLICATIONS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [  # those of docs/contributing need the package that their page is: test_extensions.py runs them
    pytest.param(code, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    if page.parent.name != "contributing"
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A file and a module of its own, because programs are read from their source.
    (tmp_path / "example.py").write_text(code)
    runpy.run_path(str(tmp_path / "example.py"), run_name="example")


LITERATURE = (ROOT / "docs/how-to/literature.md").read_text()
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n.*?^(@af\.program\n.*?)\n\n\n", LITERATURE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("title", re.findall(r"^## (.+)$", LITERATURE, re.MULTILINE))
def test_programs_of_the_literature_have_less_than_forty_lines(title: str) -> None:
    """From the decorator to the last line of the class, empty lines counted."""
    lines = PROGRAMS[title].splitlines()
    assert lines[1].startswith("class ")
    assert all(line.startswith("    ") for line in lines[2:] if line)
    assert len(lines) < 40


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES[1:]:
        assert str(page.relative_to(ROOT / "docs")) in navigation


def _described(page: str, entry: Algorithm) -> list[str]:
    """What the row of an algorithm says besides its names, fields and cost, which are those of the registry."""
    row = next(line.split("|")[1:-1] for line in page.splitlines() if line.startswith(f"| [`{entry.name}`](#"))
    assert re.findall(r"`(\w+)`", row[1]) == list(entry.also)
    assert re.findall(r"`(\w+)`", row[2]) == list(entry.fields)
    assert entry.cost
    assert row[3].strip() == entry.cost
    return [cell.strip() for cell in row[4:]]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_application_is_described(name: str) -> None:
    page = (ROOT / "docs/reference/applications.md").read_text()
    (checked,) = _described(page, APPLICATIONS[name])
    assert bool(checked) == APPLICATIONS[name].checked
    assert f"`af.{name}(graph" in page


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_described(name: str) -> None:
    page = (ROOT / "docs/reference/algorithms.md").read_text()
    entry = ALGORITHMS[name]
    runs_on, _, checked, counts = _described(page, entry)
    assert runs_on == ("cores" if entry.cores else "cores, GPUs")
    assert (checked != "-") == entry.checked
    assert counts.split()[-1] == {"once": "edges"}.get(entry.counts, entry.counts)
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert f"`af.{name}(graph" in section
    assert "```python" in section
