"""Names change from the old to the new in one step, whoever reads or dies meanwhile; and nothing is left over."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from io_samples import store_sample

import arcflux as af
from arcflux.errors import StoreError
from arcflux.io import directory, replace, store


@pytest.fixture
def folder(tmp_path):
    store.write(store_sample(), tmp_path / "g.arcflux", reverse=True)
    return tmp_path / "g.arcflux"


def names(place):
    return sorted(os.listdir(place))


def started(code, *args):
    """A Python process that runs `code`, which says on stdout when it is ready."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


WRITER = """
    import os, sys, time
    import numpy as np
    import arcflux as af
    os.fsync = lambda descriptor: None  # slow, and not the point here
    folder = sys.argv[1]
    ring = lambda n: af.Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n, columns={"weight": np.full(n, n)},
                                         name=str(n))
    graphs, rounds = [ring(n) for n in (3, 70_000, 500, 9_000)], 0
    graphs[0].save(folder)
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        rounds += 1
        graphs[rounds % 4].save(folder)
    print(rounds)
"""
READER = """
    import sys, time
    import arcflux as af
    folder, end, opens = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
    while time.monotonic() < end:
        graph = af.load(folder)
        n = int(graph.name)
        assert (graph.vertices, graph.arcs) == (n, n)
        assert int(graph.columns["weight"].sum()) == n * n
        assert int(graph.out.neighbours.sum()) == n * (n - 1) // 2
        assert graph.ids.to_ids([n - 1])[0] == n - 1
        opens += 1
    print(opens)
"""


@pytest.mark.parametrize(
    ("seconds", "readers"), [(3, 1), pytest.param(40, 3, marks=pytest.mark.chaos)], ids=["short", "long"]
)
def test_a_store_that_is_replaced_while_it_is_read(tmp_path, seconds, readers):
    writer = started(WRITER, tmp_path / "g", seconds)
    assert writer.stdout.readline() == "ready\n"
    found = [started(READER, tmp_path / "g", seconds) for _ in range(readers)]
    for process in (writer, *found):
        said, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        assert int(said) > 3
    assert names(tmp_path) == ["g"]


def test_a_graph_stays_whole_when_its_store_is_replaced_by_a_smaller_one(tmp_path):
    big, small = af.load("kron:12"), af.load("path:3")
    big.save(tmp_path / "g")
    graph = af.load(tmp_path / "g")
    small.save(tmp_path / "g")
    assert graph.equals(big)
    assert af.load(tmp_path / "g").equals(small)


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_readers_begin_again_when_the_folder_was_replaced(folder, monkeypatch, exchange):
    """The store is replaced between opening the folder and its first array, the first few times."""
    rounds = iter(range(3))
    inside = directory.Directory.open
    if not exchange:
        monkeypatch.setattr(replace, "_exchange", lambda one, other: False)

    def late(self, name):
        if name.endswith(".npy") and next(rounds, None) is not None:
            store_sample("new", ids=(7, 9, 2**40)).save(folder)
        return inside(self, name)

    monkeypatch.setattr(directory.Directory, "open", late)
    assert af.load(folder).ids.to_ids().tolist() == [7, 9, 2**40]


def test_a_folder_that_always_changes_is_told(folder, monkeypatch):
    monkeypatch.setattr(directory.Directory, "is_replaced", lambda self: True)
    (folder / "offsets.npy").unlink()
    with pytest.raises(StoreError, match=r"offsets\.npy is missing"):
        af.load(folder)


KILLED = """
    import os, signal, sys
    import arcflux as af
    from arcflux.io import replace, store
    graph, folder, where = af.load("path:5"), sys.argv[1], sys.argv[2]
    def die(*given):
        os.kill(os.getpid(), getattr(signal, sys.argv[3]))
    if where == "writing":
        store.write_manifest = die
    elif where == "exchanged":
        replace.sync = lambda path, sync=replace.sync: die() if str(path) == os.path.dirname(folder) else sync(path)
    else:
        replace._exchange = lambda one, other: False
        os.replace = lambda old, new, replace=os.replace: die() if ".new." in str(old) else replace(old, new)
    graph.save(folder)
"""


@pytest.mark.parametrize("where", ["writing", "exchanged", "renamed"])
def test_a_killed_writer_leaves_the_old_store_or_the_new_one(folder, tmp_path, where):
    process = started(KILLED, folder, where, "SIGKILL")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert af.load(folder).vertices == (5 if where == "exchanged" else 3)
    store.verify(folder)
    for left in tmp_path.iterdir():
        if left != folder:
            os.utime(left, (0, 0))  # what was written just now may be somebody's who has no lock yet
    store_sample("new").save(folder)
    assert af.load(folder).name == "new"
    assert names(tmp_path) == ["g.arcflux"]


def test_sigterm_cleans_up_and_ends_the_process(folder, tmp_path):
    process = started(KILLED, folder, "writing", "SIGTERM")
    error = process.communicate(timeout=60)[1]
    assert (process.returncode, error) == (-signal.SIGTERM, "")
    assert names(tmp_path) == ["g.arcflux"]
    assert af.load(folder).name == "old"


def test_handlers_of_the_user_stay(folder):
    before = signal.getsignal(signal.SIGTERM)
    store_sample("new").save(folder)
    assert signal.getsignal(signal.SIGTERM) is before
    heard = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with replace.replacing(folder.parent / "x.el") as work:
            os.kill(os.getpid(), signal.SIGTERM)
            work.write_text("0 1\n")
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_somebody_writes_now_is_not_swept(folder, tmp_path):
    with replace.replacing(folder, folder=True) as work:
        os.utime(work, (0, 0))
        store_sample("new").save(folder)
        assert work.is_dir()
        store.write(store_sample("newer"), work / "inner")
        for file in (work / "inner").iterdir():
            file.replace(work / file.name)
        (work / "inner").rmdir()
    assert af.load(folder).name == "newer"
    assert names(tmp_path) == ["g.arcflux"]


def test_writers_at_once(tmp_path):
    graphs = [af.load(f"path:{n}") for n in (3, 2000, 40)]
    for number in range(5):
        writers = [threading.Thread(target=graph.save, args=(tmp_path / f"g{number}",)) for graph in graphs * 2]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert any(af.load(tmp_path / f"g{number}").equals(graph) for graph in graphs)
    assert names(tmp_path) == [f"g{number}" for number in range(5)]


def test_a_folder_set_aside_is_given_a_moment(folder, tmp_path):
    """Between the two renames of a writer that is alive, readers wait and change nothing."""
    aside = replace._hidden(folder, "old")
    folder.rename(aside)
    waiting = threading.Timer(0.02, lambda: store.write(store_sample("new"), folder))
    waiting.start()
    begun = time.monotonic()
    assert af.load(folder).name in ("new", "old")
    assert time.monotonic() - begun < 30
    waiting.join()


def test_links_are_replaced_and_not_followed(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert af.load(tmp_path / "link").name == "old"
    store_sample("new").save(tmp_path / "link")
    assert af.load(tmp_path / "link").name == "new"
    assert af.load(folder).name == "old"
    assert names(tmp_path) == ["g.arcflux", "link"]


def test_everything_is_on_the_disk_before_the_name_is(folder, monkeypatch):
    """Files, then the folder, then the exchange, then the parent."""
    done = []
    sync = os.fsync
    exchange = replace._exchange
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd)))
    monkeypatch.setattr(replace, "_exchange", lambda one, other: (done.append("exchange"), exchange(one, other))[1])
    store_sample("new").save(folder)
    at = done.index("exchange")
    assert done[-1] == str(folder.parent)
    assert at == len(done) - 2
    assert os.path.basename(done[at - 1]).startswith(".g.arcflux.")
    files = {os.path.basename(name) for name in done[: at - 1]}
    assert {"manifest.json", "offsets.npy", "neighbours.npy"} <= files
    assert np.array_equal(af.load(folder).out.offsets, [0, 1, 2, 3])
