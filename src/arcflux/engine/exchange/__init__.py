"""What nodes send each other between supersteps: four models, each a strategy in a file, made of the same pieces.

`messages.py` has the encoding of a message, `lists.py` the vertices that ranks send and receive, `places.py` reads and
writes rows by lists. From these: owners send to readers (`telling.py`), contributors send to owners
(`contributing.py`), and replicated vertices are reduced over all nodes (`replicating.py`). The models combine them:
`readers.py`, `owners.py`, `allreduce.py`, `mixed.py`; `model.py` chooses the model of a run.
"""

from arcflux.engine.exchange.lists import Lists
from arcflux.engine.exchange.messages import Traffic, packed, rows_of, unpacked

__all__ = ["Lists", "Traffic", "packed", "rows_of", "unpacked"]
