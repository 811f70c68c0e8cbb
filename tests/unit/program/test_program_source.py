"""Where the source of a program is found: by the code of its functions, however the class came to be."""

import importlib.util
import linecache
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arcflux as af
from arcflux.errors import ProgramError, UsageError

BODY = """
    x: af.i32

    def start(v):
        v.x = {value}
        return True

    def init(v):
        v.x = 0

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v, old):
        return v.x != old.x
"""
PLAIN = "import arcflux as af\n\n@af.program\nclass Plain:" + BODY.format(value=7)
TWO = '''
import arcflux as af

def made(first):
    if first:
        @af.program  # the one
        class Twin:
            """Another text that says
            class Twin:
            """
            x: af.i32

            def start(v):
                v.x = 1
                return True

            def init(v):
                v.x = 0

            def compute(v, u):
                v.x = max(v.x, u.x)

            def update(v, old):
                return v.x != old.x
    else:
        @af.program
        class Twin:
            x: af.i32

            def start(v):
                v.x = 2
                return True

            def init(v):
                v.x = 0

            def compute(v, u):
                v.x = max(v.x, u.x)

            def update(v, old):
                return v.x != old.x
    return Twin
'''
GRAPH = af.Graph.from_edges([0, 1], [1, 0])


def values(program: Any) -> list[int]:
    found = af.run(program, GRAPH)["x"].tolist()
    assert af.run(program, GRAPH, debug=True)["x"].tolist() == found
    return found


def imported(path: Path, text: str) -> ModuleType:
    """A module loaded by importlib, with no entry in sys.modules."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert path.stem not in sys.modules
    return module


def executed(text: str, name: str = "<made>", **around: Any) -> dict[str, Any]:
    """What code leaves that is run by exec, with its source in linecache as inspect wants it."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), around)
    return around


def test_of_two_classes_with_one_name_each_is_itself(tmp_path: Path) -> None:
    made = imported(tmp_path / "twins_of_a_name.py", TWO).made
    assert [values(made(first)) for first in (True, False)] == [[1, 1], [2, 2]]


def test_a_module_without_an_entry_in_sys_modules(tmp_path: Path) -> None:
    assert values(imported(tmp_path / "by_importlib.py", PLAIN).Plain) == [7, 7]


def test_annotations_as_text_in_a_module_without_an_entry(tmp_path: Path) -> None:
    text = "from __future__ import annotations\n" + PLAIN
    assert values(imported(tmp_path / "by_importlib_text.py", text).Plain) == [7, 7]


def test_a_module_in_a_zip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("program_in_a_zip.py", PLAIN)
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    assert values(importlib.import_module("program_in_a_zip").Plain) == [7, 7]


@pytest.mark.parametrize(
    "head",
    [
        "import arcflux\nimport arcflux as af\n@arcflux.program\nclass Plain:",
        "from arcflux import program as p\nimport arcflux as af\n@p\nclass Plain:",
        "from arcflux import program\nimport arcflux as af\n@ program  # so\nclass Plain ( object ) :",
        "import arcflux as af\ntools = [af.program]\n@tools[0]\n@(lambda cls: cls)\nclass Plain: # first",
        "import arcflux as af\n@(\n  lambda cls:\n    af.program(cls)\n)\n\n\nclass Plain:",
        "import arcflux as af\nmade = af.program\n@made\n# a word\n\nclass Plain:\n    'class Plain:'\n",
    ],
)
def test_any_spelling_of_the_decorator(head: str) -> None:
    assert values(executed(head + BODY.format(value=3))["Plain"]) == [3, 3]


def test_called_as_a_function_after_the_class() -> None:
    text = "import arcflux as af\nclass Plain:" + BODY.format(value=5) + "\nmade = 1\nPlain = af.program(Plain)\n"
    assert values(executed(text)["Plain"]) == [5, 5]


def test_under_a_decorator_of_another_module(tmp_path: Path) -> None:
    wrapper = "import arcflux as af\ndef mine(cls):\n    return af.program(cls)\n"
    other = imported(tmp_path / "other_decorator.py", wrapper)
    text = "from __future__ import annotations\nimport arcflux as af\ndef f():\n" + "\n".join(
        "    " + line for line in ("value = 9\n@mine\nclass Plain:" + BODY.format(value="value")).splitlines()
    )
    around = executed(text + "\n    return Plain\n", mine=other.mine)
    assert values(around["f"]()) == [9, 9]


def test_a_cell_that_is_run_again_with_another_text() -> None:
    first = executed(PLAIN, "<cell 1>")["Plain"]
    second = executed(PLAIN.replace("7", "8"), "<cell 2>")["Plain"]
    again = executed("\n\n" + PLAIN.replace("7", "9"), "<cell 1>")["Plain"]
    assert [values(one) for one in (first, second, again)] == [[7, 7], [8, 8], [9, 9]]


def test_names_of_an_enclosing_function_are_those_of_now() -> None:
    def made() -> Any:
        value = 4

        @af.program
        class Inner:
            x: af.i32

            def start(v):
                v.x = value
                return True

            def init(v):
                v.x = 0

            def compute(v, u):
                v.x = max(v.x, u.x)

            def update(v, old):
                return v.x != old.x

        value = 6
        return Inner

    assert values(made()) == [6, 6]


def test_text_annotations_know_the_names_of_an_enclosing_function() -> None:
    lines = ("import arcflux as flux\n@flux.program\nclass Plain:" + BODY.format(value=2)).replace("af.", "flux.")
    text = "from __future__ import annotations\ndef f():\n" + "".join(f"    {line}\n" for line in lines.splitlines())
    assert values(executed(text + "    return Plain\n")["f"]()) == [2, 2]


def test_a_type_that_means_nothing_is_refused_with_its_name() -> None:
    with pytest.raises(ProgramError, match="f46"):
        executed("from __future__ import annotations\n" + PLAIN.replace("af.i32", "af.f46"))
    with pytest.raises(ProgramError, match="only fields"):
        executed(PLAIN.replace("    x: af.i32", "    x: af.i32\n    __y: af.i32"))


@pytest.mark.parametrize("body", ["x: af.i32", "pass", "'x'; y: af.f64"])
def test_a_class_without_functions_is_refused_by_what_is_missing(body: str) -> None:
    text = f"import arcflux as af\n@af.program\nclass Small: {body}"
    with pytest.raises(ProgramError, match=r"<small>:2: Small: the function compute is missing") as caught:
        executed(text, "<small>")
    assert "def compute" in caught.value.remedy


def test_what_inherits_from_anything_but_a_program_is_refused() -> None:
    with pytest.raises(ProgramError, match="Plain inherits from dict, which is no program"):
        executed(PLAIN.replace("class Plain:", "class Plain(dict):"))
    with pytest.raises(ProgramError, match="ABCMeta"):
        executed("import abc\n" + PLAIN.replace("class Plain:", "class Plain(metaclass=abc.ABCMeta):"))


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(UsageError, match="stands above"):
        af.program(3)  # type: ignore[arg-type]
    assert af.program(af.algorithms.BFS) is af.algorithms.BFS  # type: ignore[arg-type]


def test_decorated_functions_are_refused_with_their_line() -> None:
    with pytest.raises(ProgramError, match=r"<made>:8: Plain: start takes plain arguments only"):
        executed(PLAIN.replace("    def start", "    @staticmethod\n    def start"))


def test_code_without_source_is_refused_with_what_to_do() -> None:
    with pytest.raises(ProgramError, match="keeps none") as caught:
        exec(compile(PLAIN, "<nowhere>", "exec"), {})
    assert "notebook" in caught.value.remedy


def test_a_file_that_was_edited_after_it_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    late = PLAIN.replace("@af.program\n", "")
    module = imported(path, late)
    path.write_text("# a new line\n" + late)
    with pytest.raises(ProgramError, match="where it was loaded from"):
        af.program(module.Plain)
    path.write_text("this is no Python (")
    with pytest.raises(ProgramError, match="where it was loaded from"):
        af.program(module.Plain)


def test_python_with_a_command_keeps_the_source() -> None:
    text = PLAIN + "\nprint(af.run(Plain, af.load('path:3'))['x'].tolist())\n"
    for more in ([], ["-OO"]):
        command = [sys.executable, *more, "-c", text, "class Plain: pass"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.stdout == "[7, 7, 7]\n", done.stderr


def test_what_a_command_executes_is_not_taken_for_the_command() -> None:
    """Both are called <string>, and the functions of both begin at the same lines."""
    assert "= 7" in PLAIN
    text = f"source = {PLAIN.replace('= 7', '= 8')!r}\nexec(source)\n"
    for first in (text, PLAIN + "\n" + text):
        done = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, timeout=300)
        assert "ProgramError" in done.stderr
        assert "write the program in a file, a notebook" in done.stderr


def test_the_repr_is_one_line() -> None:
    program = executed(PLAIN)["Plain"]
    assert repr(program) == "<Program Plain(): x: i32>"
    assert repr(af.algorithms.PageRank).count("\n") == 0
    assert len(repr(af.algorithms.PageRank)) < 200
    assert "<b" in af.algorithms.PageRank._repr_html_()
