"""Programs as values: copied, compared, and kept as keys."""

import copy

import arcflux as af


def test_a_copy_is_the_program_and_so_is_one_within_something_that_is_copied():
    program = af.algorithms.PageRank(damping=0.5)
    assert copy.copy(program) == program
    setting = copy.deepcopy({"program": program, "tolerance": [1e-6]})
    assert setting["program"] is program
    assert af.run(setting["program"], "kron:5")["rank"].tolist() == af.run(program, "kron:5")["rank"].tolist()


def test_programs_are_keys():
    known = {af.algorithms.PageRank: 1, af.algorithms.BFS: 2}
    assert known[af.algorithms.BFS] == 2
    assert af.algorithms.PageRank(damping=0.5) not in known
