"""Every room has a README that names its files, and the layout page names every room."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/arcflux"
ROOMS = sorted(folder.parent.name for folder in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_a_readme(room):
    assert (PACKAGE / room / "README.md").read_text().startswith(f"# {room}\n")
    assert f"`{room}/`" in (ROOT / "docs/layout.md").read_text()


# Folders within a room that have files enough for a README of their own.
INNER = sorted(str(page.parent.relative_to(PACKAGE)) for page in PACKAGE.glob("*/*/README.md"))


@pytest.mark.parametrize("room", ROOMS + INNER)
def test_a_readme_names_the_files_of_its_room(room):
    rows = (PACKAGE / room / "README.md").read_text().splitlines()
    named = {row.split("`")[1] for row in rows if row.startswith("| `")}
    folders = {f"{path.parent.name}/" for path in (PACKAGE / room).glob("*/__init__.py")}
    assert named == {path.name for path in (PACKAGE / room).glob("*.py")} - {"__init__.py"} | folders
