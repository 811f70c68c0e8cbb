"""Kernels for blocks of triplets as compiled for GPUs that are not here."""

import numpy as np
import pytest
from test_plug_blocks import Ranks, Spread

from arcflux.compile import cache
from arcflux.compile.cuda.triplets import triplet_source_on_gpu
from arcflux.plug.template import HEADER, OPERATIONS, WORDS, Template


@pytest.mark.parametrize("architecture", [80, 100])
@pytest.mark.parametrize("program", [Spread, Ranks], ids=lambda program: program.name)
def test_all_kernels_compile(program, architecture):
    from arcflux.gpu.cubin import compiled_kernel

    template = Template(program, {"weight": "<i8"}, (10, 20, 20), {})
    source = triplet_source_on_gpu(template.lowered)
    module, given = cache.module(source), dict(WORDS.findall(source))
    assert list(given) == list(OPERATIONS)
    for operation in OPERATIONS:
        chunk = np.zeros(template.size(4), np.uint8)
        assert len(chunk) > HEADER * 8
        known = template.constants | template.views(operation, 4, chunk) | {"tally": np.zeros((1, 2))}
        known |= {"step": 0, "size": 4}
        types = [np.asarray(known[name]).dtype.str[1:] + "[]" * np.ndim(known[name])
                 for name in given[operation].split(", ")]  # fmt: skip
        made = compiled_kernel(operation, getattr(module, f"triplet_{operation}"), types, architecture)
        assert made.registers > 0
        assert not made.spilled
