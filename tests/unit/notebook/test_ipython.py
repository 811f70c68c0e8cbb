"""In IPython: a shell in this process, and one that reads what is piped into it or given with -c."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

PROGRAM = """import arcflux as af
@af.program
class Largest:
    x: af.i64

    def start(v):
        v.x = v.number + 1
        return True

    def init(v):
        v.x = v.number + 1

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v, old):
        return v.x != old.x

"""
SHOW = "print('got', af.run(Largest, 'path:3')['x'].tolist())"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell()
    made.history_manager.enabled = False
    yield made
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def test_a_shell_in_this_process(shell: Any) -> None:
    for text, found in ((PROGRAM, [3, 3, 3]), (PROGRAM.replace("+ 1", "+ 9"), [11, 11, 11])):
        shell.run_cell(text, store_history=True).raise_error()
        shell.run_cell("found = af.run(Largest, 'path:3')['x'].tolist()").raise_error()
        assert shell.user_ns["found"] == found


@pytest.mark.parametrize("how", ["-c", "piped", "file"])
def test_the_command_ipython(tmp_path: Path, how: str) -> None:
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "ARCFLUX_QUIET": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "--simple-prompt"]
    text = PROGRAM.replace("\n\n", "\n") + "\n" + SHOW + "\n"  # an empty line ends what is typed
    if how == "-c":
        command += ["-c", text]
    elif how == "file":
        (tmp_path / "cells.ipy").write_text(text)
        command += [str(tmp_path / "cells.ipy")]
    done = subprocess.run(
        command, input=text if how == "piped" else "", capture_output=True, text=True, env=environment, cwd=tmp_path,
        timeout=300, check=False,
    )  # fmt: skip
    assert "got [3, 3, 3]" in done.stdout, done.stdout + done.stderr
