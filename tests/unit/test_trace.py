"""The one stream of events."""

import pytest

from arcflux import trace
from arcflux.trace import Note, Task


def test_a_listener_hears_a_task_begin_move_and_end():
    heard = []
    with trace.listen(lambda event: heard.append((event.name, event.done, event.finished))):
        with trace.task("count", total=10, unit="sheep") as task:
            task.advance(3)
            task.at(7)
            task.advance(9)
        assert (task.unit, task.total) == ("sheep", 10)
    assert heard == [
        ("count", 0, False),
        ("count", 3, False),
        ("count", 7, False),
        ("count", 10, False),
        ("count", 10, True),
    ]


def test_without_a_total_a_task_counts_on():
    with trace.task("count") as task:
        task.advance(3)
        task.advance(4)
    assert task.done == 7


def test_a_task_that_fails_is_closed_too():
    heard = []
    with trace.listen(lambda event: heard.append(event.finished)), pytest.raises(KeyError), trace.task("fail"):
        raise KeyError
    assert heard == [False, True]


def test_every_listener_hears_while_its_block_runs_and_not_longer():
    one, other = [], []
    trace.note("before")
    assert not trace.has_listeners()
    with trace.listen(one.append):
        trace.note("first")
        with trace.listen(other.append):
            assert trace.has_listeners()
            trace.note("second")
        trace.note("third")
    trace.note("after")
    assert one == [Note("first"), Note("second"), Note("third")]
    assert other == [Note("second")]
    assert not trace.has_listeners()


def test_a_listener_is_gone_after_an_error():
    with pytest.raises(KeyError), trace.listen(print):
        raise KeyError
    assert not trace.has_listeners()


def test_a_listener_may_listen_twice():
    heard = []
    with trace.listen(heard.append):
        with trace.listen(heard.append):
            trace.note("x")
        trace.note("y")
    assert [note.text for note in heard] == ["x", "x", "y"]


def test_seconds_are_counted_from_the_start():
    task = Task("count", 1)
    first = task.seconds
    assert 0 <= first <= task.seconds
    task.started -= 60
    assert task.seconds > 60


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1 << 20, "1.0 MiB"),
        (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB"), (5000 << 40, "5000.0 TiB"),
    ],
)  # fmt: skip
def test_bytes_are_said_as_people_say_them(count, said):
    assert trace.readable(count) == said
