"""Ten thousand requests that the OpenAPI description allows or forbids, by schemathesis: none gets a 5xx."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from serving import Server, folders

pytest.importorskip("schemathesis", reason="the extra `schema` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")


@pytest.mark.chaos
def test_no_request_is_answered_with_a_server_error(tmp_path):
    root = folders(tmp_path)
    (root / "programs" / "endless.py").unlink()  # the description names what there is, and it would be submitted
    server = Server(root, "--queue", "100000", "--workers", "1")  # no processes
    try:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--no-color",
                   "--header", f"Authorization: Bearer {server.token}", "--checks", "not_a_server_error",
                   "--max-examples", "2000", "--seed", "1", "--phases", "examples,coverage,fuzzing"]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        count = re.search(r"([\d,]+) generated", done.stdout)
        assert count is not None, done.stdout[-3000:]
        assert int(count[1].replace(",", "")) >= 10_000, done.stdout[-3000:]
        assert server.client().graphs()  # and it is alive
    finally:
        server.stop()
