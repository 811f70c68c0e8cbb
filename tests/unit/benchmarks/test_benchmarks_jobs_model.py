"""benchmarks/jobs_model.py: by a modelled clock, pairs that gain run side by side, and no others do."""

import pytest

import jobs_model


@pytest.mark.parametrize("crowding", [1.0, 1.1, 1.25])
@pytest.mark.parametrize("streams", jobs_model.PAIRS)
def test_jobs_side_by_side_are_never_slower_than_in_turns(
    streams: tuple[tuple[str, int], tuple[str, int]], crowding: float
) -> None:
    jobs, turns = (jobs_model.over_sequence(streams, pairing, 0.0003, crowding) for pairing in (True, False))
    assert jobs > 0.99 * turns
    if streams[0][0] == streams[1][0]:
        assert jobs > 0.95


def test_pairs_that_gain_do_gain_though_every_job_is_shorter_than_a_quantum() -> None:
    for streams in jobs_model.PAIRS[:3]:
        assert jobs_model.over_sequence(streams, True, 0.0003, 1.0) > 1.02
        assert jobs_model.over_sequence(streams, False, 0.0003, 1.0) < 0.98


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    jobs_model.main(["--crowding", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("modelled")
    assert len(lines) == 1 + len(jobs_model.PAIRS)
