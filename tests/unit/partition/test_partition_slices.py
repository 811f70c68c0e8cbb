"""Ranks read their own slices of a graph on disk, and no more; what they allocate does not depend on its arcs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arcflux as af

pytestmark = pytest.mark.skipif(
    not (Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec")),
    reason="mpiexec is not installed",
)
SCRIPT = Path(__file__).with_name("partition_slices.py")
# Files are mapped in pages of up to 2 MiB, so a slice may need one more at each end.
PAGE = 2 << 20


def graph(*, directed: bool) -> af.Graph:
    random = np.random.default_rng(1)
    # So many arcs that half of a slice is well above what any run takes for itself: 2 to 6 MB.
    ends = random.integers(0, 1 << 15, (2, 20_000_000 if directed else 10_000_000))
    return af.Graph.from_edges(*ends, directed=directed)


def said(folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "launch", str(folder)], capture_output=True, text=True, timeout=250, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["store", "parts"])
def test_ranks_read_their_own_slices_alone(tmp_path: Path, kind: str, directed: bool) -> None:
    """Without rebalancing: a part that moves reads what it gets besides."""
    whole, folder = graph(directed=directed), tmp_path / "some.arcflux"
    if kind == "parts":
        af.partition(whole, 4).save(folder)
    else:
        whole.into  # noqa: B018 - in-edges that are built are stored
        af.save(whole, folder)
    ranks = said(folder)
    assert sorted(one["rank"] for one in ranks) == [0, 1, 2, 3]
    assert sum(one["own"] for one in ranks) == ranks[0]["all"]
    for one in ranks:
        assert one["own"] <= one["touched"] + PAGE
        assert one["touched"] <= one["own"] + 2 * PAGE < one["all"] / 2
        assert one["grown"] < one["own"] / 2
