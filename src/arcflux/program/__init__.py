"""What a user writes: a class with typed vertex fields, parameters, and a few functions; :func:`program` reads it.

Nothing of the class runs as it is, unless with debug=True. Its source is parsed, checked (compile/check) and lowered
(compile/lower.py); what cannot become a kernel is refused before anything runs, with the line and what to write
instead.
"""

from __future__ import annotations

from arcflux.edge_fields import EdgeField, edge
from arcflux.field_type import REF32, TYPES, FieldType
from arcflux.mail import Mail, mail
from arcflux.phase import phase
from arcflux.program.contract import ABOUT_GRAPH, FUNCTIONS
from arcflux.program.model import Function, Line, Program
from arcflux.program.parameters import Parameter, vertex, vertices
from arcflux.program.read import program, read_class
from arcflux.program.totals import Total, total
from arcflux.program.words import any, dot, first, last, random

__all__ = [
    "ABOUT_GRAPH", "FUNCTIONS", "REF32", "TYPES", "EdgeField", "FieldType", "Function", "Line", "Mail", "Parameter",
    "Program", "Total", "any", "dot", "edge", "first", "last", "mail", "phase", "program", "random", "read_class",
    "total", "vertex", "vertices",
]  # fmt: skip
