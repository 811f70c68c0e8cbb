"""300 random programs, each compared with the oracle in plain Python and in a choice of all ways to run it.

Every program runs with debug=True and, with its kernels interpreted, in several other ways; one of twelve is compiled,
too, since that takes seconds, and what differs between ways is in the text of the kernels. The seeds are fixed: what is
compiled once is in the cache the next time. One of three seeds has a second program, with more forms (rewriting.py).
Thousands of other programs: ``make fuzz``.
"""

import random

import pytest
from program_fuzzer.campaign import Effort, Tally, check_seed, small_script
from program_fuzzer.ways import EXCHANGES, HOW, PATCHES, compiled_ways, interpreted_ways

SEEDS = range(300)
BATCH = 10


def check(seeds: range, effort: Effort) -> Tally:
    total = Tally()
    for seed in seeds:
        total.add(check_seed(seed, effort))
        for failure in total.failures:
            pytest.fail(f"seed {seed}: {failure.way}: {failure.said}\n\n{small_script(failure)}", pytrace=False)
    return total


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_programs_run_the_same_in_every_way(first: int) -> None:
    total = Tally()
    for seed in range(first, first + BATCH):
        total.add(check(range(seed, seed + 1), Effort(interpreted=3, compiled=float(seed % 12 == 0))))
    assert sum(total.programs.values()) == BATCH + sum(seed % 3 == 1 for seed in range(first, first + BATCH))
    assert total.unclear <= total.cases // 5  # what is drawn has one result, nearly always


def test_all_ways_are_drawn() -> None:
    draw = random.Random(0)
    ways = [way for k in SEEDS for way in interpreted_ways(draw, 6, k % 2 == 0)]
    ways += [way for _ in SEEDS[::12] for way in compiled_ways(draw)]
    parts = {(way.options["partition"], way.options["exchange"]) for way in ways if "parts" in way.options}
    assert parts == {(how, exchange) for how in HOW for exchange in EXCHANGES}
    assert {patch for way in ways for patch in way.patches} == set(PATCHES)
    assert {way.options.get("threads") for way in ways} == {None, 1, 2, 3, 5, 8}
    assert {way.options.get("direction") for way in ways} == {None, "push", "pull", "auto"}
    assert {kind for way in ways for kind, _ in way.devices} == {"cpu", "virtual", "slow"}
    assert {"timeout", "cancel", "rebalance"} <= {name for way in ways for name in way.options}
    assert {way.interpret for way in ways if way.options.get("deterministic")} == {True, False}
