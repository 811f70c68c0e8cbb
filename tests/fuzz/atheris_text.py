"""Feed text files to the reader, guided by coverage, until something else than an ArcfluxError comes out.

Not part of the test suite; run it by hand, for 60 seconds, with ``pip install atheris``::

    python tests/fuzz/atheris_text.py -max_total_time=60 -rss_limit_mb=4096 /tmp/corpus

The first byte of an input chooses the options, the rest is the file. A crash is kept in a file ``crash-...``; give its
name instead of the folder to see it again.
"""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("this script needs atheris: pip install atheris")

with atheris.instrument_imports(include=["arcflux.io", "arcflux.graph"]):
    import arcflux.io.delimited
    import arcflux.io.tables
    import arcflux.io.text  # noqa: F401 - imported here, so that they are instrumented
    from arcflux import Graph, load
    from arcflux.errors import ArcfluxError

SEEDS = [
    b"\x001 2\n2 3\n",
    b"\x011,2,0.5\n2,3,inf\n# end\n",
    b'\x02source,target,w\n"a,b",c,1\n',
    b"\x00# arcflux undirected ids=0..9 delimiter=blank header=no columns=weight:int8\n1 2 3\n",
    b'\x00# arcflux directed ids=text delimiter=comma header=yes\n# isolated: ["x", ""]\n"source","target"\n"a","b"\n',
    b"\x0b\xef\xbb\xbf% top\r\n1\t2\t-5 % why\r\n",
]
NAMES = ("g.txt", "g.csv", "g.tsv", "g.el")
FOLDER = Path(tempfile.mkdtemp(prefix="arcflux-fuzz-"))


def one_input(data: bytes) -> None:
    choice, content = (data[0], data[1:]) if data else (0, b"")
    path = FOLDER / NAMES[choice & 3]
    path.write_bytes(content)
    options = {"weights": False} if choice & 4 else {}
    options |= {"ids": "text"} if choice & 8 else {}
    options |= {"header": bool(choice & 32)} if choice & 16 else {}
    with suppress(ArcfluxError):
        graph = load(path, threads=1, **options)
        assert isinstance(graph, Graph)
        assert len(graph.edge_list()[0]) == graph.edges


def main() -> None:
    os.environ["ARCFLUX_QUIET"] = "1"
    for folder in (Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")):
        if not folder.suffix and not folder.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            for number, seed in enumerate(SEEDS):
                (folder / f"seed-{number}").write_bytes(seed)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
