"""A fixture that runs commands."""

import pytest

from arcflux.cli import main


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def running(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err
        assert "Traceback" not in err
        said = [line for line in err.splitlines(keepends=True) if not line.startswith("arcflux: compiling")]
        return left.value.code, out, "".join(said)

    return running
