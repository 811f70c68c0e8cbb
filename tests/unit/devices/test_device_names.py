"""Devices by names that are neither cores nor GPUs."""

import numpy as np
import pytest

import arcflux as af
from arcflux.devices import CPU, Virtual, named
from arcflux.devices.registry import DEVICES, opener
from arcflux.errors import UsageError
from arcflux.transports.local import run_local


def test_a_name_lists_slowdowns():
    devices = named("virtual:1,2.5")
    assert [type(device) for device in devices] == [Virtual, Virtual]
    assert [(device.name, device.slowdown) for device in devices] == [("virtual:1", 1.0), ("virtual:2.5", 2.5)]


def test_cores_may_stand_beside_them_in_the_order_of_the_name():
    assert [type(device) for device in named("virtual:2+cpu", threads=1)] == [Virtual, CPU]


def test_a_program_gives_the_same_on_them():
    graph = af.load("kron:7,seed=5")
    expected = af.run(af.algorithms.Components, graph)["component"]
    found = af.run(af.algorithms.Components, graph, devices="cpu+virtual:1,2", threads=1)
    assert found["component"].tolist() == expected.tolist()
    assert "3 parts" in found.where


@pytest.mark.parametrize("name", ["virtual", "virtual:", "virtual:fast", "virtual:1,", "virtual:0.5", "virtual:1+cuda"])
def test_what_makes_no_sense_is_refused(name):
    with pytest.raises(UsageError):
        named(name)


def test_ranks_are_as_many_as_devices():
    def names(ranks):
        return [device.name for device in named("virtual:1,2", ranks)]

    assert run_local(2, names) == [["virtual:1", "virtual:2"]] * 2
    with pytest.raises(UsageError, match="2 devices, and there are 3 ranks"):
        run_local(3, names)


def test_every_entry_can_be_opened():
    assert all(callable(opener(name)) for name in DEVICES)
    assert [opener(name) for name in ("cpu", "cuda", "auto", "cuba")] == [None] * 4


def test_a_transport_by_name():
    from arcflux.transports.registry import TRANSPORTS, check_transport, starter

    for name in TRANSPORTS:
        assert [int(one) for one in starter(name)(3, lambda ranks: ranks.reduce(np.array([1]), "sum")[0])] == [3, 3, 3]
    check_transport("mpi")
    with pytest.raises(UsageError, match=r"'locl'[\s\S]*did you mean 'local'"):
        af.run(af.algorithms.Components, "path:3", transport="locl")
    with pytest.raises(UsageError, match="transport is 3"):
        af.run(af.algorithms.Components, "path:3", transport=3)
