"""The doctor tries each GPU, here of the simulator: what works, what does not, and how ranks would exchange."""

import json

import pytest

from arcflux import checkup
from arcflux.cli import main
from arcflux.gpu import api


def examined(capsys, *more):
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--gpu", *more])
    assert left.value.code == 0
    return capsys.readouterr().out


simulated = pytest.mark.skipif(not api.simulated(), reason="only the simulator has as many GPUs as one likes")


@simulated
def test_each_gpu_is_tried(capsys, monkeypatch):
    monkeypatch.setenv("ARCFLUX_SIMULATED_GPUS", "2")
    found = json.loads(examined(capsys, "--json"))["gpu"]
    assert found["usable"]
    assert found["simulated"]
    assert found["link"] == {"chosen": "staged", "reason": found["link"]["reason"], "lacks": found["link"]["lacks"]}
    assert [(gpu["index"], gpu["name"], gpu["works"], gpu["error"]) for gpu in found["gpus"]] == [
        (0, "simulator", True, None), (1, "simulator", True, None),
    ]  # fmt: skip
    assert all(0 < gpu["budget"] <= gpu["memory"] for gpu in found["gpus"])


@simulated
def test_a_gpu_that_computes_wrongly_is_found_out(capsys, monkeypatch):
    from arcflux.gpu import executor

    real = executor.OnGpu._apply

    def skips_the_first(self, values):
        values["which"] = values["which"][1:]
        if len(values["which"]):
            real(self, values)

    monkeypatch.setattr(executor.OnGpu, "_apply", skips_the_first)
    monkeypatch.setattr(executor.OnGpu, "_pull", lambda self, values: None)
    (gpu,) = checkup.examine()["gpus"]
    assert not gpu["works"]
    assert gpu["error"] == "levels of a search differ from those on cores"


@simulated
def test_a_gpu_that_fails_is_told(capsys, monkeypatch):
    from arcflux.gpu import executor

    def broken(self, values):
        raise RuntimeError("the fan fell off")

    monkeypatch.setattr(executor.OnGpu, "_start", broken)
    out = examined(capsys)
    assert "cuda:0    simulator, sm_52, 1.0 GiB, 1 processors: does not work: RuntimeError: the fan fell off" in out
