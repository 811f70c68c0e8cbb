"""Settings: threads, and a cache folder that nobody else can write to."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from arcflux import config
from arcflux.errors import SpaceError, UsageError


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("ARCFLUX_THREADS", "ARCFLUX_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where folders for this process alone are made."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    config._temporary.cache_clear()
    yield tmp_path / "tmp"
    config._temporary.cache_clear()


def mode(folder):
    return stat.S_IMODE(folder.stat().st_mode)


def test_threads_are_those_asked_for_then_those_set_then_every_core(monkeypatch):
    assert config.threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("ARCFLUX_THREADS", "3")
    assert config.threads() == 3
    assert config.threads(5) == 5
    monkeypatch.setenv("ARCFLUX_THREADS", "")
    assert config.threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("wrong", [0, -1, 4097, 2.5, float("nan"), float("inf"), "two", [2]])
def test_other_numbers_of_threads_are_refused(wrong, monkeypatch):
    with pytest.raises(UsageError, match="expected: a whole number from 1 to 4096") as caught:
        config.threads(wrong)
    assert caught.value.what == f"threads is {wrong!r}"
    if isinstance(wrong, (int, str)):
        monkeypatch.setenv("ARCFLUX_THREADS", str(wrong))
        with pytest.raises(UsageError):
            config.threads()


def test_the_named_folder_is_made_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "a" / "cache"))
    before = os.umask(0)
    try:
        assert config.cache_folder() == tmp_path / "a" / "cache"
        assert config.cache_folder("kernels", "x") == tmp_path / "a" / "cache" / "kernels" / "x"
    finally:
        os.umask(before)
    for folder in ("", "kernels", "kernels/x"):
        assert mode(tmp_path / "a" / "cache" / folder) == 0o700


def test_the_default_folder_is_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config.cache_folder() == tmp_path / ".cache" / "arcflux"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert config.cache_folder() == tmp_path / "xdg" / "arcflux"
    monkeypatch.setenv("ARCFLUX_CACHE", "~/named")
    assert config.cache_folder() == tmp_path / "named"


@pytest.mark.parametrize("bits", [0o770, 0o777, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused_and_left_as_it_is(tmp_path, monkeypatch, bits):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(bits)
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "open"))
    with pytest.raises(SpaceError, match="others can write to it"):
        config.cache_folder()
    assert mode(tmp_path / "open") == bits


def test_an_open_folder_inside_the_cache_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path))
    tmp_path.chmod(0o755)
    assert config.cache_folder() == tmp_path
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    with pytest.raises(SpaceError, match="kernels cannot be used: others can write"):
        config.cache_folder("kernels")


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path))
    owner = tmp_path.stat().st_uid or 4321
    if os.getuid():
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    else:
        os.chown(tmp_path, owner, -1)
    with pytest.raises(SpaceError, match=f"it belongs to user {owner}") as caught:
        config.cache_folder()
    assert "set ARCFLUX_CACHE" in caught.value.remedy


def test_a_folder_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, bits: not bits & os.R_OK)
    with pytest.raises(SpaceError, match="it is not readable"):
        config.cache_folder()


@pytest.mark.parametrize("reason", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_folder_that_can_only_be_read_is_read(tmp_path, monkeypatch, reason):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path))
    (tmp_path / "kernels").mkdir(mode=0o700)

    def refuse(path, *args, **options):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "mkdir", refuse)
    assert config.cache_folder("kernels") == tmp_path / "kernels"
    assert config.cache_folder("programs") == tmp_path / "programs"
    assert not (tmp_path / "programs").exists()


@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES])
def test_a_named_folder_that_is_not_there_and_cannot_be_made_is_refused(tmp_path, monkeypatch, reason):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "missing"))

    def refuse(path, *args, **options):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(SpaceError, match="missing cannot be used"):
        config.cache_folder("kernels")


def test_a_file_in_the_way_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for named in ("file", "file/below"):
        monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / named))
        with pytest.raises(SpaceError, match="cannot be used"):
            config.cache_folder()


def test_where_the_default_cannot_be_used_a_folder_of_this_process_is(tmp_path, monkeypatch, temporary):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = config.cache_folder()
    assert folder.parent == temporary
    assert mode(folder) == 0o700
    assert config.cache_folder("kernels") == folder / "kernels"
    assert list(temporary.iterdir()) == [folder]


def test_the_folder_of_a_process_goes_with_it_and_not_with_its_children(tmp_path):
    program = """
import os
from arcflux.config import cache_folder
folder = cache_folder("kernels")
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(folder.is_dir(), folder.parent.parent)
"""
    (tmp_path / "file").touch()
    settings = {"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | settings, capture_output=True, text=True)
    assert done.stdout.split() == ["True", str(tmp_path)], done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_without_a_home_there_is_a_folder_too(monkeypatch, temporary):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert config.cache_folder().parent == temporary
