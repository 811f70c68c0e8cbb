"""Kernels of algorithms that are no programs, compiled for GPUs that are not here: registers, loads, atomics."""

import re
from functools import cache
from pathlib import Path

import pytest

ATOMICS = {
    "triangles: all": {"add.u64"},
    "triangles: corners": {"add.u64"},
    "clustering: corners": {"add.u64"},
    "components: sample": {"cas.b32"},
    "components: the rest": {"cas.b32"},
    "components: pairs": {"cas.b32"},
    "label propagation: warps": {"add.u64"},
    "label propagation: warps: directed": {"add.u64"},
    "label propagation: blocks": {"cas.b32", "add.u32", "add.u64"},
    "label propagation: blocks: directed": {"cas.b32", "add.u32", "add.u64"},
    "betweenness: next level": {"cas.b32", "add.u64"},
    "two-hop friends: count": {"or.b32", "and.b32", "min.s64", "max.s64", "add.u64"},
    "two-hop friends: list": {"or.b32", "and.b32", "min.s64", "max.s64"},
    "sssp: predecessors": {"add.u64"},
    "grid: push": {"or.b64"},
    "grid: pull": {"or.b64"},
    "grid: arcs": {"add.u64"},
}


def names() -> list[str]:
    from arcflux.gpu import api

    if api.simulated():
        return ["any"]  # which is skipped: the simulator compiles nothing
    from arcflux.algorithms.cuda_kernels import kernels

    return list(kernels())


@cache
def made(name: str, architecture: int) -> object:
    from arcflux.algorithms.cuda_kernels import kernels
    from arcflux.gpu.cubin import compiled_kernel

    return compiled_kernel(name, *kernels()[name], architecture)


@pytest.mark.parametrize("name", names())
def test_nothing_spills_and_all_threads_have_registers(name: str) -> None:
    for architecture in (80, 90, 100):
        found = made(name, architecture)
        assert found.spilled == 0, architecture
        assert found.registers <= 32, architecture
        assert found.occupancy == 1.0, architecture


@pytest.mark.parametrize("name", names())
def test_nor_with_offsets_of_64_bits(name: str) -> None:
    from arcflux.algorithms.cuda_kernels import kernels
    from arcflux.gpu.cubin import compiled_kernel

    kernel, types = kernels()[name]
    code = kernel.py_func.__code__
    arguments = code.co_varnames[: code.co_argcount]
    rows = ("rows", "in_rows", "offsets")
    wide = ["u8[]" if argument in rows else said for argument, said in zip(arguments, types, strict=True)]
    if not set(rows) & set(arguments):
        return  # others have no offsets that are shorter
    for architecture in (80, 90):
        found = compiled_kernel(name, kernel, wide, architecture)
        assert (found.spilled, found.occupancy) == (0, 1.0), architecture


@pytest.mark.parametrize("name", names())
def test_vertices_are_loaded_as_words_and_nothing_is_divided(name: str) -> None:
    code = made(name, 80).ptx
    if name != "grid: levels":  # which reads bitmaps alone
        assert re.search(r"ld\.global(\.nc)?\.[usb]32", code)
    assert not re.search(r"\b(div|rem)\.[us](32|64)", code)
    assert ".local" not in code


@pytest.mark.parametrize("name", names())
def test_atomics_are_those_that_are_meant(name: str) -> None:
    found = set(re.findall(r"(?<![.\w])(?:atom|red)\.[\w.]+", made(name, 80).ptx))
    assert {".".join(atomic.split(".")[-2:]) for atomic in found} == ATOMICS.get(name, set())


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("betweenness")])
def test_sums_of_paths_round_after_every_operation(name: str) -> None:
    assert "fma.rn.f64" not in made(name, 80).ptx


@pytest.mark.parametrize("name", names())
def test_machine_code_is_found_again_until_a_source_changes(name: str) -> None:
    from arcflux.algorithms.cuda_kernels import kernels
    from arcflux.spmd import jit

    made_kernel = kernels()[name][0]
    cells = [cell.cell_contents for cell in made_kernel.py_func.__closure__ or ()]
    assert all(type(value) is bool for value in cells), "others have another name in every process"
    rooms = jit.borrowed(Path(made_kernel.py_func.__code__.co_filename))
    assert "gpu" in rooms
    assert made_kernel._cache._impl.locator.get_source_stamp().endswith(jit._shared_stamp(rooms))
