"""Results in files: every page of every format has the rows of the table, also across batches."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from arcflux.errors import UsageError
from arcflux.jobs.results import _BATCH, FORMATS, Results


def _read(form, raw):
    if form == "json":
        return pa.table(json.loads(raw)["columns"])
    if form == "csv":
        return csv.read_csv(io.BytesIO(raw))
    return pa.ipc.open_stream(raw).read_all() if form == "arrow" else parquet.read_table(io.BytesIO(raw))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = Results(tmp_path_factory.mktemp("results") / "kept")
    count = 2 * _BATCH + 5
    made.keep_table("1-a", pa.table({"vertex": np.arange(count), "rank": np.linspace(0, 1, count)}))
    made.keep_table(
        "2-b", pa.table({"vertex": [1, 2], "x": [float("inf"), 0.5], "v": [[1.0, 2.0], [3.0, float("nan")]]})
    )
    return made


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("first", "limit"),
    [
        (0, None),
        (0, 1),
        (_BATCH - 1, 3),
        (_BATCH, _BATCH + 2),
        (5, 2 * _BATCH),
        (2 * _BATCH, None),
        (2 * _BATCH + 4, 9),
    ],
)
def test_pages_have_the_rows_that_were_asked_for(results, form, first, limit):
    count = 2 * _BATCH + 5
    end = count if limit is None else min(count, first + limit)
    found = _read(form, b"".join(results.stream("1-a", form, first, limit)))
    np.testing.assert_array_equal(found.column("vertex").to_numpy(), np.arange(first, end))


def test_what_json_has_no_word_for_is_null_and_vectors_are_columns_of_a_csv(results):
    said = json.loads(b"".join(results.stream("2-b", "json")))
    assert said["columns"]["x"] == [None, 0.5]
    assert said["columns"]["v"] == [[1.0, 2.0], [3.0, None]]
    assert b"".join(results.stream("2-b", "csv")).splitlines()[0] == b"vertex,x,v_0,v_1"


def test_files_are_the_owners_alone_and_strangers_are_tidied_away(results):
    assert results.path("1-a").stat().st_mode & 0o077 == 0
    assert results.folder.stat().st_mode & 0o077 == 0
    (results.folder / "9-z.arrow").write_bytes(b"")
    (results.folder / "8-y.writing").write_bytes(b"")
    results.tidy({"1-a", "2-b"})
    assert sorted(file.name for file in results.folder.iterdir()) == ["1-a.arrow", "2-b.arrow"]
    with pytest.raises(UsageError):
        results.path("../etc/passwd")
