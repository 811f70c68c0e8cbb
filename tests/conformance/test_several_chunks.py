"""Graphs that are several chunks long: random programs, interpreted, with chunks and buffers made small.

Workers share vertices by chunks of a thousand, list them in buffers, and sample what lists grow long. A graph that is
interpreted in a moment has one chunk, unless chunks are shorter.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from unittest import mock

import pytest
from program_fuzzer.compare import Case, difference, expected
from program_fuzzer.grammar import random_program
from program_fuzzer.graphs import GraphSpec
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way

import arcflux.compile.cpu
import arcflux.engine

# All rooms with a chunk are there: one that came within small_chunks would keep what it has taken from another.
for _package in (arcflux.compile.cpu, arcflux.engine):
    for _room in iter_modules(_package.__path__, _package.__name__ + "."):
        import_module(_room.name)
# What is made small: chunks are whole words of the frontier's bits.
SMALL = {"CHUNK": (1024, 64), "_CHUNK": (1024, 64), "FEW": (1024, 24)}
WAYS = [
    Way({"direction": "pull", "threads": 2}),
    Way({"direction": "push", "threads": 3}, patches=("teams",)),
    Way({"direction": "auto", "threads": 2, "deterministic": True}, patches=("teams",)),
    Way({"parts": 2, "direction": "pull", "ranks_per_node": 1, "deterministic": True}),
]


@contextmanager
def small_chunks() -> Iterator[int]:
    """Within, chunks are small in every room of the compiler and the engine that knows of them; how many do."""
    patches = [
        mock.patch.object(module, name, after)
        for key, module in list(sys.modules.items())
        if key.startswith(("arcflux.compile.", "arcflux.engine."))
        for name, (before, after) in SMALL.items()
        if vars(module).get(name) == before
    ]
    for patch in patches:
        patch.start()
    try:
        yield len(patches)
    finally:
        for patch in patches:
            patch.stop()


def long_graph(draw: random.Random) -> GraphSpec:
    """Some 200 vertices, a hub among them, and edges both near and far."""
    vertices = draw.randint(150, 260)
    edges = [(k, (k + draw.choice([1, 7, 64])) % vertices) for k in range(vertices) if draw.random() < 0.8]
    edges += [(draw.randrange(vertices), draw.randrange(vertices)) for _ in range(60)]
    edges += [(3, draw.randrange(vertices)) for _ in range(50)]
    weight = tuple(draw.randint(0, 9) for _ in edges)
    length = tuple(draw.randint(-32, 32) / 8 for _ in edges)
    return GraphSpec(vertices, tuple(edges), weight, length, draw.random() < 0.6)


def cases(shape: str, count: int) -> Iterator[tuple[Case, object]]:
    draw = random.Random(shape)
    while count:
        program = random_program(draw, shape)
        limit = None if program.limit is None else min(4, program.limit)
        case = Case(program, long_graph(draw), limit)
        try:
            if not program.small or program.to_fixed_point:
                yield case, expected(case)
                count -= 1
        except IllDefined:
            pass


@pytest.mark.parametrize(("shape", "count"), [("dense", 3), ("steady", 2), ("sparse", 5), ("monotone", 2)])
def test_programs_run_the_same_when_there_are_several_chunks(shape: str, count: int) -> None:
    with small_chunks() as rooms:
        assert rooms > 6
        for case, outcome in cases(shape, count):
            for way in WAYS:
                said = difference(case, way, outcome)
                assert not said, f"{way}: {said}\n\n{case.program.source}"
