"""The bounds of pyproject.toml are those that are checked, and a package below them is refused clearly."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from arcflux import requirements
from arcflux.errors import VersionError


def test_bounds_are_those_of_the_project() -> None:
    project = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    line = re.search(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)
    assert line is not None
    bounds = dict(re.findall(r'"(\w+)>=([\d.]+)"', line[1]))
    assert bounds == requirements.LOWEST


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("0.60.0", "0.61", True), ("0.61.0", "0.61", False), ("0.61", "0.61.2", True), ("0.9", "0.61", True),
        ("1.0", "0.61", False), ("0.61.0rc1", "0.61", False), ("15.0.2", "16", True), ("16.0.0.dev3+g1", "16", False),
        ("unknown", "16", True),
    ],
)  # fmt: skip
def test_order_of_versions(version: str, than: str, older: bool) -> None:
    assert requirements.is_older(version, than) is older


@pytest.mark.parametrize("package", ["numba", "pyarrow"])
def test_an_old_package_is_refused(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType(package)
    old.__version__ = "0.5.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, package, old)
    with pytest.raises(VersionError, match=rf"{package} 0\.5\.1 is installed") as caught:
        requirements.load(package)
    assert requirements.LOWEST[package] in caught.value.remedy
    assert caught.value.exit_code == 12
    assert isinstance(caught.value, ImportError)


def test_a_package_that_refuses_another_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less. Got NumPy 9.9.')\n")
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(VersionError, match=r"Got NumPy 9\.9"):
        requirements.load("numba")
    sys.modules.pop("numba", None)


def test_a_package_that_is_missing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError):
        requirements.load("pyarrow")
