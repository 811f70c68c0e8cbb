"""The quick tier, `make check`: the tests that a change needs most, within three minutes on two idle cores.

Rooms are those of the files that differ from the last commit (of the last commit itself when none do), or those named
on the command line. A room's own tests run, and those of what stands directly on it; `make test` runs everything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 170
# What every change has to keep: imports stay light, errors say what to do, no argument ends in a raw exception.
ALWAYS = ["tests/unit/test_imports.py", "tests/unit/test_errors.py"]
# Answers by an oracle, for rooms whose faults show as wrong numbers.
ANSWERS = ["tests/conformance/test_answers.py", "tests/conformance/test_found_by_fuzzing.py"]
BESIDE = {
    "compile": [*ANSWERS, "tests/unit/test_engine.py"],
    "engine": [*ANSWERS, "tests/unit/test_engine.py", "tests/unit/test_calls.py"],
    "spmd": ["tests/unit/test_engine.py"],
    "docs": ["tests/unit/test_docs.py"],
    "pyproject.toml": ["tests/unit/test_requirements.py"],
}


def changed() -> list[str]:
    """The files that differ from the last commit, or that it changed."""
    one = ["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"]
    files = [line for words in one for line in _git(words)]
    return files or _git(["diff", "--name-only", "HEAD~1", "HEAD"])


def _git(words: list[str]) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def rooms(files: Iterable[str]) -> list[str]:
    """The rooms of files: folders and modules of the package, docs, or the file itself.

    >>> rooms(["src/arcflux/io/text.py", "src/arcflux/result.py", "docs/limits.md", "tests/unit/io/test_text.py"])
    ['docs', 'io', 'result', 'tests/unit/io/test_text.py']
    """
    found = set()
    for file in files:
        parts = Path(file).parts
        if parts[:2] == ("src", "arcflux"):
            found.add(Path(parts[2]).stem)
        elif parts[0] == "docs" or file == "README.md":
            found.add("docs")
        else:
            found.add(file)
    return sorted(found)


def needed_tests(names: Iterable[str]) -> list[str]:
    """The tests that rooms need, each once, those that every change needs first."""
    chosen = [*ALWAYS]
    for name in names:
        if name.startswith("tests/") and Path(name).name.startswith("test_"):
            chosen.append(name)
        chosen += [f"tests/unit/{name}", f"tests/unit/test_{name}.py", *BESIDE.get(name, [])]
    there = [test for test in dict.fromkeys(chosen) if (ROOT / test).exists()]
    return [test for test in there if not any(str(folder) in there for folder in Path(test).parents)]


def main() -> int:
    """Run them; 1 when one fails, or when they take too long to say."""
    chosen = needed_tests(sys.argv[1:] or rooms(changed()))
    print("make check:", *chosen, flush=True)
    command = [sys.executable, "-m", "pytest", "--numprocesses", "2", "--dist", "worksteal", "--maxfail", "10", *chosen]
    try:
        return subprocess.run(command, cwd=ROOT, timeout=SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"make check: not done after {SECONDS} s, name fewer rooms (make check ROOMS=io) or run make test")
        return 1


if __name__ == "__main__":
    sys.exit(main())
