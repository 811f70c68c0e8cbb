"""Random programs in the words of dialects: they are drawn, and a fault of a translation is found."""

import ast

import pytest
from program_fuzzer import campaign, compare
from program_fuzzer.campaign import Tally
from program_fuzzer.dialects import DIALECTS, in_other_words

from arcflux.dialects import messages
from arcflux.program import FieldType

NATIVE = """
import arcflux as af

@af.program
class Fuzzed:
    x: af.i64
    def start(v):
        v.x = v.number
        return True
    def init(v):
        v.x = 1
    def compute(v, u, edge, old):
        if edge.weight > 2:
            v.x = max(v.x, u.x + old.x)
    def update(v, old, step):
        if step > 2:
            return False
        return v.x != old.x
"""


def test_a_program_is_said_in_every_dialect() -> None:
    msg, emv, gas = (in_other_words(NATIVE, dialect) for dialect in ("msg", "emv", "gas"))
    assert msg is not None
    assert "def MSGGen(u, edge, v) -> af.i64:\n        if edge.weight > 2:\n            return u.x + v.x" in msg
    assert "v.x = 1\n        v.x = max(v.x, message)\n        if step > 2:\n            return False" in msg
    assert emv is not None
    assert "for e in el:\n            if e.weight > 2:\n                e.send(v.x + e.head.x)" in emv
    longer = in_other_words(NATIVE.replace("edge.weight > 2", "edge.weight > 20"), "emv")  # of each text one of both
    assert longer is not None
    assert "if e.weight > 20:\n            e.send(e.tail.x + e.head.x)" in longer
    assert "if v.x != old.x:\n            g.halt = False" in emv
    assert gas is None  # update returns before its end


def test_what_cannot_be_said_is_not() -> None:
    for other in ("v.x = af.any(u.x)", "v.x[0] += u.x", "v.y += 1; v.x += 1", "v.x = min(u.x, v.x)"):
        text = NATIVE.replace("if edge.weight > 2:\n            v.x = max(v.x, u.x + old.x)", other)
        assert ast.parse(text)
        assert all(in_other_words(text, dialect) is None for dialect in DIALECTS)


def check(seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        campaign._check_dialects(seed, tally)
    return tally


def test_all_dialects_are_drawn_and_give_what_the_oracle_says() -> None:
    tally = check(range(24))
    assert not tally.failures, campaign.small_script(tally.failures[0])
    assert tally.runs["in the words of emv"] == tally.runs["in the words of msg"] == 24
    assert tally.runs["in the words of gas"] > 5


def test_a_fault_of_a_translation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = messages.identity

    def wrong(operation: str, kind: FieldType) -> ast.expr:
        return ast.Constant(1) if operation == "sum" else right(operation, kind)

    compare.load_program.cache_clear()
    monkeypatch.setattr(messages, "identity", wrong)
    failures = check(range(24)).failures
    compare.load_program.cache_clear()
    assert failures
    assert "class Fuzzed" in campaign.small_script(failures[0])
