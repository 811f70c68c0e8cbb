"""The NetworkX backend: ``nx.pagerank(G, backend="arcflux")``.

NetworkX finds it by the entry points of the package (``networkx.backends``, ``networkx.backend_info``); nothing of
Arcflux is imported before a function of it runs, and nothing of NetworkX by Arcflux alone.
"""
