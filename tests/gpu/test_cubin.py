"""Kernels as compiled for GPUs that are not here: registers, spills, loads, atomics; and how long that takes."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import totalling
from samples import PROGRAMS
from test_account import COLUMNS, lowered

import arcflux as af
from arcflux import algorithms

SCALAR = [algorithms.PageRank, algorithms.BFS, algorithms.SSSP, algorithms.Components]
PULLS, PUSHES = ("pull_thread", "pull_scan", "pull_warp", "pull_block"), ("push", "gather")


@cache
def made(program: str, kernel: str, architecture: int, deterministic: bool = False) -> object:
    from arcflux.gpu.cubin import compiled

    found = next(p for p in PROGRAMS if p.name == program)
    return compiled(lowered(found, deterministic), kernel, architecture, COLUMNS)


def _kernels(program: object, names: tuple[str, ...]) -> list[str]:
    """Those that the program has: a search, which one message ends, does without the scan."""
    from arcflux.gpu.cubin import kernels

    there = kernels(lowered(program))
    assert set(names) - set(there) <= ({"pull_scan"} if program is algorithms.BFS else set())
    return [name for name in names if name in there]


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("program", SCALAR, ids=lambda p: p.name)
def test_kernels_leave_room_for_all_threads(program: object, architecture: int) -> None:
    for kernel in _kernels(program, (*PULLS, *PUSHES, "apply", "publish", "start")):
        found = made(program.name, kernel, architecture)
        assert found.spilled == 0, kernel
        more = architecture == 100 and kernel == "pull_thread"
        assert found.registers <= (48 if more else 40), kernel
        assert found.occupancy >= (0.6 if more else 1.0), kernel


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_program_compiles_without_local_memory(program: object) -> None:
    from arcflux.gpu.cubin import kernels

    for kernel in kernels(lowered(program)):
        if kernel in ("pull_scan", "pull_warp", "push"):
            found = made(program.name, kernel, 80)
            assert found.spilled == 0, kernel
            assert ".local" not in found.ptx, kernel


@pytest.mark.parametrize("program", SCALAR, ids=lambda p: p.name)
def test_edges_are_loaded_as_words_and_nothing_is_divided(program: object) -> None:
    for kernel in _kernels(program, PULLS):
        found = made(program.name, kernel, 80)
        assert re.search(r"ld\.global(\.nc)?\.u32", found.ptx), kernel
        assert not re.search(r"\b(div|rem)\.[us]64", found.ptx), kernel
        assert ".local" not in found.ptx, kernel
        # What is reduced stays in registers: the only atomics are those of the tally.
        assert set(re.findall(r"(?<![.\w])(?:atom|red)\.[\w.]+", found.ptx)) <= {
            "atom.global.add.f64",
            "red.global.add.f64",
        }


ATOMICS = {
    "PageRank": r"(atom|red)\.global\.add\.f64",
    "SSSP": r"atom(\.relaxed)?\.global\.cas\.b64",  # floats have no minimum
    "Components": r"(atom|red)\.global\.min\.[us](32|64)",
    "Bits": r"(atom|red)\.global\.or\.b32",
    "Reach": r"atom(\.relaxed)?(\.global)?\.cas\.b32",  # a flag is in a word with others
}


@pytest.mark.parametrize("program", ATOMICS)
def test_push_has_the_atomic_that_its_reduction_needs(program: str) -> None:
    assert re.search(ATOMICS[program], made(program, "push", 80).ptx)


def test_deterministic_kernels_round_after_every_operation() -> None:
    assert "fma.rn.f64" in made("PageRank", "apply", 80).ptx
    assert "fma.rn.f64" not in made("PageRank", "pull_warp", 80, True).ptx
    assert "fma.rn.f64" not in made("PageRank", "pull_thread", 80, True).ptx


def test_vectors_go_through_shared_memory() -> None:
    found = made("CollaborativeFiltering", "pull_warp", 80)
    factors = af.algorithms.CollaborativeFiltering.parameters["k"].value
    assert found.shared >= 128 * (factors + 1) * np.dtype("f4").itemsize
    assert "st.shared.f32" in found.ptx or "st.shared.u32" in found.ptx
    assert found.spilled == 0


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_vectors_leave_room_for_all_threads(architecture: int) -> None:
    for kernel in ("start", "pull_thread", "pull_warp", *PUSHES, "apply", "publish"):
        found = made("CollaborativeFiltering", kernel, architecture)
        assert (found.spilled, found.occupancy) == (0, 1.0), kernel
        assert found.registers <= 40, kernel
        assert ".local" not in found.ptx, kernel


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_a_total_leaves_room_for_most_threads(architecture: int) -> None:
    from arcflux.gpu.cubin import compiled

    ranks = lowered(algorithms.PageRank(redistribute=True))
    assert [each.name for each in ranks.measures] == ["residual", "lost"]
    for kernel in (*PULLS, *PUSHES, "apply", "publish", "start"):
        found = compiled(ranks, kernel, architecture, COLUMNS)
        assert found.spilled == 0, kernel
        assert found.occupancy >= (0.6 if architecture == 100 and kernel == "pull_thread" else 0.75), kernel


@pytest.mark.parametrize("deterministic", [False, True])
def test_totals_take_the_atomics_of_their_operations(deterministic: bool) -> None:
    """One for a warp; a sum of floats that has one order is left to the host, and nothing is spilled for a number."""
    from arcflux.gpu.cubin import compiled, kernels

    dense, sparse = lowered(totalling.Everything, deterministic), lowered(totalling.Reached, deterministic)
    assert {"start", "empty", "apply", "pull_thread"} <= set(kernels(dense))
    found = compiled(dense, "apply", 80, COLUMNS).ptx
    for operation in (r"min\.s64", r"max\.u64", r"or\.b64", r"and\.b64", r"add\.u64"):
        assert re.search(rf"(atom|red)\.(relaxed\.)?(gpu\.)?global\.{operation}", found), operation
    assert bool(re.search(r"(atom|red)\.global\.add\.f64", compiled(dense, "start", 80, COLUMNS).ptx)) != deterministic
    for kernel in ("pull_thread", "pull_warp", "apply"):
        assert compiled(sparse, kernel, 80, COLUMNS).spilled == 0, kernel


def test_machine_code_is_kept_where_only_the_owner_writes_and_as_long_as_its_sources_are_the_same() -> None:
    from arcflux import config
    from arcflux.gpu import primitives
    from arcflux.spmd import jit

    kept = primitives._fill._cache
    folder = Path(kept._cache_path)
    assert folder.is_relative_to(config.cache_folder("kernels"))
    assert folder.stat().st_mode & 0o077 == 0
    assert kept._impl.locator.get_source_stamp().endswith(jit._shared_stamp(("gpu",)))
    assert jit._shared_stamp(("gpu",)) != jit._shared_stamp(())
