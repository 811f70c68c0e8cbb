"""The names of the contract: functions of a program with the arguments that each may ask for, promises, norms."""

from __future__ import annotations

__all__ = ["ABOUT_GRAPH", "FUNCTIONS", "NORMS", "PROMISES", "REQUIRED"]

# The functions of a program, and the arguments each may ask for by name.
FUNCTIONS = {
    "start": ("v", "g", "p"),
    "init": ("v", "old", "g", "p", "step"),
    "along": ("edge", "u", "v", "g", "p", "step"),
    "compute": ("v", "u", "edge", "old", "g", "p", "step"),
    "around": ("v", "edges", "old", "g", "p", "step"),
    "receive": ("v", "old", "g", "p", "step"),  # and the names of mails
    "update": ("v", "old", "g", "p", "step"),
    "wants": ("v", "g", "p", "step"),
    "priority": ("v", "g", "p"),
    "residual": ("v", "old", "g", "p", "step"),
    "stop": ("g", "p", "step"),
    "iteration": ("run", "g", "p"),
}
REQUIRED = ("compute",)
PROMISES = ("sparse", "monotone", "sorted_edges")
# What `norm` may be: how the residuals of vertices become one number.
NORMS = ("sum", "max")
# What g knows besides totals.
ABOUT_GRAPH = ("vertices", "edges", "arcs")
