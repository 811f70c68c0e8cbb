"""Programs in every dialect whose messages are of another type than the field, or are not sent along some edges."""

import arcflux as af

__all__ = ["DIALECTS", "FAR", "Degrees", "Highest", "Hops", "Lowest"]

FAR = 1000000


class Hops:
    """BFS; of gas with an early return, of msg with a message of another type than the field."""

    @af.gas
    class gas:
        source: af.vertex
        level: af.i32

        def start(v, p):
            v.level = 0 if v.number == p.source else FAR
            return v.number == p.source

        def gather(v, u) -> af.i32:
            if u.level >= FAR:
                return
            found = u.level + 1
            if found > FAR:
                return FAR
            return found

        def sum(a, b):
            return min(a, b)

        def apply(v, gathered):
            v.level = min(gathered, v.level)

        def scatter(v, old):
            found = v.level != old.level
            return found

    @af.msg
    class msg:
        sparse = True
        source: af.vertex
        level: af.i32

        def start(v, p):
            v.level = 0 if v.number == p.source else FAR
            return v.number == p.source

        def MSGGen(u) -> af.i64:
            return u.level + 1

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message):
            if v.level < FAR or message > FAR:
                return False
            v.level = int(message)
            return True

    @af.emv
    class emv:
        source: af.vertex
        message: af.i64
        level: af.i32

        def start(v, p):
            v.level = 0 if v.number == p.source else FAR
            return True

        def Expand(v, el, step):
            if v.level == step:
                for edge in el:
                    edge.send(step + 1)

        def Combiner(a, b):
            return min(a, b)

        def Settle(v, combined, g):
            if v.level < FAR or combined >= FAR:
                return
            v.level = int(combined)
            g.halt = False

        def iteration(run):
            run.InitMessageBuffer(FAR)
            run.ELIST.Expand()
            run.Combiner()
            run.VERTEX.Settle()


class Degrees:
    """In-degrees by counting messages; a self-loop sends none."""

    @af.gas
    class gas:
        count: af.i64

        def start(v):
            return True

        def gather(v, u):
            if u.number == v.number:
                return
            return 1

        def sum(a, b):
            return a + b

        def apply(v, gathered):
            v.count = gathered

    @af.msg
    class msg:
        count: af.i64

        def start(v):
            return True

        def MSGGen(u, v):
            if u.number != v.number:
                return 1

        def MSGMerge(a, b):
            return a + b

        def MSGApply(v, message, old):
            v.count = message
            return v.count != old.count

    @af.emv
    class emv:
        message: af.i64
        count: af.i64

        def start(v):
            return True

        def Tell(e):
            if e.tail.number != e.head.number:
                e.send(1)

        def Combiner(a, b):
            return a + b

        def Count(v, combined, old, g):
            v.count = combined
            if v.count != old.count:
                g.halt = False

        def iteration(run):
            run.InitMessageBuffer(0)
            run.EDGE.Tell()
            run.Combiner()
            run.VERTEX.Count()


class Lowest:
    """The least number of a vertex that has an edge to this one; messages are numbers of vertices."""

    @af.gas
    class gas:
        best: af.ref

        def start(v):
            v.best = -1
            return True

        def gather(v, u) -> af.ref:
            return u.number

        def sum(a, b):
            return min(a, b)

        def apply(v, gathered):
            v.best = min(v.number, gathered)

        def scatter(v):
            return True

    @af.msg
    class msg:
        best: af.ref

        def start(v):
            return True

        def MSGGen(u) -> af.ref:
            return u.number

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message):
            v.best = min(v.number, message)
            return False

    @af.emv
    class emv:
        best: af.ref
        message: af.ref

        def start(v):
            return True

        def Tell(e):
            e.send(e.tail.number)

        def Combiner(a, b):
            return min(a, b)

        def Take(v, combined, old, g):
            v.best = min(v.number, combined)
            if v.best != old.best:
                g.halt = False

        def iteration(run):
            run.InitMessageBuffer()
            run.EDGE.Tell()
            run.Combiner()
            run.VERTEX.Take()


class Highest:
    """The largest number of a vertex that has an edge to this one; messages are numbers of vertices."""

    @af.gas
    class gas:
        best: af.ref

        def start(v):
            v.best = -1
            return True

        def gather(v, u) -> af.ref:
            return u.number

        def sum(a, b):
            return max(a, b)

        def apply(v, gathered):
            v.best = max(v.number, gathered)

        def scatter(v):
            return True

    @af.msg
    class msg:
        best: af.ref

        def start(v):
            return True

        def MSGGen(u) -> af.ref:
            return u.number

        def MSGMerge(a, b):
            return max(a, b)

        def MSGApply(v, message):
            v.best = max(v.number, message)
            return False

    @af.emv
    class emv:
        best: af.ref
        message: af.ref

        def start(v):
            return True

        def Tell(e):
            e.send(e.tail.number)

        def Combiner(a, b):
            return max(a, b)

        def Take(v, combined, old, g):
            v.best = max(v.number, combined)
            if v.best != old.best:
                g.halt = False

        def iteration(run):
            run.InitMessageBuffer()
            run.EDGE.Tell()
            run.Combiner()
            run.VERTEX.Take()


DIALECTS = ("gas", "emv", "msg")
