"""How runs with phases end: by iteration, by limits, by a token, by Ctrl-C; the last whole superstep stays."""

from __future__ import annotations

import signal

import pytest

import arcflux as af
from arcflux import trace
from arcflux.errors import CancelledError, ProgramError
from arcflux.trace import counted

AT = {"then": None}
WAYS = [{}, {"debug": True}, {"parts": 2, "ranks_per_node": 1}, {"parts": 2}]


@af.program
class Counting:
    """x counts supersteps of one phase, y those of the other."""

    x: af.i64
    y: af.i64

    @af.phase(edges=None)
    class first:
        def update(v):
            v.x = v.x + 1
            return True

    @af.phase
    class second:
        def compute(v, u):
            v.y = max(v.y, u.y)

        def update(v):
            v.y = v.y + 1
            return True

    def iteration(run, g, p):
        run.first()
        if run.iterations == 3 and AT["then"] is not None:
            AT["then"](run)
        run.second()
        return run.iterations < 5


@pytest.fixture(autouse=True)
def nothing_happens():
    AT["then"] = None
    yield
    AT["then"] = None


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_iteration_says_when_it_is_over(way):
    result = af.run(Counting, "cycle:5", **way)
    assert (result.converged, result.iterations, result.supersteps) == (True, 5, 10)
    assert result["x"].tolist() == result["y"].tolist() == [5] * 5


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("limit", [0, 1, 5, 10])
def test_max_supersteps_counts_all_phases(way, limit):
    if limit == 10:
        assert af.run(Counting, "cycle:5", max_supersteps=10, **way).converged
        return
    with pytest.warns(UserWarning, match=f"stopped after {counted(limit, 'superstep')} "):
        result = af.run(Counting, "cycle:5", max_supersteps=limit, **way)
    assert not result.converged
    assert result.supersteps == limit
    assert result["x"].tolist() == [(limit + 1) // 2] * 5
    assert result["y"].tolist() == [limit // 2] * 5


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_limit_within_a_call_until_quiet(way):
    AT["then"] = lambda run: run.second(until="quiet")
    with pytest.warns(UserWarning, match="stopped after 9 supersteps"):
        result = af.run(Counting, "cycle:5", max_supersteps=9, **way)
    assert (result.supersteps, result.iterations, result.converged) == (9, 3, False)
    assert result["y"].tolist() == [6] * 5


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_no_time_is_time_for_one_superstep(way):
    with pytest.warns(UserWarning, match="stopped after 1 superstep "):
        result = af.run(Counting, "cycle:5", timeout=0.0, **way)
    assert result["x"].tolist() == [1] * 5
    assert result["y"].tolist() == [0] * 5


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_token_ends_it_between_phases(way):
    token = af.CancelToken()
    AT["then"] = lambda run: token.cancel()
    with pytest.raises(CancelledError) as caught:
        af.run(Counting, "cycle:5", cancel=token, **way)
    result = caught.value.result
    assert not result.converged
    assert result["x"].tolist() == [3] * 5
    assert result["y"].tolist()[0] in ((2, 3) if "ranks_per_node" in way else (2,))  # ranks agree once a superstep


def test_ctrl_c_raises_with_the_last_whole_superstep():
    AT["then"] = lambda run: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        af.run(Counting, "cycle:5")
    assert caught.value.result["x"].tolist() == [3] * 5
    assert caught.value.result["y"].tolist() == [2] * 5


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_iteration_raises_goes_to_the_caller(way):
    def fail(run):
        raise LookupError("lost")

    AT["then"] = fail
    with pytest.raises(LookupError, match="lost"):
        af.run(Counting, "cycle:5", **way)
    AT["then"] = None
    assert af.run(Counting, "cycle:5", **way).converged


def test_a_phase_that_is_not_there_by_name():
    AT["then"] = lambda run: run.secnd()
    with pytest.raises(ProgramError, match="there is no phase secnd") as caught:
        af.run(Counting, "cycle:5")
    assert "did you mean second?" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: run.second(until="quite"), "until='quite'"),
        (lambda run: run.second(5), "called with 5"),
        (lambda run: run.second(times=2), "called with times=2"),
        (lambda run: run.second("quiet", 3), "called with 'quiet', 3"),
    ],
)
def test_until_something_else(call, said):
    AT["then"] = call
    with pytest.raises(ProgramError, match=said) as caught:
        af.run(Counting, "cycle:5")
    assert "until='quiet'" in caught.value.remedy


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("ends", [{"max_supersteps": 4}, {"timeout": 0.05}], ids=str)
def test_an_iteration_that_calls_no_phase_is_ended_too(way, ends):
    @af.program
    class Idle:
        x: af.i64

        @af.phase(edges=None)
        class one:
            def update(v):
                v.x += 1
                return True

        def iteration(run):
            if run.iterations == 1:
                run.one()
            return True

    with pytest.warns(UserWarning, match="stopped after 1 superstep "):
        result = af.run(Idle, "cycle:5", **way, **ends)
    assert not result.converged
    assert result["x"].tolist() == [1] * 5


def test_an_answer_that_is_no_bool():
    @af.program
    class Vague:
        x: af.i64

        @af.phase(edges=None)
        class only:
            def update(v):
                return False

        def iteration(run):
            return run.only()

    with pytest.raises(ProgramError, match="iteration returned 0, not True or False"):
        af.run(Vague, "path:3")


def test_changed_counts_what_the_last_call_changed():
    seen = []
    AT["then"] = lambda run: seen.append((run.changed, run.iterations))
    af.run(Counting, "cycle:5")
    assert seen == [(5, 3)]


def test_every_node_may_have_all_vertices_or_those_of_many_edges():
    for exchange in ("allreduce", "mixed"):
        result = af.run(Counting, "star:40", parts=2, ranks_per_node=1, exchange=exchange)
        assert result.exchange == exchange
        assert not result.notes


def test_a_phase_whose_messages_have_to_meet_at_owners_keeps_all_others_there():
    result = af.run(Counting, "star:40", parts=2, ranks_per_node=1, exchange="allreduce", deterministic=True)
    assert result.exchange == "readers"
    assert any("exchange is not allreduce" in note and "deterministic" in note for note in result.notes)
    result = af.run(Counting, "cycle:5", parts=2, ranks_per_node=1, exchange="mixed")
    assert any("no vertex has many times the mean in-degree" in note for note in result.notes)


def test_progress_counts_supersteps_of_all_phases():
    told = []
    with trace.listen(lambda event: told.append((event.name, event.done)) if isinstance(event, trace.Task) else None):
        af.run(Counting, "cycle:5")
    assert max(done for name, done in told if name == "Counting") == 10
