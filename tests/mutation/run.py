"""Mutation testing: small faults are put into the compiler, the exchange and the validators; do the tests notice?

``make mutants`` draws so many mutants of each target, by a seed, runs the tests that the target names on each, and says
which survived, with their diffs. A mutant that times out counts as killed: it hangs. The tree is copied first; nothing
of the working tree is changed.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import parso
from code_in_strings import CodeInStrings
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).parents[2]
# Of Cosmic Ray's operators those whose mutants are seldom the same program: one fault for each place.
OPERATORS = [
    "ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_FloorDiv",
    "ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_BitOr_BitAnd", "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq", "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is", "ReplaceUnaryOperator_Delete_Not",
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "ZeroIterationForLoop",
]  # fmt: skip

# What is mutated, and the tests that are to notice: the quickest first. A hundred of the 300 random programs will do.
FUZZED = [f"tests/fuzz/test_fuzz_programs.py::test_programs_run_the_same_in_every_way[{k}]" for k in range(0, 100, 10)]
PROGRAMS = [
    *FUZZED, "tests/conformance/test_answers.py", "tests/conformance/test_found_by_fuzzing.py",
    "tests/conformance/test_back_ends.py", "tests/conformance/test_programs_on_parts.py",
]  # fmt: skip
TARGETS: dict[str, tuple[list[str], list[str]]] = {
    "lower": (["compile/lower.py", "compile/sparse.py"], ["tests/unit/compile", *PROGRAMS]),
    "phases": (
        [
            "compile/frontier_pull.py", "compile/frontier_push.py", "compile/frontier.py", "compile/push.py",
            "compile/dense.py", "compile/edges.py", "compile/lists.py", "compile/parts.py",
        ],
        [*PROGRAMS, *(f"tests/unit/algorithms/test_{name}.py" for name in ("bfs", "pagerank"))],
    ),
    "exchange": (
        [
            "engine/exchange/messages.py", "engine/exchange/lists.py", "engine/exchange/telling.py",
            "engine/exchange/contributing.py", "engine/exchange/replicating.py", "engine/exchange/places.py",
        ],
        [*PROGRAMS, "tests/unit/engine"],
    ),
    "validate": (
        [
            "validate/gap.py", "validate/ldbc.py", "validate/paths.py", "validate/recount.py", "validate/traversal.py",
            "validate/grid.py", "validate/kernels.py", "validate/sweep.py", "validate/arguments.py",
        ],
        ["tests/unit/validate", "tests/unit/traversal/test_check.py", "tests/unit/test_nan.py", "src/arcflux/validate"],
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the `number`-th that `operator` finds in a file."""

    path: str
    operator: str
    number: int
    line: int


@dataclass
class Outcome:
    """What the tests made of a mutant."""

    mutant: Mutant
    killed: bool
    how: str
    seconds: float
    diff: str


def operator(name: str) -> CodeInStrings:
    """A mutation operator by name."""
    return CodeInStrings() if name == "CodeInStrings" else get_operator("core/" + name)()


def mutants(path: str) -> list[Mutant]:
    """Every mutant of a file of the package."""
    text = (ROOT / "src/arcflux" / path).read_text()
    tree, lines = parso.parse(text), text.splitlines()
    found = []
    for name in ["CodeInStrings", *OPERATORS]:
        number = 0
        for node in ast_nodes(tree):
            for (line, _), _ in operator(name).mutation_positions(node):
                if "TYPE_CHECKING" not in lines[line - 1] and not _is_annotation(node):
                    found.append(Mutant(path, name, number, line))
                number += 1
    return found


def _is_annotation(node: Any) -> bool:
    """Whether a node only says what type something has: no test can notice a fault there."""
    while node is not None and node.type not in ("tfpdef", "annassign", "suite", "file_input"):
        if node.parent is not None and node.parent.type == "funcdef" and node.parent.annotation is node:
            return True
        node = node.parent
    return node is not None and node.type in ("tfpdef", "annassign")


def trial(mutant: Mutant, tree: Path, tests: list[str], seconds: float) -> Outcome:
    """Run the tests on one mutant, in a copy of the tree that nobody else uses."""
    file = tree / "src/arcflux" / mutant.path
    before = file.read_text()
    after = mutate_code(before.encode(), operator(mutant.operator), mutant.number)
    diff = "".join(difflib.unified_diff(before.splitlines(True), (after or "").splitlines(True), mutant.path, "mutant"))
    if after is None or after == before:
        return Outcome(mutant, True, "no change", 0.0, diff)
    begun = time.monotonic()
    try:
        file.write_text(after)
        how = _how_tests_end(tree, tests, seconds)
    finally:
        file.write_text(before)
    return Outcome(mutant, how != "survived", how, round(time.monotonic() - begun, 1), diff)


def _how_tests_end(tree: Path, tests: list[str], seconds: float) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "ARCFLUX_CACHE": str(tree / "cache")}
    with open(tree / "tests.log", "w") as log:
        process = subprocess.Popen(command, cwd=tree, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            return {0: "survived", 1: "failed", 2: "interrupted", 5: "no test"}.get(process.wait(seconds), "crashed")
        except subprocess.TimeoutExpired:
            return "timed out"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def judge(name: str, count: int, seed: int, jobs: int, seconds: float, until: float) -> list[Outcome]:
    """Draw mutants of a target and try each; several copies of the tree at once."""
    paths, tests = TARGETS[name]
    drawn = [mutant for path in paths for mutant in mutants(path)]
    random.Random(seed).shuffle(drawn)
    chosen = drawn[: count or None]
    left, outcomes, lock = chosen[::-1], [], threading.Lock()

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="arcflux-mutants-") as folder:
            tree = Path(folder) / "tree"
            skip = shutil.ignore_patterns(
                ".git", ".venv*", "build", "site", "__pycache__", ".*_cache", "benchmarks/results"
            )
            shutil.copytree(ROOT, tree, ignore=skip)
            while time.monotonic() < until:
                with lock:
                    if not left:
                        return
                    mutant = left.pop()
                outcome = trial(mutant, tree, tests, seconds)
                with lock:
                    outcomes.append(outcome)
                    where = f"{mutant.path}:{mutant.line} {mutant.operator}"
                    count_so_far = f"{len(outcomes)}/{len(chosen)}"
                    print(f"{name} {count_so_far} {outcome.how:10} {outcome.seconds:6.1f} s  {where}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{name}: {len(drawn)} mutants in all, {len(outcomes)} tried")
    return outcomes


def main() -> None:
    """Print a table, write build/mutation.json and the diffs of survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--count", type=int, default=60, help="mutants of each target; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600.0, help="after which a mutant hangs")
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no new mutant is begun")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutation")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * given.minutes
    for name in given.targets:
        outcomes = judge(name, given.count, given.seed, given.jobs, given.seconds, until)
        tried = [outcome for outcome in outcomes if outcome.how != "no change"]
        killed = sum(outcome.killed for outcome in tried)
        print(f"{name:10} {killed} of {len(tried)} killed ({100 * killed / max(1, len(tried)):.0f} %)",
              dict(Counter(outcome.how for outcome in tried)), flush=True)  # fmt: skip
        (given.out / f"{name}.json").write_text(json.dumps([asdict(outcome) for outcome in tried], indent=1))
        survivors = [outcome.diff for outcome in tried if not outcome.killed]
        (given.out / f"{name}-survivors.diff").write_text("\n".join(survivors))


if __name__ == "__main__":
    main()
