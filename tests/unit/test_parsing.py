"""Text becomes trees in any number of threads."""

import ast
import sys
import threading
from functools import partial

import numpy as np
import pytest

import arcflux as af
from arcflux.parsing import parse, parse_expression

TEXT = "def f(x):\n" + "\n".join(
    f"    x = (x + {i}) * (x - {i}) if x > {i} else [x, (x, {{x: {i}}})]" for i in range(60)
)


class Garbage:
    """Runs Python code when it is collected, in the middle of parsing, where another thread may go on."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(50))


def run_at_once(works) -> None:
    """A thread for each, which change as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("others", [False, True])
def test_threads_parse_at_once(others: bool) -> None:
    """Without turns, 82 of 600 calls failed on 3.11; threads that are not ours may call ast.parse between."""
    failed: list[str] = []

    def work(call) -> None:
        for _ in range(100):
            for _ in range(3):
                Garbage()
            try:
                assert len(call(TEXT).body) == 1
            except SystemError as error:
                if call is parse:
                    failed.append(str(error))

    run_at_once([partial(work, ast.parse if others and k else parse) for k in range(3)])
    assert not failed


def test_headers_of_arrays_are_read_without_the_parser(tmp_path, monkeypatch) -> None:
    """NumPy parses the header of each array: where a thread came between, stores were said to be damaged on 3.11."""
    af.load("complete:4").save(tmp_path / "g.arcflux")

    def disturbed(*_, **__):
        raise SystemError("AST constructor recursion depth mismatch (before=63, after=60)")

    monkeypatch.setattr(ast, "parse", disturbed)
    with pytest.raises(SystemError):
        np.load(tmp_path / "g.arcflux" / "offsets.npy")
    assert af.load(tmp_path / "g.arcflux").edges == 6


def test_what_is_no_python_stays_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse("x = = 1")
    with pytest.raises(SyntaxError):
        parse_expression("x +")
