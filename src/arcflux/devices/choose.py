"""Devices by their names: "cuda", "cuda:0", "cuda:0-3", "cuda:0,2", "cpu+cuda", "cpu", "auto", "virtual:1,2".

Without ranks, every named GPU gets a part, and with "cpu+" the cores get one, too. Of several ranks, each takes the GPU
of its own index on its node, and with "cpu+" ranks without a GPU compute on cores. Devices that are neither cores nor
GPUs resolve their own names (registry.py), in the order of the parts, and of the ranks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arcflux import config
from arcflux.checks import checked, maybe, text, whole
from arcflux.devices.base import Device
from arcflux.devices.cpu import CPU
from arcflux.devices.cuda import Cuda
from arcflux.devices.registry import Opener, opener
from arcflux.errors import ArcfluxError, DeviceError, MissingExtraError, SpaceError, UsageError
from arcflux.gpu import api, driver

if TYPE_CHECKING:
    from arcflux.transports.base import Transport

__all__ = ["Wanted", "named", "read"]

_EXPECTED = "'auto', 'cpu', 'cuda', 'cuda:0', 'cuda:0-3', 'cuda:0,2', 'cpu+cuda', or 'virtual:1,2'"
_SPAN = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?\Z")
# Errors that mean there is no usable GPU, as opposed to mistakes of the caller.
_NO_GPU = (DeviceError, MissingExtraError, SpaceError)
_warnings: set[str] = set()


@dataclass(frozen=True)
class Wanted:
    """The meaning of a name: whether cores take part, whether GPUs do, which (None: all); `auto`: only if any."""

    cpu: bool
    cuda: bool
    gpus: tuple[int, ...] | None = None
    auto: bool = False


def read(name: str) -> Wanted:
    """Parse a name of devices.

    Examples
    --------
    >>> read("cuda:0-2")
    Wanted(cpu=False, cuda=True, gpus=(0, 1, 2), auto=False)
    >>> read("cpu+cuda")
    Wanted(cpu=True, cuda=True, gpus=None, auto=False)
    """
    if name == "auto":
        return Wanted(cpu=True, cuda=True, auto=True)
    words = name.split("+")
    if len(words) != len(set(words)) or not all(word == "cpu" or word.partition(":")[0] == "cuda" for word in words):
        raise UsageError(f"devices is {name!r}", expected=_EXPECTED)
    gpus = [word for word in words if word != "cpu"]
    if len(gpus) > 1:
        raise UsageError(f"devices is {name!r}, which names GPUs twice", expected="one list, such as 'cuda:0,2'")
    if not gpus:
        return Wanted(cpu=True, cuda=False)
    return Wanted("cpu" in words, True, _numbers(gpus[0].partition(":")[2], name) if ":" in gpus[0] else None)


def _numbers(text: str, name: str) -> tuple[int, ...]:
    """The numbers of a list such as "0-3,5"."""
    numbers: list[int] = []
    for piece in text.split(","):
        span = _SPAN.match(piece)
        if span is None or int(span[2] or span[1]) < int(span[1]):
            raise UsageError(f"devices is {name!r}, and {piece!r} is no number of a GPU", expected=_EXPECTED)
        numbers += range(int(span[1]), int(span[2] or span[1]) + 1)
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"devices is {name!r}, which names a GPU twice", expected="each once: it runs one part")
    return tuple(numbers)


@checked(name=text, threads=maybe(whole))
def named(name: str, ranks: Transport | None = None, threads: int | None = None) -> Sequence[Device] | None:
    """The device of every part; None if cores run everything, in the usual way.

    With `ranks` it is collective; a rank opens only its own GPU, and knows the names of the others'.
    """
    openers = [opener(word.partition(":")[0]) for word in name.split("+")]
    if any(found is not None for found in openers):
        return _open_words(name, openers, ranks, threads)
    request = read(name)
    if not request.cuda:
        return None
    if ranks is None:
        return _devices_of_process(request, threads)
    return _devices_of_ranks(request, ranks, threads)


def _open_words(
    name: str, openers: Sequence[Opener | None], ranks: Transport | None, threads: int | None
) -> list[Device]:
    """The devices of a name that includes others than cores and GPUs."""
    devices: list[Device] = []
    for word, opens in zip(name.split("+"), openers, strict=True):
        if opens is not None:
            devices += opens(word.partition(":")[2], threads)
        elif word == "cpu":
            devices.append(CPU(threads))
        else:
            raise UsageError(f"devices is {name!r}", expected="cores beside such a device, or none: 'cpu+virtual:2'")
    if ranks is not None and len(devices) != ranks.size:
        raise UsageError(
            f"devices is {name!r}: {len(devices)} devices, and there are {ranks.size} ranks",
            expected="a device for each rank",
        )
    return devices


def _devices_of_process(wanted: Wanted, threads: int | None) -> list[Device] | None:
    try:
        gpus = [Cuda(index) for index in _gpu_numbers(wanted)]
        _refuse_mixture([gpu.gpu for gpu in gpus])
    except _NO_GPU as error:
        if not wanted.auto:
            raise
        _warn_once(error)
        return None
    if not wanted.cpu or wanted.auto:
        return list(gpus)
    # A thread waits for each GPU; the remaining cores compute.
    cores = threads if threads is not None else max(1, config.threads() - len(gpus))
    return [*gpus, CPU(cores)]


def _devices_of_ranks(wanted: Wanted, ranks: Transport, threads: int | None) -> list[Device] | None:
    """Each rank takes the GPU of its index; then all compare their devices, and whether they agree."""
    own: Device = CPU(threads or 1)
    problem: ArcfluxError | None = None
    there: tuple[int, ...] | None = None
    try:
        there = _gpu_numbers(wanted)
        if ranks.place < len(there) or (api.simulated() and not wanted.cpu):  # each process has its own simulators
            own = Cuda(there[ranks.place % len(there)])
        elif not wanted.cpu:
            raise DeviceError(
                f"node {ranks.node} has {len(ranks.mates)} ranks and {len(there)} GPUs",
                expected="at most one rank for each GPU",
                remedy=f"--workers {len(there)}, or 'cpu+cuda', which gives cores to the others",
            )
    except _NO_GPU as error:
        if not wanted.auto and (there is not None or not wanted.cpu):  # a node without GPUs uses its cores
            raise
        problem = error
    mine = own.index if isinstance(own, Cuda) else -1
    capability = own.capability if isinstance(own, Cuda) else (0, 0)
    every = [row.tolist() for row in ranks.gather(np.array([mine, *capability], np.int64))]
    if all(index < 0 for index, _, _ in every):
        if not wanted.auto:
            raise problem or DeviceError("no rank has a GPU", remedy="devices='cpu'")
        if problem is not None and ranks.rank == 0:
            _warn_once(problem)
        return None
    kinds = {(major, minor) for index, major, minor in every if index >= 0}
    if len(kinds) > 1:
        raise _mixture([f"rank {rank} has sm_{major}{minor}" for rank, (i, major, minor) in enumerate(every) if i >= 0])
    return [own if rank == ranks.rank else _of_other(rank, row[0]) for rank, row in enumerate(every)]


def _of_other(rank: int, index: int) -> Device:
    """What a rank knows of the device of another one."""
    device = Device(f"cpu of rank {rank}" if index < 0 else f"cuda:{index} of rank {rank}")
    device.kind = "cpu" if index < 0 else "cuda"
    return device


def _gpu_numbers(wanted: Wanted) -> tuple[int, ...]:
    """The numbers of the requested GPUs; raises if there is no GPU at all."""
    api.cuda()  # first check that the extra is installed
    gpus = driver.found()
    return tuple(range(len(gpus))) if wanted.gpus is None else wanted.gpus


def _refuse_mixture(gpus: Sequence[driver.Gpu]) -> None:
    if len({gpu.capability for gpu in gpus}) > 1:
        raise _mixture([f"cuda:{gpu.index} ({gpu.name}) is {gpu.architecture}" for gpu in gpus])


def _mixture(kinds: list[str]) -> DeviceError:
    return DeviceError(
        f"the GPUs are of different architectures: {', '.join(kinds)}",
        expected="GPUs of one kind, for which one set of kernels and launch shapes fits",
        remedy="name those of one kind, such as devices='cuda:0-1'",
    )


def _warn_once(error: ArcfluxError) -> None:
    """Warn, once per process, why a run that might have used a GPU uses cores."""
    text = f"devices='auto' runs on cores: {error.what}"
    if text not in _warnings and config.is_first_rank():
        _warnings.add(text)
        warnings.warn(f"{text} (try: {error.remedy})" if error.remedy else text, stacklevel=2)
