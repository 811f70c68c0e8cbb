"""The papers' tables and the models: what benchmarks/papers.py says stays true."""

import pytest

import papers
from arcflux.plan.profile import read


@pytest.mark.parametrize("row", papers.searches(read("sci-k20")), ids=lambda row: f"{row['table']}-{row['gpus']}")
def test_mapgraph_tables(row):
    assert abs(row["error"]) < 0.15


def test_the_formula_alone_with_a_number_of_each_table():
    assert max(map(abs, papers.by_formula())) < 0.15
    assert papers.by_formula()[2] == pytest.approx(2**30 / 0.053 / 1e9 / 20.5 - 1)  # the row that was taken


def test_figure_8_grows_as_the_paper_says():
    rows = papers.figure_8(read("sci-k20"))
    moved = [row["communication"] for row in rows]
    assert moved[0] == 0
    assert moved[2] / moved[1] == pytest.approx(4)
    assert moved[3] / moved[2] == pytest.approx(3)
    computed = [row["compute"] for row in rows]
    assert max(computed) < 1.2 * min(computed)


def test_the_wave_costs_about_what_the_paper_found():
    gains = list(papers.wave(read("sci-k20")).values())
    assert gains == sorted(gains)
    assert gains[0] < 0.30 < gains[-1] < 0.40


def test_lux_table_3():
    found = papers.table_3()
    assert found["efficiency"] == pytest.approx(read("xstream").efficiency, rel=0.02)
    assert found["rows"]["PR (TW)"]["predicted"][1] == pytest.approx(papers.PR_ON_FOUR)
    assert all(row["same_order"] for row in found["rows"].values())
    assert not all(row["same_order"] for row in papers.table_3(printed=True)["rows"].values())


def test_hive_classes():
    assert all(row["same"] for row in papers.classes())
    assert len(papers.classes()) == 21  # peer access and unified memory are one row of the study's
