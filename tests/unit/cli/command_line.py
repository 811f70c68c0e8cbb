"""What the tests of the command line share."""

import json
from pathlib import Path


def failing(run, *arguments):
    """Run a command that fails, with and without --json: exit code, the error as JSON, stderr."""
    code, out, err = run(*arguments)
    assert (code != 0, out) == (True, "")
    same, document, same_err = run(*arguments, "--json")
    error = json.loads(document)["error"]
    assert (same, error["exit_code"]) == (code, code)
    assert same_err == err
    assert error["what"] in err
    return code, error, err


def put(name, content):
    """Write a file; its name."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name
