"""Where the words of a barrier are: who makes one, or looks at it from outside, need not import Numba.

A barrier is int64[WORDS]: arrivals in the first cache line, the generation in the second. A *watched* barrier goes on
with a line for the alarm, which ends all waiting, and a line for each worker, which says what it waits for.
"""

from __future__ import annotations

__all__ = ["ALARM", "ARRIVED", "CROWDED", "GENERATION", "LINE", "ROWS", "WORDS", "watched_words"]

LINE = 8
WORDS = 2 * LINE
# Set in a barrier whose workers are more than cores: whoever waits then gives its core to those who work.
CROWDED = 1
GENERATION = LINE
ALARM = 2 * LINE
ROWS = 3 * LINE
# In a worker's line: one more than the generation at which it began to give its core away.
ARRIVED = LINE - 1


def watched_words(workers: int) -> int:
    """How many words the watched barrier of so many workers has.

    Examples
    --------
    >>> watched_words(2)
    40
    """
    return ROWS + LINE * workers
