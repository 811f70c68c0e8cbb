"""Ways between the GPUs of ranks: all give what was sent, and ranks choose the one that all have."""

import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from arcflux.errors import UsageError
from arcflux.gpu import api, links
from arcflux.transports import run_local


def ring(link, ranks):
    """Send to the next, twice and of several types, and receive from the one before."""
    found = []
    for size in (5, 0, 300):
        mine = [np.full(size, ranks.rank, np.int32), np.arange(2 * size).reshape(size, 2) + ranks.rank / 8]
        theirs = [api.to_device(np.zeros_like(array)) for array in mine]
        for array in mine:
            link.send(api.to_device(array), (ranks.rank + 1) % ranks.size)
        for array in theirs:
            link.receive(array, (ranks.rank - 1) % ranks.size)
        link.finish()
        found.append([down(array) for array in theirs])
    return found


def down(array):
    """The simulator cannot copy what is empty."""
    return array.copy_to_host() if array.size else np.zeros(array.shape, array.dtype)


def check(found):
    for rank, of_rank in enumerate(found):
        before = (rank - 1) % len(found)
        for size, (numbers, rows) in zip((5, 0, 300), of_rank, strict=True):
            assert np.array_equal(numbers, np.full(size, before))
            assert np.array_equal(rows, np.arange(2 * size).reshape(size, 2) + before / 8)


@pytest.mark.parametrize(("size", "per_node"), [(1, None), (2, 1), (3, 2)])
def test_staged(size, per_node):
    check(run_local(size, lambda ranks: ring(links.StagedLink(ranks), ranks), ranks_per_node=per_node))


def test_pinned_memory_is_used_again(monkeypatch):
    made = []
    real = api.pinned
    monkeypatch.setattr(api, "pinned", lambda *given: made.append(given) or real(*given))

    def work(ranks):
        link = links.StagedLink(ranks)
        return [ring(link, ranks) for _ in range(4)]

    run_local(2, work)
    assert len(made) <= 2 * 4 * 3


def test_a_message_of_another_size():
    def work(ranks):
        link = links.StagedLink(ranks)
        link.send(api.to_device(np.zeros(3 + ranks.rank)), 1 - ranks.rank)
        link.receive(api.to_device(np.zeros(3)), 1 - ranks.rank)
        link.finish()

    with pytest.raises(UsageError, match="rank 1 sent 32 bytes"):
        run_local(2, work)


simulated = pytest.mark.skipif(not api.simulated(), reason="lies are for the simulator")


class Post:
    """What carries messages between threads, for an MPI and an NCCL of lies."""

    def __init__(self):
        self.boxes, self.came = {}, threading.Condition()

    def put(self, key, raw):
        with self.came:
            self.boxes.setdefault(key, []).append(raw)
            self.came.notify_all()

    def get(self, key):
        with self.came:
            return self.boxes[key].pop(0) if self.boxes.get(key) else None


class Comm:
    """mpi4py's communicator, for arrays of the simulator."""

    def __init__(self, post, rank):
        self.post, self.rank = post, rank

    def Isend(self, message, peer, tag):
        values, kind = message
        assert kind == "bytes"
        self.post.put((self.rank, peer), down(values))
        return lambda: True

    def Irecv(self, message, peer, tag):
        def done():
            raw = self.post.get((peer, self.rank))
            if raw is not None and raw.size:
                message[0].copy_to_device(raw)
            return raw is not None

        return done


@simulated
def test_mpi_that_takes_device_memory():
    post = Post()

    def testall(requests):
        requests[:] = [done for done in requests if not done()] if requests else []
        return not requests

    mpi = SimpleNamespace(BYTE="bytes", Request=SimpleNamespace(Testall=testall))
    check(run_local(3, lambda ranks: ring(links.MpiLink(ranks, mpi, Comm(post, ranks.rank)), ranks)))


class Nccl:
    """nccl.core, for arrays of the simulator: what is in a group happens at its end."""

    def __init__(self):
        self.post, self.inside, self.ids = Post(), threading.local(), set()
        self.UniqueId = SimpleNamespace(from_bytes=bytes)
        self.Communicator = SimpleNamespace(init=self._init)

    def get_unique_id(self):
        return bytes(range(128))

    def _init(self, size, rank, key):
        self.ids.add(key)

        def send(values, peer):
            self.inside.sends.append(((rank, peer), values))

        def recv(values, peer):
            self.inside.receives.append(((peer, rank), values))

        return SimpleNamespace(send=send, recv=recv)

    @contextmanager
    def group(self):
        self.inside.sends, self.inside.receives = [], []
        yield
        for key, values in self.inside.sends:
            self.post.put(key, down(values))
        for key, values in self.inside.receives:
            while (raw := self.post.get(key)) is None:
                pass
            if raw.size:
                values.copy_to_device(raw)


@simulated
def test_nccl():
    nccl = Nccl()
    check(run_local(2, lambda ranks: ring(links.NcclLink(ranks, nccl), ranks)))
    assert nccl.ids == {bytes(range(128))}


@pytest.mark.parametrize(
    ("lacks", "name"),
    [([], "mpi"), (["mpi"], "nccl"), (["mpi", "nccl"], "staged"), (["nccl"], "mpi")],
)
def test_the_first_that_all_ranks_have_is_chosen(monkeypatch, lacks, name):
    """One rank lacks these, the other none."""
    monkeypatch.setitem(sys.modules, "nccl", SimpleNamespace(core=Nccl()))
    monkeypatch.setitem(sys.modules, "nccl.core", Nccl())
    own = threading.local()
    monkeypatch.setattr(
        links, "possible", lambda: {each: "no" if own.rank and each in lacks else "" for each in links.LINKS}
    )

    def work(ranks):
        own.rank = ranks.rank
        return links.chosen(ranks, object(), object()).name

    assert run_local(2, work) == [name, name]


def test_without_mpi_there_is_no_way_by_mpi(monkeypatch):
    monkeypatch.setattr(links, "possible", lambda: {"mpi": "", "nccl": "no", "staged": ""})
    assert run_local(2, lambda ranks: links.chosen(ranks).name) == ["staged", "staged"]


@simulated
def test_what_is_asked_for_is_taken_or_refused(monkeypatch):
    monkeypatch.setenv("ARCFLUX_GPU_LINK", "staged")
    assert run_local(2, lambda ranks: links.chosen(ranks).name) == ["staged", "staged"]
    assert links.examine()["chosen"] == "staged"
    monkeypatch.setenv("ARCFLUX_GPU_LINK", "nccl")
    with pytest.raises(UsageError, match="not all ranks have it"):
        run_local(2, lambda ranks: links.chosen(ranks).name)
    monkeypatch.setenv("ARCFLUX_GPU_LINK", "wire")
    with pytest.raises(UsageError, match="'wire'"):
        links.examine()


def test_mpi_says_itself_whether_it_takes_device_memory(monkeypatch):
    def built(**functions):
        monkeypatch.setattr(links.ctypes, "CDLL", lambda path: SimpleNamespace(**functions))
        return links._lacks_cuda(SimpleNamespace(__file__="mpi.so"))

    def said_by_mpich(kind, into):
        into._obj.value = 1

    assert built(MPIX_Query_cuda_support=lambda: 1) == ""
    assert built(MPIX_Query_cuda_support=lambda: 0) == "this MPI was built without CUDA"
    assert built(MPIX_GPU_query_support=said_by_mpich) == ""
    assert built() == "this MPI was built without CUDA"
    assert links._lacks_cuda(None) == "this process is no rank of MPI"
