"""The match rules of LDBC Graphalytics, and the files they are applied to."""

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_samples import blamed, broken

from arcflux.errors import FormatError, UsageError
from arcflux.validate import ldbc, read_ldbc_output
from arcflux.validate.ldbc import Output

UNREACHED = 9223372036854775807
EXACT, CLOSE = ("bfs", "cdlp"), ("pr", "lcc", "sssp")


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str, name: str = "output") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


@pytest.mark.parametrize("algorithm", EXACT)
def test_exact_values(algorithm: str) -> None:
    expected = {1: 0, 5: 1, 9: UNREACHED}
    assert ldbc(algorithm, dict(reversed(expected.items())), expected).ok
    for v, value in ((1, 1), (5, 2), (5, -1), (9, UNREACHED - 1), (9, -1)):
        report = ldbc(algorithm, {**expected, v: value}, expected)
        assert broken(report) == {"values"}
        assert blamed(report, "values") == [v]
        assert report["values"].offences[0].found == str(value)


@pytest.mark.parametrize("algorithm", CLOSE)
@pytest.mark.parametrize("value", [3.0, 1e-12, 1e12])
def test_values_within_epsilon_of_the_reference(algorithm: str, value: float) -> None:
    expected = {1: value, 2: 0.0, 3: inf}
    for factor in (1, 1 + 0.9e-4, 1 - 0.9e-4):
        assert ldbc(algorithm, {**expected, 1: value * factor}, expected).ok
    for factor in (1 + 1.1e-4, 1 - 1.1e-4, -1, 0, inf, nan):
        report = ldbc(algorithm, {**expected, 1: value * factor}, expected)
        assert broken(report) == {"values"}
        assert blamed(report, "values") == [1]


@pytest.mark.parametrize("algorithm", CLOSE)
def test_infinity_zero_and_nan(algorithm: str) -> None:
    expected = {1: inf, 2: 0.0, 3: 1.0}
    assert ldbc(algorithm, expected, expected).ok
    for v, value in ((1, 1e300), (1, -inf), (1, nan), (2, 1e-30), (2, inf), (3, inf), (3, nan)):
        assert blamed(ldbc(algorithm, {**expected, v: value}, expected), "values") == [v]
    assert blamed(ldbc(algorithm, {1: nan}, {1: nan}), "values") == [1]


def test_components_match_under_any_names() -> None:
    expected = {1: 1, 2: 1, 3: 3, 4: 3, 5: 5}
    assert ldbc("wcc", {1: 9, 2: 9, 3: 1, 4: 1, 5: -4}, expected).ok


def test_a_component_that_is_split() -> None:
    report = ldbc("wcc", {1: 1, 2: 1, 3: 3, 4: 4, 5: 5}, {1: 1, 2: 1, 3: 3, 4: 3, 5: 5})
    assert broken(report) == {"split"}
    assert blamed(report, "split") == [4]
    assert report["split"].offences[0].found == "output label 4, that of 3 is 3"


def test_components_that_are_merged() -> None:
    report = ldbc("wcc", {1: 1, 2: 1, 3: 1, 4: 1, 5: 5}, {1: 1, 2: 1, 3: 3, 4: 3, 5: 5})
    assert broken(report) == {"merged"}
    assert blamed(report, "merged") == [3, 4]
    assert report["merged"].offences[0].found == "reference label 3, that of 1 is 1"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_components_are_judged_as_partitions(labels: list[tuple[int, int]]) -> None:
    same = all((got == other_got) == (right == other) for got, right in labels for other_got, other in labels)
    got, expected = ({v: pair[k] for v, pair in enumerate(labels)} for k in (0, 1))
    assert ldbc("wcc", got, expected).ok == same


@pytest.mark.parametrize("algorithm", ["bfs", "cdlp", "wcc", "pr", "lcc", "sssp"])
def test_each_vertex_is_there_once(algorithm: str, file: Any) -> None:
    reference = file("1 0\n2 1\n3 2\n", "reference")
    assert ldbc(algorithm, file("3 2\n1 0\n2 1\n"), reference).ok
    for text, rule, vertex in (
        ("1 0\n2 1\n3 2\n2 1\n", "got-once", 2),
        ("1 0\n3 2\n", "missing", 2),
        ("1 0\n2 1\n3 2\n4 3\n", "extra", 4),
    ):
        report = ldbc(algorithm, file(text), reference)
        assert broken(report) == {rule}, str(report)
        assert blamed(report, rule) == [vertex]
    report = ldbc(algorithm, reference, file("1 0\n2 1\n3 2\n3 2\n3 2\n"))
    assert broken(report) == {"expected-once"}
    assert report["expected-once"].offences[0].found == "3 lines"


def test_an_empty_output_misses_every_vertex(file: Any) -> None:
    report = ldbc("bfs", file(""), {v: v for v in range(20)})
    assert broken(report) == {"missing"}
    assert (report["missing"].count, blamed(report, "missing")) == (20, list(range(10)))
    assert ldbc("bfs", {}, file("")).ok
    assert ldbc("pr", {}, {}).ok


def test_reading_an_output(file: Any) -> None:
    whole = read_ldbc_output(file(f"7 1\n-3 {UNREACHED}\n\n"))
    assert whole.ids.tolist() == [7, -3]
    assert (whole.values.dtype, whole.values.tolist()) == (np.int64, [1, UNREACHED])
    real = read_ldbc_output(file("1 0.5\n2 infinity\n3 Infinity\n4 inf\n5 1e-3\n6 2\n"))
    assert real.values.tolist() == [0.5, inf, inf, inf, 1e-3, 2]
    assert read_ldbc_output(file("1 2\n"), "sssp").values.dtype == np.float64
    assert len(read_ldbc_output(file("")).ids) == 0
    # Any white space, and any end of line.
    assert read_ldbc_output(file("1\t2 \r\n\r\n  3   4\r\n")).values.tolist() == [2, 4]
    assert ldbc("bfs", read_ldbc_output(file("1 2\n")), {1: 2}).ok


@pytest.mark.parametrize(
    ("line", "algorithm"),
    [
        ("5", ""),
        ("5 1 2", ""),
        ("x 1", ""),
        ("5 x", ""),
        ("5,1", ""),
        ("1.5 1", ""),
        ("5 1_000", ""),
        ("5 NA", "pr"),
        ("5 1.5", "bfs"),
        ("5 infinity", "bfs"),
        ("5 9223372036854775808", "bfs"),
        ("9223372036854775808 1", "pr"),
        ("5 \u0663", "wcc"),
    ],
)
def test_a_line_that_is_no_vertex_and_value(file: Any, line: str, algorithm: str) -> None:
    path = file(f"1 1\n\n2 2\n{line}\n3 3\n")
    with pytest.raises(FormatError) as caught:
        read_ldbc_output(path, algorithm)
    assert (caught.value.path, caught.value.line) == (str(path), 4)
    assert str(caught.value).startswith(f"{path}:4: ")


def test_the_largest_and_the_smallest_of_64_bits(file: Any) -> None:
    least, most = -(2**63), 2**63 - 1
    for text in (f"{least} {most}\n{most} {least}\n", f"{least}\t{most}\n{most}\t{least}\n"):
        found = read_ldbc_output(file(text), "bfs")
        assert (found.ids.tolist(), found.values.tolist()) == ([least, most], [most, least])
    for beyond in (least - 1, most + 1):
        with pytest.raises(FormatError):
            read_ldbc_output(file(f"1 {beyond}\n"), "bfs")
    unsigned = Output(np.array([1], np.uint64), np.array([most], np.uint64))
    assert ldbc("bfs", unsigned, {1: most}).ok
    with pytest.raises(UsageError, match="of got are"):
        ldbc("bfs", Output(unsigned.ids, unsigned.values + np.uint64(1)), {1: most})


def test_the_edge_of_epsilon() -> None:
    """0.0001 of the reference is near enough, whatever its sign; the numbers are exact."""
    assert ldbc("pr", {1: 10001.0, 2: 9999.0, 3: -10001.0}, {1: 10000.0, 2: 10000.0, 3: -10000.0}).ok
    assert not ldbc("pr", {1: 10001.0000001}, {1: 10000.0}).ok


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere"):
        read_ldbc_output(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="cannot be read"):
        read_ldbc_output(tmp_path)
    (tmp_path / "bytes").write_bytes(b"1 2\n\xff\xfe 3\n")
    with pytest.raises(FormatError, match="bytes"):
        read_ldbc_output(tmp_path / "bytes")


def test_what_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="'tc'"):
        ldbc("tc", {}, {})
    with pytest.raises(UsageError, match="'tc'"):
        read_ldbc_output("anything", "tc")
    for got in ([1, 2], None, 7):
        with pytest.raises(UsageError, match="got is of type"):
            ldbc("bfs", got, {})
    for got in ({"a": 1}, {1.5: 1}, {1: 1.5}, {1: "x"}, {1: 2**63}, {2**63: 1}):
        with pytest.raises(UsageError, match="of got are"):
            ldbc("bfs", got, {})
    with pytest.raises(UsageError, match="of expected are"):
        ldbc("pr", {}, {1: "x"})
    with pytest.raises(UsageError, match="shape"):
        ldbc("bfs", Output(np.arange(2), np.arange(3)), {})
