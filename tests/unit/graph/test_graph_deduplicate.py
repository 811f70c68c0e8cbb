"""What becomes of the columns of parallel edges."""

import numpy as np
import pytest

from arcflux.errors import GraphError
from arcflux.graph import Graph

NAN = float("nan")


def merged(values, how, kind=None, **options):
    """The one value that parallel edges with these values become."""
    ends = np.zeros(len(values), int), np.ones(len(values), int)
    column = Graph.from_edges(*ends, columns={"c": np.array(values, kind)}, deduplicate=how, **options).columns["c"]
    assert len(column) == 1
    return column[0]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_sum_at_the_limit_of_its_type_fits_and_one_past_it_is_refused(kind):
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    assert merged([high - 2, 1, 1], "sum", kind) == high
    assert merged([0, high, 0], "sum", kind).dtype == kind
    for values in ([high, 1], [1, high], [high - 2, 1, 1, 1], [high, high]):
        with pytest.raises(GraphError, match=f"does not fit the {kind} of edge column 'c'"):
            merged(values, "sum", kind)
    if low:
        assert merged([low + 2, -1, -1], "sum", kind) == low
        for values in ([low, -1], [-1, low], [low, low]):
            with pytest.raises(GraphError, match="does not fit"):
                merged(values, "sum", kind)


def test_a_sum_that_does_not_fit_is_found_in_any_column_and_row():
    source, target = np.repeat(np.arange(1000), 2), np.repeat(np.arange(1000) + 1, 2)
    fine, full = np.ones(2000, np.int8), np.ones(2000, np.int8)
    full[1998] = 127
    with pytest.raises(GraphError, match="'full'"):
        Graph.from_edges(source, target, columns={"fine": fine, "full": full}, deduplicate="sum")


def test_the_sum_of_booleans_is_their_or():
    assert merged([True, True], "sum") == np.True_
    assert merged([False, True, True], "sum").dtype == np.bool_
    assert not merged([False, False], "sum")
    assert not merged([True, False], "min")
    assert merged([False, True], "max")


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("how", ["sum", "min", "max"])
def test_nan_outweighs_numbers_wherever_it_stands(how, kind):
    for values in ([NAN, 1, 2], [1, NAN, 2], [1, 2, NAN], [NAN, NAN]):
        assert np.isnan(merged(values, how, kind))
    assert merged([1, NAN], "first", kind) == 1


@pytest.mark.parametrize("how", ["first", "min", "max"])
def test_of_equal_zeros_the_first_stays(how):
    assert np.signbit(merged([-0.0, 0.0], how))
    assert not np.signbit(merged([0.0, -0.0], how))


def test_infinite_weights_are_summed_as_floats_are():
    assert merged([np.inf, 1], "sum") == np.inf
    assert np.isnan(merged([np.inf, -np.inf], "sum"))
    assert merged([3e38, 3e38], "sum", "float32") == np.inf


@pytest.mark.parametrize("how", ["first", "sum", "min", "max"])
def test_both_directions_of_an_undirected_edge_get_the_same_value(how):
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 12, (2, 3000))
    weight = rng.random(3000)
    g = Graph.from_edges(*ends, columns={"weight": weight}, directed=False, deduplicate=how)
    source = np.repeat(np.arange(12), g.out_degrees.astype(int))
    table = np.full((12, 12), NAN)
    table[source, g.out.neighbours] = g.columns["weight"]
    assert np.array_equal(table, table.T, equal_nan=True)
    assert g.edges == 12 * 13 // 2
    assert g.changes.parallel_edges_merged == 3000 - g.edges
    assert g.changes.lines() == [f"{3000 - g.edges:,} parallel edges were merged"]


def test_nothing_to_merge_changes_nothing():
    columns = {"w": np.array([127, 127, 127], np.int8)}
    plain = Graph.from_edges([0, 1, 2], [1, 2, 0], columns=columns)
    merged_graph = Graph.from_edges([0, 1, 2], [1, 2, 0], columns=columns, deduplicate="sum")
    assert merged_graph.equals(plain)
    assert merged_graph.changes == plain.changes


def test_merged_loops_of_an_undirected_graph_are_counted_once():
    g = Graph.from_edges([1, 1, 1, 0], [1, 1, 0, 1], directed=False, deduplicate="first")
    assert (g.edges, g.arcs, g.changes.parallel_edges_merged) == (2, 3, 2)
