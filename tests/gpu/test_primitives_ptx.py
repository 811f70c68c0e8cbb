"""The kernels that serve every program compile for real GPUs: few registers, nothing spilled, the atomics meant."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from primitives_ptx import ARCHITECTURES, signatures

# With more, fewer than 2048 threads fit on a multiprocessor that has 65536.
MOST_REGISTERS = 32
ATOMICS = {"bits_of": "or.b64", "list_of": "add.u64", "ones": "add.u64"}


@pytest.fixture(scope="module")
def compiled():
    if shutil.which("ptxas") is None:
        pytest.skip("there is no ptxas, which comes with CUDA's nvcc")
    for package in ("numba_cuda", "nvidia"):
        pytest.importorskip(package, reason="pip install 'arcflux[dev]' brings the compiler for GPUs")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": ":".join(sys.path)}
    script = Path(__file__).with_name("primitives_ptx.py")
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", signatures())
def test_kernel(compiled, name, architecture):
    facts = compiled[f"{name} {architecture}"]
    assert facts["spilled"] == facts["local"] == facts["divisions"] == facts["calls"] == 0
    assert facts["registers"] <= MOST_REGISTERS
    assert facts["shared"] <= 64
    assert len(facts["atomics"]) == (name in ATOMICS)
    assert all(atomic.endswith(ATOMICS[name]) for atomic in facts["atomics"])
