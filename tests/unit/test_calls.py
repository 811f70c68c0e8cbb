"""What every public call takes and says: a spec for a graph, a Series for values, and what was meant by a slip."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

import arcflux as af
from arcflux.algorithms.registry import ALGORITHMS
from arcflux.errors import ArcfluxError, FormatError, IdError, UsageError, WeightError, did_you_mean

SPEC = "kron:6,weights=1-9"
NAMES = af.load(pd.DataFrame({"from": ["ada", "bob", "cy"], "to": ["bob", "cy", "ada"], "cost": [1.0, 2.0, 3.0]}))


@af.program
class Kept:
    """Keeps what it is given."""

    x: af.f64

    def start(v):
        return True

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v):
        return False


class Bare:
    """Has no decorator."""


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("by_name", [False, True])
def test_every_algorithm_takes_a_spec(name, by_name):
    given = {"source": 0} if "source" in ALGORITHMS[name].arguments else {}
    given |= {"sources": [0]} if name in ("multi_source_sssp", "k_hop") else {}
    given |= {"alpha": 0.01} if name == "katz_centrality" else {}  # with more the sums grow for ever
    spec = "ratings:20x10,ratings=60" if name == "collaborative_filtering" else SPEC
    call = getattr(af, name)
    given["threads"] = 1
    known = call(af.load(spec), **given)
    found = call(graph=spec, **given) if by_name else call(spec, **given)
    field = next(iter(known.values))
    assert np.array_equal(found.numbers(field), known.numbers(field), equal_nan=True)
    assert next(iter(inspect.signature(call).parameters)) == "graph"


def test_other_calls_take_a_spec(tmp_path):
    graph = af.load("path:5")
    graph.save(tmp_path / "g.csv")
    for given in ("path:5", str(tmp_path / "g.csv"), tmp_path / "g.csv"):
        assert af.run(af.algorithms.BFS, given, source=0)["level"].tolist() == [0, 1, 2, 3, 4]
    assert af.validate.bfs("path:5", 0, level=[0, 1, 2, 3, 4])
    assert af.triangle_count("complete:4") == 4
    assert af.partition("path:5", 2).k == 2


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_what_is_no_graph_is_refused(wrong):
    for call in (af.pagerank, lambda graph: af.run(Kept, graph)):
        with pytest.raises(UsageError, match="is no graph"):
            call(wrong)


@pytest.mark.parametrize(
    ("program", "remedy"),
    [(Bare, "write @af.program above class Bare"), (NAMES, "the program comes first"), ("bfs", "af.pagerank(graph)")],
)
def test_what_is_no_program_is_refused(program, remedy):
    with pytest.raises(UsageError) as caught:
        af.run(program, NAMES)
    assert remedy in caught.value.remedy


@pytest.mark.filterwarnings("ignore:Kept stopped after 0 supersteps")
def test_a_series_is_given_by_its_index():
    series = pd.Series([3.0, 1.0], index=["cy", "ada"])
    assert af.run(Kept, NAMES, given={"x": series}, max_supersteps=0)["x"].tolist() == [1.0, 0.0, 3.0]
    shuffled = af.load(pd.DataFrame({"from": [5, 9], "to": [9, 7]}))
    series = pd.Series([1.0, 2.0, 3.0], index=[9, 5, 7])
    result = af.run(Kept, shuffled, given={"x": series}, debug=True, max_supersteps=0)
    assert result.to_dict("x") == {5: 2.0, 7: 3.0, 9: 1.0}
    by_id = af.pagerank(NAMES, personalization={"cy": 3.0, "ada": 1.0}, weight=None)["rank"]
    series = pd.Series([3.0, 1.0, 0.0], index=["cy", "ada", "bob"])
    assert np.array_equal(af.pagerank(NAMES, personalization=series, weight=None)["rank"], by_id)


def test_a_series_that_does_not_fit_is_refused():
    with pytest.raises(IdError, match="'eve' is not in the graph"):
        af.run(Kept, NAMES, given={"x": pd.Series([1.0], index=["eve"])})
    with pytest.raises(UsageError, match="twice"):
        af.run(Kept, NAMES, given={"x": pd.Series([1.0, 2.0], index=["ada", "ada"])})
    with pytest.raises(UsageError, match="x is given as"):
        af.run(Kept, NAMES, given={"x": pd.Series(["a"], index=["ada"], dtype=object)})


def test_given_has_to_say_which_field():
    with pytest.raises(UsageError, match=r"given is \[1\.0, 2\.0\]"):
        af.run(Kept, NAMES, given=[1.0, 2.0])


SLIPS = {
    "field": (lambda: af.bfs(NAMES, "ada")["levle"], "level"),
    "parameter": (lambda: af.algorithms.PageRank(dampign=0.5), "damping"),
    "given": (lambda: af.run(Kept, NAMES, given={"X": [0, 0, 0]}), "x"),
    "option": (lambda: af.bfs(NAMES, "ada", thread=1), "threads"),
    "id": (lambda: af.bfs(NAMES, "adaa"), "ada"),
    "generator": (lambda: af.load("krn:6"), "kron:6"),
    "spec": (lambda: af.load("kron:6,sed=3"), "seed"),
    "suffix": (lambda: NAMES.save("g.parqet"), ".parquet"),
    "weight": (lambda: af.sssp(NAMES, "ada", weight="costs"), "weight='cost'"),
    "only weight": (lambda: af.sssp(NAMES, "ada"), "weight='cost'"),
    "partitioner": (lambda: af.partition(NAMES, 2, "rnages"), "ranges"),
    "machine": (lambda: af.plan("bfs", "kron:6", on="dgx-1"), "dgx1"),
    "result": (lambda: af.bfs(NAMES, "ada").save("r.cvs"), ".csv"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_says_what_was_meant(slip):
    call, meant = SLIPS[slip]
    with pytest.raises(ArcfluxError) as caught:
        call()
    assert meant in caught.value.remedy or f"did you mean {meant}?" in caught.value.what


def test_a_file_that_is_spelt_wrong(tmp_path):
    NAMES.save(tmp_path / "roads.csv")
    with pytest.raises(FormatError) as caught:
        af.load(tmp_path / "roads.cvs")
    assert caught.value.remedy == "did you mean roads.csv?"
    with pytest.raises(FormatError, match="no such file") as caught:
        af.load(tmp_path / "road.csv")
    assert caught.value.remedy == "did you mean roads.csv?"


def test_nothing_is_guessed_from_afar():
    assert did_you_mean("zzz", ["pagerank"]) == ""
    with pytest.raises(WeightError) as caught:
        af.sssp("path:3", 0)
    assert caught.value.remedy == "weight=None when every edge counts 1"


def test_results_speak_the_ids_of_the_user():
    said = str(af.bfs(NAMES, "bob"))
    assert "vertex ids: cy, bob, bob" in said
    assert "most at vertex ada" in said
    assert "most at vertex ada" in af.bfs(NAMES, "bob")._repr_html_()


def test_a_picture_into_a_folder_that_is_not_there(tmp_path):
    pytest.importorskip("matplotlib")
    found = af.plan("bfs", "kron:10", on="dgx1")
    found.plot(tmp_path / "new" / "plan.png")
    assert (tmp_path / "new" / "plan.png").stat().st_size > 0
    with pytest.raises(UsageError, match="names no picture"):
        found.plot(tmp_path / "plan.pgn")
    (tmp_path / "file").write_text("")
    with pytest.raises(ArcfluxError, match="cannot be written"):
        found.plot(tmp_path / "file" / "plan.png")


@pytest.mark.parametrize(
    ("name", "slip", "meant"),
    [
        ("pagerank", "alfa", "alpha"), ("pagerank", "personalisation", "personalization"), ("bfs", "sources", "source"),
        ("connected_components", "metod", "method"), ("triangles", "thread", "threads"),
        ("louvain", "resolutoin", "resolution"),
    ],
)  # fmt: skip
def test_a_slip_in_an_argument_is_told_by_what_the_algorithm_takes(name, slip, meant):
    given = {"source": 0} if name == "bfs" else {}
    with pytest.raises(UsageError) as told:
        getattr(af, name)("path:5", **given, **{slip: 2})
    assert f"{name} does not take {slip}" in str(told.value)
    assert f"did you mean {meant}?" in str(told.value)


def test_a_copy_of_a_graph_is_the_graph_and_a_pickle_says_what_to_do():
    graph = af.load("path:5")
    assert copy.copy(graph) is graph
    assert copy.deepcopy({"of": graph})["of"] is graph
    with pytest.raises(UsageError, match="save"):
        pickle.dumps(graph)
