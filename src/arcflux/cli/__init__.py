"""The command line: ``arcflux info | convert | generate | verify | partition | run | plan | explain | calibrate |
algorithms | cache | doctor | serve | submit | jobs | cancel | result``.

Results go to stdout, as text or with ``--json`` as JSON; everything else, notes, progress and errors, goes to stderr.
The exit code tells what went wrong (docs/reference/cli.md). One file for each group of commands; base.py has what they
share, entry.py turns errors into exit codes.
"""

from arcflux.cli.base import commands
from arcflux.cli.calibrate import calibrate, explain
from arcflux.cli.catalogue import algorithms
from arcflux.cli.entry import main
from arcflux.cli.graphs import convert, generate, info, verify
from arcflux.cli.machine import cache, doctor
from arcflux.cli.partition import partition
from arcflux.cli.plan import plan
from arcflux.cli.run import run
from arcflux.cli.service import cancel, jobs, result, serve, submit

__all__ = ["commands", "main"]

# In the order in which one needs them.
for _command in (info, convert, generate, verify, partition, run, plan, explain, calibrate, algorithms, cache, doctor):
    commands.add_command(_command)
for _command in (serve, submit, jobs, cancel, result):
    commands.add_command(_command)
