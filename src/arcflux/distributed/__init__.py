"""Algorithms that are no vertex programs, on parts of a graph: one file each.

Each is a function that all ranks call alike, with their transport and the parts, and that gives every rank the whole
result. What the ranks of a node share stands in arrays of all vertices; only what another node reads goes there.
"""
