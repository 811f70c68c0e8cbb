"""What every rank of an MPI job does to compare random programs with the oracle; see test_fuzzed_ranks.py."""

import random
import sys

from program_fuzzer.compare import Case, difference, expected
from program_fuzzer.grammar import random_program
from program_fuzzer.graphs import random_graph
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import EXCHANGES, HOW, Way

from arcflux.transports import current


def main() -> None:
    per_node, first, last = (int(word) for word in sys.argv[1:4])
    ranks = current(ranks_per_node=per_node or None)
    assert ranks is not None
    checked = 0
    for seed in range(first, last):
        draw = random.Random(seed)
        program, graph = random_program(draw), random_graph(draw)
        # Where only the end of a run is certain, parts may come to it in more supersteps.
        case = Case(program, graph, None if program.to_fixed_point else 4)
        options = {"partition": draw.choice(HOW), "exchange": draw.choice(EXCHANGES),
                   "direction": draw.choice(["push", "pull", "auto"]), "ranks_per_node": per_node or None,
                   "deterministic": draw.random() < 0.2}  # fmt: skip
        try:
            outcome = expected(case)
        except IllDefined:
            continue
        # Ranks of one node share memory, for which interpreted kernels have no atomics.
        way = Way(options, interpret=per_node == 1)
        said = difference(case, way, outcome)
        assert not said, f"seed {seed}: {options}: {said}\n{case.program.source}\ngraph = {case.graph.source()}"
        checked += 1
    assert checked
    print(f"rank {ranks.rank} of {ranks.size}: {checked} programs the same")


if __name__ == "__main__":
    main()
