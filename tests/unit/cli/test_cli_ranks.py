"""What a person sees of a run on ranks: progress on a terminal, each warning once, and no words of the launcher."""

import os
import pty
import signal
import subprocess
import sys

import pytest

pytest.importorskip("mpi4py")
ENDLESS = ["pagerank", "kron:10", "--set", "tol=0", "--set", "dangling=drop", "--set", "max_iter=1000000000"]
ENDLESS += ["--workers", "3"]


def line(*words):
    return [sys.executable, "-m", "arcflux", "run", *words]


def ran(*words, **environment):
    return subprocess.run(
        line(*words), capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip


def on_a_terminal(*words, until):
    """What a run on a terminal writes there; it is interrupted when `until` has been seen."""
    above, below = pty.openpty()
    process = subprocess.Popen(line(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=below)
    os.close(below)
    seen = b""
    try:
        while chunk := os.read(above, 4096):
            seen += chunk
            if until in seen:
                process.send_signal(signal.SIGINT)
                until = b"\0 never again"
    except OSError:  # nobody writes there any more
        pass
    finally:
        os.close(above)
    out, _ = process.communicate(timeout=100)
    return process.returncode, out.decode(), seen.decode(errors="replace")


def test_progress_is_shown_on_a_terminal():
    code, out, seen = on_a_terminal(*ENDLESS, "--timeout", "100", until=b"supersteps")
    assert "PageRank" in seen
    assert "supersteps" in seen
    assert "interrupted" in out
    assert code == 130


def test_there_is_no_bar_without_a_terminal():
    done = ran(*ENDLESS, "--timeout", "3")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("more", [[], ["--ranks-per-node", "1"]])
def test_a_warning_comes_once(more):
    done = ran("pagerank", "kron:8", "--max-supersteps", "2", "--set", "method=power", "--workers", "3", *more)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("arcflux: warning: PageRank stopped after 2 supersteps") == 1
    assert done.stderr.count("warning") == 1


def test_the_launcher_does_not_repeat_what_a_rank_has_said():
    done = ran("bfs", "no-such-file", "--source", "0", "--workers", "3")
    assert done.returncode == 3
    assert done.stderr.count("no such file") == 1
    assert "prterun" not in done.stderr
    assert "prterun" in ran("bfs", "no-such-file", "--source", "0", "--workers", "3", ARCFLUX_VERBOSE="1").stderr


def test_what_only_the_launcher_knows_is_shown():
    """An mpiexec that cannot start anything says why."""
    mpiexec = f"{os.path.dirname(sys.executable)}/mpiexec --host localhost:1,nowhere.invalid:1 --map-by node"
    done = ran("bfs", "path:5", "--source", "0", "--workers", "2", ARCFLUX_MPIEXEC=mpiexec)
    assert done.returncode != 0
    assert "nowhere" in done.stderr or "ssh" in done.stderr
