"""Compile the kernels that serve every program for GPUs that are not here, and have ptxas say what they take.

A script, because the compiler is there only where the simulator is not: prints JSON, by kernel and architecture.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from arcflux.gpu import api

ARCHITECTURES = {"sm_80": (8, 0), "sm_90": (9, 0), "sm_100": (10, 0)}
TAKEN = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
SPILLED = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def signatures():
    from numba import types

    words, index, lists, long = types.uint64[::1], types.int32[::1], types.int32[::1], types.int64[::1]
    floats, rows = types.float64[::1], types.float32[:, ::1]
    return {
        "fill": (floats, types.float64),
        "gather": (floats, index, floats),
        "gather_rows": (rows, index, rows),
        "scatter": (floats, index, floats),
        "scatter_rows": (rows, index, rows),
        "bits_of": (lists, types.uint64, words),
        "list_of": (words, lists, long),
        "merge": (words, words),
        "ones": (words, long),
        "tile_sums": (index, long),
        "scan_sums": (long, types.uint64),
        "scan_tiles": (index, long, long),
        "reduce_sum": (floats, types.float64, floats),
        "reduce_min": (floats, types.float64, floats),
        "reduce_max": (long, types.int64, long),
    }


def assembled(ptx, architecture, folder):
    (folder / "kernel.ptx").write_text(ptx)
    line = ["ptxas", "-v", f"-arch={architecture}", str(folder / "kernel.ptx"), "-o", str(folder / "kernel.cubin")]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    shared = SHARED.search(said)
    return {
        "registers": int(TAKEN.search(said)[1]),
        "shared": int(shared[1]) if shared else 0,
        "spilled": sum(map(int, SPILLED.search(said).groups())),
    }


def main(names):
    from arcflux.gpu import primitives

    cuda, wanted, found = api.cuda(), signatures(), {}
    assert set(wanted) == set(primitives.KERNELS), "every kernel has to be checked"
    with tempfile.TemporaryDirectory() as folder:
        for architecture in names:
            capability = ARCHITECTURES[architecture]
            fake = SimpleNamespace(compute_capability=capability)
            with mock.patch("numba.cuda.dispatcher.get_current_device", lambda fake=fake: fake):
                for name, kernel in primitives.KERNELS.items():
                    ptx, _ = cuda.compile(
                        kernel.py_func, wanted[name], device=False, abi="numba", cc=capability, output="ptx"
                    )
                    facts = assembled(ptx, architecture, Path(folder))
                    facts["atomics"] = sorted(set(re.findall(r"\b((?:atom|red)\S*)", ptx)))
                    facts["local"] = len(re.findall(r"\b(?:ld|st)\.local", ptx))
                    facts["divisions"] = len(re.findall(r"\b(?:div|rem)\.[su]64", ptx))
                    facts["calls"] = len(re.findall(r"\bcall\.", ptx))
                    found[f"{name} {architecture}"] = facts
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:] or ARCHITECTURES)
