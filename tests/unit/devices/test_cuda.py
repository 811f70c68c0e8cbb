"""GPUs and their names, and all that can stand in their way: told from a driver that is faked at its library."""

import ctypes
import re
import threading
import warnings
from importlib import metadata

import numpy as np
import pytest
from fake_cuda import A100, H100, CudaAPIError, Library, Numba

import arcflux as af
from arcflux.devices import CPU, Cuda, named
from arcflux.devices.choose import Wanted, read
from arcflux.errors import DeviceError, MissingExtraError, SpaceError, UsageError
from arcflux.gpu import api, driver
from arcflux.gpu.memory import Memory, told_well
from arcflux.transports import run_local


@pytest.fixture
def machine(monkeypatch):
    """Gives this machine a driver with these GPUs, and Numba on top of it; None: no driver at all."""
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.delenv("ARCFLUX_GPU_MEMORY", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(driver, "needed_version", lambda: (13, 0))
    monkeypatch.setattr("arcflux.devices.choose._warnings", set())
    real = ctypes.CDLL

    def has(library, installed=True, **numba):
        def load(name, *more, **named):
            if "libcuda" not in str(name):
                return real(name, *more, **named)
            if library is None:
                raise OSError(f"{name}: cannot open shared object file")
            return library

        monkeypatch.setattr(ctypes, "CDLL", load)
        module = Numba(library or Library([]), **numba)

        def cuda():
            if not installed:
                raise MissingExtraError("numba-cuda", "cuda", "a run on a GPU")
            return module

        monkeypatch.setattr("arcflux.gpu.api.cuda", cuda)
        return module

    return has


# --- names


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("cpu", Wanted(True, False)),
        ("cuda", Wanted(False, True)),
        ("cuda:0", Wanted(False, True, (0,))),
        ("cuda:0-3", Wanted(False, True, (0, 1, 2, 3))),
        ("cuda:2,0,5-6", Wanted(False, True, (2, 0, 5, 6))),
        ("cpu+cuda", Wanted(True, True)),
        ("cuda:1+cpu", Wanted(True, True, (1,))),
        ("auto", Wanted(True, True, auto=True)),
    ],
)
def test_names_are_read(name, wanted):
    assert read(name) == wanted


@pytest.mark.parametrize(
    "name",
    ["", "gpu", "CUDA", "cuda:", "cuda:a", "cuda:-1", "cuda:3-0", "cuda:0,0", "cuda:0-2,1", "cuda+cuda:1", "cpu+cpu",
     "cuda:0 ", "cuda:0-", "cuda:1.5", "auto+cpu", "cuda+", "cuda:0\n", "cuda:9999"],
)  # fmt: skip
def test_names_of_nothing_are_refused(name):
    with pytest.raises(UsageError, match="devices is"):
        read(name)


# --- one GPU


def test_a_gpu_says_what_it_is(machine):
    numba = machine(Library([A100, H100]))
    gpu = Cuda(1)
    assert (gpu.name, gpu.index, gpu.capability, gpu.total) == ("cuda:1", 1, (9, 0), 80 << 30)
    assert gpu.gpu.architecture == "sm_90"
    assert gpu.memory == int(0.9 * numba.free)
    assert numba.opened == [1]
    assert driver.driver_version() == (13, 0)
    assert driver.found()[0].facts() == {
        "index": 0, "name": "NVIDIA A100", "capability": [8, 0], "architecture": "sm_80", "memory": 40 << 30,
        "multiprocessors": 108, "mode": "shared",
    }  # fmt: skip


def test_its_budget_is_what_is_asked_for_then_what_is_set(machine, monkeypatch):
    machine(Library(), free=10 << 30)
    monkeypatch.setenv("ARCFLUX_GPU_MEMORY", "2G")
    assert Cuda(0).memory == 2 << 30
    assert Cuda(0, memory=1000).memory == 1000
    with pytest.raises(DeviceError, match=r"cannot give 11,811,160,064 bytes: 10,737,418,240 of its"):
        Cuda(0, memory=11 << 30)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(UsageError, match="memory of cuda:0"):
            Cuda(0, memory=wrong)


@pytest.mark.parametrize("index", [-1, 1.0, True, "0", None])
def test_what_is_no_number_is_refused(machine, index):
    machine(Library())
    with pytest.raises(UsageError, match="index of a GPU"):
        Cuda(index)


# --- bad news

BAD_NEWS = [
    pytest.param(None, {}, DeviceError, "no CUDA driver on this machine", "docker run --gpus", id="no driver"),
    pytest.param(Library([]), {}, DeviceError, "a CUDA driver, and no GPU", "nvidia-smi", id="no device"),
    pytest.param(Library(init=100), {}, DeviceError, "a CUDA driver, and no GPU", "nvidia-smi", id="no device, early"),
    pytest.param(Library(version=12080), {}, DeviceError, r"too old: it knows CUDA 12\.8", "update", id="old driver"),
    pytest.param(Library(init=803), {}, DeviceError, r"does not fit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH \(803\)",
                 "restart the machine", id="mismatch"),
    pytest.param(Library(init=34), {}, DeviceError, r"does not fit: code 34", "stubs", id="stub"),
    pytest.param(Library(init=802), {}, DeviceError, "not ready", "fabric manager", id="not ready"),
    pytest.param(Library(init=999), {}, DeviceError, r"starting the driver failed: CUDA_ERROR_UNKNOWN \(999\)",
                 "nvidia-smi", id="unknown"),
    pytest.param(Library(cuDeviceGetCount=999), {}, DeviceError, "counting GPUs failed", "nvidia-smi", id="count"),
    pytest.param(Library(cuDeviceGetAttribute=999), {}, DeviceError, "asking GPU 0 failed", "nvidia-smi", id="ask"),
    pytest.param(Library(), {"installed": False}, MissingExtraError, "'numba-cuda', which is not installed",
                 r"arcflux\[cuda\]", id="no extra"),
    pytest.param(Library([{**A100, "mode": 2}]), {}, DeviceError, "lets no process use it", "-c DEFAULT", id="closed"),
    pytest.param(Library(), {"fail": CudaAPIError(46, "no")}, DeviceError, "cuda:0 is busy", "wait for", id="busy"),
    pytest.param(Library(), {"fail": CudaAPIError(2, "no")}, SpaceError, "cuda:0 is out of memory", "end what else",
                 id="full"),
    pytest.param(Library([{**A100, "capability": (6, 1)}]), {}, DeviceError, r"compute capability is 6\.1",
                 "another GPU", id="old device"),
]  # fmt: skip


@pytest.mark.parametrize(("library", "numba", "kind", "said", "remedy"), BAD_NEWS)
def test_bad_news_are_told_with_what_to_do(machine, library, numba, kind, said, remedy):
    machine(library, **numba)
    for fails in (lambda: Cuda(0), lambda: named("cuda"), lambda: af.run(af.algorithms.BFS, GRAPH, source=0,
                                                                           devices="cuda:0")):  # fmt: skip
        with pytest.raises(kind, match=said) as told:
            fails()
        assert re.search(remedy, told.value.remedy)


@pytest.mark.parametrize(("library", "numba", "kind", "said", "remedy"), BAD_NEWS)
def test_auto_runs_on_cores_then_and_says_so_once(machine, library, numba, kind, said, remedy):
    machine(library, **numba)
    with pytest.warns(UserWarning, match=rf"^devices='auto' runs on cores: .*{said}"):
        result = af.run(af.algorithms.BFS, GRAPH, source=0, devices="auto")
    assert result["level"].tolist() == [0, 1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert named("auto") is None


GRAPH = af.load("path:4")


def test_a_gpu_that_does_not_exist(machine):
    machine(Library([A100, A100]))
    with pytest.raises(DeviceError, match="there is no GPU 2") as told:
        named("cuda:0-2")
    assert told.value.expected == "a number from 0 to 1"
    machine(Library([A100]))
    with pytest.raises(DeviceError, match="there is no GPU 7") as told:
        Cuda(7)
    assert "the only one here" in told.value.expected


def test_hidden_gpus_are_said_to_be_hidden(machine, monkeypatch):
    machine(Library([]))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES is ''" in str(driver.unavailable())


def test_gpus_of_different_kinds_are_refused_unless_one_is_named(machine):
    machine(Library([A100, H100, H100]))
    with pytest.raises(DeviceError, match=r"cuda:0 \(NVIDIA A100\) is sm_80, cuda:1 \(NVIDIA H100\) is sm_90"):
        named("cuda")
    assert [device.index for device in named("cuda:1-2")] == [1, 2]
    with pytest.warns(UserWarning, match="different architectures"):
        assert named("auto") is None


def test_the_real_machine_agrees_with_itself():
    """Whatever machine this is: no GPU and a reason, or GPUs and none."""
    if api.simulated() or driver.driver_version() is None:
        assert api.simulated() or "no CUDA driver" in str(driver.unavailable())
    elif driver.unavailable() is None:
        assert driver.found()


def test_needed_is_the_cuda_of_the_compiler(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: {"nvidia-nvvm": "13.0.88"}[name])
    assert driver.needed_version() == (13, 0)

    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", none)
    assert driver.needed_version() == (12, 0)


# --- several


def test_each_gpu_gets_a_part_and_cores_one_when_they_are_named(machine):
    machine(Library([A100] * 3))
    assert [device.name for device in named("cuda")] == ["cuda:0", "cuda:1", "cuda:2"]
    assert [device.name for device in named("cuda:2,0")] == ["cuda:2", "cuda:0"]
    mixed = named("cpu+cuda:1", threads=3)
    assert [device.name for device in mixed] == ["cuda:1", "cpu"]
    assert (mixed[1].threads, isinstance(mixed[1], CPU)) == (3, True)
    assert [device.name for device in named("auto")] == ["cuda:0", "cuda:1", "cuda:2"]
    assert named("cpu") is None


def on_ranks(size, name, per_node=None):
    found = run_local(size, lambda ranks: named(name, ranks), ranks_per_node=per_node)
    return [None if devices is None else [device.name for device in devices] for devices in found]


def test_ranks_take_the_gpu_of_their_place(machine):
    machine(Library([A100] * 2))
    assert on_ranks(4, "cuda", per_node=2) == [
        ["cuda:0", "cuda:1 of rank 1", "cuda:0 of rank 2", "cuda:1 of rank 3"],
        ["cuda:0 of rank 0", "cuda:1", "cuda:0 of rank 2", "cuda:1 of rank 3"],
        ["cuda:0 of rank 0", "cuda:1 of rank 1", "cuda:0", "cuda:1 of rank 3"],
        ["cuda:0 of rank 0", "cuda:1 of rank 1", "cuda:0 of rank 2", "cuda:1"],
    ]
    assert on_ranks(3, "cpu+cuda")[2] == ["cuda:0 of rank 0", "cuda:1 of rank 1", "cpu"]
    assert on_ranks(3, "auto")[2] == ["cuda:0 of rank 0", "cuda:1 of rank 1", "cpu"]


def test_more_ranks_than_gpus(machine):
    machine(Library([A100] * 2))
    with pytest.raises(DeviceError, match="node 0 has 3 ranks and 2 GPUs") as told:
        on_ranks(3, "cuda")
    assert "--workers 2" in told.value.remedy


def test_ranks_without_a_gpu_all_run_on_cores(machine):
    machine(None)
    with pytest.warns(UserWarning, match="no CUDA driver") as warned:
        assert on_ranks(3, "auto") == [None, None, None]
    assert len(warned) == 1


def test_ranks_with_gpus_of_different_kinds(machine):
    machine(Library([A100, H100]))
    with pytest.raises(DeviceError, match="rank 0 has sm_80, rank 1 has sm_90"):
        on_ranks(2, "cuda")


def test_debug_needs_no_gpu(machine):
    machine(None)
    assert af.run(af.algorithms.BFS, GRAPH, source=0, devices="cuda", debug=True)["level"].tolist() == [0, 1, 2, 3]


# --- memory


def test_arrays_beyond_the_budget_are_refused_in_bytes(machine):
    machine(Library(), free=1 << 20)
    with Memory("cuda:0", 1000) as memory:
        sums = memory.empty(100, np.float64, "sums")
        with pytest.raises(SpaceError, match=r"no room for edges: 400 bytes.*200 of the 1,000 that it may use") as told:
            memory.copy(np.zeros(100, np.int32), "edges")
        assert "float32" in told.value.remedy
        assert "ARCFLUX_GPU_MEMORY" in told.value.remedy
        assert memory.held == sums.nbytes == 800
    assert memory.held == 0


def test_a_gpu_that_is_full_although_the_budget_is_not(machine):
    machine(Library(), free=100, room=50)
    with pytest.raises(SpaceError, match=r"cuda:0 is out of memory for edges: 80 bytes.*100 are free") as told:
        Memory("cuda:0", 1 << 20).empty((2, 5), np.int64, "edges")
    assert told.value.__cause__.code == 2


def test_arrays_that_nobody_has_any_more_leave_their_room(machine):
    machine(Library())
    with Memory("cuda:0", 1000) as memory:
        for _ in range(5):
            kept = memory.empty(100, np.float64, "sums")
            assert memory.held == 800
            del kept
        assert memory.held == 0


@pytest.mark.parametrize("broken", [False, True])
def test_nothing_stays_when_a_kernel_fails(machine, broken):
    numba = machine(Library())
    gpu, kept, closed = Cuda(0), [], []

    class Mapping:
        def __exit__(self, *error):
            closed.append(self)

    def work():
        with gpu.active():
            gpu.hold(8000, "part 0")
            rows, sums = api.to_device(np.arange(1000)), api.empty(7, np.uint8)
            assert numba.arrays == [rows, sums]
            api._told.memory.opened(Mapping())
            kept.append((rows, sums))
            if broken:

                def gone():
                    numba.held.clear()
                    raise CudaAPIError(700, "gone")

                rows.gpu_data.free = sums.gpu_data.free = gone
            raise CudaAPIError(700, "Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")

    with pytest.raises(DeviceError, match=r"cuda:0 failed in its work: .*ILLEGAL_ADDRESS; it cannot be used again"):
        work()
    assert kept
    assert numba.arrays == []
    assert len(closed) == 1
    assert gpu.held == 0
    api.to_device(np.zeros(3))  # nobody counts what is made outside


def test_other_errors_pass_as_they_are():
    with pytest.raises(ZeroDivisionError), told_well("cuda:0", "pull"):
        1 / 0  # noqa: B018
    with pytest.raises(SpaceError, match="mine"), told_well("cuda:0", "pull"):
        raise SpaceError("mine")


def test_the_package_names_gpus():
    assert af.devices.Cuda is Cuda
    assert named is af.devices.named


def test_a_rank_of_a_node_without_gpus_uses_cores_beside_others(machine, monkeypatch):
    machine(Library([A100]))
    plain = driver.found
    nodes = threading.local()

    def found():
        if nodes.here:
            raise DeviceError("there is a CUDA driver, and no GPU")
        return plain()

    def devices(ranks, name):
        nodes.here = ranks.node
        return [device.name for device in named(name, ranks)]

    monkeypatch.setattr(driver, "found", found)
    there = run_local(2, lambda ranks: devices(ranks, "cpu+cuda"), ranks_per_node=1)
    assert there == [["cuda:0", "cpu of rank 1"], ["cuda:0 of rank 0", "cpu"]]
    with pytest.raises(DeviceError, match="and no GPU"):
        run_local(2, lambda ranks: devices(ranks, "cuda"), ranks_per_node=1)


def test_cores_and_gpus_without_any_gpu_are_refused(machine):
    machine(None)
    with pytest.raises(DeviceError, match="no CUDA driver"):
        on_ranks(2, "cpu+cuda")
