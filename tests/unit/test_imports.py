"""Importing the package costs little: heavy packages are imported when first needed."""

import subprocess
import sys

import pytest

import arcflux

HEAVY = {
    "click", "cupy", "dask", "igraph", "llvmlite", "matplotlib", "mpi4py", "networkx", "numba", "pandas", "polars",
    "pyarrow", "pymetis", "pyspark", "rich", "scipy", "starlette", "uvicorn",
}  # fmt: skip
LISTED = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def imported_by(program):
    """The top-level modules that a new Python holds after a program, without those it starts with."""
    found, always = (
        set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
        for code in (f"{program}\n{LISTED}", LISTED)
    )
    return found - always


def test_the_package_itself_imports_nothing_heavier_than_numpy():
    found = imported_by("import arcflux; dir(arcflux)")
    assert "arcflux" in found
    assert not found & HEAVY


@pytest.mark.parametrize("module", ["errors", "config", "trace", "progress", "graph", "io", "generate", "spmd.pool"])
def test_rooms_import_no_heavy_package(module):
    found = imported_by(f"import arcflux.{module}")
    assert "arcflux" in found
    assert found & HEAVY == set()


def test_devices_import_no_compiler():
    assert imported_by("import arcflux.devices, arcflux.gpu.driver, arcflux.gpu.links") & HEAVY == set()


def test_a_run_on_cores_imports_nothing_of_gpus():
    """Whether the extra is installed or not, who does not ask for a GPU pays nothing for it."""
    program = "import arcflux as af; af.bfs(af.load('path:3'), 0); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert "numba" in found
    assert not {name for name in found if name.startswith(("numba.cuda", "numba_cuda", "cuda.", "nccl", "nvidia"))}
    assert not {"arcflux.gpu.kit", "arcflux.gpu.executor", "arcflux.gpu.simulator"} & found


def test_without_the_extra_cores_work_and_gpus_say_what_to_install():
    program = """
import sys
sys.modules["numba_cuda"] = None  # as if it were not installed
import arcflux as af
graph = af.load("path:3")
print(af.bfs(graph, 0)["level"].tolist())
for devices in ("cuda", "cuda:0", "cpu+cuda"):
    try:
        af.bfs(graph, 0, devices=devices)
    except af.errors.MissingExtraError as error:
        print(error.remedy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[0, 1, 2]", *["pip install 'arcflux[cuda]'"] * 3]


def test_every_public_name_is_there_and_no_other():
    for name in arcflux.__all__:
        assert getattr(arcflux, name) is not None
    assert dir(arcflux) == sorted(arcflux.__all__)
    assert arcflux.Graph.__module__ == "arcflux.graph.core"
    with pytest.raises(AttributeError, match="no attribute 'grph'"):
        arcflux.grph  # noqa: B018 - looking it up is the point
