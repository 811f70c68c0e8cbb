"""docs/reference/cli.md names every command, option, exit code and variable there is, and no other."""

import re
from pathlib import Path

import click

import arcflux
from arcflux import errors
from arcflux.cli import commands

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/reference/cli.md").read_text()


def options(command):
    own = [one for one in command.params if isinstance(one, click.Option)]
    found = {name for one in own for name in (*one.opts, *one.secondary_opts) if name.startswith("--")}
    return found.union(*(options(inner) for inner in getattr(command, "commands", {}).values()))


def test_options():
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)) - {"--help"} == options(commands) - {"--help"}


def test_commands():
    assert set(commands.commands) == set(re.findall(r"^\| `arcflux (\w+)", PAGE, re.MULTILINE))


def test_exit_codes():
    rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    named = {name: int(code) for code, classes in rows for name in re.findall(r"`(\w+)`", classes)}
    classes = {name: one for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert named == {name: one.exit_code for name, one in classes.items()}


def test_variables():
    package = Path(arcflux.__file__).parent
    read = {name for path in package.rglob("*.py") for name in re.findall(r"ARCFLUX_[A-Z_]*[A-Z]", path.read_text())}
    rows = re.findall(r"^\| (`ARCFLUX_[^|]+)\|", PAGE, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(ARCFLUX_\w+)`", row)}
    # _COMPLETE is click's, and ARCFLUX_COLUMNS is how ranks are told the width of the launcher's terminal.
    assert listed == read - {"ARCFLUX_COMPLETE", "ARCFLUX_COLUMNS"}


def test_partitioners_of_packages_are_named_by_options_and_others_refused(run):
    code, _, err = run("run", "bfs", "path:3", "--source", "0", "--parts", "2", "--partition", "range")
    assert code == 2
    assert "did you mean 'ranges'" in err
