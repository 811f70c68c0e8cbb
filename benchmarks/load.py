"""How fast is loading? Text, stores, generators and imports, side by side with other libraries on the same file.

    python benchmarks/load.py [--scale 20] [--repeats 5] [--folder build]

Peers that are not installed are left out (pip install 'arcflux[bench]' has them all). Prints tables, writes
results/load.json.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.io import scan
from measure import child, interleaved, report, save

MEMORY = """
import json, sys
import arcflux as af
def held():
    rows = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    return {key: int(rows[key].split()[0]) * 1024 for key in ("VmHWM", "RssAnon", "VmRSS")}
af.load(sys.argv[2], directed=sys.argv[3] == "directed")   # a small file: imports and kernels
open("/proc/self/clear_refs", "w").write("5")
before = held()
g = af.load(sys.argv[1], directed=sys.argv[3] == "directed")
after = held()
print(json.dumps({"peak": after["VmHWM"] - before["VmRSS"], "resident": after["RssAnon"] - before["RssAnon"],
                  "graph": g.memory, "vertices": g.vertices, "arcs": g.arcs}))
"""
IMPORT = """
import json, time
begun = time.perf_counter()
import arcflux
print(json.dumps(time.perf_counter() - begun))
"""


def parsers(path: Path) -> dict[str, Callable[[], Any]]:
    """Text to columns of numbers."""
    found: dict[str, Callable[[], Any]] = {"arcflux": lambda: scan.edges(scan.text(path), path=path)}
    try:
        import pyarrow.csv as csv

        read, parse = csv.ReadOptions(column_names=["u", "v"]), csv.ParseOptions(delimiter=" ")
        found["pyarrow.csv"] = lambda: csv.read_csv(path, read, parse)
    except ImportError:
        pass
    try:
        import pandas

        options: dict[str, Any] = {"sep": " ", "header": None, "names": ["u", "v"]}
        found["pandas (c)"] = lambda: pandas.read_csv(path, dtype=np.uint32, engine="c", **options)
        found["pandas (pyarrow)"] = lambda: pandas.read_csv(path, engine="pyarrow", **options)
    except ImportError:
        pass
    try:
        import polars

        kinds = {"u": polars.UInt32, "v": polars.UInt32}
        found["polars"] = lambda: polars.read_csv(path, has_header=False, separator=" ", schema=kinds)
    except ImportError:
        pass
    return found


def builders(path: Path, matrix: Path) -> dict[str, Callable[[], Any]]:
    """Text to a sorted, symmetric structure, or to whatever the library calls a graph."""
    found: dict[str, Callable[[], Any]] = {"arcflux": lambda: af.load(path, directed=False)}
    import pyarrow.csv as csv
    import scipy.sparse as sparse
    from scipy.io import mmread

    def arrow_scipy() -> Any:
        table = csv.read_csv(path, csv.ReadOptions(column_names=["u", "v"]), csv.ParseOptions(delimiter=" "))
        return symmetric(*(table[name].to_numpy().astype(np.int32) for name in "uv"))

    def symmetric(u: Any, v: Any) -> Any:
        n = int(max(u.max(), v.max())) + 1
        rows = sparse.coo_matrix((np.ones(len(u), np.int8), (u, v)), shape=(n, n)).tocsr()
        both = (rows + rows.T).tocsr()
        both.sort_indices()
        return both

    def read_matrix() -> Any:
        coo = mmread(matrix)
        return symmetric(coo.row, coo.col)

    found["pyarrow + scipy"] = arrow_scipy
    found["scipy.io.mmread"] = read_matrix
    try:
        import networkit

        networkit.setNumberOfThreads(os.cpu_count() or 1)
        reader = networkit.graphio.EdgeListReader(" ", 0, "#", continuous=True, directed=False)
        found["networkit EdgeListReader"] = lambda: reader.read(str(path))
    except ImportError:
        pass
    try:
        import igraph

        found["igraph Read_Edgelist"] = lambda: igraph.Graph.Read_Edgelist(str(path), directed=False)
    except ImportError:
        pass
    return found


def generators(scale: int) -> dict[str, Callable[[], Any]]:
    """A Kronecker graph of 16 edges a vertex, generated and built."""
    found: dict[str, Callable[[], Any]] = {"arcflux": lambda: af.generate.kronecker(scale)}
    try:
        import networkit

        networkit.setNumberOfThreads(os.cpu_count() or 1)
        rmat = networkit.generators.RmatGenerator
        found["networkit RmatGenerator"] = lambda: rmat(scale, 16, 0.57, 0.19, 0.19, 0.05).generate()
    except ImportError:
        pass
    return found


def prepare(folder: Path, scale: int) -> tuple[Path, Path, Path]:
    """The files to read: 16 * 2**scale uniform edges as text and as Matrix Market, and a small one."""
    folder.mkdir(parents=True, exist_ok=True)
    text, matrix, small = folder / f"urand-{scale}.txt", folder / f"urand-{scale}.mtx", folder / "small.txt"
    if not text.exists():
        import pyarrow as pa
        import pyarrow.csv as csv

        n, random = 1 << scale, np.random.default_rng(7)
        ends = pa.table({"u": random.integers(0, n, 16 * n), "v": random.integers(0, n, 16 * n)})
        plain = csv.WriteOptions(include_header=False, delimiter=" ")
        csv.write_csv(ends, text, plain)
        csv.write_csv(ends.slice(0, 1000), small, plain)
        with open(matrix, "wb") as out:
            out.write(f"%%MatrixMarket matrix coordinate pattern general\n{n} {n} {16 * n}\n".encode())
            one = pa.table({name: pa.array(ends[name].to_numpy() + 1) for name in "uv"})
            csv.write_csv(one, out, plain)
    return text, matrix, small


def memory(text: Path, small: Path) -> dict[str, Any]:
    """Peak and resident memory of a load, against the issue's bounds."""
    print("\nmemory of a load (peak above the process before; bound: 2.0 x graph + mapped file)")
    rows = {}
    for kind in ("directed", "undirected"):
        found = child(MEMORY, str(text), str(small), kind)
        found["peak_bound"] = 2.0 * found["graph"] + text.stat().st_size
        found["resident_bound"] = 4 * found["arcs"] + 8 * (found["vertices"] + 1)
        rows[kind] = found
        print(
            f"  {kind:<12} peak {found['peak'] / 1e6:8.1f} MB (bound {found['peak_bound'] / 1e6:.1f})   graph "
            f"{found['graph'] / 1e6:.1f} MB (bound {found['resident_bound'] / 1e6:.1f})   resident "
            f"{found['resident'] / 1e6:.1f} MB"
        )
    return rows


def main() -> None:
    os.environ["ARCFLUX_QUIET"] = "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--generate-scale", type=int, default=22)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("build"))
    given = parser.parse_args()
    text, matrix, small = prepare(given.folder, given.scale)
    size = text.stat().st_size
    results: dict[str, Any] = {"file_bytes": size, "edges": 16 << given.scale}

    taken = interleaved(parsers(text), given.repeats)
    rate = {name: f"{size / np.median(runs) / 1e9:.2f} GB/s" for name, runs in taken.items()}
    results["parse"] = report(f"parse {size / 1e6:.0f} MB of `u v` text", taken, "arcflux", rate)
    taken = interleaved(builders(text, matrix), given.repeats)
    results["build"] = report("text to sorted, symmetric adjacency", taken, "arcflux")
    results["memory"] = memory(text, small)

    store = given.folder / f"urand-{given.scale}.arcflux"
    af.load(text).save(store)
    taken = {
        "open a store": interleaved({"open": lambda: af.load(store)}, 21)["open"],
        "import arcflux": [child(IMPORT) for _ in range(7)],
    }
    results["open"] = report("open and import (bounds: 0.005 s and 0.3 s)", taken, "open a store")
    taken = interleaved(generators(given.generate_scale), min(3, given.repeats))
    results["generate"] = report(f"kron:{given.generate_scale}, generated and built", taken, "arcflux")
    save("load", results)


if __name__ == "__main__":
    main()
