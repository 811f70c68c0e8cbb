"""Numbers mean on a GPU what they mean in plain Python."""

import numpy as np
import programs

import arcflux as af
from arcflux.devices.cuda import Cuda


def test_a_gpu_gives_what_plain_python_gives() -> None:
    graph, given = programs.numbers()
    plain = af.run(programs.Numbers, graph, given=given, debug=True)
    there = af.run(programs.Numbers, graph, given=given, devices=[Cuda(0)])
    for name, values in plain.values.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(there[name], values, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(there[name], values, err_msg=name)
