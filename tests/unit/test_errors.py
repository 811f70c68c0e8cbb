"""Every error reads well, tells its exit code, and survives the way to another process."""

import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest

from arcflux import errors
from arcflux.errors import ArcfluxError

CODES = Path(__file__).parents[2] / "docs/reference/cli.md"
CLASSES = [getattr(errors, name) for name in errors.__all__]
PLAIN = [kind for kind in CLASSES if kind is not errors.MissingExtraError]


def test_every_public_name_is_an_error_and_every_error_is_public():
    found = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BaseException)}
    assert found == set(errors.__all__)
    assert all(issubclass(kind, ArcfluxError) for kind in CLASSES)
    assert all(kind.__doc__ for kind in CLASSES)


@pytest.mark.parametrize("kind", PLAIN)
def test_an_error_prints_what_then_expected_then_what_to_try(kind):
    both = kind("3 given", expected="2", remedy="drop one")
    assert str(both) == "3 given\n  expected: 2\n  try: drop one"
    assert (both.what, both.expected, both.remedy) == ("3 given", "2", "drop one")
    assert str(kind("3 given")) == "3 given"
    assert str(kind("3 given", expected="2")) == "3 given\n  expected: 2"
    assert str(kind("3 given", remedy="drop one")) == "3 given\n  try: drop one"


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    error = errors.MissingExtraError("pymetis", "partition", "cutting a graph")
    assert str(error) == (
        "cutting a graph needs the package 'pymetis', which is not installed\n  try: pip install 'arcflux[partition]'"
    )
    assert errors.MissingExtraError("polars", "", "reading").remedy == "pip install polars"


@pytest.mark.parametrize("kind", [errors.FormatError, errors.StoreError, errors.ChecksumError])
def test_a_format_error_says_where(kind):
    error = kind("no number", path=Path("a/b.txt"), line=7, expected="a number")
    assert str(error) == "a/b.txt:7: no number\n  expected: a number"
    assert (error.path, error.line) == ("a/b.txt", 7)
    assert str(kind("empty", path="b.txt")) == "b.txt: empty"


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.UsageError, ValueError),
        (errors.SpecError, errors.UsageError),
        (errors.FormatError, ValueError),
        (errors.StoreError, errors.FormatError),
        (errors.ChecksumError, errors.StoreError),
        (errors.GraphError, ValueError),
        (errors.IdError, KeyError),
        (errors.IdError, errors.GraphError),
        (errors.WeightError, errors.GraphError),
        (errors.SpaceError, OSError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_errors_are_also_what_python_programs_catch(kind, base):
    assert issubclass(kind, base)


def test_a_family_has_one_exit_code_and_no_two_families_share_one():
    families = [kind for kind in CLASSES if ArcfluxError in kind.__bases__]
    codes = [kind.exit_code for kind in families]
    assert len(set(codes)) == len(codes)
    assert not {0, 1, 130} & set(codes)
    assert ArcfluxError.exit_code == 1
    for kind in CLASSES:
        assert (
            kind.exit_code in {family.exit_code for family in families if issubclass(kind, family)}
            or kind is ArcfluxError
        )


def test_the_documented_exit_codes_are_the_real_ones():
    documented = {}
    for code, classes in re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", CODES.read_text(), re.MULTILINE):
        documented |= dict.fromkeys(re.findall(r"`(\w+)`", classes), int(code))
    assert documented == {kind.__name__: kind.exit_code for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])  # noqa: S301 - our own
def test_errors_survive_the_way_to_another_process(kind, again):
    if kind is errors.MissingExtraError:
        error = kind("pymetis", "partition", "cutting")
    elif issubclass(kind, errors.FormatError):
        error = kind("3 given", path="f", line=2, expected="2")
    else:
        error = kind("3 given", expected="2", remedy="drop one")
    arrived = again(error)
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)
