"""Imports point one way: no two modules import each other, by any detour, and doorways lead to what is there."""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from arcflux.doorways import DOORWAYS, enter

PACKAGE = Path(__file__).resolve().parents[2] / "src/arcflux"
# A program has mail, which is checked by what the program says: one subject in two files.
TOGETHER = {"arcflux.mail": "arcflux.program.model"}


def modules() -> dict[str, Path]:
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(tree: ast.AST, known: set[str]) -> set[str]:
    """The modules of the package that a module imports, anywhere in it, for types too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            found -= {node.module} if any(f"{node.module}.{alias.name}" in known for alias in node.names) else set()
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


def cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other():
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        found = graph.setdefault(TOGETHER.get(name, name), set())
        found |= {TOGETHER.get(one, one) for one in imports(ast.parse(path.read_text()), set(known))}
    # The package imports what it names when that is used, but for the few functions that have the names of rooms.
    del graph["arcflux"]
    graph = {name: found - {name, "arcflux"} for name, found in graph.items()}
    assert len(graph) > 300
    assert cycle(graph) == []


def test_a_cycle_would_be_seen():
    assert imports(ast.parse("from arcflux.io import scan"), {"arcflux.io", "arcflux.io.scan"}) == {"arcflux.io.scan"}
    assert imports(ast.parse("from arcflux.io import load"), {"arcflux.io", "arcflux.io.scan"}) == {"arcflux.io"}
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


@pytest.mark.parametrize("name", DOORWAYS)
def test_a_doorway_leads_somewhere(name):
    module, _, attribute = DOORWAYS[name].partition(":")
    behind = enter(name)
    assert behind is (getattr(import_module(module), attribute) if attribute else import_module(module))
    assert callable(behind) or behind.__name__ == module


def test_every_doorway_is_used_and_every_name_is_in_the_table():
    calls = [
        node.args[0].value
        for path in modules().values()
        if path.name != "doorways.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enter"
    ]
    assert set(calls) == set(DOORWAYS)
