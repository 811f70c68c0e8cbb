"""A process with everything imported, of which each trial is a fork: it imports again what a mutant changes.

Starting Python, importing Numba and collecting tests take longer than the check that notices a fault. So they are done
once. In a fork, the mutated module and all that import it are dropped and imported anew, from a copy of the tree.
"""

from __future__ import annotations

import ast
import compileall
import gc
import os
import py_compile
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest
from mutants import PACKAGE, Mutant, mutated
from quick import Check

__all__ = ["Stage", "Warm", "copy_tree"]

# Checks, or tests.
Stage = list[Check] | list[str]

_OURS = ("arcflux", "program_fuzzer")
# What the checks and tests import of other packages.
_OTHERS = ("numba", "scipy.sparse", "pyarrow", "networkx", "rich.console", "click")
_COPIED = ("src", "tests", "benchmarks", "pyproject.toml")


def copy_tree(root: Path, tree: Path) -> None:
    """Copy a tree; compiled files are valid while their sources have the same content, however fast they change."""
    skipped = shutil.ignore_patterns("__pycache__", "results")
    tree.mkdir()
    for name in _COPIED:
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, tree / name, **({"ignore": skipped} if (root / name).is_dir() else {}))
    compileall.compile_dir(tree / "src", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


class Warm:
    """Tries mutants in forks of this process. `killers` counts, for each file, what noticed faults in it."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.killers: dict[str, Counter[str]] = {}
        self.seconds: Counter[str] = Counter()
        sys.path[:0] = [str(tree / "src"), str(tree / "tests/fuzz"), str(tree / "tests")]
        sys.dont_write_bytecode = True
        os.environ |= {
            "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "ARCFLUX_KEEP_RUNS": "0",
            "ARCFLUX_PLAN": "0", "ARCFLUX_QUIET": "1",
        }  # fmt: skip
        for name in _OTHERS:
            __import__(name)

    def measure(self, checks: list[Check], longest: float) -> list[Check]:
        """Those checks that take less than so many seconds. They run in this process: forks have what they load."""
        found = []
        for check in checks:
            begun = time.process_time()
            if said := check.call():
                raise SystemExit(f"without a fault, {check.name} says: {said}")
            if time.process_time() - begun < longest:
                found.append(check)
        return found

    def rehearse(self, tests: list[str]) -> None:
        """Run the tests without a fault, in this process, so that forks have what they load."""
        if not tests:
            return
        os.chdir(self.tree)
        before = set(sys.modules)
        sys.dont_write_bytecode = False  # of tests, whose assertions pytest rewrites
        if pytest.main([*_OPTIONS, *tests], [_Durations(self.seconds)]):
            raise SystemExit("tests fail without a fault")
        sys.dont_write_bytecode = True
        for name in set(sys.modules) - before:
            if not name.startswith(_OURS) and str(getattr(sys.modules[name], "__file__", "")).startswith(
                str(self.tree)
            ):
                del sys.modules[name]  # a file of tests, which imports what is mutated

    def trial(self, mutant: Mutant, stages: list[Stage]) -> tuple[str, str]:
        """How a mutant ends in the first stage that notices it, and what noticed it."""
        for module in list(sys.modules.values()):
            _imports(module)  # here, so that forks know them
        gc.freeze()  # what is here by now, forks need not look at
        after = mutated(self.tree, mutant)
        if not after:
            return "no change", ""
        file = self.tree / PACKAGE / mutant.path
        before, seen = file.read_text(), self.killers.setdefault(mutant.path, Counter())

        def work(stage: Stage, say: Callable[[str], None]) -> None:
            _forget(mutant.module)
            if isinstance(stage[0], Check):
                _run_checks(stage, seen, say)
            else:
                _run_tests(self.tree, stage, _KillersFirst(seen, self.seconds, say))

        said = "survived"
        try:
            file.write_text(after)
            for stage in stages:
                said = _fork(partial(work, stage), self.tree / "trial.log")
                if said != "survived":
                    break
        finally:
            file.write_text(before)
        how, _, who = said.partition("\t")
        if who:
            seen[who] += 1
        return how, who


class _Watch:
    """Ends this process when it takes much longer than usual: it hangs. Waiting for a core is not counted."""

    def __init__(self) -> None:
        self.begun, self.delayed, self.most = time.monotonic(), 0.0, 60.0
        threading.Thread(target=self._look, daemon=True).start()

    def limit_from_here(self, usual: float) -> None:
        """Some seconds of processor time, and more of any other time, from here on."""
        signal.setitimer(signal.ITIMER_PROF, 3 + 5 * usual)
        self.begun, self.delayed, self.most = time.monotonic(), _delay(), 15 + 10 * usual

    def _look(self) -> None:
        while True:
            time.sleep(0.5)
            if time.monotonic() - self.begun - max(0.0, _delay() - self.delayed) > self.most:
                os.kill(os.getpid(), signal.SIGALRM)


def _delay() -> float:
    """Seconds that the thread of this process that waited longest for a core has waited for one."""
    found = [0]
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError, ValueError, IndexError):
            found.append(int((task / "schedstat").read_text().split()[1]))
    return max(found) / 1e9


# Of a fork.
_watch: _Watch


def _fork(work: Callable[[Callable[[str], None]], None], log: Path) -> str:
    """What a fork of this process says, by default how it ends: "survived", "crashed" or "timed out"."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            global _watch
            _watch = _Watch()
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            work(lambda said: os.write(write_fd, said.encode()) and None)
            code = 0
        finally:
            os._exit(code)
    os.close(write_fd)
    said = os.read(read_fd, 1 << 16).decode()
    os.close(read_fd)
    if said:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if said:
        return said
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return "timed out"
    return "survived" if status == 0 else "crashed"


def _forget(name: str) -> None:
    """Drop a module, and all of ours that hold something of it because they import it at their top."""
    ours = {key: module for key, module in sys.modules.items() if key.startswith(_OURS)}
    users = {key: _imports(module) for key, module in ours.items()}
    stale, size = {name}, 0
    while len(stale) > size:
        size = len(stale)
        stale |= {key for key, imported in users.items() if imported & stale}
    for key in stale & set(ours):
        del sys.modules[key]
        room, _, last = key.rpartition(".")
        if room in ours and vars(ours[room]).get(last) is ours[key]:
            delattr(ours[room], last)
    for module in ours.values():  # what packages and doorways have imported when it was first used
        for known in vars(module).get("_homes", {}):
            vars(module).pop(known, None)
    if "arcflux.doorways" in ours:
        ours["arcflux.doorways"]._imported.cache_clear()


_imported: dict[str, set[str]] = {}


def _imports(module: ModuleType) -> set[str]:
    """The modules, and names in them, that a module imports at its top."""
    file = getattr(module, "__file__", None) or ""
    if file not in _imported:
        found = _imported[file] = set()
        ours = module.__name__.startswith(_OURS) and Path(file).exists()
        for node in ast.parse(Path(file).read_bytes()).body if ours else []:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return _imported[file]


# --- checks and tests


def _run_checks(checks: list[Any], seen: Counter[str], say: Callable[[str], None]) -> None:
    for check in sorted(checks, key=lambda check: -seen[check.name]):
        _watch.limit_from_here(0.0)
        try:
            said = check.call()
        except BaseException as error:  # the mutant does not even import
            said = repr(error)
        if said:
            print(check.name, said, flush=True)
            say(f"failed\t{check.name}")
            return


# Of examples that Hypothesis draws, a third will do. Plugins are imported before: pytest cannot rewrite their asserts.
hypothesis.settings.register_profile("mutants", max_examples=30, deadline=None, database=None,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])  # fmt: skip
_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants",
            "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip


class _Durations:
    """Notes how long tests take."""

    def __init__(self, seconds: Counter[str]) -> None:
        self.seconds = seconds

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration


class _KillersFirst:
    """Runs tests that noticed other faults of the same file first, then the short ones; says which notices this one."""

    def __init__(self, seen: Counter[str], seconds: Counter[str], say: Callable[[str], None]) -> None:
        self.seen, self.seconds, self.say = seen, seconds, say

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: (-self.seen[item.nodeid], self.seconds[item.nodeid]))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _watch.limit_from_here(self.seconds[nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.say(f"failed\t{report.nodeid}")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.say(f"failed\t{report.nodeid}")


def _run_tests(tree: Path, tests: list[Any], plugin: _KillersFirst) -> None:
    os.chdir(tree)
    code = pytest.main([*_OPTIONS, *tests], [plugin])
    if code:
        plugin.say(f"ended with {int(code)}\t")
