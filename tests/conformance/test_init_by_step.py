"""On parts, init of the next superstep is computed at the end of this one, with the step of the next one."""

import pytest
from program_fuzzer.ways import Way

import arcflux as af


@af.program
class Stamped:
    """A vertex begins with the superstep, and keeps when it was updated."""

    x: af.i64
    when: af.i64

    def start(v):
        v.x = v.number % 5
        return True

    def init(v, step):
        v.x = step * 100

    def compute(v, u):
        v.x += u.when + 1

    def update(v, old, step):
        v.when = v.when * 3 + step
        return True


@pytest.mark.filterwarnings("ignore:.* stopped after")
@pytest.mark.parametrize("spec", ["cycle:40", "kron:5"])
@pytest.mark.parametrize("options", [{"direction": "push"}, {"ranks_per_node": 1, "exchange": "owners"}], ids=str)
def test_the_step_is_that_of_the_superstep(spec: str, options: dict) -> None:
    graph = af.load(spec)
    plain = af.run(Stamped, graph, max_supersteps=4, debug=True)
    with Way({"parts": 2, **options}).active() as given:
        found = af.run(Stamped, graph, max_supersteps=4, **given)
    assert found["x"].tolist() == plain["x"].tolist()
    assert found["when"].tolist() == plain["when"].tolist()
