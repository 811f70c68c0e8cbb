"""Where rules begin and end, and what offences say: cases that small faults in the validators got past."""

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import FormatError, WeightError
from arcflux.validate import ldbc, read_ldbc_output
from arcflux.validate.arguments import lengths


def test_ranks_may_move_by_the_tolerance() -> None:
    ranks = [0.5, 0.0, 0.25, 0.25]  # of which two move by 0.25
    assert af.validate.pagerank(af.load("path:4"), ranks, damping=0.0, tolerance=0.5)
    assert not af.validate.pagerank(af.load("path:4"), ranks, damping=0.0, tolerance=0.49)


def test_an_empty_graph_has_no_ranks_to_sum() -> None:
    assert af.validate.pagerank(af.Graph.from_edges([], []), [], dangling="redistribute")


def test_the_rank_of_a_single_vertex_is_a_sum_too() -> None:
    one = af.Graph.from_edges([0], [0])
    assert af.validate.pagerank(one, [1.0], dangling="redistribute")["sum"].passed
    assert not af.validate.pagerank(one, [0.5], dangling="redistribute")["sum"].passed
    assert not af.validate.pagerank(one, [1.5])["sum"].passed


@pytest.mark.parametrize(("dangling", "sum_"), [("redistribute", "sum to 1,"), ("drop", "sum to at most 1,")])
def test_what_ranks_sum_to_depends_on_dangling_vertices(dangling: str, sum_: str) -> None:
    assert sum_ in str(af.validate.pagerank(af.load("path:4"), [0.5] * 4, dangling=dangling)["sum"])


def test_the_longest_path_of_two_vertices_is_one_edge() -> None:
    """Through three it is two edges, and its length no float."""
    two, three = (
        af.Graph.from_edges([0], [1], columns={"weight": [1.5e308]}, vertices=vertices) for vertices in (2, 3)
    )
    assert lengths(two, "weight").tolist() == [1.5e308]
    with pytest.raises(WeightError, match="lengths of paths may be no floats"):
        lengths(three, "weight")


def test_a_child_of_the_first_vertex_is_in_the_tree() -> None:
    graph = af.Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3])
    report = af.validate.grid_bfs(graph, 0, [0, 1, 2, 3], [0, 0, 1, 0], parts=4)
    assert [offence.found for offence in report["grid-level"].offences] == ["level 3"]


@pytest.mark.parametrize("level", [2**63, 2**63 + 5, 2**64 - 1])
def test_a_level_beyond_int64_is_not_unreached(level: int) -> None:
    graph = af.Graph.from_edges([0], [1], vertices=3)
    report = af.validate.bfs(graph, 0, np.array([0, 1, level], np.uint64))
    assert not report
    assert "9223372036854775807" in str(report)


def test_the_only_column_is_the_weight_to_name() -> None:
    graph = af.Graph.from_edges([0], [1], columns={"length": [1.0]})
    with pytest.raises(WeightError, match="weight='length', or weight=None"):
        af.validate.sssp(graph, 0, [0, 1])
    with pytest.raises(WeightError) as caught:
        af.validate.sssp(af.load("path:2"), 0, [0, 1])
    assert "or weight=None" not in str(caught.value)


def test_offences_of_ldbc_say_which_file_lacks_a_line() -> None:
    report = ldbc("bfs", got={1: 0, 2: 1}, expected={1: 0, 3: 1})
    assert [(each.vertex, each.found, each.expected) for each in report["missing"].offences] == [
        (3, "no line", "1 line")
    ]
    assert [(each.vertex, each.found, each.expected) for each in report["extra"].offences] == [(2, "a line", "none")]


@pytest.mark.parametrize(("algorithm", "wanted"), [("bfs", "and an integer"), ("pr", "and a number or infinity")])
def test_a_line_that_is_none_says_what_the_algorithm_has(tmp_path, algorithm: str, wanted: str) -> None:
    (tmp_path / "output").write_text("1 2\n2 x\n")
    with pytest.raises(FormatError, match=wanted):
        read_ldbc_output(tmp_path / "output", algorithm)


def test_parents_of_paths_are_ids_unless_numbers_are_said() -> None:
    graph = af.Graph.from_edges([20, 10], [10, 30], columns={"weight": [1, 1]})
    order = graph.ids.to_ids().tolist()
    distance = [{20: 0, 10: 1, 30: 2}[each] for each in order]
    parents = [{20: 20, 10: 20, 30: 10}[each] for each in order]
    assert af.validate.sssp(graph, 20, distance, parents)
    assert af.validate.sssp(graph, 20, distance, [order.index(each) for each in parents], numbers=True)


def test_centralities_of_three_vertices_are_normalized_by_their_pairs() -> None:
    path = af.Graph.from_edges([0, 1], [1, 2], directed=False)
    assert af.validate.betweenness(path, None, [0, 1, 0], normalize="pairs")
    assert not af.validate.betweenness(path, None, [0, 2, 0], normalize="pairs")


@pytest.mark.parametrize("times", [2, 3])
def test_a_path_of_parallel_edges_is_one_path(times: int) -> None:
    sources, targets = [0] * times + [0, 1, 2], [1] * times + [2, 3, 3]
    graph = af.Graph.from_edges(sources, targets)
    assert af.validate.betweenness(graph, None, [0, 0.5, 0.5, 0])


def test_an_edge_that_leads_too_far_down_is_told_with_the_level_it_allows() -> None:
    graph = af.load("path:4")
    report = af.validate.grid_bfs(graph, 0, [0, 1, 3, 4], [0, 0, 1, 2], parts=4)
    (offence,) = report["grid-level"].offences
    assert (offence.found, offence.expected) == ("level 3", "at most level 2: edge 1 -> 2")


def test_weights_whose_inverse_is_no_float_count_as_any_other() -> None:
    """A move of the third vertex of two triangles loses two edges of three, however small these are."""
    ends = [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]
    graph = af.Graph.from_edges(*ends, directed=False, columns={"weight": [1e-310] * 7})
    assert af.validate.communities(graph, [0, 0, 0, 1, 1, 1], weight="weight")
    report = af.validate.communities(graph, [0, 0, 1, 1, 1, 1], weight="weight")
    assert [offence.vertex for offence in report["moves"].offences] == [2]


def test_hubs_of_a_graph_without_edges_are_zero() -> None:
    bare = af.Graph.from_edges([], [], vertices=3)
    assert af.validate.hits(bare, [0.0] * 3, [0.0] * 3)
    assert not af.validate.hits(bare, [0.0] * 3, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.2])
def test_eigenvectors_have_length_1(scale: float) -> None:
    values = [scale * 0.5**0.5] * 2
    assert not af.validate.eigenvector("path:2", values)["length"].passed
    assert not af.validate.katz("path:2", values, alpha=0.5)["length"].passed
