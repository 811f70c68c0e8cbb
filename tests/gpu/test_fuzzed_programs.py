"""Random programs give on a GPU, alone or beside cores, what the oracle of the fuzzer says (tests/fuzz)."""

import random

import pytest
from program_fuzzer.campaign import Failure, small_script
from program_fuzzer.compare import Case, difference, expected
from program_fuzzer.grammar import random_program
from program_fuzzer.graphs import GraphSpec, random_graph
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way, simulated_ways
from program_fuzzer.writing import ProgramSpec

BATCH = 6


def cases(draw: random.Random) -> Case:
    """A program and a small graph with a certain result, without what the simulator's NumPy refuses: u64 & int."""
    while True:
        case = Case(random_program(draw), random_graph(draw), 4)
        bits = "af.u64" in case.program.source and ("|=" in case.program.source or "&=" in case.program.source)
        if bits or not case.graph.vertices:
            continue
        try:
            expected(case)
        except IllDefined:
            continue
        return case


@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_random_programs_on_a_gpu(first: int) -> None:
    for seed in range(first, first + BATCH):
        draw = random.Random(seed)
        case = cases(draw)
        for way in simulated_ways(draw):
            if said := difference(case, way, expected(case)):
                text = small_script(Failure(seed, case, way, said))
                pytest.fail(f"seed {seed}: {way}: {said}\n\n{text}", pytrace=False)


def test_messages_that_need_nothing_of_u() -> None:
    source = "\n".join(
        ["import arcflux as af", "@af.program", "class Fuzzed:", "    x: af.i64", "    def start(v):",
         "        return True", "    def compute(v, u):", "        v.x += 2", "    def update(v):",
         "        return False", ""]
    )  # fmt: skip
    star = GraphSpec(40, tuple((k, 0) for k in range(1, 40)), (1,) * 39, (0.0,) * 39)
    case = Case(ProgramSpec(source, "dense"), star, None)
    for way in simulated_ways(random.Random(0)):
        assert difference(case, way, expected(case)) == "", way
    assert expected(case).fields["x"] == [78] + [0] * 39
    assert difference(case, Way({"debug": True}, False), expected(case)) == ""
