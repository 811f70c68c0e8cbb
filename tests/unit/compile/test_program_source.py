"""Where the source of a program is found."""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

import arcflux as af
from arcflux.program import _found

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

            def compute(v, u):
                v.x = max(v.x, u.x)

            def update(v, old):
                return v.x != old.x
    return Twin
'''


def imported(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_of_two_classes_with_one_name_each_is_itself(tmp_path: Path) -> None:
    made = imported(tmp_path / "twins_of_a_name.py", TWO).made
    graph = af.Graph.from_edges([0], [1])
    assert [af.run(made(first), graph)["x"].tolist() for first in (True, False)] == [[1, 1], [2, 2]]


def test_what_has_no_decorator_above_it_is_left_to_inspect() -> None:
    assert _found(Plain) is None
    assert _found(type("Bare", (), {})) is None
    assert _found(type("Borrowed", (), {"start": lambda v: None})) is None


def test_what_is_found_is_what_inspect_finds() -> None:
    class_of = type("Sample", (Sample,), {})
    assert _found(class_of) is None
    assert _found(Sample) == inspect.getsourcelines(Sample)


class Plain:
    def start(self) -> None: ...


def program(cls: type) -> type:
    """A decorator that looks like ours, and leaves the class alone."""
    return cls


@program
class Sample:
    """Has a function."""

    def start(self) -> None: ...
