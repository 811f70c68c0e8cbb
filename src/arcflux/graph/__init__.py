"""The graph: an immutable structure (core.py), the ids its users know (ids.py), and how it is made.

edges.py holds a list of edges on its way in; build.py turns it into sorted adjacency with the kernels of sort.py;
card.py draws a graph for people.
"""

from arcflux.graph.core import Adjacency, Graph
from arcflux.graph.ids import Ids

__all__ = ["Adjacency", "Graph", "Ids"]
