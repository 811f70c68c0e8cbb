@pytest.mark.parametrize(("parts", "cores", "mean"), [(2, 2, 2.0), (3, 2, 1.5), (4, 2, 2.0), (5, 4, 2.5), (3, 8, 3.0)])
def test_parts_that_have_no_core_wait_for_a_round_of_their_own(monkeypatch, parts, cores, mean):
    monkeypatch.setattr("arcflux.config.cores", lambda: cores)
    assert Where(parts, parts, "mpi").at_once == pytest.approx(mean)
    assert Where(parts).workers == min(parts, cores)
