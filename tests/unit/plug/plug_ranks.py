"""Ranks of MPI that run a program by agents; each writes what it has into a file of the folder."""

import json
import os
import sys
from pathlib import Path

import numpy as np

import arcflux as af
from arcflux.plug.upper import gas
from plug_programs import FourPaths

if __name__ == "__main__":
    graph = af.load("kron:7,weights=1-9,seed=5")
    found = gas.run(graph, FourPaths, workers=2, transport="mpi", folder=sys.argv[1], lease=1.0, threads=1,
                    a=0, b=3, c=7, d=11)  # fmt: skip
    values = np.where(np.isfinite(found["dist"]), found["dist"], -1.0)
    Path(sys.argv[1], f"found-{os.getpid()}.json").write_text(json.dumps([found.where, values.tolist()]))
