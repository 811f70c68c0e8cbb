"""Whether GPUs work here: what the driver says, what is installed, how ranks would exchange, and a trial on each."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from arcflux.errors import ArcfluxError
from arcflux.gpu import api, driver, links
from arcflux.trace import readable

__all__ = ["examine", "text"]

_PACKAGES = ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "cuda-bindings", "nccl4py")
# A graph on which a trial goes several ways, and which the simulator can take.
_GRAPH = "grid:4x5"


def examine() -> dict[str, Any]:
    """All about GPUs, ready for JSON. `usable` says whether a run would take one, and `problem` why not."""
    version = driver.driver_version()
    found: dict[str, Any] = {
        "simulated": api.simulated(),
        "driver": None if version is None else ".".join(map(str, version)),
        "needed": ".".join(map(str, driver.needed_version())),
        "packages": {name: _version(name) for name in _PACKAGES},
        "link": links.examine(),
        "gpus": [],
        "usable": False,
        "problem": None,
    }
    try:
        gpus = driver.found()
        found["gpus"] = [{**gpu.facts(), **_trial(gpu.index)} for gpu in gpus]
    except ArcfluxError as error:
        found["problem"] = str(error)
        return found
    found["usable"] = any(gpu["works"] for gpu in found["gpus"])
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _trial(index: int) -> dict[str, Any]:
    """Whether a search on this GPU gives what it gives on cores, and how long it took the second time."""
    from arcflux.algorithms.bfs import bfs
    from arcflux.devices import Cuda
    from arcflux.io import load

    try:
        gpu, graph = Cuda(index), load(_GRAPH)
        on_gpu = [bfs(graph, 0, devices=[gpu]) for _ in range(2)][-1]
    except Exception as error:  # whatever it is, it is what the trial has found out
        return {"works": False, "error": f"{type(error).__name__}: {error}"}
    same = on_gpu["level"].tolist() == bfs(graph, 0)["level"].tolist()
    return {"works": same, "error": None if same else "levels of a search differ from those on cores",
            "budget": gpu.memory, "trial_seconds": on_gpu.seconds}  # fmt: skip


def text(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The findings as lines: what each is about, and what there is."""
    packages = ", ".join(f"{name} {version or '-'}" for name, version in found["packages"].items())
    driver_said = f"knows CUDA {found['driver']}, needed is {found['needed']}" if found["driver"] else "none"
    rows = [
        ("driver", "not asked: Numba's simulator is on" if found["simulated"] else driver_said),
        ("packages", packages),
        ("link", f"{found['link']['chosen']}: {found['link']['reason']}"),
    ]
    for gpu in found["gpus"]:
        what = f"{gpu['name']}, {gpu['architecture']}, {readable(gpu['memory'])}, {gpu['multiprocessors']} processors"
        trial = f"works, {readable(gpu['budget'])} for a run" if gpu["works"] else f"does not work: {gpu['error']}"
        rows.append((f"cuda:{gpu['index']}", f"{what}: {trial}"))
    if found["problem"]:
        rows.append(("gpu", found["problem"].replace("\n", "\n" + " " * 10)))
    return rows
