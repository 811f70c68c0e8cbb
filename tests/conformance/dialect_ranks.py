"""What every rank of an MPI job does to see that dialects give on ranks what oracles say; see test_ranks.py."""

import sys

from dialect_cases import ALGORITHMS, FORMS, case, sample
from emv_programs import Authorities, Everything, expected_authorities, expected_everything

import arcflux as af
from arcflux.transports import current

if __name__ == "__main__":
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    graph = sample(40, 70, 3)
    for name in ALGORITHMS:
        for form in FORMS:
            case(name, graph).check(form, ranks_per_node=per_node)
    expected_authorities(af.run(Authorities, graph, ranks_per_node=per_node), graph)
    expected_everything(af.run(Everything, graph, ranks_per_node=per_node), graph)
    print(f"rank {ranks.rank} of {ranks.size}: the same")
