# ruff: noqa: E501
"""What programs of dialects are refused for: the user's line, the reason, and what to write instead.

Each case is the text of a class; `>>` marks the line that the error has to name.
"""

import linecache

import pytest

import arcflux as af
from arcflux.errors import ProgramError

GAS = """
@af.gas
class P:
    x: af.f64

    def start(v):
        return True

    def gather(v, u):
        return u.x

    def sum(a, b):
        return a + b

    def apply(v, gathered):
        v.x = gathered
"""
MSG = """
@af.msg
class P:
    x: af.f64

    def start(v):
        return True

    def MSGGen(u):
        return u.x

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, old):
        v.x = message
        return v.x != old.x
"""
EMV = """
@af.emv
class P:
    message: af.f64
    x: af.f64

    def start(v):
        return True

    def Send(e):
        e.send(e.tail.x)

    def Combiner(a, b):
        return a + b

    def Take(v, combined, old, g):
        v.x = combined
        if v.x != old.x:
            g.halt = False

    def iteration(run, g, p):
        run.InitMessageBuffer(0.0)
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()
"""
# Which class, what of it is replaced by what, the words of the reason, and those of the remedy.
CASES = {
    "gas: an order in sum": (GAS, "def sum(a, b):\n        return a + b", ">>def sum(a, b):\n        return a - b",
                             "sum is not a way to combine", "min(a, b)"),
    "gas: sum of something else": (GAS, "def sum(a, b):\n        return a + b",
                                   ">>def sum(a, b):\n        return a + a", "sum is not a way", "a + b"),
    "gas: no gather": (GAS, "def gather(v, u):\n        return u.x\n\n    def sum", "def sum",
                       "the function gather is missing", "def gather(v, u)"),
    "gas: a native function": (GAS, "def start(v):", ">>def compute(v, u):", "no function 'compute'", "gather, sum, apply"),
    "gas: an unknown argument": (GAS, "def gather(v, u):", ">>def gather(v, w):", "cannot have an argument 'w'",
                                 "may ask for: v, u, edge"),
    "gas: apply shows activity": (
        GAS, "def apply(v, gathered):\n        v.x = gathered",
        ">>def apply(v, gathered):\n        v.x = v.x + gathered\n\n    def scatter(v):\n        return v.x > 1.0",
        "apply reads x as it was before", "return True in scatter"),
    "gas: apply reads step": (
        GAS, "def apply(v, gathered):\n        v.x = gathered",
        ">>def apply(v, gathered, step):\n        v.x = gathered + step", "apply reads step", "depend on gathered alone"),
    "gas: start leaves out": (GAS, "def start(v):\n        return True",
                              ">>def start(v):\n        return v.number == 0", "start leaves out vertices",
                              "return True in start"),
    "gas: a type that is none": (GAS, "def gather(v, u):", ">>def gather(v, u) -> float:",
                                 "gather does not say which type", "-> af.f64:"),
    "gas: lists and numbers": (
        GAS, "        return u.x", "        if u.x > 0.0:\n            >>return 0.0\n        return [u.x]",
        "gather returns 0.0, and elsewhere a list", "a list with one message everywhere"),
    "gas: lists that are not joined": (
        GAS, "return u.x\n\n    def sum(a, b):\n        return a + b",
        "return [u.x]\n\n    >>def sum(a, b):\n        return min(a, b)", "sum does not join them", "return a + b"),
    "gas: a list as a number": (
        GAS, "return u.x\n\n    def sum(a, b):\n        return a + b\n\n    def apply(v, gathered):\n        v.x = gathered",
        "return [u.x]\n\n    def sum(a, b):\n        return a + b\n\n    def apply(v, gathered):\n        >>v.x = gathered",
        "gathered is a list of messages", "af.mode(gathered)"),
    "gas: a loop makes listed messages": (
        GAS, "return u.x\n\n    def sum(a, b):\n        return a + b\n\n    def apply(v, gathered):\n        v.x = gathered",
        "x = 0.0\n        >>for k in range(3):\n            x = x + u.x\n        return [x]\n\n    def sum(a, b):\n"
        "        return a + b\n\n    def apply(v, gathered):\n        v.x = sum(gathered)",
        "one expression each", "function of the module"),
    "msg: no MSGMerge": (MSG, "def MSGMerge(a, b):\n        return a + b\n\n    def MSGApply", "def MSGApply",
                         "MSGMerge is missing", "def MSGMerge(a, b)"),
    "msg: merge in an order": (MSG, "def MSGMerge(a, b):\n        return a + b",
                               ">>def MSGMerge(a, b):\n        return a / b", "MSGMerge is not a way", "max(a, b)"),
    "msg: gas order with old": (MSG, "@af.msg\n", "@af.msg(order='gas')\n", "before there is old", "do without old"),
    "msg: gas order without start": (
        MSG.replace("@af.msg\n", "@af.msg(order='gas')\n"), "    def start(v):\n        return True\n\n", "",
        "the function start is missing", "def start(v, p)"),
    "msg: gas order, start returns early": (
        MSG.replace("@af.msg\n", "@af.msg(order='gas')\n"), "def start(v):\n        return True",
        ">>def start(v):\n        if v.number > 3:\n            return False\n        return True",
        "start returns before its last line", "one return, on the last line"),
    "msg: lists out of turn": (
        MSG.replace("@af.msg\n", "@af.msg(order='async')\n").replace("v.x = message", "v.x = af.median(message)"),
        "return u.x", "return [u.x]", "out of turn", "order='bsp'"),
    "msg: a list decides who sends": (
        MSG, "return u.x\n\n    def MSGMerge(a, b):\n        return a + b\n\n    def MSGApply(v, message, old):\n"
        "        v.x = message\n        return v.x != old.x",
        "return [u.x]\n\n    def MSGMerge(a, b):\n        return a + b\n\n    def MSGApply(v, message, old):\n"
        "        most = max(message)\n        v.x = most\n        >>return most > 3.0",
        "returns what most says", "keep most in a field"),
    "msg: MSGApply without an answer": (MSG, "        return v.x != old.x\n", "        if v.x > 3.0:\n            return True\n",
                                        "MSGApply can end without a return", "return"),
    "emv: no iteration": (EMV, EMV[EMV.index("    def iteration") :], "", "the function iteration is missing",
                          "def iteration(run, g, p)"),
    "emv: no such function": (EMV, "run.EDGE.Send()", ">>run.EDGE.Sent()", "there is no function Sent", "Send"),
    "emv: the wrong kind": (EMV, "run.EDGE.Send()", ">>run.VERTEX.Send()",
                            "Send is run as VERTEX, and by its arguments it is EDGE", "run.EDGE.Send()"),
    "emv: no kind": (EMV, "run.EDGE.Send()", ">>run.ARC.Send()", "run.ARC.Send is no run", "run.EDGE.f()"),
    "emv: run with arguments": (EMV, "run.EDGE.Send()", ">>run.EDGE.Send(3)", "run with arguments", "parameters (p)"),
    "emv: no type of messages": (EMV, "    message: af.f64\n", "", "their type is not known", "message: af.f64"),
    "emv: an odd type of messages": (EMV, "message: af.f64", ">>message: float", "message is the type", "message: af.f64"),
    "emv: a function is left": (EMV, "    def iteration", "    >>def Rest(v):\n        v.x = 1.0\n\n    def iteration",
                                "iteration does not run Rest", "leave Rest out"),
    "emv: nobody reads": (
        EMV, EMV[EMV.index("    def Combiner") :],
        "    def Rest(v, g):\n        g.halt = False\n\n    def iteration(run):\n        run.InitMessageBuffer(0.0)\n"
        "        >>run.EDGE.Send()\n        run.VERTEX.Rest()\n",
        "no function reads the messages of Send", "MLIST function"),
    "emv: nothing was sent": (EMV, "        run.InitMessageBuffer(0.0)\n        run.EDGE.Send()\n        run.Combiner()",
                              "        >>run.Combiner()\n        run.EDGE.Send()", "finds no messages", "on the line before"),
    "emv: a line in a superstep": (EMV, "        run.Combiner()", "        >>print(run.iterations)\n        run.Combiner()",
                                   "stands between runs that make one superstep", "work in their functions"),
    "emv: a line before who takes": (EMV, "        run.VERTEX.Take()", "        >>breakpoint()\n        run.VERTEX.Take()",
                                     "stands between runs that make one superstep", "after the last"),
    "emv: a line before who sends": (EMV, "        run.EDGE.Send()", "        >>print(run)\n        run.EDGE.Send()",
                                     "stands between runs that make one superstep", "before the first of them"),
    "emv: nobody takes": (EMV, "run.Combiner()\n        run.VERTEX.Take()", ">>run.Combiner()",
                          "nothing takes what Combiner makes", "asks for `combined`"),
    "emv: nothing combined": (EMV, "run.InitMessageBuffer(0.0)\n", ">>run.VERTEX.Take()\n",
                              "asks for what was combined", "run.Combiner()"),
    "emv: two senders": (EMV, "run.EDGE.Send()\n", "run.EDGE.Send()\n        >>run.EDGE.Send()\n",
                         "sends over the messages of Send", "in between"),
    "emv: a buffer for nothing": (EMV, "run.VERTEX.Take()", "run.VERTEX.Take()\n        >>run.InitMessageBuffer(0.0)",
                                  "no message is sent into the buffer", "on the next line"),
    "emv: it goes on after a send": (EMV, "e.send(e.tail.x)", ">>e.send(e.tail.x)\n        e.send(2.0)",
                                     "goes on after it has sent", "if, elif and else"),
    "emv: a send in a loop": (EMV, "e.send(e.tail.x)", "for k in range(3):\n            >>e.send(1.0 * k)",
                              "sends within a loop", "outside of loops"),
    "emv: an edge may be silent": (
        EMV.replace("        run.InitMessageBuffer(0.0)\n", ""), "def Send(e):\n        e.send(e.tail.x)",
        ">>def Send(e):\n        if e.tail.x > 0.0:\n            e.send(e.tail.x)", "Send may send nothing",
        "run.InitMessageBuffer(x)"),
    "emv: a buffer that adds up": (EMV, "run.InitMessageBuffer(0.0)", ">>run.InitMessageBuffer(2.0)",
                                   "once an edge without a message", "run.InitMessageBuffer(0.0)"),
    "emv: an edge writes a vertex": (EMV, "e.send(e.tail.x)", ">>e.head.x = e.tail.x",
                                     "Send writes e.head.x", "e.send(x)"),
    "emv: a sender writes": (
        EMV.replace("run.EDGE", "run.ELIST"),
        "def Send(e):\n        e.send(e.tail.x)",
        "def Send(v, el):\n        >>v.x = 1.0\n        for e in el:\n            e.send(v.x)",
        "Send writes v.x", "VERTEX function"),
    "gas: gather writes": (GAS, "        return u.x", "        >>v.x = 3.0\n        return u.x", "gather writes v.x",
                           "write it in apply"),
    "msg: MSGGen writes": (MSG, "        return u.x", "        >>u.x = 3.0\n        return u.x", "MSGGen writes u.x",
                           "write it in MSGApply"),
    "emv: a sender adds up its list": (
        EMV.replace("run.EDGE", "run.ELIST"), "def Send(e):\n        e.send(e.tail.x)",
        "def Send(v, el):\n        all_ = 0.0\n        >>for e in el:\n            all_ += e.weight\n        for e in el:\n"
        "            e.send(all_)", "more than one loop over el", "without messages"),
    "emv: halt is set": (EMV, "g.halt = False", ">>g.halt = True", "halt is True before every iteration", "run.halt = True"),
    "emv: nothing ends it": (
        EMV.replace("    def iteration", "    >>def iteration"), "        if v.x != old.x:\n            g.halt = False\n", "",
        "nothing ends this before 2147483647 iterations", "maxIteration: int = 30"),
    "emv: an answer of iteration": (EMV, "run.VERTEX.Take()", "run.VERTEX.Take()\n        >>return True",
                                    "iteration returns a value", "run.halt = True"),
    "emv: run has not": (EMV, "run.VERTEX.Take()", "run.VERTEX.Take()\n        >>run.halt = run.steps > 3", "run has no steps",
                         "iterations"),
    "emv: maxIteration is typed": (EMV, "    x: af.f64\n", "    x: af.f64\n    >>maxIteration = 5\n",
                                   "maxIteration is a parameter", "maxIteration: int = 5"),
    "emv: a residual of phases": (
        EMV, "    def iteration(run, g, p):\n", "    >>def residual(v, old):\n        return abs(v.x - old.x)\n\n"
        "    def Rest(v):\n        v.x = v.x + 1.0\n\n    def iteration(run, g, p):\n        run.VERTEX.Rest()\n",
        "several chains has no residual", "g.moved += abs"),
    "emv: what kernels refuse": (EMV, "v.x = combined", ">>v.x = combined * unknown", "unknown", "unknown"),
}  # fmt: skip


def made(text: str, name: str) -> af.program:
    """The program of a text, which has a file of its own for errors to point at."""
    path = f"<{name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    names = {"af": af, "__name__": "refused"}
    exec(compile(text, path, "exec"), names)
    return names["P"]


@pytest.mark.parametrize("name", CASES)
def test_what_is_refused_names_the_line_the_reason_and_a_remedy(name: str) -> None:
    text, there, other, reason, remedy = CASES[name]
    assert there in text
    text = text.replace(there, other)
    marked = next((k for k, line in enumerate(text.splitlines(), 1) if ">>" in line), None)
    with pytest.raises(ProgramError) as error:
        af.run(made(text.replace(">>", ""), name), "path:3,weights=1-3")
    assert reason in str(error.value)
    assert remedy in str(error.value)
    if marked is not None:
        assert error.value.line == marked


@pytest.mark.parametrize("text", [GAS, MSG, EMV], ids=["gas", "msg", "emv"])
def test_what_is_left_as_it_is_runs(text: str) -> None:
    assert af.run(made(text, "whole"), "path:3").converged
