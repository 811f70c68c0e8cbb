"""Ranks that talk over sockets: what every transport does, and how a run ends when one of them fails."""

import socket
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from transports_conformance import CASES

from arcflux.errors import ProgramError, RankError, UsageError
from arcflux.transports import handshake
from arcflux.transports.relay import Relay
from arcflux.transports.rendezvous import Rendezvous
from arcflux.transports.tcp import join, run_tcp


@pytest.mark.parametrize(("size", "ranks_per_node"), [(1, None), (2, None), (3, 1), (5, 2)])
def test_conformance(size, ranks_per_node):
    def work(t):
        for case in CASES:
            case(t)
            t.barrier()

    run_tcp(size, work, ranks_per_node=ranks_per_node)


@pytest.mark.parametrize("ranks_per_node", [None, 2, 1])
@pytest.mark.parametrize("how", ["barrier", "collect"])
def test_a_rank_that_throws_ends_all_and_its_own_error_arrives(how, ranks_per_node):
    seen = []

    def work(t):
        t.superstep = 5
        try:
            t.barrier()
            if t.rank == 2:
                raise ProgramError("no such field", remedy="another")
            t.barrier() if how == "barrier" else t.collect(2)
        except RankError as error:
            seen.append((error.rank, error.superstep, "no such field" in error.trace))
            raise

    before = threading.active_count()
    with pytest.raises(ProgramError) as caught:
        run_tcp(4, work, ranks_per_node=ranks_per_node)
    assert caught.value.__notes__ == ["on rank 2, in superstep 5"]
    assert seen == [(2, 5, True)] * 3
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


@pytest.mark.parametrize("ranks_per_node", [None, 1])
def test_a_rank_whose_connections_close_was_killed(ranks_per_node):
    """As the system closes them when its process is killed."""

    def work(t):
        t.superstep = 3
        if t.rank == 1:
            t.barrier()
            t.abandon()
            return "gone"
        with pytest.raises(RankError, match="rank 1 was killed in superstep 3"):
            any(t.barrier() for _ in range(2))  # it may be told in the first
        return "told"

    with Rendezvous(3, ranks_per_node=ranks_per_node) as meeting:
        answers = entered(meeting, 3, work)
        assert answers == ["told", "gone", "told"]
        assert meeting.failure[:3] == (2, 1, 3)


def entered(meeting, size, work, attempt=0, close=False):
    """What the work gave on ranks of a meeting; each of them may end as it likes."""
    answers = [None] * size

    def live(rank):
        try:
            transport = join(meeting.address, meeting.token, rank, attempt=attempt + rank, meeting=20)
            try:
                answers[rank] = work(transport)
                if close:
                    transport.close()
            finally:
                transport.abandon()
        except BaseException as error:
            answers[rank] = error

    threads = [threading.Thread(target=live, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def test_ranks_know_when_the_rendezvous_is_gone():
    def work(t):
        if t.rank == 0:
            t.barrier()
            meeting.close()
        with pytest.raises(RankError, match="has lost the process that looks after the ranks"):
            waited(t)
        return True

    def waited(t):
        if t.rank:
            t.barrier()
        t.collect((t.rank + 1) % 2, tag=9)

    meeting = Rendezvous(2)
    assert entered(meeting, 2, work) == [True, True]


def test_all_ranks_may_come_again_and_stragglers_may_not():
    def work(t):
        return int(t.reduce(np.array([t.rank]), "sum")[0])

    def fails(t):
        with suppress(RankError):
            t.barrier()
            if t.rank == 0:
                t.abandon()
            else:
                t.collect(0, tag=3)

    with Rendezvous(2) as meeting:
        assert entered(meeting, 2, fails, attempt=10) == [None, None]
        assert meeting.failure is not None
        late = []
        assert entered(meeting, 2, work, attempt=20, close=True) == [1, 1]
        assert (meeting.generation, meeting.failure) == (1, None)
        with pytest.raises(RankError, match="refused"):
            late.append(join(meeting.address, meeting.token, 1, attempt=11, meeting=5))


def test_a_rank_that_waits_for_one_that_has_ended_is_told():
    def work(t):
        t.superstep = 1
        t.barrier()
        if t.rank != 1:
            t.collect(1, tag=5)

    with pytest.raises(RankError, match="waits for rank 1, which has ended its work, in superstep 1"):
        run_tcp(2, work, ranks_per_node=1)


def test_ranks_that_wait_for_each_other_are_told(monkeypatch):
    monkeypatch.setenv("ARCFLUX_HANG_SECONDS", "1")
    with pytest.raises(RankError, match="waits for ever"):
        run_tcp(2, lambda t: t.collect(1 - t.rank, tag=5), ranks_per_node=1)


def test_who_does_not_know_the_token_is_not_let_in():
    with Rendezvous(2) as meeting:
        with pytest.raises(RankError, match="cannot be reached"):
            join(meeting.address, b"another token", 0, meeting=2)
        with socket.create_connection(meeting.address, timeout=5) as noise, suppress(ConnectionResetError):
            noise.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert noise.recv(100) == b""
        assert entered(meeting, 2, lambda t: t.size, close=True) == [2, 2]


def test_a_listener_that_does_not_know_the_token_learns_nothing():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        heard = []

        def answer():
            connection, _ = listening.accept()
            with connection:
                heard.append(handshake.exactly(connection, 24))
                connection.sendall(bytes(48))
                heard.append(connection.recv(100))

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RankError, match="does not know the token"):
            handshake.dial([listening.getsockname()], b"secret", 5, "somebody")
        thread.join(10)
    assert b"secret" not in heard[0]
    assert heard[1] == b""


def test_ranks_that_do_not_come_are_not_waited_for_for_ever():
    with Rendezvous(2) as meeting, pytest.raises(RankError, match="not all have come"):
        join(meeting.address, meeting.token, 0, meeting=0.3)


def test_senseless_arguments_are_refused():
    with pytest.raises(UsageError, match="size is 0"):
        run_tcp(0, lambda t: None)
    with pytest.raises(UsageError, match="ranks_per_node is 0"):
        run_tcp(2, lambda t: None, ranks_per_node=0)


def test_conformance_through_a_relay():
    def work(t):
        for case in CASES:
            case(t)
            t.barrier()
        return t.sent

    with Rendezvous(3, ranks_per_node=1) as meeting:
        relay = Relay(meeting.token)
        answers = [None] * 3

        def live(rank):
            transport = join(meeting.address, meeting.token, rank, relay=relay.address)
            answers[rank] = work(transport)
            transport.close()

        threads = [threading.Thread(target=live, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        relay.close()
    assert all(answers)
    assert relay.messages > 1000


def test_a_rank_that_follows_another_of_its_node_is_not_taken_for_the_one_that_threw():
    seen = []

    def work(t):
        t.superstep = 5
        try:
            t.barrier()
            if t.rank == 2:
                say = t.office.control.say

                def late(said):
                    if "alarm" in said:
                        time.sleep(0.5)  # the other rank of the node has seen the alarm, and is gone
                    say(said)

                t.office.control.say = late
                raise ProgramError("no such field", remedy="another")
            t.barrier()
        except RankError as error:
            seen.append((error.rank, error.superstep, "no such field" in error.trace))
            raise

    with pytest.raises(ProgramError):
        run_tcp(4, work, ranks_per_node=2)
    assert seen == [(2, 5, True)] * 3


def test_ranks_of_a_host_talk_by_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """And by loopback where these do not reach each other."""

    def work(transport):
        assert transport.reduce(np.array([transport.rank + 1]), "sum").tolist() == [6]
        return {line.connection.family for line in transport.office.lines.values()}

    assert run_tcp(3, work, ranks_per_node=1) == [{socket.AF_UNIX}] * 3
    monkeypatch.setattr("arcflux.transports.handshake.place_of", lambda _: b"\0nobody listens here".hex())
    assert run_tcp(3, work, ranks_per_node=1) == [{socket.AF_INET}] * 3
