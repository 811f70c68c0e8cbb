"""Kernels that read numbers out of text, eight bytes at a time.

The trick: a loop over digits mispredicts a branch at the end of every number. Here eight bytes are loaded as one word;
subtracting '0' and adding 0x76 to each byte sets the top bit of those that are no digits, the lowest such bit tells how
many digits there are, a shift drops the rest, and three multiplications turn eight digits into a number.

Text is cut into blocks at line ends, and at least PADDING readable bytes follow the last line, so nothing here looks
for the end of the data. A line that cannot be read stops its block: ``trouble[block]`` is its position, and the caller
describes it in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import address, claim, count_ones, load_word, trailing_zeros

__all__ = [
    "BLANK",
    "COMMENT",
    "DELIMITER",
    "FINE",
    "NEWLINE",
    "PADDING",
    "WIDER_ID",
    "WIDER_WEIGHT",
    "WRONG",
    "count_lines",
    "edges",
    "numbers",
    "plain_edges",
]

PADDING = 64
# What a byte is, in the table that the caller passes.
BLANK, NEWLINE, COMMENT, DELIMITER = 1, 2, 3, 4
# How a block ended: read, something that does not fit the output's type, or a line that is wrong.
FINE, WIDER_ID, WIDER_WEIGHT, WRONG = 0, 1, 2, 3

_LF = np.uint8(10)
_MINUS = np.uint8(45)
_PLUS = np.uint8(43)
_POINT = np.uint8(46)
_LIMIT = np.uint64(1 << 63)
# Powers of ten that a float64 holds exactly: within them, one multiplication or division is correctly rounded.
_EXACT = np.array([10.0**k for k in range(23)])

# strtod in a given locale: what the last digit of a float needs now and then. Its third argument is the "C" locale.
_strtod = types.ExternalFunction("strtod_l", types.float64(types.voidptr, types.uintp, types.uintp))


@inner
def _short(data: Any, at: Any) -> Any:
    """Up to eight digits from `at` on: their value, and how many there are."""
    word = load_word(data, at) ^ np.uint64(0x3030303030303030)
    stop = ((word + np.uint64(0x7676767676767676)) | word) & np.uint64(0x8080808080808080)
    length = trailing_zeros(stop) >> np.uint64(3)
    if length == np.uint64(0):
        return np.uint64(0), length
    word <<= (np.uint64(8) - length) << np.uint64(3)
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32), length


@inner
def _digits(data: Any, at: Any) -> Any:
    """A run of digits from `at` on: its value modulo 2**64, and its length."""
    value, length = _short(data, at)
    if length == np.uint64(8):
        digit = np.uint64(data[at + length]) - np.uint64(48)
        while digit < np.uint64(10):
            value = value * np.uint64(10) + digit
            length += np.uint64(1)
            digit = np.uint64(data[at + length]) - np.uint64(48)
    return value, length


@inner
def _fits(data: Any, at: Any, length: Any, value: Any) -> Any:
    """Whether a run of digits is a number up to 2**63, so that `value` is exact."""
    while length > np.uint64(1) and data[at] == np.uint8(48):
        at += np.uint64(1)
        length -= np.uint64(1)
    return length < np.uint64(19) or (length == np.uint64(19) and value <= _LIMIT)


@inner
def _integer(data: Any, at: Any) -> Any:
    """An integer with an optional sign: magnitude, negative, the position behind it, and whether it is one."""
    sign = data[at]
    negative = sign == _MINUS
    if negative or sign == _PLUS:
        at += np.uint64(1)
    value, length = _digits(data, at)
    fine = length > np.uint64(0)
    if length > np.uint64(18):
        fine = _fits(data, at, length, value) and (value < _LIMIT or negative)
    return value, negative, at + length, fine


@inner
def _word(data: Any, at: Any, text: Any) -> Any:
    """Whether the lower-case `text` is at `at`, in any case."""
    for i in range(np.uint64(text.size)):  # noqa: SIM110 - kernels have no generators
        if data[at + i] | np.uint8(32) != text[i]:
            return False
    return True


_INF = np.frombuffer(b"inf", np.uint8)
_INITY = np.frombuffer(b"inity", np.uint8)
_NAN = np.frombuffer(b"nan", np.uint8)


@inner
def _float(data: Any, at: Any, locale: Any) -> Any:
    """A decimal number, ``inf`` or ``nan``: value, the position behind it, and whether it is one."""
    start = at
    sign = data[at]
    if sign in (_MINUS, _PLUS):
        at += np.uint64(1)
    whole, length = _digits(data, at)
    first = at
    at += length
    digits = length
    mantissa = whole
    exponent = np.int64(0)
    if data[at] == _POINT:
        at += np.uint64(1)
        part, length = _digits(data, at)
        at += length
        exponent = -np.int64(length)
        digits += length
        if digits < np.uint64(19):
            for _ in range(length):
                mantissa *= np.uint64(10)
            mantissa += part
    if digits == np.uint64(0):
        return _special(data, first, sign == _MINUS)
    if data[at] | np.uint8(32) == np.uint8(101):
        at += np.uint64(1)
        turn = data[at]
        if turn in (_MINUS, _PLUS):
            at += np.uint64(1)
        power, length = _digits(data, at)
        if length == np.uint64(0):
            return 0.0, at, False
        if length > np.uint64(18) or power > np.uint64(9999):
            power = np.uint64(9999)  # far out of the exact range; strtod reads the digits themselves
        exponent += -np.int64(power) if turn == _MINUS else np.int64(power)
        at += length
    if digits < np.uint64(19) and mantissa <= np.uint64(1 << 53) and -22 <= exponent <= 22:
        value = np.float64(mantissa)
        value = value * _EXACT[exponent] if exponent >= 0 else value / _EXACT[-exponent]
        return (-value if sign == _MINUS else value), at, True
    return _strtod(address(data, start), np.uintp(0), np.uintp(locale)), at, True


@inner
def _special(data: Any, at: Any, negative: Any) -> Any:
    """``inf``, ``infinity`` or ``nan`` after an optional sign."""
    if _word(data, at, _NAN):
        return np.nan, at + np.uint64(3), True
    if _word(data, at, _INF):
        at += np.uint64(3)
        if _word(data, at, _INITY):
            at += np.uint64(5)
        return (-np.inf if negative else np.inf), at, True
    return 0.0, at, False


@inner
def _skip_line(data: Any, at: Any) -> Any:
    """The position of the next line's first byte."""
    while data[at] != _LF:
        at += np.uint64(1)
    return at + np.uint64(1)


@inner
def _skip_blanks(data: Any, at: Any, kinds: Any) -> Any:
    while kinds[data[at]] == BLANK:
        at += np.uint64(1)
    return at


@inner
def _next_field(data: Any, at: Any, kinds: Any, delimited: Any) -> Any:
    """The position of the next field, and whether one may start there: behind one delimiter, or behind blanks."""
    start = at
    at = _skip_blanks(data, at, kinds)
    if not delimited:
        return at, at > start
    if kinds[data[at]] != DELIMITER:
        return at, False
    return _skip_blanks(data, at + np.uint64(1), kinds), True


@kernel
def count_lines(worker: Any, workers: Any, control: Any, data: Any, cuts: Any, lines: Any) -> None:
    """``lines[block]``: line feeds from cuts[block] to cuts[block + 1]."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    while True:
        block = claim(control)
        if block >= cuts.size - 1:
            break
        at, end = cuts[block], cuts[block + 1]
        found = np.uint64(0)
        while at + np.uint64(8) <= end:
            word = load_word(data, at) ^ np.uint64(0x0A0A0A0A0A0A0A0A)
            found += count_ones(~(((word & low) + low) | word | low))
            at += np.uint64(8)
        while at < end:
            found += np.uint64(data[at] == _LF)
            at += np.uint64(1)
        lines[block] = found


@inner
def _store_id(out: Any, place: Any, value: Any, negative: Any) -> Any:
    """Write an id; False when the output's type cannot hold it."""
    if out.itemsize == 4:
        if negative or value > np.uint64(0xFFFFFFFF):
            return False
        out[place] = value
    else:
        out[place] = -np.int64(value) if negative else np.int64(value)
    return True


@inner
def _store_whole(data: Any, at: Any, out: Any, place: Any) -> Any:
    """Read and write an integer weight: how it went, and the position behind it."""
    value, negative, behind, fine = _integer(data, at)
    after = data[behind]
    limit = np.uint64(0x7FFFFFFF if out.itemsize == 4 else 0x7FFFFFFFFFFFFFFF) + np.uint64(negative)
    if not fine or value > limit or after == _POINT or after | np.uint8(32) == np.uint8(101):
        return WIDER_WEIGHT, behind
    out[place] = -np.int64(value) if negative else np.int64(value)
    return FINE, behind


@inner
def _plain_line(data: Any, at: Any, separator: Any, source: Any, target: Any, place: Any) -> Any:
    """Read the line `digits separator digits` with short numbers: where the next line is, or `at` if it is not so."""
    one = np.uint64(1)
    first, length = _short(data, at)
    middle = at + length
    second, more = _short(data, middle + one)
    end = middle + one + more
    if length == np.uint64(0) or more == np.uint64(0) or data[middle] != separator or data[end] != _LF:
        return at
    source[place] = first
    target[place] = second
    return end + one


@kernel
def plain_edges(
    worker: Any, workers: Any, control: Any, data: Any, cuts: Any, separator: Any, starts: Any, source: Any,
    target: Any, counts: Any, reached: Any,
) -> None:  # fmt: skip
    """Read plain lines from the front of each block, up to the first that is not plain: at reached[block].

    Where a line ends is known only when its numbers are read, so a core would wait for one line before it can start the
    next. Two blocks are read in turn, and the core works on both at once.
    """
    one = np.uint64(1)
    blocks = np.uint64(cuts.size - 1)
    while True:
        pair = np.uint64(claim(control))
        if pair >= (blocks + one) >> one:
            break
        left = pair << one
        right = min(left + one, blocks - one)
        a, a_end, i = cuts[left], cuts[left + one], starts[left]
        b, b_end, j = cuts[right], cuts[right + one], starts[right]
        if right == left:
            b = b_end
        while a < a_end and b < b_end:
            a_next = _plain_line(data, a, separator, source, target, i)
            b_next = _plain_line(data, b, separator, source, target, j)
            i += np.uint64(a_next != a)
            j += np.uint64(b_next != b)
            stuck = a_next == a or b_next == b
            a, b = a_next, b_next
            if stuck:
                break
        for side in range(2):
            at, end, place = (a, a_end, i) if side == 0 else (b, b_end, j)
            following = at
            while at < end:
                following = _plain_line(data, at, separator, source, target, place)
                if following == at:
                    break
                at = following
                place += one
            if side == 0:
                reached[left], counts[left] = at, place - starts[left]
            elif right != left:
                reached[right], counts[right] = at, place - starts[right]


@kernel
def edges(
    worker: Any, workers: Any, control: Any, data: Any, cuts: Any, kinds: Any, delimited: Any, prefix: Any,
    loose: Any, locale: Any, starts: Any, source: Any, target: Any, whole: Any, decimal: Any, counts: Any,
    reached: Any, state: Any, trouble: Any,
) -> None:  # fmt: skip
    """Read ``source target [weight]`` lines of each block to starts[block] on; counts[block] is how many.

    Of each block counts[block] lines are read already, up to reached[block].

    `prefix`: a byte that every line starts with, or 0. `loose`: ignore what follows on a line. Weights go to `whole`
    (int32 or int64) or `decimal` (float64); the other is None, or both are.
    """
    one = np.uint64(1)
    while True:
        block = claim(control)
        if block >= cuts.size - 1:
            break
        if control[1] and block >= control[1]:
            break  # a block before this one has failed
        at, end = reached[block], cuts[block + 1]
        place = starts[block] + counts[block]
        status = FINE
        begin = at
        while at < end:
            begin = at
            at = _skip_blanks(data, at, kinds)
            kind = kinds[data[at]]
            if kind == NEWLINE:
                at += one
                continue
            if kind == COMMENT:
                at = _skip_line(data, at)
                continue
            if prefix:
                if data[at] != prefix:
                    status = WRONG
                    break
                at = _skip_blanks(data, at + one, kinds)
            value, negative, at, fine = _integer(data, at)
            at, more = _next_field(data, at, kinds, delimited)
            if not (fine and more):
                status = WRONG
                break
            wide = not _store_id(source, place, value, negative)
            value, negative, at, fine = _integer(data, at)
            if not fine:
                status = WRONG
                break
            if wide or not _store_id(target, place, value, negative):
                status = WIDER_ID
                break
            if whole is not None or decimal is not None:
                at, more = _next_field(data, at, kinds, delimited)
                if not more:
                    status = WRONG
                    break
                if whole is not None:
                    status, at = _store_whole(data, at, whole, place)
                if decimal is not None:
                    number, at, fine = _float(data, at, locale)
                    decimal[place] = number
                    status = FINE if fine else WRONG
                if status != FINE:
                    break
            behind = at
            at = _skip_blanks(data, at, kinds)
            kind = kinds[data[at]]
            if kind == NEWLINE:
                at += one
            elif (at > behind and (loose or kind == COMMENT)) or (loose and kind == DELIMITER):
                at = _skip_line(data, at)
            else:
                status = WRONG
                break
            place += one
        counts[block] = place - starts[block]
        state[block] = status
        trouble[block] = begin
        if status != FINE:
            control[1] = block + 1  # later blocks need not start; earlier ones go on, for theirs is the first bad line


@kernel
def numbers(
    worker: Any, workers: Any, control: Any, data: Any, cuts: Any, kinds: Any, writing: Any, starts: Any,
    line_starts: Any, values: Any, ends: Any, counts: Any, line_counts: Any, trouble: Any,
) -> None:  # fmt: skip
    """Read every integer of every line. Without `writing` only count them, and the lines that are no comments.

    values from starts[block] on; ends[line], from line_starts[block] on, is where the line's values end.
    """
    one = np.uint64(1)
    while True:
        block = claim(control)
        if block >= cuts.size - 1:
            break
        at, end = cuts[block], cuts[block + 1]
        place, line = starts[block], line_starts[block]
        while at < end:
            begin = at
            at = _skip_blanks(data, at, kinds)
            if kinds[data[at]] == COMMENT:
                at = _skip_line(data, at)
                continue
            while kinds[data[at]] != NEWLINE:
                value, negative, at, fine = _integer(data, at)
                if not fine or (kinds[data[at]] != BLANK and kinds[data[at]] != NEWLINE):
                    trouble[block] = begin
                    at = end
                    break
                if writing:
                    values[place] = -np.int64(value) if negative else np.int64(value)
                place += one
                at = _skip_blanks(data, at, kinds)
            if at < end:
                at += one
                if writing:
                    ends[line] = place
                line += one
        counts[block] = place - starts[block]
        line_counts[block] = line - line_starts[block]
