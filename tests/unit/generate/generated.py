"""What the tests of the generators share: specs of every kind, and a digest of a graph's bytes."""

from __future__ import annotations

import hashlib

import networkx as nx
import numpy as np

import arcflux as af

# Each has several chunks of work, so that workers have something to share.
SPECS = (
    "kron:12",
    "kron:12,ef=8,seed=3,weights=1-255",
    "kron:11,directed,simple=no,weights=0.0-1.0",
    "rmat:13,a=.5,b=.2,c=.2",
    "rmat:12,permute=no,directed=no,simple=no,weights=-5-5",
    "urand:12",
    "urand:n=3000,m=50000,weights",
    "grid:211x173,weights=1-255",
    "path:70000",
    "cycle:70000,weights=1-9",
    "star:70000",
    "complete:300,weights=1-255,seed=9",
    "ws:9000,k=10,p=0.2",
    "worlds:40x200,k=10,rewire=0.1,weights=1-3",
    "worlds:20x256,k=8,kind=rmat",
    "ratings:2000x500,per=20",
    "ratings:700x90,ratings=30000,rank=3,low=0,high=10,noise=0.5,seed=5",
    "planted:8x300,in=0.1,out=0.01,weights=1-9",
    "lfr:9000,mu=0.3,degree=3-40,community=10-200,seed=4",
    "cliques:300x8",
    "correlated:900,p=0.05,rho=0.7",
    "correlated:900,p=0.05,rho=0.7,copy,seed=2",
    "genrmf:12x20,low=5,high=50",
    "geometric:3000,radius=0.03",
    "geometric:3000,surface=sphere,radius=0.1",
)

# The smallest of everything, and what is smaller than a graph usually is.
TINY = (
    "kron:0", "kron:1", "kron:3,ef=0", "rmat:0", "rmat:1,simple=no", "rmat:2,a=1,b=0,c=0", "urand:0", "urand:1",
    "urand:n=0,m=0", "urand:n=1,m=3,simple=no", "grid:0x0", "grid:0x5", "grid:1x1", "grid:1x7", "grid:7x1",
    "path:0", "path:1", "path:2", "cycle:3", "star:0", "star:1", "star:2", "complete:0", "complete:1", "complete:2",
    "ws:0,k=0", "ws:1,k=0", "ws:3,k=2,p=1", "worlds:0x0,k=0", "worlds:1x5,k=2,rewire=1", "worlds:3x1,k=0",
    "worlds:2x4,k=2,kind=rmat", "ratings:0x0", "ratings:1x1,per=3", "ratings:3x0,per=0",
    "planted:0x0", "planted:1x1", "planted:3x0", "planted:2x4,in=1,out=1", "planted:2x4,in=0,out=0", "lfr:0", "lfr:1",
    "lfr:7,mu=1", "lfr:30,mu=0", "lfr:30,community=30-30,mu=1", "cliques:2x2", "cliques:3x2", "correlated:0",
    "correlated:1,copy", "correlated:5,p=1,rho=0,copy", "correlated:5,p=0", "genrmf:1x1", "genrmf:1x5", "genrmf:2x1",
    "geometric:0", "geometric:1", "geometric:9,radius=0", "geometric:9,radius=4", "geometric:9,radius=4,surface=sphere",
)  # fmt: skip


def digest(graph: af.Graph) -> str:
    """The bytes of a graph, in sixteen letters."""
    total = hashlib.sha256()
    for array in (*graph.out, *graph.columns.values()):
        total.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def pairs(graph: af.Graph) -> tuple[np.ndarray, np.ndarray]:
    """The ends of every stored arc."""
    offsets, neighbours = graph.out
    return np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64)), neighbours.astype(np.int64)


def same_as(graph: af.Graph, expected: nx.Graph) -> bool:
    """Whether a graph has the vertices 0 .. n-1 and the edges of a NetworkX graph."""
    sources, targets, _ = graph.edge_numbers()
    ours = sorted(zip(sources.tolist(), targets.tolist(), strict=True))
    theirs = sorted((min(edge), max(edge)) for edge in expected.edges)
    return sorted(expected) == list(range(graph.vertices)) and ours == theirs
