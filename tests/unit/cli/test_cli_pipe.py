"""`arcflux ... | head`: a reader that has gone ends the command quietly, whichever it is."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments", ["--help", "algorithms", "info kron:6", "run pagerank kron:6 --json", "run pagerank kron:6 --top 3"]
)
def test_a_closed_pipe_ends_a_command_quietly(arguments: str) -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    line = [sys.executable, "-m", "arcflux", *arguments.split()]
    try:
        done = subprocess.run(line, stdout=write_fd, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(write_fd)
    said = [text for text in done.stderr.splitlines() if "compiling" not in text]
    assert not [text for text in said if "rror" in text or "Traceback" in text or "ignored" in text], done.stderr
    assert done.returncode == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_closed_streams_are_nobody_listening(closed: str) -> None:
    command = f'"{sys.executable}" -m arcflux info path:3 {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
