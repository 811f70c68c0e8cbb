"""From a program's source to something that runs: check.py refuses, lower.py splits, python.py and cpu.py run."""
