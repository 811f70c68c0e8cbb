"""Python programs in processes of their own."""

import os
import subprocess
import sys


def python(program, **environment):
    """Start a program with additions to the environment; its stdout and stderr are pipes of text."""
    settings = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | {k: str(v) for k, v in environment.items()}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | settings, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def lines(program, **environment):
    """The lines that a program prints, when it ends well."""
    process = python(program, **environment)
    printed, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    return printed.splitlines()
