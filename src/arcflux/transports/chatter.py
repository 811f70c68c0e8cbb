"""What ranks and their launcher print on stderr, without the launcher's repetition of what a rank has reported already.

Open MPI and MPICH frame their messages by rules of dashes or equals signs. Framed messages about the end of a process
are withheld: a rank has named the lost one, and in which superstep. If none could, they are shown after all; all other
output passes.
"""

from __future__ import annotations

import re

__all__ = ["Chatter"]

# A rule, perhaps after a progress bar without an end of line; and what may become one.
_RULE = re.compile(rb"([-=])\1{39,}\s*\Z")
_MAYBE_RULE = re.compile(rb"(-+|=+)\Z")
_LONGEST_LINE = 4096
# A longer message is not the launcher's: it is passed on, line by line.
_MOST_LINES = 60
_ABOUT_THE_END = re.compile(
    rb"noticed that process rank \d+ .*exited on|has exited due to process rank|"
    rb"one or more processes exited with non-zero status|Primary job +terminated normally|"
    rb"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
)
_KILLED = re.compile(rb"process rank (\d+) .*exited on signal (\d+)")
_REASON = re.compile(rb"arcflux: error:(?!.*mpiexec says why) *(.*)|Traceback \(most recent call last\)")


class Chatter:
    """A filter of the output stream: bytes in, bytes to show out.

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
        """`everything`: withhold nothing."""
        self.reasoned, self.reason = False, ""
        self.withheld = b""
        self._everything = everything
        self._begun = b""
        self._shown = b""
        self._framed: list[bytes] = []

    def hear(self, chunk: bytes) -> bytes:
        """Process a chunk of output; returns what to show. Half a line is shown at once, unless it may be framed."""
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
        """The rest to show at the end of the output."""
        shown, self._framed = b"".join(self._framed) + self._begun, []
        self._begun = b""
        return shown

    def killed(self) -> tuple[int, int] | None:
        """The rank that was killed and its signal, as reported by the launcher."""
        match = _KILLED.search(b" ".join(self.withheld.split()))
        return (int(match[1]), int(match[2])) if match else None

    def _line(self, line: bytes) -> bytes:
        match = _REASON.search(self._shown + line)
        self._shown = b""
        if match is not None and not self.reasoned:
            self.reasoned, self.reason = True, (match[1] or b"").decode("utf-8", "replace").strip()
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
