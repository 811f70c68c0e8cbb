"""Algorithms 1 and 2, mended, under random interleavings: every block goes through once, and no chunk has two users."""

import random

import pytest

from arcflux.errors import UsageError
from arcflux.plug.control import (
    ORDERS,
    AgentControl,
    Compute,
    DaemonControl,
    Download,
    End,
    Message,
    RuntimeControl,
    Send,
    Upload,
)


def iterate(blocks, choose):
    """One iteration of a pipeline whose threads and messages take any time: `choose` picks what happens next."""
    agent, daemon = AgentControl(), DaemonControl()
    chunks, next_block, users = [None] * 3, 0, {}
    to_daemon, to_agent = [], []
    log = {"downloaded": [], "computed": [], "uploaded": []}
    ended = False

    def take(chunk, who):
        assert chunk not in users, f"{who} and {users.get(chunk)} both use chunk {chunk}"
        users[chunk] = who

    def at_agent(instructions):
        nonlocal ended
        for one in instructions:
            if isinstance(one, Send):
                to_daemon.append(one.message)
            elif isinstance(one, Download):
                take(one.chunk, "download")
            elif isinstance(one, Upload):
                take(one.chunk, "upload")
            elif isinstance(one, End):
                ended = True

    def at_daemon(instructions):
        for one in instructions:
            if isinstance(one, Send):
                to_agent.append(one.message)
            elif isinstance(one, Compute):
                take(one.chunk, "compute")

    at_agent(agent.begin())
    for _ in range(100 * blocks + 100):
        if ended:
            assert not users
            return log
        busy = sorted(users)
        ready = [("user", chunk) for chunk in busy]
        ready += [("daemon", None)] if to_daemon and "compute" not in users.values() else []
        ready += [("agent", None)] if to_agent else []
        assert ready, "nobody can go on"
        what, chunk = choose(ready)
        if what == "daemon":
            assert to_daemon.pop(0) is Message.EXCHANGE_FINISHED
            at_daemon(daemon.exchange_finished(chunks[daemon.chunks.new] is not None))
        elif what == "agent":
            at_agent(agent.receive(to_agent.pop(0)))
        elif users[chunk] == "download":
            del users[chunk]
            filled = next_block < blocks
            chunks[chunk] = next_block if filled else None
            log["downloaded"] += [next_block] if filled else []
            next_block += filled
            at_agent(agent.download_finished(filled))
        elif users[chunk] == "compute":
            del users[chunk]
            log["computed"].append(chunks[chunk])
            at_daemon(daemon.compute_finished())
        else:
            del users[chunk]
            log["uploaded"].append(chunks[chunk])
            chunks[chunk] = None
            at_agent(agent.upload_finished())
    raise AssertionError("it does not end")


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 4, 7])
def test_every_block_goes_through_once_in_its_order_however_slow_anybody_is(blocks):
    for seed in range(300):
        log = iterate(blocks, random.Random(seed * 97 + blocks).choice)
        assert log == {stage: list(range(blocks)) for stage in ("downloaded", "computed", "uploaded")}


@pytest.mark.parametrize("slow", ["download", "compute", "upload"])
def test_one_that_is_always_last_is_waited_for(slow):
    names = {"download": 0, "compute": 1, "upload": 2}
    log = iterate(5, lambda ready: ready[-1] if names[slow] else ready[0])
    assert log["uploaded"] == list(range(5))


def test_stages_overlap():
    """While the daemon computes, upload and download are under way: three users at once."""
    most = 0

    def choose(ready):
        nonlocal most
        most = max(most, sum(what == "user" for what, _ in ready))
        other = [one for one in ready if one[0] != "user"]
        return (other or ready)[0]

    iterate(6, choose)
    assert most == 3


def test_a_daemon_refuses_an_exchange_while_it_computes():
    daemon = DaemonControl()
    daemon.exchange_finished(filled=True)
    with pytest.raises(UsageError, match="ExchangeFinished came while a block was computed"):
        daemon.exchange_finished(filled=True)


def test_the_upper_system_decides_the_order_and_keeps_to_it():
    for order, turns in ORDERS.items():
        control = RuntimeControl(order)
        for operation in ("connect", "transfer", "update", *(turns or ("gen", "apply", "gen", "merge", "apply")) * 3):
            control.call(operation)
        assert control.iterations == (3 if turns else 6)
    wrong = RuntimeControl("gas")
    with pytest.raises(UsageError, match="without a daemon"):
        wrong.call("update")
    wrong.call("connect")
    with pytest.raises(UsageError, match="without a graph"):
        wrong.call("merge")
    wrong.call("transfer")
    with pytest.raises(UsageError, match=r"requestGen\(\) is called out of turn"):
        wrong.call("gen")
    with pytest.raises(UsageError, match="twice"):
        wrong.call("connect")
    wrong.call("disconnect")
    with pytest.raises(UsageError, match="order is 'pregel'"):
        RuntimeControl("pregel")


def test_random_calls_pass_only_in_the_order():
    for seed in range(50):
        draw = random.Random(seed)
        control, turns, place = RuntimeControl("bsp"), ORDERS["bsp"], 0
        control.call("connect")
        control.call("transfer")
        for _ in range(60):
            operation = draw.choice(("gen", "merge", "apply", "update"))
            allowed = operation == "update" or operation == turns[place]
            if allowed:
                control.call(operation)
                place = place if operation == "update" else (place + 1) % 3
            else:
                with pytest.raises(UsageError):
                    control.call(operation)
