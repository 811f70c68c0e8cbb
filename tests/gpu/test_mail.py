"""Mail gives on a GPU what plain Python gives, on one of them, on several, and beside cores."""

import mailing
import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import lower
from arcflux.devices.cuda import Cuda
from arcflux.errors import ProgramError

GRAPH = af.load("urand:n=40,m=120,directed,weights=1-9")
DEVICES = {"one": ["cuda"], "two": ["cuda", "cuda"], "beside cores": ["cuda", "cpu"]}


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("program", mailing.MAILED, ids=lambda program: program.name)
def test_a_gpu_gives_what_plain_python_gives(program: af.program, devices: str) -> None:
    plain = af.run(program, GRAPH, debug=True)
    there = af.run(
        program, GRAPH, devices=[Cuda(0) if kind == "cuda" else af.devices.CPU(1) for kind in DEVICES[devices]]
    )
    for name, values in plain.values.items():
        assert there.values[name].tobytes() == values.tobytes(), name
    assert there.supersteps == plain.supersteps
    assert dict(there.totals) == dict(plain.totals)


def test_kernels_count_and_write() -> None:
    text = cuda_source(lower(mailing.Contracted, {"weight": np.dtype("i8")}))
    for name in ("start_count", "start", "pull_thread_count", "pull_thread", "publish"):
        assert f"def part_{name}(" in text
    assert "def part_apply(" not in text


def test_a_record_for_no_vertex_is_refused() -> None:
    with pytest.raises(ProgramError, match="and the numbers of vertices are 0 to 39"):
        af.run(mailing.Roots(shift=-2), GRAPH, devices=[Cuda(0)])
