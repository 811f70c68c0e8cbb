"""Small random graphs, with isolated vertices, self-loops and parallel edges, also with rows that are not sorted."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import arcflux as af

# The first graph of a machine compiles what builds it.
patient = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def graphs(draw, most=12):
    n = draw(st.integers(1, most))
    ends = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=40))
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    columns = {"weight": np.arange(len(pairs), dtype=np.float32)} if draw(st.booleans()) else None
    options = {"directed": draw(st.booleans()), "sort": draw(st.booleans())}
    return af.Graph.from_edges(source, target, columns=columns, vertices=n, **options)
