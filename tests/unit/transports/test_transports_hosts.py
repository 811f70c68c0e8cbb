"""Three hosts, as far as a network goes: namespaces of one machine, each with a name and an address of its own."""

import os
import shutil
import subprocess
import sys
import uuid

import pytest
from transports_mpiexec import RANKS, needs_mpi, started

pytestmark = needs_mpi

AGENT = """#!/bin/sh
# What stands in for ssh: AGENT HOST COMMAND...
host=$1; shift
exec ip netns exec {prefix}${{host##*.}} unshare --uts sh -c "hostname {prefix}${{host##*.}}; $*"
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def hosts(tmp_path):
    """Three namespaces on one bridge; the last words of a command that starts ranks there, one after another."""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("network namespaces need root, ip and unshare")
    prefix = "af" + uuid.uuid4().hex[:5]
    try:
        ip("link", "add", prefix, "type", "bridge")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no bridge can be made here: {error.stderr.strip()}")
    addresses = [f"10.213.7.{k}" for k in (1, 2, 3)]
    try:
        ip("link", "set", prefix, "up")
        for k, address in enumerate(addresses, 1):
            ip("netns", "add", f"{prefix}{k}")
            ip("link", "add", f"{prefix}v{k}", "type", "veth", "peer", "name", "eth0", "netns", f"{prefix}{k}")
            ip("link", "set", f"{prefix}v{k}", "master", prefix, "up")
            for words in (["addr", "add", f"{address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                          ["link", "set", "lo", "up"]):  # fmt: skip
                ip("-n", f"{prefix}{k}", *words)
        agent = tmp_path / "agent"
        agent.write_text(AGENT.format(prefix=prefix))
        agent.chmod(0o755)
        yield f"{prefix}1", str(agent), addresses
    finally:
        for k in (1, 2, 3):
            subprocess.run(["ip", "netns", "delete", f"{prefix}{k}"], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", prefix], check=False, capture_output=True)


def on(hosts, monkeypatch, slots=2):
    """Have the launcher start mpiexec on the first host, which starts so many ranks on each of the three."""
    first, agent, addresses = hosts
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    script = os.path.join(os.path.dirname(agent), "mpiexec")
    listed = ",".join(f"{address}:{slots}" for address in addresses)
    options = f"--host {listed} --prtemca plm_ssh_agent {agent} --prtemca prte_if_include eth0"
    with open(script, "w") as file:
        file.write(f'#!/bin/sh\n[ "$1" = --version ] && exec {mpiexec} --version\n')
        file.write(f"exec ip netns exec {first} unshare --uts sh -c 'hostname {first}; exec \"$@\"' sh ")
        file.write(f'{mpiexec} {options} "$@"\n')
    os.chmod(script, 0o755)
    monkeypatch.setenv("ARCFLUX_MPIEXEC", script)


def test_conformance_on_three_hosts(hosts, monkeypatch):
    on(hosts, monkeypatch)
    code, out, err = started([RANKS, "conform", "0"], workers=6)
    assert (code, "well: 6 ranks, 3 nodes" in out) == (0, True), (out, err)


def test_a_rank_of_another_host_is_killed(hosts, monkeypatch):
    on(hosts, monkeypatch)
    code, _, err = started([RANKS, "kill", "0"], workers=6)
    assert err.count("rank 2 was killed in superstep 3") == 1, err
    assert code


def test_a_rank_that_is_alone_on_its_host_is_killed(hosts, monkeypatch):
    """Nobody else could see its process: the next host sees their connection close."""
    on(hosts, monkeypatch, slots=1)
    code, _, err = started([RANKS, "kill", "0"], workers=3)
    assert err.count("rank 2 was killed in superstep 3") == 1, err
    assert code
