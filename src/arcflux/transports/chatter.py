"""What ranks and their launcher say on stderr, without the launcher's account of what a rank has said already.

Open MPI and MPICH frame what they say by rules of dashes or equals signs. Of these messages, those about the end of a
process are held back: a rank has named the one that was lost, and in which superstep. When none could, they are shown
after all; whatever else the launcher or a rank says passes.
"""

from __future__ import annotations

import re

__all__ = ["Chatter"]

# A rule, maybe behind a bar of progress that has no end of line yet; and what may become one.
_RULE = re.compile(rb"([-=])\1{39,}\s*\Z")
_MAYBE_RULE = re.compile(rb"(-+|=+)\Z")
_LONGEST_LINE = 4096
# A longer message is not the launcher's: it is let through, line by line.
_MOST_LINES = 60
_ABOUT_THE_END = re.compile(
    rb"noticed that process rank \d+ .*exited on|has exited due to process rank|"
    rb"one or more processes exited with non-zero status|Primary job +terminated normally|"
    rb"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
)
_KILLED = re.compile(rb"process rank (\d+) .*exited on signal (\d+)")
_REASON = re.compile(rb"arcflux: error:(?!.*mpiexec says why) *(.*)|Traceback \(most recent call last\)")


class Chatter:
    """The stream of what is said: bytes in, bytes to show out.

    Examples
    --------
    >>> rule = b"-" * 74 + b"\\n"
    >>> said = Chatter()
    >>> said.hear(b"arcflux: error: rank 1 was killed in superstep 3\\n" + rule)
    b'arcflux: error: rank 1 was killed in superstep 3\\n'
    >>> said.hear(b"prterun noticed that process rank 1 with PID 7 on node a exited on\\nsignal 9 (Killed).\\n" + rule)
    b''
    >>> said.reasoned, said.killed()
    (True, (1, 9))
    """

    def __init__(self, everything: bool = False) -> None:
        """`everything`: hold nothing back."""
        self.reasoned, self.reason = False, ""
        self.withheld = b""
        self._everything = everything
        self._begun = b""
        self._shown = b""
        self._framed: list[bytes] = []

    def hear(self, chunk: bytes) -> bytes:
        """What to show now that this was said, too. Half a line is shown at once, unless it may begin a message."""
        *lines, rest = (self._begun + chunk).split(b"\n")
        shown = b"".join(self._line(line + b"\n") for line in lines)
        self._begun = rest
        if not rest or self._framed:
            return shown
        maybe = _MAYBE_RULE.search(rest)
        end = maybe.start() if maybe else len(rest)
        self._begun, self._shown = rest[end:], (self._shown + rest[:end])[-_LONGEST_LINE:]
        return shown + rest[:end]

    def end(self) -> bytes:
        """What is still to be shown, when nothing more will be said."""
        shown, self._framed = b"".join(self._framed) + self._begun, []
        self._begun = b""
        return shown

    def killed(self) -> tuple[int, int] | None:
        """Which rank the launcher says was killed, and by which signal."""
        found = _KILLED.search(b" ".join(self.withheld.split()))
        return (int(found[1]), int(found[2])) if found else None

    def _line(self, line: bytes) -> bytes:
        found = _REASON.search(self._shown + line)
        self._shown = b""
        if found is not None and not self.reasoned:
            self.reasoned, self.reason = True, (found[1] or b"").decode("utf-8", "replace").strip()
        rule = _RULE.search(line)
        if self._everything or (rule is None and not self._framed):
            return line
        if rule is not None and not self._framed:
            self._framed = [line[rule.start() :]]
            return line[: rule.start()]
        self._framed.append(line)
        if rule is None and len(self._framed) < _MOST_LINES:
            return b""
        message, self._framed = b"".join(self._framed), []
        if rule is None or not _ABOUT_THE_END.search(b" ".join(message.split())):
            return message
        self.withheld += message
        return b""
