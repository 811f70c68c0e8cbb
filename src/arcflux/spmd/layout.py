"""The words of a barrier, in a module without Numba for those that only create or inspect one.

A barrier is int64[WORDS]: arrivals in the first cache line, the generation in the second. A *watched* barrier also has
a line for the alarm, which ends all waiting, and a line for each worker, which says what it waits for.
"""

from __future__ import annotations

__all__ = ["ALARM", "ARRIVED", "CROWDED", "GENERATION", "LINE", "ROWS", "WORDS", "watched_words"]

LINE = 8
WORDS = 2 * LINE
# Set in a barrier with more workers than cores: a waiting worker then yields its core to the working ones.
CROWDED = 1
GENERATION = LINE
ALARM = 2 * LINE
ROWS = 3 * LINE
# In a worker's line: one more than the generation at which it began to yield its core.
ARRIVED = LINE - 1


def watched_words(workers: int) -> int:
    """The number of words of a watched barrier for so many workers.

    Examples
    --------
    >>> watched_words(2)
    40
    """
    return ROWS + LINE * workers
