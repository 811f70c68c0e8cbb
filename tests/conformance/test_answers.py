"""What `update` answers says who sends next, never whether v's new value counts: on every path of every program."""

import warnings

import numpy as np
import programs
import pytest

import arcflux as af
from arcflux.errors import ProgramError
from arcflux.history import column

WHERE = [
    *({"direction": way, "threads": n} for way in ("auto", "push", "pull") for n in (1, 2)),
    {"direction": "pull", "deterministic": True, "threads": 2},
    {"direction": "push", "deterministic": True},
    *(
        {"parts": 3, "exchange": exchange, "ranks_per_node": nodes, "direction": way}
        for exchange in ("readers", "owners", "mixed", "allreduce")
        for nodes in (1, 2)
        for way in ("push", "pull")
    ),
    {"parts": 2, "deterministic": True, "ranks_per_node": 1},
]


def graphs() -> dict[str, af.Graph]:
    """A path of which every superstep leaves one end, a graph with parallel edges and loops, and one of hubs."""
    ends = {"columns": {"weight": np.arange(7, dtype=np.int32)}, "vertices": 8}
    made = {"path": af.Graph.from_edges(np.arange(7), np.arange(1, 8), **ends)}
    for name, n, arcs in (("loose", 40, 70), ("dense", 70, 700)):
        random = np.random.default_rng(n)
        source, target = random.integers(0, n, arcs), random.integers(0, n, arcs) ** 2 // n
        columns = {"weight": random.integers(0, 8, arcs).astype(np.int32)}
        made[name] = af.Graph.from_edges(source, target, columns=columns, vertices=n, directed=name == "loose")
    return made


GRAPHS = graphs()


def run(program: object, graph: af.Graph, **how: object) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return af.run(program, graph, source=3, max_supersteps=12, **how)


@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("program", programs.ANSWERS, ids=lambda p: p.name)
def test_every_path_gives_what_plain_python_gives(program: object, shape: str) -> None:
    graph = GRAPHS[shape]
    plain = run(program, graph, debug=True)
    for how in WHERE:
        fast = run(program, graph, **how)
        for name, values in plain.values.items():
            np.testing.assert_array_equal(fast[name], values, err_msg=f"{name} with {how}")
        assert fast.supersteps == plain.supersteps, how
        np.testing.assert_array_equal(column(fast.history, "residual"), column(plain.history, "residual"), str(how))


@pytest.mark.parametrize("how", WHERE, ids=str)
def test_without_its_priority_a_program_still_has_a_frontier(how: dict[str, object]) -> None:
    graph = GRAPHS["loose"]
    plain, fast = run(programs.Deaf, graph, debug=True), run(programs.Deaf, graph, **how)
    np.testing.assert_array_equal(fast["low"], plain["low"])
    np.testing.assert_array_equal(fast["low"], graph.in_degrees)


def test_a_promise_that_does_not_hold_is_found_and_gives_one_answer_all_the_same() -> None:
    circle = af.Graph.from_edges(
        np.arange(6), (np.arange(6) + 1) % 6, columns={"weight": np.array([1, 9, 1, 9, 9, 9], np.int32)}, vertices=6
    )
    ring = af.Graph.from_edges(
        np.tile(np.arange(6), 2), np.concatenate([np.arange(6) + 1, np.arange(6) + 2]) % 6, vertices=6,
        columns={"weight": np.tile(np.array([1, 9, 1, 9, 9, 9], np.int32), 2)},
    )  # fmt: skip
    with pytest.raises(ProgramError, match="sparse is promised, but vertex 0 changes heard by messages that changed"):
        run(programs.Heard, ring, debug=True)
    with pytest.raises(ProgramError, match="vertex 0 changes heard without a message, in superstep 0"):
        run(programs.Heard, circle, debug=True)
    first = run(programs.Heard, ring, threads=1, direction="pull")
    assert first["heard"].min() > 0
    for how in WHERE:
        np.testing.assert_array_equal(run(programs.Heard, ring, **how)["heard"], first["heard"], err_msg=str(how))


def test_a_monotone_program_in_place_comes_to_one_end() -> None:
    graph = GRAPHS["dense"]
    plain = run(programs.InPlace, graph, debug=True)
    for how in WHERE:
        np.testing.assert_array_equal(run(programs.InPlace, graph, **how)["low"], plain["low"], err_msg=str(how))


@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_two_hops_of_a_kronecker_graph(direction: str) -> None:
    graph = af.load("kron:12")
    source = graph.ids.to_ids([int(np.argmax(graph.out_degrees))])[0]
    reached = {}
    for how in ({"direction": direction}, {"debug": True}):
        reached[str(how)] = np.flatnonzero(af.run(programs.WithinHops, graph, source=source, **how)["hops"] < 1000).size
    assert len(set(reached.values())) == 1, reached
