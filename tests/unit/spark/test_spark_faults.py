"""Tasks that fail, daemons that are killed: the right result, or an error that says what has happened."""

import os
import signal

import pytest

from arcflux import spark
from arcflux.errors import DeviceError

PATH = [(v, v + 1) for v in range(9)]


def failing(folder, how):
    """What fails in a task's first attempt, by an error or by the death of its process; it notes that it has run."""

    def give(batches):
        held = list(batches)
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        mark = os.path.join(folder, str(part))
        first = not os.path.exists(mark)
        open(mark, "w").close()
        if how == "always" or (first and part == 0):
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ZeroDivisionError("of the task")
        yield from held

    return give


@pytest.mark.parametrize("packing", ["jvm", "arrow"])
@pytest.mark.parametrize("how", ["throw", "kill"])
def test_a_task_that_fails_is_tried_again(frame_of, tmp_path, packing, how):
    frame = frame_of(PATH).mapInArrow(failing(str(tmp_path), how), "src bigint, dst bigint")
    levels = spark.bfs(frame, 0, packing=packing)
    assert {row.vertex: row.level for row in levels.collect()} == {v: v for v in range(10)}


def test_a_task_that_always_fails_is_an_error(frame_of, tmp_path):
    frame = frame_of(PATH).mapInArrow(failing(str(tmp_path), "always"), "src bigint, dst bigint")
    with pytest.raises(Exception, match="of the task"):
        spark.bfs(frame, 0)


def test_a_daemon_that_is_killed_is_replaced(session, frame_of):
    with spark.plug(session) as plug:
        graph = plug.graph(frame_of(PATH))
        lost = graph.bfs(0)
        process = plug.ask(lambda daemon: daemon.process)
        os.kill(process, signal.SIGKILL)
        again = graph.bfs(0)
        assert {row.vertex: row.level for row in again.collect()} == {v: v for v in range(10)}
        assert plug.ask(lambda daemon: daemon.process) != process
        with pytest.raises(Exception, match="run it again"):
            lost.collect()
    assert issubclass(DeviceError, Exception)


def test_nothing_is_left_in_the_folder(session, frame_of):
    with spark.plug(session) as plug:
        plug.graph(frame_of(PATH)).bfs(0).collect()
        folder = plug.ask(lambda daemon: daemon.place.folder)
        assert not list(folder.glob("*.columns"))
        assert not list(folder.glob("spilt*"))
