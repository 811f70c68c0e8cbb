"""Jobs that share a GPU: each has its share of the memory, and a stream of its own."""

import numpy as np
import pytest
from samples import shapes

import arcflux as af
from arcflux.devices.cuda import Cuda
from arcflux.errors import UsageError
from arcflux.gpu import api

GRAPH = shapes()["skewed"]


def test_jobs_share_a_gpu_and_give_what_they_give_alone(monkeypatch):
    streams, stream = [], api.stream
    monkeypatch.setattr(api, "stream", lambda: streams.append(stream()) or streams[-1])
    gpu = Cuda(0, memory=1 << 20)
    with af.Jobs(GRAPH, devices=[gpu]) as jobs:
        search, other = jobs.submit("bfs", source=0), jobs.submit("bfs", source=1)
        ranks = jobs.submit("pagerank", tol=1e-3)
        for job, source in ((search, 0), (other, 1)):
            np.testing.assert_array_equal(job.result()["level"], af.bfs(GRAPH, source)["level"])
        np.testing.assert_allclose(ranks.result()["rank"], af.pagerank(GRAPH, tol=1e-3)["rank"], atol=1e-9)
        assert jobs.memory_used == 0
        with pytest.raises(UsageError, match="kernels of its own"):
            jobs.submit("triangles")
    assert len({id(one) for one in streams}) == len(streams) >= 3


def test_a_job_waits_until_the_gpu_has_room_for_it():
    need = af.Jobs(GRAPH, devices=[Cuda(0)])
    with need as jobs:
        jobs.submit("bfs", source=0).result()
        wanted = jobs._buffers(jobs_task(jobs))[0].nbytes
    with af.Jobs(GRAPH, devices=[Cuda(0, memory=int(1.5 * wanted))]) as jobs:
        several = [jobs.submit("bfs", source=k) for k in range(3)]
        assert [job.state for job in several].count("running") <= 1
        for k, job in enumerate(several):
            np.testing.assert_array_equal(job.result()["level"], af.bfs(GRAPH, k)["level"])


def jobs_task(jobs):
    from arcflux.jobs.tasks import task_of

    return task_of("bfs", jobs.graph, {"source": 0})
