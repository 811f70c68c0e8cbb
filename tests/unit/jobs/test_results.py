"""Results in files: every page of every format has the rows of the table, also across batches."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from arcflux.errors import StoreError, UsageError
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


@pytest.mark.parametrize("form", FORMATS)
def test_a_result_that_is_not_what_was_written_is_told_before_its_first_byte(tmp_path, form):
    """Arrow would show other numbers, or read beyond the file where the offsets of text are others."""
    kept, names = Results(tmp_path / "kept"), pa.array([f"v{k}" for k in range(50)], pa.large_string())
    kept.keep_table("1-a", pa.table({"vertex": names, "rank": np.arange(50) / 7}))
    path = kept.path("1-a")
    right = path.read_bytes()
    assert b"".join(kept.stream("1-a", form))
    for at in range(3, len(right), 101):
        wrong = bytearray(right)
        wrong[at] ^= 1 << at % 8
        path.write_bytes(wrong)
        with pytest.raises(StoreError, match="not what was written"):
            kept.stream("1-a", form)
    path.write_bytes(right[:-40])
    with pytest.raises(StoreError):
        kept.stream("1-a", form)
    path.write_bytes(b"")
    with pytest.raises(StoreError):
        kept.stream("1-a", form)
    path.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        kept.stream("1-a", form)
