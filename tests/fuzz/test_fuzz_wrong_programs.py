"""Programs with random mistakes end in an error of errors.py that names a line, or run; nothing else reaches a user."""

import random
import warnings

import numpy as np
import pytest
from program_fuzzer import compare
from program_fuzzer.grammar import random_program
from program_fuzzer.ways import Way
from program_fuzzer.wrong import spoiled

import arcflux as af
from arcflux.errors import ArcfluxError, ProgramError

GRAPH = af.Graph.from_edges(
    [0, 1, 2, 2, 0], [1, 2, 0, 2, 1], vertices=5,
    columns={"weight": np.array([1, 2, 3, 1, 2]), "length": np.array([1.0, 2.0, 3.0, 1.0, 2.0])},
)  # fmt: skip


def said_of(text: str, parameters: dict[str, object], way: Way) -> str:
    """What a run of a program says: "", or the kind of its error. What Python raises in the class itself is its own."""
    try:
        program = compare.load_module(text).Fuzzed
    except ArcfluxError as error:
        return type(error).__name__
    except (NameError, AttributeError, TypeError):
        return "Python"
    own = {name: value for name, value in parameters.items() if f"    {name}: " in text}
    iteration = text.partition("def iteration")[2]
    try:
        with way.active() as options, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            af.run(program, GRAPH, max_supersteps=3, timeout=20, **options, **own)
    except ProgramError as error:
        placed = any(word in str(error) for word in (".py:", "becomes", "promised"))
        return "ProgramError" if placed else f"no line: {error}"
    except ArcfluxError as error:
        return type(error).__name__
    except Exception:
        if not iteration:  # which is the user's own plain Python
            raise
        return "iteration"
    return ""


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_mistakes_are_refused_or_run(first: int, capsys: pytest.CaptureFixture[str]) -> None:
    said: dict[str, int] = {}
    for seed in range(first, first + 100):
        draw = random.Random(seed)
        program = random_program(draw)
        text = spoiled(program.source, draw)
        for way in (Way({"debug": True}, interpret=False), Way({"threads": 1}, interpret=True)):
            kind = said_of(text, dict(program.parameters), way)
            said[kind] = said.get(kind, 0) + 1
    capsys.readouterr()
    assert [kind for kind in said if kind.startswith("no line")] == []
    assert said["ProgramError"] > 100  # most changes are mistakes
    assert said[""] > 10  # and some are none
