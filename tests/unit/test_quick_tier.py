"""Which tests the quick tier takes for a change."""

import pytest

from check import ALWAYS, ROOT, needed_tests, rooms


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["src/arcflux/io/text.py"], ["tests/unit/io"]),
        (["src/arcflux/result.py"], ["tests/unit/test_result.py"]),
        (["tests/unit/io/test_text.py"], ["tests/unit/io/test_text.py"]),
        (["tests/unit/io/test_text.py", "src/arcflux/io/text.py"], ["tests/unit/io"]),
        (["docs/limits.md", "README.md"], ["tests/unit/test_docs.py"]),
        (["LICENSE"], []),
    ],
)
def test_the_needed_tests_a_change(files, expected):
    assert needed_tests(rooms(files)) == [*ALWAYS, *expected]


@pytest.mark.parametrize("room", ["compile", "engine"])
def test_rooms_of_kernels_are_held_against_oracles(room):
    assert "tests/conformance/test_answers.py" in needed_tests([room])


def test_every_room_has_tests():
    """A room whose tests cannot be found by its name would have none in the quick tier."""
    package = ROOT / "src/arcflux"
    names = [p.stem for p in package.iterdir() if p.is_dir() and p.name != "__pycache__"]
    assert [name for name in names if len(needed_tests([name])) == len(ALWAYS)] == []
