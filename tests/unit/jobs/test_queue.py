"""The queue: every accepted job has one final state, whoever is killed when, and users are served fairly."""

from __future__ import annotations

import pytest

from arcflux.errors import UsageError
from arcflux.jobs.queue import ConflictError, FullError, Queue


def _submit(queue, user="ada", task="bfs", **options):
    return queue.submit(user, "g", task, {"source": 1}, **options)[0]["id"]


def test_a_job_goes_its_way_once(tmp_path):
    queue = Queue(tmp_path / "queue")
    ident = _submit(queue)
    assert queue.find(ident)["parameters"] == {"source": 1}
    assert queue.claim()["id"] == ident
    assert queue.claim() is None
    assert queue.finish(ident, "done", rows=3, seconds=1.0, converged=True)
    assert not queue.finish(ident, "done", rows=4)  # there is one result
    assert (queue.find(ident)["rows"], queue.find(ident)["converged"]) == (3, True)
    assert queue.counts() == {"done": 1}
    assert (tmp_path / "queue").stat().st_mode & 0o077 == 0


def test_a_lost_server_loses_no_job_and_cannot_finish_what_another_runs(tmp_path):
    first = Queue(tmp_path / "queue", attempts=2)
    running, queued = _submit(first), _submit(first)
    first.claim()
    second = Queue(tmp_path / "queue", attempts=2)
    assert second.recover() == [running]
    assert {second.claim()["id"], second.claim()["id"]} == {running, queued}
    assert not first.finish(running, "done", rows=1)
    assert second.finish(running, "done", rows=2)
    third = Queue(tmp_path / "queue", attempts=2)
    third.recover()
    assert third.find(queued)["state"] == "queued"  # begun once: once more
    third.claim()
    Queue(tmp_path / "queue", attempts=2).recover()
    assert third.find(queued)["state"] == "failed"
    assert "lost 2 times" in third.find(queued)["error"]


def test_the_same_key_is_the_same_job_of_one_user(tmp_path):
    queue = Queue(tmp_path / "queue")
    first = _submit(queue, key="k")
    assert _submit(queue, key="k") == first
    assert _submit(queue, user="bob", key="k") != first
    with pytest.raises(ConflictError):
        _submit(queue, task="pagerank", key="k")


def test_the_queue_is_bounded_as_a_whole_and_for_each_user(tmp_path):
    queue = Queue(tmp_path / "queue", bound=3, bound_of_user=2)
    _submit(queue), _submit(queue, key="again")
    with pytest.raises(FullError, match="2 of them yours"):
        _submit(queue)
    assert _submit(queue, key="again")  # which was accepted before
    _submit(queue, user="bob")
    with pytest.raises(FullError, match="3 jobs are queued"):
        _submit(queue, user="eve")


def test_users_are_served_in_turns_and_priorities_are_among_ones_own(tmp_path):
    queue = Queue(tmp_path / "queue")
    many = [_submit(queue) for _ in range(4)]
    urgent = _submit(queue, priority=5)
    bobs = _submit(queue, user="bob")
    assert queue.claim()["id"] == urgent
    assert queue.claim()["id"] == bobs  # ada has one that runs
    queue.finish(urgent, "done", seconds=10.0)
    queue.finish(bobs, "done", seconds=1.0)
    later = _submit(queue, user="bob")
    assert queue.claim()["id"] == later  # served less
    assert queue.claim()["id"] == many[0]


def test_cancel_and_expiry(tmp_path):
    queue = Queue(tmp_path / "queue")
    first, second = _submit(queue), _submit(queue)
    assert queue.cancel(first) == "cancelled"
    assert queue.claim()["id"] == second
    assert queue.cancel(second) == "running"
    assert queue.find(second)["cancel"]
    assert queue.cancel("nothing") is None
    queue.finish(second, "done", rows=1)
    assert queue.expire(3600, 3600) == []
    assert queue.expire(-1, 3600) == [second]
    assert queue.find(second)["kept"] is False
    queue.expire(-1, -1)
    assert queue.find(second) is None


def test_a_job_that_was_cancelled_when_its_server_was_lost_stays_cancelled(tmp_path):
    queue = Queue(tmp_path / "queue")
    ident = _submit(queue)
    queue.claim()
    queue.cancel(ident)
    assert Queue(tmp_path / "queue").recover() == [ident]
    assert queue.find(ident)["state"] == "cancelled"


def test_a_queue_of_another_format_is_refused(tmp_path):
    queue = Queue(tmp_path / "queue")
    queue._connection.execute("PRAGMA user_version = 99")
    queue.close()
    with pytest.raises(UsageError, match="format 99"):
        Queue(tmp_path / "queue")
