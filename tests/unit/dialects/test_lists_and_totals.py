"""Totals of programs whose messages are listed: contributed where the list is seen, by what the vertex has then."""

import math
import random

import pytest

import arcflux as af
from arcflux.errors import ProgramError


@af.gas
class Gathered:
    rounds: int = 3
    x: af.i64
    even: af.total(af.i64)
    rows: af.total(af.i64[2])
    high: af.total(af.i64, "max")

    def start(v, g):
        v.x = v.number % 4
        g.even += 1
        return True

    def gather(v, u):
        return [u.x]

    def sum(a, b):
        return a + b

    def apply(v, gathered, g):
        best = max(gathered, default=0)
        v.x = best + 1
        if v.x % 2 == 0:
            g.even += 1
        g.rows[v.number % 2] += v.x
        g.high = max(g.high, v.x + g.even)

    def scatter(v, step, p):
        return step + 1 < p.rounds


@af.msg
class Generated:
    rounds: int = 3
    x: af.i64
    even: af.total(af.i64)
    rows: af.total(af.i64[2])
    high: af.total(af.i64, "max")

    def start(v, g):
        v.x = v.number % 4
        g.even += 1
        return True

    def MSGGen(u):
        return [u.x]

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, g, step, p):
        v.x = max(message, default=0) + 1
        if v.x % 2 == 0:
            g.even += 1
        g.rows[v.number % 2] += v.x
        g.high = max(g.high, v.x + g.even)
        return step + 1 < p.rounds


@af.emv
class Sent:
    rounds: int = 3
    message: af.i64
    x: af.i64
    even: af.total(af.i64)
    rows: af.total(af.i64[2])
    high: af.total(af.i64, "max")

    def start(v, g):
        v.x = v.number % 4
        g.even += 1
        return True

    def Send(e):
        e.send(e.tail.x)

    def Take(v, ml, g, step, p):
        v.x = math.floor(1.0 * max((m.value for m in ml), default=0)) + 1
        if v.x % 2 == 0:
            g.even += 1
        g.rows[v.number % 2] += v.x
        g.high = max(g.high, v.x + g.even)
        if math.floor(1.0 * step) + 1 < p.rounds:
            g.halt = False

    def iteration(run):
        run.InitMessageBuffer()
        run.EDGE.Send()
        run.MLIST.Take()


VERTICES = 20
EDGES = [(random.Random(k).randrange(VERTICES), random.Random(-k).randrange(VERTICES)) for k in range(1, 50)]


def looped(rounds: int) -> tuple[list[int], list[dict[str, object]]]:
    """The same by loops over edges."""
    x, even, totals = [v % 4 for v in range(VERTICES)], VERTICES, []
    for _ in range(rounds):
        best = [0] * VERTICES
        for u, v in EDGES:
            best[v] = max(best[v], x[u])
        x = [one + 1 for one in best]
        high = max(one + even for one in x)
        even = sum(one % 2 == 0 for one in x)
        totals.append({"even": even, "rows": [sum(x[0::2]), sum(x[1::2])], "high": high})
    return x, totals


WAYS = {"debug": {"debug": True}, "threads": {"threads": 2}, "parts": {"parts": 3, "exchange": "readers"}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", [Gathered, Generated, Sent], ids=["gas", "msg", "emv"])
def test_what_sees_a_list_contributes_to_totals(program: af.program, way: str) -> None:
    graph = af.Graph.from_edges([u for u, _ in EDGES], [v for _, v in EDGES], vertices=VERTICES)
    x, totals = looped(3)
    result = af.run(program, graph, **WAYS[way])
    assert result["x"].tolist() == x
    said = [{name: getattr(value, "tolist", lambda value=value: value)() for name, value in step.totals.items()}
            for step in result.history]  # fmt: skip
    assert said == totals


def test_a_contribution_of_the_list_itself_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"MSGApply sees a list of messages, and contributes") as error:

        @af.msg
        class TooEarly:
            x: af.i64
            count: af.total(af.i64)

            def MSGGen(u):
                return [u.x]

            def MSGMerge(a, b):
                return a + b

            def MSGApply(v, message, g):
                g.count += len(message)
                v.x = 1
                return False

    assert "keep what you need in fields of v" in str(error.value)
