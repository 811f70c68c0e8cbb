"""Label propagation by LDBC's rule, at most 15 supersteps (GX-Plug, section V)."""

import arcflux as af

__all__ = ["FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "label"


@af.program
class Native:
    sparse = True
    rounds: int = 15
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges), default=old.label)

    def update(v, old, p, step):
        return v.label != old.label and step + 1 < p.rounds


@af.gas
class Gas:
    sparse = True
    rounds: int = 15
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def gather(v, u):
        return [u.label]

    def sum(a, b):
        return a + b

    def apply(v, gathered, old):
        v.label = af.mode(gathered, default=old.label)

    def scatter(v, old, p, step):
        return v.label != old.label and step + 1 < p.rounds


@af.emv
class Emv:
    sparse = True
    rounds: int = 15
    message: af.ref
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def Send(e):
        e.send(e.tail.label)

    def Vote(v, ml, old, g, p, step):
        v.label = af.mode((m.value for m in ml), default=old.label)
        if v.label != old.label and step + 1 < p.rounds:
            g.halt = False

    def iteration(run):
        run.EDGE.Send()
        run.MLIST.Vote()


@af.msg
class Msg:
    sparse = True
    rounds: int = 15
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def MSGGen(u):
        return [u.label]

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, old, p, step):
        v.label = af.mode(message, default=old.label)
        return v.label != old.label and step + 1 < p.rounds
