"""Applications on the command line: a summary that a person wants, and validation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from arcflux.cli.entry import commands


def told(*given: str) -> str:
    done = CliRunner(env={"ARCFLUX_QUIET": "1"}).invoke(
        commands, ["run", *given], obj=list(given), standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (["louvain", "cliques:6x5", "--validate"], ["communities", "modularity"]),
        (["maxflow", "genrmf:3x4", "--source", "0", "--set", "sink=35", "--validate"], ["flow", "cut", "conservation"]),
        (["mincut", "genrmf:3x4", "--source", "0", "--set", "sink=35"], ["flow", "cut"]),
        (["project", "ratings:20x10", "--set", "method=newman", "--validate"], ["projection"]),
        (["match_graphs", "path:5", "--set", "other=path:5", "--set", "seeds=0:4,1:3", "--validate"], ["agreement"]),
        (["classify", "path:5", "--set", "pattern=path:2", "--validate"], ["found"]),
    ],
)
def test_what_a_person_wants_to_know_is_told(given, lines) -> None:
    output = told(*given)
    for line in lines:
        assert f"{line} " in output, output


def test_a_signal_comes_from_a_file(tmp_path) -> None:
    np.save(tmp_path / "y.npy", np.array([0.0, 0, 9, 9]))
    given = ["fused_lasso", "path:4", "--set", f"signal={tmp_path / 'y.npy'}", "--json"]
    assert json.loads(told(*given))["highlights"]["regions"].startswith("2")
