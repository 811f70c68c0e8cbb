"""Run a program on a graph: the call and its options (front.py), the arrays (state.py), a loop for each kind of kernel.

The kernels (compile/) execute the supersteps, many per launch. loop.py launches them, watches them and shows progress;
on Ctrl-C or a timeout it asks them to stop at the end of the superstep.
"""

from arcflux.engine.front import run

__all__ = ["run"]
