"""The parallel parser against plain Python, line by line: blocks of any size, any number of threads."""

import re
import struct
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arcflux.errors import FormatError
from arcflux.io import scan, scan_kernels

PATH = Path("given.txt")
NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf(?:inity)?|nan)"


def read_slowly(text, columns=2, delimiter=b"", prefix=b"", loose=False):
    """The edges as tuples, by one regular expression a line; or the number of the first line that it does not fit."""
    blank = b"[ \r]" if delimiter == b"\t" else b"[ \t\r]"
    gap = blank + b"*" + re.escape(delimiter) + blank + b"*" if delimiter else blank + b"+"
    tail = blank + b"*|" + blank + b"+[#%].*"
    if loose:
        tail += b"|" + blank + b"+.*" + (b"|" + blank + b"*" + re.escape(delimiter) + b".*" if delimiter else b"")
    form = blank + b"*" + re.escape(prefix) + (blank + b"*" if prefix else b"") + gap.join([b"([+-]?[0-9]+)"] * 2)
    form += gap + b"(" + NUMBER + b")" if columns > 2 else b""
    line_form, skipped = re.compile(form + b"(?:" + tail + b")", re.I), re.compile(blank + b"*(?:[#%].*)?")
    edges = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if skipped.fullmatch(line):
            continue
        match = line_form.fullmatch(line)
        if not match or not all(-(2**63) <= int(end) < 2**63 for end in match.groups()[:2]):
            return number
        edges.append((int(match[1]), int(match[2]), *match.groups()[2:]))
    return edges


def weight_type(words):
    """The narrowest of int32, int64 and float64 that holds all of the numbers."""
    if not all(re.fullmatch(rb"[+-]?[0-9]+", word) for word in words):
        return np.float64
    for kind in (np.int32, np.int64):
        if all(np.iinfo(kind).min <= int(word) <= np.iinfo(kind).max for word in words):
            return kind
    return np.float64


def bits(values):
    """Floats as their bytes, so that -0.0 is not 0.0; every NaN is the same."""
    return [struct.pack("d", np.nan if value != value else value) for value in values]


def scanned(text, threads=1, block=1 << 20, **options):
    with mock.patch.object(scan, "_BLOCK", block):
        edges = scan.edges(np.frombuffer(text, np.uint8), PATH, scan.Lines(**options), threads)
    place = edges.places()
    return [edges.source[place], edges.target[place], *(column[place] for column in edges.columns.values())]


DIGITS = st.text("0123456789", min_size=1, max_size=19)
IDS = st.one_of(
    st.integers(0, 99).map(str),
    st.tuples(st.sampled_from(["", "", "-", "+"]), st.sampled_from(["", "0", "0000000000000000000000"]), DIGITS).map(
        "".join
    ),
    st.sampled_from([str(edge + off) for edge in (2**31, 2**32, 2**63, -(2**63), 2**64, 10**19) for off in (-1, 0, 1)]),
)
SPECIAL = [
    "inf", "-inf", "+INF", "Infinity", "-iNfInItY", "nan", "-NaN", "NAN", "5e-324", "2.4703282292062328e-324", "1e309",
    "1.7976931348623157e308", "-0.0", "1e-400", "0e999", "1e99999", "1e00000000000000000000001",
    "1e99999999999999999999", "9007199254740993",
    ".5", "5.", "1.E5", "1e23", "1e22", "1e-22", "8.5e22", "4.35", "123456789012345678901234567890",
    "0.1000000000000000055511151231257827", "1e18446744073709551621", "-2e-18446744073709551621",
]  # fmt: skip
FLOATS = st.one_of(
    st.floats().map(repr),
    st.floats(width=16).map(repr),
    st.tuples(DIGITS, DIGITS, st.integers(-345, 310)).map(lambda t: f"{t[0]}.{t[1]}e{t[2]}"),
    st.from_regex(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(SPECIAL),
)
WEIGHTS = st.one_of(st.integers(-99, 99).map(str), IDS, FLOATS)
BLANK = st.sampled_from(["", " ", "\t", "  \t", "\r"])
NOISE = st.text("0123456789 \t\r,;|#%+-.eEinfaxp\0é_", max_size=12)


@st.composite
def texts(draw, delimiter, prefix, columns):
    """Mostly lines that can be read; between them blank ones, comments, and now and then a spoilt one."""
    words = [IDS, IDS, WEIGHTS][:columns]
    spoil = draw(st.sampled_from([0, 0, 1]))

    def line():
        kind = draw(st.integers(0, 9))
        if kind < 2:
            return draw(BLANK) + draw(st.sampled_from(["", "# 1 2 3", "%", "#"]))
        gap = [draw(BLANK) + delimiter + draw(BLANK) if delimiter else draw(BLANK.filter(bool)) for _ in range(3)]
        text = draw(BLANK) + prefix + (" " if prefix else "")
        text += "".join(draw(word) + mark for word, mark in zip(words, [*gap[: columns - 1], ""], strict=True))
        text += draw(st.sampled_from(["", "", " ", "\r", " # why", "\t%", " 7", delimiter + "x"]))
        at = draw(st.integers(0, len(text)))
        return text[:at] + draw(NOISE) + text[at:] if spoil and kind == 9 else text

    text = "\n".join(line() for _ in range(draw(st.integers(0, 25)))) + draw(
        st.sampled_from(["", "\n", "\r\n", "\n\n"])
    )
    return text.encode()


@settings(deadline=None, max_examples=500)
@given(data=st.data(), delimiter=st.sampled_from(["", ",", ";", "|", "\t"]), prefix=st.sampled_from(["", "", "a"]),
       columns=st.integers(2, 3), loose=st.booleans(), threads=st.integers(1, 3),
       block=st.sampled_from([1, 7, 50, 1 << 20]))  # fmt: skip
def test_as_plain_python_reads_it(data, delimiter, prefix, columns, loose, threads, block):
    text = data.draw(texts(delimiter, prefix, columns))
    options = {"columns": columns, "delimiter": delimiter.encode(), "prefix": prefix.encode(), "loose": loose}
    expected = read_slowly(text, **options)
    if isinstance(expected, int):
        with pytest.raises(FormatError, match=rf"^given.txt:{expected}: "):
            scanned(text, threads, block, **options)
        return
    found = scanned(text, threads, block, **options)
    assert list(zip(*(ends.tolist() for ends in found[:2]), strict=True)) == [edge[:2] for edge in expected]
    if columns == 3:
        words = [edge[2] for edge in expected]
        assert found[2].dtype == weight_type(words)
        if found[2].dtype == np.float64:
            assert bits(found[2].tolist()) == bits(map(float, words))
        else:
            assert found[2].tolist() == list(map(int, words))


SHORT = st.integers(0, 99) | st.integers(0, 10**9)
ODD = [
    "",
    " ",
    "# c",
    " 1_2",
    "1_2 ",
    "1_2 # c",
    "1_2\r",
    "-1_2",
    "1_+2",
    "123456789_1",
    "1_123456789012",
    "00_000000001",
]
BAD = ["1", "1_", "_1", "12", "1_x", "x_1", "1:2", "1_2_3", "1_2:", "1_2\0", "1__2", "1 2", "1,2", "1\t2"]


@settings(deadline=None, max_examples=200)
@given(st.data(), st.sampled_from([" ", ",", "\t"]), st.integers(1, 3), st.sampled_from([1, 20, 100, 1 << 20]))
def test_plain_lines_with_something_else_among_them(data, mark, threads, block):
    """Plain lines are read ahead, two blocks in turn; the rest of a block from its first other line on."""
    plain = st.tuples(SHORT, SHORT).map("{0[0]}_{0[1]}".format)
    lines = data.draw(st.lists(plain, min_size=5, max_size=40))
    for odd in data.draw(st.lists(st.sampled_from(ODD), max_size=3)) + data.draw(
        st.lists(st.sampled_from(BAD), max_size=1)
    ):
        lines.insert(data.draw(st.integers(0, len(lines))), odd)
    text = "\n".join(lines).replace("_", mark).encode() + data.draw(st.sampled_from([b"", b"\n"]))
    delimiter = b"" if mark == " " else mark.encode()
    expected = read_slowly(text, delimiter=delimiter)
    if isinstance(expected, int):
        with pytest.raises(FormatError, match=rf"^given.txt:{expected}: "):
            scanned(text, threads, block, delimiter=delimiter)
    else:
        assert (
            list(zip(*(ends.tolist() for ends in scanned(text, threads, block, delimiter=delimiter)), strict=True))
            == expected
        )


@settings(deadline=None, max_examples=80)
@given(st.lists(FLOATS, min_size=30, max_size=60))
def test_floats_to_the_last_bit(words):
    found = scanned("".join(f"1 2 {word}\n" for word in ["0.5", *words]).encode(), columns=3)[2]
    assert bits(found.tolist()) == bits(map(float, ["0.5", *words]))


@pytest.mark.parametrize(
    "word", ["1_0", "1e", "1e+", ".", "-", "+", "e5", "0x10", "1.5.2", "infin", "nanx", "1d5", "--1", "1-"]
)
@pytest.mark.parametrize("first", ["7", "7.5"])
def test_no_numbers(word, first):
    with pytest.raises(FormatError, match=r"^given.txt:2: ") as caught:
        scanned(f"1 2 {first}\n1 2 {word}\n".encode(), columns=3)
    assert repr(word) in str(caught.value)


def test_ids_widen_only_as_far_as_needed():
    for word, kind in [(2**32 - 1, np.uint32), (2**32, np.int64), (2**63 - 1, np.int64), (-1, np.int64)]:
        for ends in ((word, 7), (7, word)):
            found = scanned(b"1 2\n" * 1000 + f"{ends[0]} {ends[1]}\n".encode(), threads=2, block=100)
            assert found[0].dtype == found[1].dtype == kind
            assert (int(found[0][-1]), int(found[1][-1])) == ends


def test_weights_widen_only_as_far_as_needed():
    for word, kind in [
        ("-2147483648", np.int32),
        ("-9223372036854775808", np.int64),
        ("2147483648", np.int64),
        ("1.0", np.float64),
        ("9" * 19, np.float64),
    ]:
        found = scanned(b"1 2 3\n" * 1000 + f"1 2 {word}\n".encode(), threads=2, block=100, columns=3)[2]
        assert found.dtype == kind
        assert found[0] == 3
        assert found[-1] == float(word)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_the_same_bytes_on_any_number_of_threads(data):
    rows = data.draw(st.lists(st.tuples(IDS, IDS, FLOATS), min_size=20, max_size=60))
    rows = [row for row in rows if all(-(2**63) <= int(end) < 2**63 for end in row[:2])]
    text = "# top\n\n".join(" ".join(row) + "\n" for row in rows).encode()
    one = [(array.dtype, array.tobytes()) for array in scanned(text, columns=3)]
    for threads in (1, 2, 3):
        for block in (1, 100, 1000):
            many = scanned(text, threads, block, columns=3)
            assert [(array.dtype, array.tobytes()) for array in many] == one


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_bad_line_of_a_big_file(threads):
    lines = [f"{k} {k + 1} {k}.5" for k in range(50_000)]
    lines[33_332] = "33332 x 1.5"
    for late in (33_333, 33_400, 40_000, 49_999):
        lines[late] = "bad"
    text = "\n".join(lines).encode()
    for block in (1 << 8, 1 << 12, 1 << 20):
        with pytest.raises(FormatError, match=r"given.txt:33343: 'x' is not an integer target id: '33332 x 1.5'"):
            scanned(text, threads, block, columns=3, first_line=11)


def test_the_first_of_two_bad_blocks():
    """The second block fails at once, while the first one is on its way to its last line."""
    start = b"1 2 3\n" * 400_000 + b"first\n"
    data = np.frombuffer(start + b"second\n" + b"1 2 3\n" * 100, np.uint8)
    for _ in range(5):
        for read in (partial(scan.edges, written=scan.Lines(columns=3)), scan.numbers):
            with mock.patch.object(scan, "_BLOCK", len(start)), pytest.raises(FormatError, match=r":400001: .*first"):
                read(data, path=PATH, threads=2)


def test_a_block_goes_on_when_a_later_one_has_failed():
    text = b"1 2\nx\n" + bytes(scan_kernels.PADDING)
    control, cuts = np.zeros(16, np.int64), np.array([0, 6], np.uint64)
    control[1] = 5  # block 4 failed after this worker claimed block 0 and before it looked
    starts, counts, state, trouble = (np.zeros(1, kind) for kind in (np.uint64, np.uint64, np.int64, np.uint64))
    data = np.frombuffer(text, np.uint8)
    ends = np.zeros((2, 2), np.uint32)
    scan_kernels.edges(0, 1, control, data, cuts, scan._kinds(b"#", b""), False, 0, False, scan._c_locale(), starts,
                       ends[0], ends[1], None, None, counts, cuts[:1].copy(), state, trouble)  # fmt: skip
    assert (int(counts[0]), int(state[0]), int(trouble[0])) == (1, scan_kernels.WRONG, 4)
    assert control[1] == 1


INTEGER_ROW = st.lists(IDS.filter(lambda word: -(2**63) <= int(word) < 2**63), max_size=6)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(BLANK, INTEGER_ROW, BLANK, st.sampled_from(["", "", "", "% 1 x"])), max_size=30),
    st.integers(1, 3), st.sampled_from([1, 30, 1 << 20]), st.booleans(), st.sampled_from(["", "x", "1.5", "9" * 19]),
)  # fmt: skip
@example([("", ["1", "2"], "", ""), (" ", [], "", "")], 1, 1, True, "")
def test_numbers_of_each_line(rows, threads, block, ends_with_newline, slip):
    lines = [note if note else before + "\t".join(row) + after for before, row, after, note in rows]
    expected = [list(map(int, row)) for _, row, _, note in rows if not note]
    if slip:
        lines.append(f"3 {slip}")
    text = ("\n".join(lines) + "\n" * (ends_with_newline and bool(lines))).encode()
    if not ends_with_newline and lines and not lines[-1]:
        expected.pop()  # a last line without anything is not there
    with mock.patch.object(scan, "_BLOCK", block):
        if slip:
            with pytest.raises(FormatError, match=rf"given.txt:{len(lines)}: .*no integer: '3 {re.escape(slip)}'"):
                scan.numbers(np.frombuffer(text, np.uint8), path=PATH, threads=threads)
            return
        values, offsets = scan.numbers(np.frombuffer(text, np.uint8), path=PATH, threads=threads)
    assert [values[a:b].tolist() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)] == expected


@pytest.mark.parametrize("columns", [2, 3])
def test_no_text_at_all(columns):
    found = scanned(b"", columns=columns)
    assert [len(array) for array in found] == [0] * columns
    values, offsets = scan.numbers(np.empty(0, np.uint8), path=PATH)
    assert (values.tolist(), offsets.tolist()) == ([], [0])


def test_messages_say_what_is_wrong():
    for line, said in [
        (b"5", "1 field where 2 belong"),
        (b"1 2 3", "3 fields where 2 belong"),
        (b"+-5 1", "'+-5' is not an integer source id"),
        ("1 \u0661".encode(), "is not an integer target id"),
        (b"9223372036854775808 1", "is not within 64 bits"),
        (b"1 -9223372036854775809", "is not within 64 bits"),
        (b"x" * 400, "..."),
    ]:
        with pytest.raises(FormatError) as caught:
            scanned(b"1 2\n" + line)
        assert said in caught.value.what
        assert caught.value.line == 2
        assert "expected: lines of `source target`" in str(caught.value)
        assert "try: correct or remove the line" in str(caught.value)
    with pytest.raises(FormatError, match="1 field where 2 belong: '1 2'"):
        scanned(b"1 2", delimiter=b",")
    with pytest.raises(FormatError, match="starts with 'e', not 'a'"):
        scanned(b"e 1 2", prefix=b"a")
