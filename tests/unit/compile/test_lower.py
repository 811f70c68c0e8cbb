"""Compute is split into what u sends and what is left for the edge; and who sends is found out."""

import ast
import math
from dataclasses import replace

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cpu.module import source as cpu_source
from arcflux.compile.lower import Lowered, lower
from arcflux.errors import ProgramError


def lowered(program: object, *promises: str) -> Lowered:
    return lower(replace(program, promises=frozenset(promises)), {"weight": np.dtype("i4")})


def messages(found: Lowered) -> dict[str, str]:
    return {message.name: ast.unparse(message.source) for message in found.messages}


def edge(found: Lowered) -> str:
    return "\n".join(ast.unparse(node) for node in found.edge)


@af.program
class Split:
    x: af.f32
    low: af.i64
    on: af.flag

    def start(v):
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u, edge, old):
        share = u.x / u.out_degree
        far = share + edge.weight
        if share > 1:
            v.x += share * edge.weight + far
        v.low = min(v.low, u.low)
        v.low = min(v.low, old.low + u.number % 2)

    def update(v):
        return False


def test_messages_are_found_once_and_locals_of_u_are_inlined() -> None:
    found = lowered(Split)
    assert messages(found) == {"m0": "u_x / u_out_degree", "m1": "u_x / u_out_degree > 1", "m2": "u_low"}
    assert edge(found).split("\n") == [
        "l_far = m0 + e_weight",
        "if m1:",
        "    reduce_sum(v_x, m0 * e_weight + l_far)",
        "reduce_min(v_low, m2)",
        "reduce_min(v_low, o_low + u_number % 2)",
    ]
    assert found.columns == ["weight"]


def test_messages_have_the_types_of_their_fields() -> None:
    found = lowered(Split)
    assert [message.dtype for message in found.messages] == [np.dtype(t) for t in ("f4", "bool", "i8")]
    assert [message.field for message in found.messages] == [None, None, "low"]


@af.program
class Sums:
    n: af.i64
    x: af.f64
    on: af.flag

    def start(v):
        v.n = 1
        v.on = True
        return True

    def init(v):
        v.n = 0
        v.x = 0.0

    def compute(v, u):
        v.n += u.on + u.on
        v.n += -u.on
        v.x = max(v.x, u.n if u.n > 5 else math.inf)

    def update(v):
        return False


def test_flags_are_sent_as_the_numbers_they_become() -> None:
    assert [message.dtype.name for message in lowered(Sums).messages] == ["int64", "int64", "float64"]
    result = af.run(Sums, af.load("path:3"))
    assert result["n"].tolist() == [1, 2, 1]
    assert result["x"].tolist() == [math.inf] * 3


@pytest.mark.parametrize(
    ("program", "promises", "sparse"),
    [
        (af.algorithms.Components, (), True),  # a minimum, and update writes nothing
        (af.algorithms.PageRank, (), False),  # a sum
        (af.algorithms.PageRank, ("sparse",), True),
        (af.algorithms.BFS, (), False),  # update writes
        (af.algorithms.BFS, ("sparse",), True),
        (af.algorithms.SSSP, (), True),
        (Split, (), False),  # init writes
    ],
)
def test_sparse_is_derived_or_promised(program: object, promises: tuple[str, ...], sparse: bool) -> None:
    assert lowered(program, *promises).sparse is sparse


def test_only_any() -> None:
    assert lowered(af.algorithms.BFS).only_any
    assert not lowered(Split).only_any


RATE = 2.0


@af.program
class Scaled:
    """Reads a number of the module."""

    x: af.f64

    def start(v):
        v.x = 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += RATE * u.x

    def update(v, step):
        return step < 0


def test_lowered_once_and_again_when_a_number_of_the_module_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("cycle:4")
    first = lower(Scaled, {})
    assert lower(Scaled, {}).edge is first.edge
    assert lower(Scaled, {}, deterministic=True).edge is not first.edge
    assert lower(Scaled, {"weight": np.dtype("f8")}).edge is not first.edge
    assert lower(Scaled.retyped(x=af.f32), {}).edge is not first.edge
    assert af.run(Scaled, graph)["x"].tolist() == [4.0] * 4
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert af.run(Scaled, graph)["x"].tolist() == [6.0] * 4
    second = lower(Scaled, {})
    monkeypatch.setitem(globals(), "RATE", float("3.0"))  # another object, of the same value
    assert lower(Scaled, {}).edge is second.edge
    monkeypatch.setitem(globals(), "RATE", 3)
    assert lower(Scaled, {}).edge is not second.edge


def doubled(x):
    return 2.0 * x


def tripled(x):
    return 3.0 * x


@af.program
class Helped:
    """Calls a function of the module; its parameter changes nothing that is read from its text."""

    k: int = 1
    x: af.f64

    def start(v):
        v.x = 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += doubled(u.x)

    def update(v, step, p):
        return step + 1 < p.k


def test_lowered_again_when_the_code_of_a_helper_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    first = lower(Helped, {})
    assert lower(Helped, {}).edge is first.edge
    assert [one.function for one in first.helpers.values()] == [doubled]
    monkeypatch.setattr(doubled, "__code__", tripled.__code__)
    second = lower(Helped, {})
    assert second.edge is not first.edge
    assert "3.0" in ast.unparse(ast.Module(second.helpers[next(iter(second.helpers))].body, []))


@af.program
class Element:
    """Writes the element that a parameter says."""

    at: int = 1
    x: af.f64[3]

    def start(v, p):
        v.x[p.at] = 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x

    def update(v):
        return False


def test_an_index_is_held_against_each_value_of_its_parameter() -> None:
    assert lower(Helped(k=2), {}).edge is lower(Helped, {}).edge  # no index depends on it
    lower(Element, {})
    lower(Element(at=2), {})
    with pytest.raises(ProgramError, match=r"3"):
        lower(Element(at=3), {})


def test_of_many_programs_the_last_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcflux.compile.lower._MOST_KNOWN", 2)
    columns = [{name: np.dtype("f8")} for name in ("a", "b", "c")]
    first, second, third = (lower(Scaled, each).edge for each in columns)
    assert lower(Scaled, columns[1]).edge is second
    assert lower(Scaled, columns[2]).edge is third
    assert lower(Scaled, columns[0]).edge is not first


def test_a_phase_that_sends_fields_which_it_leaves_as_they_are_has_no_messages_of_its_own() -> None:
    point, gather = (lower(each, {}) for each in af.algorithms.HITS.phase_programs().values())
    assert point.direct
    assert gather.direct
    assert not lower(af.algorithms.PageRank, {}).direct  # what it sends, it changes
    assert "s_m0[other + v]" in cpu_source(lower(af.algorithms.PageRank, {}))
    assert "s_m0[other + v]" not in cpu_source(point).partition("def dense(")[2].partition("def dense")[0]


@af.program
class Rounds:
    """Phases with a total in common, to which one contributes under a flag; one sends what it changes."""

    on: bool = False
    x: af.f64
    y: af.f64
    lost: af.total(af.i64)

    def start(v):
        v.y = 1.0
        return True

    @af.phase
    class spread:
        def init(v):
            v.x = 0.0

        def compute(v, u):
            v.x += u.x

        def update(v, g, p):
            if p.on:
                g.lost += 1
            v.x = v.x + g.lost
            return True

    @af.phase
    class count:
        def init(v):
            v.y = 0.0

        def compute(v, u):
            v.y += u.x

        def update(v, g):
            g.lost += 1
            return True

    def iteration(run, g, p):
        run.count()
        run.spread()
        return run.iterations < 2


def test_a_phase_that_changes_the_field_which_it_sends_keeps_messages_apart() -> None:
    spread, count = (lower(each, {}) for each in Rounds.phase_programs().values())
    assert [each.field for each in (*spread.messages, *count.messages)] == ["x", "x"]
    assert not spread.direct
    assert count.direct


def test_a_flag_that_is_off_ends_contributions_of_programs_without_phases() -> None:
    """A phase that contributes nothing may read what another has contributed."""
    rank = af.algorithms.PageRank
    assert [each.name for each in lower(rank(redistribute=True), {}).totals_of("update")] != []
    assert lower(rank(redistribute=False), {}).totals_of("update") == []
    spread = lower(Rounds.phase_programs()["spread"], {})
    assert "g_lost" in spread.reads("update")
    assert [each.name for each in spread.totals_of("update")] == ["lost"]


@af.program
class Mute:
    """Its start can end without a return, after several statements."""

    x: af.i64
    sparse = True

    def start(v):
        v.x = v.number
        v.x = v.x + 1

    def compute(v, u):
        v.x = max(v.x, u.x)


def test_a_start_without_a_return_is_refused_where_it_ends() -> None:
    line = Mute.functions["start"].line
    with pytest.raises(ProgramError, match=rf"test_lower\.py:{line + 2}\b"):
        lower(Mute, {})
