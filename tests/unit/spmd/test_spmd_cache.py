"""Kernels are compiled once for a machine, again when they change, and a cache that does not fit is not trusted."""

import ast
import stat
from pathlib import Path

import pytest
from spmd_processes import lines

import arcflux
from arcflux.spmd.jit import borrowed

TINY = """
import numpy as np
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.pool import run

@inner
def twice(x):
    return {factor} * x

@kernel
def double(worker, workers, control, out):
    if worker == 0:
        for i in range(out.size):
            out[i] = twice(out[i])

def doubled(*kinds):
    for kind in kinds:
        out = np.array([1, 5], kind)
        run(double, 1, out)
        print(kind, out.tolist())
"""
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
{before}
from arcflux import trace
with trace.listen(lambda event: print(event.text)):
    import tiny
    {imported}
    tiny.doubled(*{kinds})
"""
COMPILING = "compiling double (once per machine)"


@pytest.fixture
def doubled(tmp_path):
    """Run the tiny module in a new process: ``doubled("i8", factor=3)`` is what it prints."""

    def start(*kinds, factor=2, before="", imported=""):
        (tmp_path / "tiny.py").write_text(TINY.format(factor=factor))
        program = PROGRAM.format(folder=str(tmp_path), before=before, imported=imported, kinds=kinds)
        return lines(program, ARCFLUX_CACHE=start.cache)

    start.cache = tmp_path / "cache"
    return start


def files(folder, suffix):
    return sorted(folder.rglob(f"*.{suffix}"))


def test_the_second_process_compiles_nothing_and_an_edited_file_is_compiled_anew(doubled):
    assert doubled("i8") == [COMPILING, "i8 [2, 10]"]
    assert doubled("i8", "f8") == ["i8 [2, 10]", COMPILING, "f8 [2.0, 10.0]"]
    assert doubled("i8", factor=3) == [COMPILING, "i8 [3, 15]"]
    (index,) = files(doubled.cache, "nbi")
    assert index.is_relative_to(doubled.cache / "kernels")


def test_a_broken_cache_is_compiled_over(doubled):
    expected = ["i8 [2, 10]"]
    assert doubled("i8") == [COMPILING, *expected]
    (index,), (code,) = files(doubled.cache, "nbi"), files(doubled.cache, "nbc")
    for file, content in ((index, index.read_bytes()[:-30]), (code, code.read_bytes()[:-30])):
        file.write_bytes(content)
        assert doubled("i8") == [COMPILING, *expected], file


def test_code_that_another_process_left_under_our_signature_is_not_run(doubled):
    expected = ["i8 [2, 10]", "f8 [2.0, 10.0]"]
    assert doubled("i8", "f8") == [COMPILING, expected[0], COMPILING, expected[1]]
    one, other = files(doubled.cache, "nbc")
    code = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(code)
    assert doubled("i8", "f8") == [COMPILING, expected[0], COMPILING, expected[1]]
    assert doubled("i8", "f8") == expected


def test_folders_of_the_cache_are_the_owners_alone_whatever_the_umask(doubled):
    program = "import os; os.umask(0); "
    lines(program + "from arcflux.graph import sort", ARCFLUX_CACHE=doubled.cache)
    folders = [doubled.cache, *(path for path in doubled.cache.rglob("*") if path.is_dir())]
    assert len(folders) == 3
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3


def test_a_cache_that_others_can_write_to_stops_a_kernel_before_it_is_loaded(doubled):
    for folder in (doubled.cache, doubled.cache / "kernels"):
        folder.mkdir(mode=0o700)
        folder.chmod(0o777)
        with pytest.raises(AssertionError, match=r"SpaceError: the cache folder .* cannot be used: others can write"):
            doubled("i8")
        folder.chmod(0o700)


def test_a_disk_that_takes_no_more_costs_a_note_and_the_kernel_runs(doubled):
    full = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    full += "limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    printed = doubled("i8", before=full, imported="limit()")
    assert printed == [COMPILING, "the compiled double could not be kept: [Errno 27] File too large", "i8 [2, 10]"]


def kernels_and_what_they_borrow():
    """For every file with kernels: names that a kernel or inner function uses, imported from where no stamp looks."""
    root = Path(arcflux.__file__).parent
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        jitted = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _is_jitted(node)]
        if not jitted:
            continue
        imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("arcflux")
            for alias in node.names
        }
        used = {name.id for node in jitted for name in ast.walk(node) if isinstance(name, ast.Name)}
        stamped = {"arcflux.spmd", *(f"arcflux.{name.replace('/', '.')}" for name in borrowed(path))}
        homes = {name: {imported[name], imported[name].rpartition(".")[0]} for name in used & set(imported)}
        yield path.relative_to(root).as_posix(), {name for name, home in homes.items() if not home & stamped}


def _is_jitted(node):
    return any(isinstance(mark, ast.Name) and mark.id in ("kernel", "inner") for mark in node.decorator_list)


def test_kernels_use_only_what_their_cache_is_stamped_with():
    borrowed = dict(kernels_and_what_they_borrow())
    assert {"graph/sort.py", "graph/table.py", "spmd/random.py"} <= set(borrowed)
    assert {path: names for path, names in borrowed.items() if names} == {}
