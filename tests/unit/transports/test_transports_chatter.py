"""Of what the launcher says, what a rank has said already is held back; nothing else is lost, whole or in pieces."""

import pytest

from arcflux.transports.chatter import Chatter

RULE = b"-" * 74 + b"\n"
ENDS = [
    b"prterun noticed that process rank 1 with PID 22854 on node vm exited on\nsignal 9 (Killed).\n",
    b"prterun detected that one or more processes exited with non-zero status,\nthus causing the job to be terminated. "
    b"The first process to do so was:\n\n   Process name: [prterun-vm-28523@1,2]\n   Exit code:    4\n",
    b"prterun has exited due to process rank 2 with PID 0 on node vm exiting\nimproperly. There are three reasons:\n",
    b"Primary job  terminated normally, but 1 process returned\na non-zero exit code..\n",
]
ERROR = b"arcflux: error: rank 1 was killed in superstep 3\n"
UNKNOWN = RULE + b"There are not enough slots available in the system to satisfy the 3\nslots.\n" + RULE


def heard(text, size, **more):
    chatter = Chatter(**more)
    shown = b"".join(chatter.hear(text[k : k + size]) for k in range(0, len(text), size))
    return shown + chatter.end(), chatter


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("message", ENDS)
def test_what_a_rank_has_said_is_not_said_again(message, size):
    shown, chatter = heard(ERROR + RULE + message + RULE + b"after\n", size)
    assert shown == ERROR + b"after\n"
    assert chatter.reasoned
    assert message in chatter.withheld


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        UNKNOWN,
        RULE,
        RULE + b"no end",
        b"\r\x1b[2Kbar \xe2\x94\x81\xe2\x94\x81 12 supersteps",
        b"---- a table ----\n",
        b"Traceback (most recent call last):\n  boom\n",
        RULE + b"line\n" * 500 + RULE,
        b"===\n=====",
    ],
)
def test_all_else_passes(text, size):
    assert heard(text, size)[0] == text


def test_half_a_line_is_shown_at_once_unless_it_may_be_a_rule():
    chatter = Chatter()
    assert chatter.hear(b"\r\x1b[2Kbar") == b"\r\x1b[2Kbar"
    assert chatter.hear(b" goes on\n---") == b" goes on\n"
    assert chatter.hear(b"no rule") == b"---no rule"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_message_behind_a_bar_is_held_back(size):
    bar = b"\r\x1b[2Kpagerank \xe2\x94\x81\xe2\x94\x81 12 supersteps"
    shown, chatter = heard(bar + RULE + ENDS[0] + RULE + b"after\n", size)
    assert shown == bar + b"after\n"
    assert chatter.killed() == (1, 9)


def test_everything_is_shown_on_request():
    text = ERROR + RULE + ENDS[0] + RULE
    assert heard(text, 7, everything=True)[0] == text


def test_who_was_killed_is_known_when_no_rank_says_it():
    _, chatter = heard(RULE + ENDS[0] + RULE, 7)
    assert (chatter.reasoned, chatter.killed()) == (False, (1, 9))
    _, chatter = heard(b"arcflux: error: rank 0 was ended from outside, mpiexec says why, in superstep 4\n", 9)
    assert (chatter.reasoned, chatter.killed()) == (False, None)
