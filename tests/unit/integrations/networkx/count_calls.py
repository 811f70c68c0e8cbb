"""A plugin for NetworkX's own tests: counts how often each function of the backend ran, and ran to its end.

``pytest -p count_calls --pyargs networkx`` writes a JSON object, name -> calls, to the file that $CALLS names.
"""

import inspect
import json
import os
from collections import Counter
from functools import wraps
from pathlib import Path

import networkx as nx

from _arcflux_networkx import FUNCTIONS
from arcflux.integrations.networkx.interface import backend

calls = Counter()


def counted(name, function):
    @wraps(function)
    def whole(*args, **kwargs):
        try:
            result = function(*args, **kwargs)
        except nx.NetworkXException:  # an answer, too
            calls[name] += 1
            raise
        if not inspect.isgenerator(result):
            calls[name] += 1
            return result
        return counting(name, result)

    return whole


def counting(name, items):
    """The items of a generator, which has run when it has given all of them."""
    yield from items
    calls[name] += 1


def pytest_configure(config):
    for name in FUNCTIONS:
        setattr(backend, name, counted(name, getattr(backend, name)))


def pytest_sessionfinish(session):
    if os.environ.get("CALLS"):
        Path(os.environ["CALLS"]).write_text(json.dumps(calls))
