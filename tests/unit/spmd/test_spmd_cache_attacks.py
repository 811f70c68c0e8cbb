"""A cache that was changed, opened, filled up or locked: no run crashes of it, and none runs what we did not write."""

import importlib.util
import marshal
import os
import random
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from spmd_processes import lines
from test_spmd_cache import COMPILING, doubled, files

from arcflux.compile import cache
from arcflux.errors import SpaceError
from arcflux.spmd.private import read_private, write_private

__all__ = ["doubled"]

RESULT = "i8 [2, 10]"
SOURCE = '"""Made."""\nANSWER = 42\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    cache.module.cache_clear()
    yield tmp_path / "cache"
    cache.module.cache_clear()


@contextmanager
def disk(where, size):
    """A file system of its own; skips where only root may mount one."""
    where.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", where], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=True)


# --- changed


def flipped(path, rng):
    content = bytearray(path.read_bytes())
    place = rng.randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
def test_a_flipped_bit_in_compiled_code_is_noticed_before_it_is_loaded(doubled, suffix):
    assert doubled("i8") == [COMPILING, RESULT]
    rng = random.Random(suffix)
    for _ in range(2):
        (path,) = files(doubled.cache, suffix)
        flipped(path, rng)
        assert doubled("i8") == [COMPILING, RESULT]
    assert doubled("i8") == [RESULT]


def test_no_flipped_bit_passes_the_seal(tmp_path):
    from numba.core.caching import IndexDataCacheFile

    from arcflux.spmd.sealed import SealedCacheFile

    def opened(stamp=b"stamp"):
        return SealedCacheFile.of(IndexDataCacheFile(str(tmp_path), "f", stamp))

    data = {"code": bytes(range(256)), "types": ("i8", 3)}
    opened().save("key", data)
    assert opened().load("key") == data
    assert opened(b"another source").load("key") is None
    code = tmp_path / "f.1.nbc"
    whole = code.read_bytes()
    for place in range(8 * len(whole)):
        code.write_bytes(whole[: place // 8] + bytes([whole[place // 8] ^ 1 << place % 8]) + whole[place // 8 + 1 :])
        with pytest.raises(ValueError, match="no seal"):
            opened().load("key")
    for size in range(len(whole)):
        code.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="no seal"):
            opened().load("key")


def test_bytecode_that_somebody_left_beside_a_program_is_not_run(folder):
    path = Path(cache.module(SOURCE).__file__)
    about = path.stat()
    bad = importlib.util.cache_from_source(path)
    Path(bad).parent.mkdir(exist_ok=True)
    head = importlib.util.MAGIC_NUMBER + bytes(4)
    head += int(about.st_mtime).to_bytes(4, "little") + about.st_size.to_bytes(4, "little")
    for code in (marshal.dumps(compile("ANSWER = 13", str(path), "exec")), b"rubbish"):
        Path(bad).write_bytes(head + code)
        cache.module.cache_clear()
        assert cache.module(SOURCE).ANSWER == 42


def test_a_traceback_shows_the_source_of_a_program_that_has_no_file(folder):
    import inspect

    made = cache.module("def f():\n    return 1 + 1\n")
    Path(made.__file__).unlink()
    assert "return 1 + 1" in inspect.getsource(made.f)


# --- open to others


@pytest.mark.parametrize("inside", ["programs", "kernels"])
def test_an_open_folder_is_refused_wherever_code_is_read(folder, doubled, inside):
    (folder / inside).mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / inside).chmod(0o777)
    with pytest.raises((SpaceError, AssertionError), match="others can write to it"):
        cache.module(SOURCE) if inside == "programs" else doubled("i8")


def test_the_folder_of_a_module_is_looked_at_too(doubled):
    assert doubled("i8") == [COMPILING, RESULT]
    (code,) = files(doubled.cache, "nbc")
    code.parent.chmod(0o757)
    with pytest.raises(AssertionError, match="others can write to it"):
        doubled("i8")


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
def test_a_file_that_others_can_write_to_is_compiled_anew(doubled, suffix):
    assert doubled("i8") == [COMPILING, RESULT]
    (path,) = files(doubled.cache, suffix)
    path.chmod(0o666)
    assert doubled("i8") == [COMPILING, RESULT]
    (path,) = files(doubled.cache, suffix)
    assert path.stat().st_mode & 0o777 == 0o600
    assert doubled("i8") == [RESULT]


def test_what_is_read_belongs_to_us_and_is_a_plain_file(tmp_path):
    path = tmp_path / "file"
    write_private(path, b"content")
    assert read_private(path) == b"content"
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "fifo")
    for other in ("link", "fifo", "missing", "."):
        assert read_private(tmp_path / other) is None
    if not os.getuid():
        os.chown(path, 4321, -1)
        assert read_private(path) is None


def test_files_are_the_owners_alone_whatever_the_umask_and_also_after_the_cache_was_cleared(doubled):
    cleared = "from arcflux.compile import cache; cache.clear()"
    assert doubled("i8", before="import os; os.umask(0)", imported=cleared) == [COMPILING, RESULT]
    found = list(doubled.cache.rglob("*"))
    assert len(found) == 4
    assert all(path.stat().st_mode & 0o077 == 0 for path in found)
    assert doubled("i8") == [RESULT]


# --- full, or locked

RUN = """
import warnings
import arcflux as af
@af.program
class Around:
    x: af.i64
    def start(v):
        v.x = 1
        return True
    def init(v):
        v.x = 0
    def compute(v, u):
        v.x += u.x
    def update(v):
        return False
from arcflux import trace
with trace.listen(lambda event: print(event.text) if isinstance(event, trace.Note) else None):
    print(af.run(Around, af.load("path:9"), threads=1)["x"].tolist())
"""
ANSWER = str([1, *[2] * 7, 1])


def run_at(tmp_path, where, **settings):
    """What the program prints that stands in a file, with this cache."""
    (tmp_path / "program.py").write_text(RUN)
    program = f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r}, run_name='__main__')"
    return lines(program, ARCFLUX_CACHE=where, PYTHONDONTWRITEBYTECODE=1, **settings)


@pytest.mark.parametrize(("size", "made"), [("4k", False), ("16k", True), ("100k", True)])
def test_a_full_disk_costs_notes_and_the_program_runs(tmp_path, size, made):
    with disk(tmp_path / "disk", size) as where:
        (where / "ballast").write_bytes(bytes(4096))
        if not made:  # not even a folder fits any more
            with suppress(OSError):
                for k in range(100):
                    (where / str(k)).mkdir()
        printed = run_at(tmp_path, where / "cache", ARCFLUX_KEEP_RUNS="1")
        assert printed[-1] == ANSWER
        assert any("could not be kept" in line for line in printed)
        assert not list(where.rglob(".writing-*"))


def test_a_full_disk_is_no_error_of_the_command_line(tmp_path):
    with disk(tmp_path / "disk", "64k") as where:
        done = subprocess.run(
            [sys.executable, "-m", "arcflux", "run", "bfs", "path:9", "--source", "0"], capture_output=True, text=True,
            env={**os.environ, "ARCFLUX_CACHE": str(where / "cache"), "ARCFLUX_KEEP_RUNS": "1", "ARCFLUX_PLAN": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_a_warm_cache_that_is_read_only_is_read_and_misses_compile_in_memory(tmp_path):
    with disk(tmp_path / "disk", "64m") as where:
        assert "compiling dense_by_degree (once per machine)" in run_at(tmp_path, where)
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        assert run_at(tmp_path, where) == [ANSWER]
        subprocess.run(["mount", "-o", "remount,rw", where], check=True)
        for path in where.rglob("*.nbc"):
            path.unlink()
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        printed = run_at(tmp_path, where)
        assert printed[-1] == ANSWER
        assert any(line.startswith("the compiled dense_by_degree could not be kept: ") for line in printed)


@pytest.mark.parametrize("wrong", ["file", "open"])
def test_the_command_line_says_why_a_named_cache_cannot_be_used(tmp_path, wrong):
    if wrong == "file":
        (tmp_path / "cache").touch()
    else:
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(0o777)
    for command in (["run", "bfs", "path:9"], ["info", "path:9"], ["cache", "info"]):
        done = subprocess.run(
            [sys.executable, "-m", "arcflux", *command], capture_output=True, text=True,
            env={**os.environ, "ARCFLUX_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode == SpaceError.exit_code, done.stderr
        assert "cache cannot be used: " in done.stderr
        assert "Traceback" not in done.stderr
