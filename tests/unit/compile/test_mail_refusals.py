"""What programs with mail cannot say is refused before anything runs: the line, the reason, and what to write."""

import importlib.util
import itertools
import sys
from pathlib import Path
from textwrap import dedent, indent

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.errors import ProgramError, UsageError

PARTS = {
    "fields": "x: af.f64\nn: af.i64\nto: af.ref\non: af.flag",
    "mails": "walker: af.mail(walk=af.i64, hops=af.i32)\ntold: af.mail(af.f64, 'sum')\nnews: af.mail(af.i64)",
    "start": "def start(v):\n    af.send(v.number, walker=(1, 2), told=1.0, news=3)\n    return True",
    "receive": "def receive(v, walker, told, news):\n    v.x += told",
    "update": "def update(v):\n    return False",
}
_names = itertools.count()


def made(folder: Path, head: str = "", **parts: str) -> object:
    """Lower a program in which some parts are replaced."""
    name = f"refused_mail_{next(_names)}"
    body = "\n".join(indent(dedent(part).strip(), "    ") + "\n" for part in {**PARTS, **parts}.values() if part)
    path = folder / f"{name}.py"
    path.write_text(f"import math\nimport arcflux as af\n\n{head}\n@af.program\nclass P:\n{body}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return lower(module.P, {"weight": np.dtype("f8")})
    finally:
        del sys.modules[name]


def refused(folder: Path, reason: str, remedy: str, head: str = "", **parts: str) -> None:
    with pytest.raises(ProgramError) as caught:
        made(folder, head, **parts)
    error = caught.value
    assert reason in str(error), error
    assert remedy in error.remedy, error.remedy
    text = "\n".join([head, *parts.values()])
    if "# no" in text:
        marked = next(line for line in text.splitlines() if "# no" in line)
        assert marked.strip() in str(error)


def test_the_program_itself_is_fine(tmp_path: Path) -> None:
    assert set(made(tmp_path).mails) == {"walker", "told", "news"}


# In update: the body with the refused line marked, the reason, and what to write instead.
SENT = {
    "a vertex": ("af.send(v, news=1)  # no", "to v, which is no number", "af.send(v.number"),
    "a float": ("af.send(v.x, news=1)  # no", "which is float64", "a whole number"),
    "a flag": ("af.send(v.on, news=1)  # no", "which is bool", "a whole number"),
    "no receiver": ("af.send(news=1)  # no", "takes a vertex's number", "af.send(to, walker=...)"),
    "no record": ("af.send(v.to)  # no", "takes a vertex's number", "af.send(to, walker=...)"),
    "two numbers": ("af.send(v.to, 3)  # no", "records by the names", "af.send(to, walker=...)"),
    "an unknown mail": ("af.send(v.to, wallker=1)  # no", "there is no mail 'wallker'", "walker"),
    "several by stars": ("af.send(v.to, **v)  # no", "there is no mail '**'", "declare"),
    "a part too few": ("af.send(v.to, walker=1)  # no", "is (walk, hops), and this has 1", "walker=(walk, hops)"),
    "a part too many": ("af.send(v.to, news=(1, 2))  # no", "is one value, and this has 2", "news=..."),
    "a fraction": ("af.send(v.to, news=v.x)  # no", "the fraction would be lost", "int(...)"),
    "a fraction of a record": ("af.send(v.to, walker=(1, v.x))  # no", "walker.hops is int32", "int(...)"),
    "a flag for a number": (
        "af.send(v.to, news=v.on)  # no",
        "news is int64, and this is bool",
        "int(...) of the flag",
    ),
    "what it gives": ("v.n = af.send(v.to, news=1)  # no", "gives nothing back", "a line of its own"),
    "a neighbour of another": ("v.to = af.neighbour(3, 0)  # no", "takes v and a number", "af.neighbour(v, k)"),
    "half a neighbour": ("v.to = af.neighbour(v, 0.5)  # no", "is given float", "a whole number"),
    "an edge as it is": ("v.n = af.out_edge(v, 0)  # no", "an edge by itself", "af.out_edge(v, k).weight"),
    "an unknown column": ("v.x = af.out_edge(v, 0).wait  # no", "no edge column 'wait'", "weight"),
}


@pytest.mark.parametrize("case", SENT)
def test_sends_that_cannot_be(case: str, tmp_path: Path) -> None:
    body, reason, remedy = SENT[case]
    refused(tmp_path, reason, remedy, update=f"def update(v):\n    {body}\n    return False")


# In receive.
RECEIVED = {
    "a loop over a sum": ("for r in told:  # no\n    v.x += r", "combined by sum: it is one value", "read told itself"),
    "the length of a sum": ("v.n = len(told)  # no", "it is one value, no list", "send 1"),
    "a record as a number": ("for r in walker:\n    v.n += r  # no", "a record of several parts", "read r.walk"),
    "an unknown part": ("for r in walker:\n    v.n += r.steps  # no", "has no 'steps'", "one of walk, hops"),
    "a part of a value": ("for r in news:\n    v.n += r.value  # no", "has no 'value'", "r itself"),
    "a list as a number": ("v.n = news  # no", "a list of records, and nothing else", "for r in news"),
    "a sum over a list": ("v.n = sum(r for r in news)  # no", "sum of a list of records", "for r in news"),
    "a sum of a list": ("v.n = sum(news)  # no", "sum of a list of records", "len(news)"),
    "a place in a list": ("v.n = news[0]  # no", "no places, only an order", "for r in news"),
    "a part of a list": ("v.n = walker.walk  # no", "the mail itself", "for r in walker"),
    "a write to a record": ("for r in walker:\n    r.hops = 1  # no", "records never change", "a field of v"),
    "two names": ("for a, b in walker:  # no\n    v.n += a", "a name of its own", "r.walk"),
    "a name that is taken": ("for v in news:  # no\n    pass", "has a meaning here", "another name"),
    "a total": ("g.all += 1  # no", "not called once for every vertex", "in update"),
}


@pytest.mark.parametrize("case", RECEIVED)
def test_mail_that_cannot_be_read_so(case: str, tmp_path: Path) -> None:
    body, reason, remedy = RECEIVED[case]
    text = indent(body, "    ")
    totals = {"totals": "all: af.total(af.i64)"} if case == "a total" else {}
    refused(tmp_path, reason, remedy, receive=f"def receive(v, walker, told, news, g):\n{text}", **totals)


# Declarations: other parts of the program, with the refused line marked where it is one of these.
DECLARED = {
    "nothing": ({"more": "m: af.mail()  # no"}, "the mail m says nothing", "af.mail(af.f64)"),
    "no type": ({"more": "m: af.mail(int)  # no"}, "no type of numbers", "af.mail(af.f64)"),
    "a vector": ({"more": "m: af.mail(af.f64[3])  # no"}, "made of single values", "name its elements"),
    "a value": ({"more": "m: af.mail(af.f64) = 3  # no"}, "the mail m has a value", "af.send(to, m=...)"),
    "a name of arguments": ({"more": "old: af.mail(af.f64)  # no"}, "means something else", "old_mail"),
    "half named": ({"more": "m: af.mail(af.f64, x=af.i64)  # no"}, "some parts have a name", "name all of them"),
    "a product": ({"more": "m: af.mail(af.f64, 'product')  # no"}, "combined by 'product'", "'sum' or 'min' or 'max'"),
    "bits of floats": ({"more": "m: af.mail(af.f64, 'or')  # no"}, "mail of f64 combined by 'or'", "'sum'"),
    "a sum of flags": ({"more": "m: af.mail(af.flag, 'sum')  # no"}, "mail of flag combined", "'or' or 'and'"),
    "a sum of records": ({"more": "m: af.mail('sum', x=af.f64)  # no"}, "some parts have a name", "name all of them"),
    "nobody receives": ({"more": "m: af.mail(af.f64)"}, "receive does not take the mail m", "receive(v, m, ...)"),
    "no receive": (
        {"receive": "", "compute": "def compute(v, u):\n    v.x += u.x"}, "no function receives", "add `def rec"
    ),
    "nobody sends": (
        {"more": "m: af.mail(af.f64)  # no", "receive": "def receive(v, walker, told, news, m):\n    v.x += told"},
        "nobody sends the mail m", "af.send(to, m=...)",
    ),
    "another argument": (
        {"receive": "def receive(v, walker, told, news, nws):  # no\n    v.x += told"}, "an argument 'nws'", "news"
    ),
    "compute": ({"compute": "def compute(v, u):  # no\n    v.x += u.x"}, "received in one", "around(v, edges)"),
    "wants": ({"wants": "def wants(v):  # no\n    return True"}, "mail is always taken", "in receive"),
    "residual": ({"residual": "def residual(v):  # no\n    return v.x"}, "no mail is under way", "stop(g)"),
    "priority": ({"priority": "def priority(v):  # no\n    return v.x"}, "no supersteps", "leave priority out"),
    "sparse": ({"promise": "sparse = True"}, "sparse is promised", "leave sparse out"),
    "monotone": ({"promise": "monotone = True"}, "monotone is promised", "leave monotone out"),
    "init": ({"init": "def init(v):\n    af.send(0, news=1)  # no"}, "cannot send", "send it in update"),
    "no mail": (
        {"mails": "", "start": "", "receive": "def receive(v):  # no\n    v.x = 1.0"}, "no mail to receive", "declare"
    ),
    "neighbours in init": ({"init": "def init(v):\n    v.to = af.neighbour(v, 0)  # no"}, "stands in init", "update"),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLARED)
def test_mail_that_cannot_be_declared(case: str, tmp_path: Path) -> None:
    parts, reason, remedy = DECLARED[case]
    refused(tmp_path, reason, remedy, **parts)


def test_helpers_send_nothing(tmp_path: Path) -> None:
    head = "def spread(x):\n    af.send(0, news=1)  # no\n    return x\n"
    update = "def update(v):\n    v.x = spread(v.x)\n    return False"
    refused(tmp_path, "a helper, which only returns", "what helpers return", head, update=update)


def test_phases_have_no_mail(tmp_path: Path) -> None:
    phase = "@af.phase(edges=None)\nclass go:\n    def update(v):\n        return False"
    parts = {"receive": "", "update": "", "phase": phase, "it": "def iteration(run):\n    run.go()\n    return False"}
    refused(tmp_path, "a program with phases has no mail", "given=", **parts)


def test_nothing_is_sent_outside_of_a_program() -> None:
    with pytest.raises(UsageError, match="outside of a program"):
        af.send(3, news=1)


def test_what_compute_cannot_send(tmp_path: Path) -> None:
    """Without any mail the send itself is refused, where it stands."""
    parts = {"mails": "", "start": "", "receive": "", "compute": "def compute(v, u):\n    af.send(0, news=1)  # no"}
    refused(tmp_path, "cannot send", "send it in update", **parts)
