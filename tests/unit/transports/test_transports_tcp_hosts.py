"""Ranks over sockets as processes: started on this machine, or by what stands in for ssh."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from transports_mpiexec import RANKS, processes_with

from arcflux.errors import UsageError
from arcflux.transports.hosts import named_hosts

SSH = """#!/bin/sh
echo "$1" >> {log}
shift
exec sh -c "$*"
"""


def started(arguments, hosts, *, ranks_per_node=None, seconds=120, **environment):
    """The exit code, what was printed, and what was said, of ranks that have all ended."""
    text = (
        "import sys; from arcflux.transports.hosts import launch_on; "
        f"sys.exit(launch_on({hosts!r}, {arguments!r}, ranks_per_node={ranks_per_node!r}))"
    )
    mark = os.urandom(8).hex()
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=seconds, check=False,
        env={**os.environ, "PYTHONPATH": paths, "ARCFLUX_TEST_MARK": mark, **environment},
    )  # fmt: skip
    left = [line for _, line in processes_with(mark)]
    assert not left, left
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("size", "ranks_per_node", "nodes"), [(2, None, 1), (4, 2, 2)])
def test_conformance(size, ranks_per_node, nodes):
    code, out, err = started([RANKS, "conform", "0"], ["localhost"] * size, ranks_per_node=ranks_per_node)
    assert (code, f"well: {size} ranks, {nodes} nodes" in out) == (0, True), err


@pytest.mark.parametrize("ranks_per_node", [None, 1])
def test_a_killed_rank_is_named(ranks_per_node):
    code, out, err = started([RANKS, "kill", "0"], ["localhost"] * 3, ranks_per_node=ranks_per_node)
    assert "rank 2 was killed in superstep 3" in err, err
    assert code
    assert "well" not in out


def test_an_error_of_one_rank_arrives_with_its_traceback():
    code, out, err = started([RANKS, "throw", "0"], ["localhost"] * 3, ranks_per_node=2)
    assert 'raise ZeroDivisionError("of the user\'s")' in err
    assert err.count("Traceback") == 1
    assert code == 1
    assert "well" not in out


def test_a_rank_that_is_stopped_is_named():
    code, _, err = started([RANKS, "stop", "0"], ["localhost"] * 3, ranks_per_node=1, ARCFLUX_HANG_SECONDS="3")
    assert "rank 2 hangs, neither computes nor answers, in superstep 3" in err
    assert code == 9


@pytest.mark.parametrize(("number", "how"), [("SIGKILL", "was killed"), ("SIGSTOP", "hangs")])
def test_a_rank_that_is_lost_before_it_meets_the_others_is_named(number, how):
    """The first rank was asked whether it lives, and then nobody else: the run never ended."""
    text = (
        f"import os, signal, time; os.environ['ARCFLUX_RANK'] == '1' and os.kill(os.getpid(), signal.{number}); "
        "time.sleep(100)"
    )
    code, _, err = started(["-c", text], ["localhost"] * 3, ARCFLUX_HANG_SECONDS="1", seconds=60)
    assert (code, err.count("rank 1")) == (9, 1), err
    assert how in err
    assert "before the first superstep" in err


def test_a_rank_that_is_killed_while_others_wait_for_it_is_named_once():
    """By the process that has started the ranks: to those that wait, the run is over before it began."""
    text = (
        "import os, signal, sys; from arcflux.cli.entry import main; "
        "os.environ['ARCFLUX_RANK'] == '1' and os.kill(os.getpid(), signal.SIGKILL); "
        "main(['run', 'bfs', 'kron:6', '--source', '0'])"
    )
    code, out, err = started(["-c", text], ["localhost"] * 3, seconds=100)
    assert (code, err.count("arcflux: error:"), err.count("rank 1 was killed before the first superstep")) == (9, 1, 1)
    assert "Traceback" not in err
    assert "ran in" not in out


def test_a_rank_that_is_killed_when_it_has_ended_its_work_is_named():
    """The others have ended before it; the exit code alone said something."""
    text = (
        "import os, signal, time; from arcflux.transports import current; t = current(); t.barrier(); t.close(); "
        "os.environ['ARCFLUX_RANK'] == '1' and (time.sleep(5), os.kill(os.getpid(), signal.SIGKILL))"
    )
    code, _, err = started(["-c", text], ["localhost"] * 3, seconds=60)
    assert (code, err.count("arcflux: error: rank 1 was killed")) == (9, 1), err


def test_the_command_line(tmp_path):
    """With one host that is this machine, and others that a stand-in for ssh starts, without the token."""
    ssh, log = tmp_path / "ssh", tmp_path / "log"
    ssh.write_text(SSH.format(log=log))
    ssh.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ARCFLUX_SSH": str(ssh)}
    line = [sys.executable, "-m", "arcflux", "run", "bfs", "kron:8", "--source", "0", "--json"]
    found = {}
    for name, more in {
        "alone": [], "near": ["--hosts", "localhost", "--workers", "2"],
        "far": ["--hosts", "localhost,elsewhere", "--ranks-per-node", "1", "--validate"],
    }.items():  # fmt: skip
        out = tmp_path / f"{name}.csv"
        done = subprocess.run(
            [*line, *more, "--out", str(out)], env=environment, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stderr
        found[name] = out.read_text(), json.loads(done.stdout)
    assert found["alone"][0] == found["near"][0] == found["far"][0]
    assert log.read_text() == "elsewhere\n"
    assert "tcp" in json.dumps(found["far"][1])


def test_ranks_end_with_their_launcher():
    mark = os.urandom(8).hex()
    text = f"from arcflux.transports.hosts import launch_on; launch_on(['localhost'] * 3, [{RANKS!r}, 'sleep', '0'])"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    launcher = subprocess.Popen(
        [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": paths, "ARCFLUX_TEST_MARK": mark}
    )
    while len(processes_with(mark)) < 4:
        time.sleep(0.1)
    time.sleep(3)
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    for _ in range(200):
        if not processes_with(mark):
            return
        time.sleep(0.1)
    raise AssertionError(processes_with(mark))


@pytest.mark.parametrize("text", ["", "a,,b", "a:0", "a:x", "-oProxyCommand=x"])
def test_senseless_hosts_are_refused(text):
    with pytest.raises(UsageError, match="--hosts has"):
        named_hosts(text, None)


def test_hosts_take_their_shares():
    assert named_hosts("a,b", 5) == ["a", "a", "a", "b", "b"]
    assert named_hosts("a:2,b:1", None) == ["a", "a", "b"]
    with pytest.raises(UsageError, match="--workers is 1"):
        named_hosts("a,b", 1)
