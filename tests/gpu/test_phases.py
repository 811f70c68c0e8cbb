"""Programs with phases give on GPUs what plain Python gives; fields stay on the device from one phase to the next."""

import numpy as np
import pytest
from phased import PHASED, Hubs, Waves

import arcflux as af
from arcflux.devices.cuda import Cuda
from arcflux.gpu.state import State

GRAPH = af.Graph.from_edges(
    [0, 1, 2, 2, 3, 5, 5, 0, 4, 4], [1, 2, 0, 3, 4, 5, 1, 1, 2, 3],
    columns={"weight": [3, 1, 2, 5, 1, 1, 4, 2, 2, 7]}, vertices=8,
)  # fmt: skip
WAYS = {
    "pull": {"devices": lambda: [Cuda(0)], "direction": "pull"},
    "push": {"devices": lambda: [Cuda(0)], "direction": "push"},
    "two": {"devices": lambda: [Cuda(0), Cuda(0)]},
    "two nodes": {"devices": lambda: [Cuda(0), Cuda(0)], "ranks_per_node": 1},
    "beside cores": {"devices": lambda: [Cuda(0), af.devices.CPU(1)]},
    "owners": {"devices": lambda: [Cuda(0), af.devices.CPU(1)], "exchange": "owners"},
    "deterministic": {"devices": lambda: [Cuda(0)], "deterministic": True},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PHASED, ids=lambda program: program.name)
def test_a_gpu_gives_what_plain_python_gives(program, way):
    given = {"source": 0} if program is Waves else {}
    options = {name: value() if callable(value) else value for name, value in WAYS[way].items()}
    plain = af.run(program, GRAPH, debug=True, **given)
    there = af.run(program, GRAPH, **options, **given)
    for name in plain.values:
        np.testing.assert_allclose(there[name], plain[name], rtol=1e-12, err_msg=name)
    told = [(step.phase, step.changed) for step in there.history]
    assert told == [(step.phase, step.changed) for step in plain.history]


def test_fields_stay_on_the_device(monkeypatch):
    """However many phases are called, each field goes to the device once and comes back once."""
    there, back = [], []
    device, fetch = State.device, State.fetch

    def counted(self, array, *given, **more):
        twin = self._twin(array)
        if twin is not None and twin.ahead == "host" and twin.host.dtype == np.float64 and twin.host.ndim == 1:
            there.append(len(twin.host))
        return device(self, array, *given, **more)

    def fetched(self, *arrays):
        back.extend(len(a) for a in arrays if a.dtype == np.float64 and a.ndim == 1 and len(a) == GRAPH.vertices)
        return fetch(self, *arrays)

    monkeypatch.setattr(State, "device", counted)
    monkeypatch.setattr(State, "fetch", fetched)
    counts = []
    for rounds in (2, 5):
        there.clear(), back.clear()
        af.run(Hubs, GRAPH, rounds=rounds, devices=[Cuda(0)])
        counts.append((there.count(GRAPH.vertices), back.count(GRAPH.vertices)))
    assert counts[0] == counts[1]
