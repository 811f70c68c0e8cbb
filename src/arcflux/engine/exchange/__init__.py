"""What nodes tell each other between supersteps: four models, each a strategy in a file, made of the same pieces.

`messages.py` has the bytes of a message, `lists.py` says about which vertices they are, `places.py` reads and writes
rows by lists. Of these are made: owners tell readers (`telling.py`), contributors tell owners (`contributing.py`), and
reductions of vertices that every node has (`replicating.py`). The models put them together: `readers.py`, `owners.py`,
`allreduce.py`, `mixed.py`; `model.py` says which of them a run gets.
"""

from arcflux.engine.exchange.lists import Lists
from arcflux.engine.exchange.messages import Traffic, packed, rows_of, unpacked

__all__ = ["Lists", "Traffic", "packed", "rows_of", "unpacked"]
