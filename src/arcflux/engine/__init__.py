"""Run a program on a graph: the call and its options (front.py), the arrays (state.py), a loop for each kind of kernel.

The supersteps themselves are in the kernels (compile/), many in one launch. loop.py launches them, watches them, shows
progress, and on Ctrl-C or when the time is up asks them to stop at the next superstep's end.
"""

from arcflux.engine.front import run

__all__ = ["run"]
