"""MapGraph's traversal: breadth-first search with bitmaps on a grid of p x q parts.

front.py is the call, search.py the superstep (expand, contract, levels, predecessors), scan.py the OR-scan down a
column in log p steps or in a wave, block.py what a rank has, groups.py its column and its row, kernels.py its loops;
check.py is the paper's own validation.
"""

from arcflux.traversal.front import grid_bfs, searched_on_grid

__all__ = ["grid_bfs", "searched_on_grid"]
