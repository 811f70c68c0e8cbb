"""Mutation testing: small faults are put into the compiler, the exchange and the validators; do the tests notice?

``make mutants`` draws so many mutants of each target, by a seed. Each is tried in a fork of one warm process (warm.py):
first quick checks, random programs whose kernels are interpreted (quick.py), then the tests that the target names,
those first that noticed other faults of the same file. A mutant that times out counts as killed: it hangs. What no test
could notice is left out, with the reason (left_out.py). The tree is copied first; nothing of the working tree is
changed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from mutants import Mutant, diff, mutants
from quick import program_checks
from warm import Stage, Warm, copy_tree

ROOT = Path(__file__).parents[2]
# Seconds of processor time that a quick check may take.
LONGEST = 0.1


@dataclass(frozen=True)
class Target:
    """Files of the package, and what is to notice faults in them: short tests, random programs, then long tests."""

    files: list[str]
    short: list[str]
    programs: str
    long: list[str]


PROGRAMS = ["tests/conformance/test_answers.py", "tests/conformance/test_found_by_fuzzing.py"]
MAIL = "tests/conformance/test_mail.py"
TARGETS = {
    "lower": Target(
        ["compile/lower.py", "compile/sparse.py"],
        [
            *(f"tests/unit/compile/test_{name}.py" for name in ("what_kernels_may", "lower", "program_refusals")),
            "tests/unit/engine/test_reports.py::test_start_that_has_no_effect_is_warned_of",
        ],
        "in all ways",
        [
            *PROGRAMS,
            "tests/unit/compile/test_inheritance.py::test_arrays_as_parameters",
            f"{MAIL}::test_every_way_to_run_gives_the_bits_of_plain_python[Contracted-one thread]",
        ],
    ),
    "phases": Target(
        [
            "compile/cpu/frontier_pull.py", "compile/cpu/frontier_push.py", "compile/cpu/frontier.py",
            "compile/cpu/push.py",
            "compile/cpu/dense.py", "compile/pieces/edges.py", "compile/pieces/crossing.py", "compile/cpu/lists.py",
            "compile/cpu/parts.py",
        ],
        [
            *(f"tests/conformance/test_{name}.py" for name in
              ("frontier_kernels", "frontier_edges", "dense_kernels", "several_chunks", "messages_taken")),
            "tests/unit/engine/test_exchange.py::test_nodes_reduce_together_what_one_would",
            "tests/conformance/test_totals.py::test_totals_of_sparse_programs_are_of_those_that_received",
        ],
        "in all ways",
        [
            *PROGRAMS,
            *(f"tests/conformance/test_edge_fields.py::test_every_way_gives_what_loops_give[{name}-True-two threads]"
              for name in ("echo", "ripple")),
        ],
    ),
    "exchange": Target(
        [
            "engine/exchange/messages.py", "engine/exchange/lists.py", "engine/exchange/telling.py",
            "engine/exchange/contributing.py", "engine/exchange/replicating.py", "engine/exchange/places.py",
            "engine/exchange/place_kernels.py", "engine/exchange/base.py", "engine/exchange/collect.py",
            "engine/exchange/cut_edges.py", "engine/exchange/model.py", "engine/exchange/own_nodes.py",
        ],
        [
            "tests/unit/engine/test_places.py", "tests/unit/engine/test_exchange.py",
            "tests/conformance/test_messages_taken.py",
            *(f"tests/unit/engine/test_parts_engine.py::test_{name}" for name in
              ("lists_are_those_of_the_whole_graph", "messages_say_what_was_meant_in_as_few_bytes")),
        ],
        "on parts",
        [
            "tests/unit/engine/test_parts_engine.py", "tests/conformance/test_programs_on_parts.py",
            *(f"tests/unit/engine/test_reports.py::test_{name}" for name in
              ("allreduce_sends_what_the_transport_sends", "one_rank_of_a_node_reduces_for_all_of_them",
               "owners_and_mixed_send_what_their_definitions_say")),
            "tests/conformance/test_phases.py::test_on_graphs_of_other_sizes",
            "tests/unit/compile/test_tuples.py",
        ],
    ),
    "validate": Target(
        [
            "validate/gap.py", "validate/ldbc.py", "validate/paths.py", "validate/recount.py", "validate/traversal.py",
            "validate/grid.py", "validate/kernels.py", "validate/sweep.py", "validate/arguments.py",
            "validate/chains.py", "validate/communities.py", "validate/distances.py", "validate/fixed_points.py",
            "validate/partitions.py", "validate/peeling.py", "validate/replays.py", "validate/report.py",
        ],
        ["tests/unit/validate", "tests/unit/algorithms/bfs_grid/test_check.py", "src/arcflux/validate"],
        "",
        ["tests/unit/test_nan.py"],
    ),
}  # fmt: skip


@dataclass
class Outcome:
    """What the checks and tests made of a mutant: `who` noticed it."""

    mutant: Mutant
    how: str
    who: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether it was noticed."""
        return self.how != "survived"


def draw(target: Target, skip: int, count: int, seed: int, among: list[str]) -> list[Mutant]:
    """So many mutants of a target by a seed, 0 for all, less the first ones; or those that are named."""
    found = [mutant for path in target.files for mutant in mutants(ROOT, path)]
    if among:
        return [mutant for mutant in found if str(mutant) in among]
    random.Random(seed).shuffle(found)
    print(f"{len(found)} mutants in all", flush=True)
    return found[skip : count or None]


def judge(warm: Warm, name: str, chosen: list[Mutant], given: argparse.Namespace) -> list[Outcome]:
    """Try mutants of a target, one after another."""
    target = TARGETS[name]
    stages: list[Stage] = [target.short] if target.short else []
    if target.programs and given.programs:
        stages.append(warm.measure(program_checks(given.programs, target.programs == "on parts"), LONGEST))
        print(f"{name}: {len(stages[-1])} quick checks", flush=True)
    if not given.quick:
        stages.append(target.long)
    warm.rehearse([test for stage in stages for test in stage if isinstance(test, str)])
    outcomes: list[Outcome] = []
    for mutant in chosen:
        if time.monotonic() > given.until:
            break
        begun = time.monotonic()
        how, who = warm.trial(mutant, stages)
        if how == "no change":
            continue
        outcomes.append(Outcome(mutant, how, who, round(time.monotonic() - begun, 1)))
        said = f"{name} {len(outcomes)}/{len(chosen)} {how:10} {outcomes[-1].seconds:6.1f} s  {mutant}"
        print(f"{said}  {who[:70]}", flush=True)
        with open(given.out / f"{name}.jsonl", "a") as lines:
            lines.write(json.dumps(asdict(outcomes[-1])) + "\n")
    return outcomes


def main() -> None:
    """Print a table; write outcomes and the diffs of survivors into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--count", type=int, default=60, help="mutants of each target; 0 for all")
    parser.add_argument("--skip", type=int, default=0, help="as many of them, which were tried before")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no new mutant is begun")
    parser.add_argument("--programs", type=int, default=80, help="random ones, drawn for quick checks")
    parser.add_argument("--quick", action="store_true", help="without the tests that take long")
    parser.add_argument("--again", type=Path, help="a file of diffs: only the mutants in it")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutation")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    given.until = time.monotonic() + 60 * given.minutes
    named = given.again.read_text().splitlines() if given.again else []
    again = [line[4:].strip() for line in named if line.startswith("--- ")]
    with tempfile.TemporaryDirectory(prefix="arcflux-mutants-") as folder:
        tree = Path(folder) / "tree"
        copy_tree(ROOT, tree)
        warm = Warm(tree)
        for name in given.targets:
            outcomes = judge(warm, name, draw(TARGETS[name], given.skip, given.count, given.seed, again), given)
            killed = sum(outcome.killed for outcome in outcomes)
            print(f"{name:10} {killed} of {len(outcomes)} killed ({100 * killed / max(1, len(outcomes)):.0f} %)",
                  dict(Counter(outcome.how for outcome in outcomes)), flush=True)  # fmt: skip
            survivors = [diff(tree, outcome.mutant) for outcome in outcomes if not outcome.killed]
            (given.out / f"{name}-survivors.diff").write_text("\n".join(survivors))


if __name__ == "__main__":
    main()
