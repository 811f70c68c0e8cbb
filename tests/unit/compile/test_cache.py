"""Generated modules: one file for one source, whoever writes it, and gone when cleared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.compile import cache

SOURCE = '"""Made."""\nANSWER = 42\n' + "# padding\n" * 20_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    cache.module.cache_clear()
    yield tmp_path / "cache" / "programs"
    cache.module.cache_clear()


def test_a_source_is_a_file_named_by_its_content(folder: Path) -> None:
    made = cache.module(SOURCE)
    assert made.ANSWER == 42
    assert cache.module(SOURCE) is made
    other = cache.module(SOURCE.replace("42", "43"))
    assert other.ANSWER == 43
    assert sorted(folder.glob("*.py")) == sorted([Path(made.__file__), Path(other.__file__)])
    assert folder.stat().st_mode & 0o77 == 0


def test_a_damaged_file_is_written_again(folder: Path) -> None:
    path = Path(cache.module(SOURCE).__file__)
    path.write_text("ANSWER = 1\n")
    cache.module.cache_clear()
    assert cache.module(SOURCE).ANSWER == 42
    assert path.read_text() == SOURCE


def test_two_processes_write_at_once(folder: Path) -> None:
    code = (
        "import sys\nfrom arcflux.compile import cache\nsys.stdin.read()\n"
        f"print(*(cache.module({SOURCE!r} + str(k)).ANSWER for k in range(20)))"
    )
    script = folder.parent.parent / "write.py"
    script.write_text(code)
    writers = [
        subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        for _ in range(2)
    ]  # fmt: skip
    for writer in writers:
        writer.stdin.close()
        writer.stdin = None
    assert [writer.communicate()[0].split() for writer in writers] == [["42"] * 20] * 2
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(list(folder.iterdir())) == 20


def test_clear_frees_what_it_says(folder: Path) -> None:
    cache.module(SOURCE)
    size = sum(path.stat().st_size for path in folder.parent.rglob("*") if path.is_file())
    assert size >= len(SOURCE)
    assert cache.clear() == size
    assert not folder.exists()
    assert cache.clear() == 0
    assert cache.module(SOURCE).ANSWER == 42
