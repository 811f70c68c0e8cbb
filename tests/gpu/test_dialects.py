"""Programs in other systems' words give on GPUs what oracles say, alone, on two of them, and beside cores."""

import pytest
from dialect_cases import ALGORITHMS, FORMS, case, sample
from emv_programs import Authorities, Everything, expected_authorities, expected_everything

import arcflux as af
from arcflux.devices.cuda import Cuda

SMALL = sample(24, 40, 5)
DEVICES = {
    "one": lambda: [Cuda(0)],
    "two": lambda: [Cuda(0), Cuda(0)],
    "beside cores": lambda: [Cuda(0), af.devices.CPU(1)],
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("form", FORMS)
def test_a_gpu_gives_what_the_oracle_says(name: str, form: str) -> None:
    case(name, SMALL).check(form, devices=[Cuda(0)])


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("devices", ["two", "beside cores"])
def test_several_devices_give_what_the_oracle_says(name: str, devices: str) -> None:
    for form in ("gas", "emv", "msg"):
        case(name, SMALL).check(form, devices=DEVICES[devices]())


@pytest.mark.parametrize("devices", DEVICES)
def test_iterations_of_several_runs(devices: str) -> None:
    expected_authorities(af.run(Authorities, SMALL, devices=DEVICES[devices]()), SMALL)
    expected_everything(af.run(Everything, SMALL, devices=DEVICES[devices]()), SMALL)
