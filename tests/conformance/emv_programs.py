"""Programs in Medusa's words whose iterations run more than one chain, and what NumPy says comes out."""

import numpy as np

import arcflux as af

__all__ = ["Authorities", "Everything", "expected_authorities", "expected_everything"]


@af.emv
class Authorities:
    """Weighted authorities and the largest of them, in turns; the host ends it by a total."""

    message: af.f64
    score: af.f64
    spread: af.f64
    sum: af.total(af.f64)

    def start(v, g):
        v.score = 1.0
        return True

    def SendScore(e):
        e.send(e.weight * e.tail.score)

    def SendSpread(v):
        v.send(v.spread)

    def Add(a, b):
        return a + b

    def Largest(a, b):
        return max(a, b)

    def TakeScore(v, combined, g):
        v.spread = combined
        g.sum += combined

    def TakeSpread(v, combined, g):
        v.score = 1.0 + (combined if combined > 0.0 else 0.0) / (1.0 + g.sum)

    def iteration(run, g, p):
        run.InitMessageBuffer(0.0)
        run.EDGE.SendScore()
        run.Combiner.Add()
        run.VERTEX.TakeScore()
        if g.sum > 0.0:
            run.InitMessageBuffer(-1.0)
            run.VERTEX.SendSpread()
            run.Combiner.Largest()
            run.VERTEX.TakeSpread()
        run.halt = run.iterations >= 4


def _arcs(graph: af.Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every edge, and of an undirected one both directions: where it starts and ends, and its weight."""
    source = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int))
    return source, graph.out.neighbours.astype(int), graph.columns["weight"]


def expected_authorities(result: af.Result, graph: af.Graph) -> None:
    """The same by NumPy."""
    source, target, weight = _arcs(graph)
    score = np.ones(graph.vertices)
    for _ in range(4):
        spread = np.bincount(target, weight * score[source], minlength=graph.vertices)
        total = spread.sum()
        if total > 0:
            most = np.full(graph.vertices, -1.0)
            np.maximum.at(most, target, spread[source])
            score = 1.0 + np.maximum(most, 0.0) / (1.0 + total)
    np.testing.assert_allclose(result["score"], score, rtol=1e-10)
    np.testing.assert_allclose(result["spread"], spread, rtol=1e-10)
    assert result.iterations == 4


@af.emv
class Everything:
    """All six kinds: what out-edges weigh, the messages above a mark after each was doubled, and the median of them."""

    maxIteration: int = 3
    message: af.f64
    x: af.f64
    heaviest: af.f64
    many: af.i64

    def start(v):
        v.x = 1.0 * v.number
        return True

    def Weigh(v, el):
        v.heaviest = max((e.weight for e in el), default=0.0)
        for e in el:
            if e.head.number == v.number:
                v.heaviest = 100.0

    def Send(e):
        if e.tail.heaviest > 2.0:
            e.send(e.tail.x + e.weight)

    def Double(m):
        m.value = 2.0 * m.value

    def Look(v, ml, old):
        v.x = af.median((m.value for m in ml if m.value >= 0.0), default=old.x)
        for m in ml:
            if m.value > 10.0:
                v.many += 1

    def Shrink(v):
        v.x = v.x / 4.0

    def iteration(run):
        run.ELIST.Weigh()
        run.InitMessageBuffer(-1.0)
        run.EDGE.Send()
        run.MESSAGE.Double()
        run.MLIST.Look()
        run.VERTEX.Shrink()


def expected_everything(result: af.Result, graph: af.Graph) -> None:
    """The same by NumPy."""
    source, target, weight = _arcs(graph)
    n = graph.vertices
    x, many = np.arange(n) * 1.0, np.zeros(n, int)
    heaviest = np.zeros(n)
    np.maximum.at(heaviest, source, weight)
    heaviest[source[source == target]] = 100.0
    for _ in range(3):
        message = np.where(heaviest[source] > 2.0, 2.0 * (x[source] + weight), -1.0)
        lists = [message[target == v] for v in range(n)]
        many += [int((one > 10.0).sum()) for one in lists]
        kept = [one[one >= 0.0] for one in lists]
        x = np.array([np.median(one) if len(one) else old for one, old in zip(kept, x, strict=True)]) / 4.0
    np.testing.assert_allclose(result["x"], x, rtol=1e-12)
    np.testing.assert_allclose(result["heaviest"], heaviest)
    assert result["many"].tolist() == many.tolist()
