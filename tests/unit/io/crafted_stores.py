"""Stores as an attacker would write them: every array changed in every way, with checksums that are right.

`python crafted_stores.py FOLDER FAMILY` makes them one by one, and uses each in a child process: it has to end with the
right result or with an ArcfluxError. What did not is printed.
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

import arcflux as af
from arcflux import trace
from arcflux.applications.registry import KNOWN
from arcflux.errors import ArcfluxError, StoreError
from arcflux.io import store
from arcflux.io.manifest import manifest_sum
from arcflux.transports.guard import is_runnable

RIGHT, REFUSED, WRONG, RAW, HUNG = 0, 3, 4, 5, 124
# Seconds of a core that a use may take, and for which it may do nothing: how long both last, the machine decides.
SECONDS, IDLE = 240, 60
# Algorithms that read a graph in different ways: whether they start somewhere, and a field that threads do not change.
CALLS = [
    (af.bfs, True, "level"), (af.pagerank, False, "rank"), (af.weakly_connected_components, False, "component"),
    (af.triangles, False, "triangles"), (af.sssp, True, "distance"), (af.label_propagation, False, "label"),
    (af.betweenness_centrality, False, "centrality"), (af.clustering, False, "clustering"),
]  # fmt: skip


def every_call():
    """All algorithms that take a graph, or a vertex of it besides; of what they give nothing is compared."""
    for one in KNOWN.values():
        needed = [argument.kind for argument in one.arguments.values() if argument.required]
        if needed in ([], [af.vertex]):
            yield one.call, bool(needed), ""


def samples():
    """Graphs whose stores have, together, every kind of array."""
    directed = af.load("rmat:6,weights=1-9")
    names = [f"v{i:03}" for i in range(directed.vertices)]
    source, target, _ = directed.edge_list()
    return {
        "directed": directed,
        "undirected": af.load("kron:6,weights=1-9"),
        "names": af.Graph.from_edges([names[s] for s in source], [names[t] for t in target], vertices=names),
        "ids": af.Graph.from_edges(source * 3 - 50, target * 3 - 50, columns={"yes": source % 2 == 0}),
    }


def part_samples():
    """Parts of every placement, whose folders have, together, every kind of array."""
    made = {how: af.partition("rmat:6,weights=1-9", 3, how) for how in ("ranges", "grid", "degree", "random")}
    return {**made, "sources": made["random"].at_sources(), "four": af.partition("rmat:6", 4, "grid")}


def mutations(array, rng):
    """Values of the same type and length that the array should not have, by name."""
    size, kind = len(array), array.dtype
    if not size:
        return
    middle, info = size // 2, np.iinfo(kind) if kind.kind in "iu" else None

    def changed(at, value):
        copy = array.copy()
        copy[at] = value
        return copy

    if info is not None:
        yield "huge", changed(middle, info.max)
        yield "all huge", np.full(size, info.max, kind)
        yield "negative", changed(middle, info.min if info.min < 0 else info.max - 1)
        yield "first", changed(0, 1 if kind.kind == "u" else -1)
        yield "last", changed(-1, info.max // 2)
        yield "one more", changed(middle, array.max() + 1)
        yield "noise", rng.integers(0, min(int(array.max()) + 2, info.max), size).astype(kind)
    if kind == np.bool_:
        yield "bytes", np.full(size, 7, np.uint8).view(np.bool_)
    yield "reversed", array[::-1].copy()
    yield "rolled", np.roll(array, 1)
    yield "shuffled", rng.permutation(array)


def other_rows(offsets, neighbours, rng):
    """Rows in order, of vertices that there are, as many arcs as before: none of them fit the other direction."""
    n, arcs = len(offsets) - 1, len(neighbours)

    def drawn(offsets, most):
        rows = [np.sort(rng.integers(0, most, int(count))) for count in np.diff(offsets.astype(np.int64))]
        return np.concatenate(rows).astype(neighbours.dtype)

    for most in (n, 3, 1):
        yield f"to {most} vertices", offsets, drawn(offsets, most)
    yield "to the last vertex", offsets, np.full_like(neighbours, n - 1)
    for title, cuts in {"of other lengths": np.sort(rng.integers(0, arcs + 1, n - 1)),
                        "of which the first has all": np.full(n - 1, arcs),
                        "of which the last has all": np.zeros(n - 1)}.items():  # fmt: skip
        other = np.concatenate([[0], cuts, [arcs]]).astype(offsets.dtype)
        yield title, other, drawn(other, n)


def shapes(array):
    """The same values in other types, orders and sizes, by name."""
    yield "shorter", array[:-1]
    yield "longer", np.append(array, array[-1:])
    yield "empty", array[:0]
    yield "other order of bytes", array.astype(array.dtype.newbyteorder(">"))
    yield "table", np.asfortranarray(np.stack([array, array]))
    yield "wider", array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    yield "narrow", array.astype(np.uint8)
    yield "half", array.astype(np.float16)
    yield "complex", array.astype(np.complex128)
    yield "text", array.astype("S4")
    yield "record", array.astype([("a", array.dtype)])


def put(folder, name, array):
    """Exchange an array of a folder for another, and set all checksums right."""
    manifest = json.loads((folder / "manifest.json").read_text())
    if array.ndim == 1 and array.dtype.str in {np.dtype(code).str for code in "?bBhHiIqQfd"}:
        with trace.task("craft") as task:
            entry = store.write_array(folder, name, array, task)
    else:
        np.save(folder / f"{name}.npy", array)
        digest = hashlib.sha256(hashlib.sha256(array.tobytes()).digest()).hexdigest()
        entry = {"dtype": array.dtype.str, "length": len(array), "sha256": digest}
    manifest["arrays"][name] = entry
    manifest["checksum"] = manifest_sum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def unaligned(file):
    """Have the values of a .npy file begin at an odd byte."""
    with open(file, "rb") as opened:
        np.lib.format.read_magic(opened)
        shape, order, dtype = np.lib.format.read_array_header_1_0(opened)
        values = opened.read()
    header = repr({"descr": dtype.str, "fortran_order": order, "shape": shape}).encode()
    header += b" " * ((11 + len(header)) % 2 + (0 if (10 + len(header)) % 2 else 1)) + b"\n"
    header = header if (10 + len(header)) % 2 else b" " + header
    file.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + values)


def other_files(folder, name):
    """Things that are no plain files in the place of an array, by name: each a function that puts it there."""
    file = folder / f"{name}.npy"

    def moved(put_there):
        def act():
            away = folder.parent / f"away-{name}"
            file.replace(away)
            put_there(away)

        return act

    yield "pipe", moved(lambda away: os.mkfifo(file))
    yield "link", moved(lambda away: file.symlink_to(away))
    yield "link to nothing", moved(lambda away: file.symlink_to("/nonexistent"))
    yield "link to zeros", moved(lambda away: file.symlink_to("/dev/zero"))
    yield "folder", moved(lambda away: file.mkdir())
    yield "cut", lambda: os.truncate(file, file.stat().st_size - 1)
    yield "cut to its header", lambda: os.truncate(file, 128)
    yield "empty", lambda: os.truncate(file, 0)
    yield "unaligned", lambda: unaligned(file)


def result_of(graph, source, call, starts, field):
    """The values of a run, or the name of the error of one that does not take such a graph."""
    try:
        found = call(graph, *([source] if starts else []), threads=2)
        values = found[field] if field else np.zeros(0)
    except StoreError:
        raise
    except ArcfluxError as error:
        return type(error).__name__
    return values.tolist() if values.dtype.kind != "f" else np.round(np.nan_to_num(values, posinf=-1), 5).tolist()


def use_store(folder, calls):
    """What users do with a graph: the results, as something that can be compared."""
    graph = af.load(folder)
    results = [graph.edges, graph.out_degrees.sum(), graph.in_degrees.max(), graph.edge_list()[0][:3].tolist()]
    source = graph.ids.to_ids([int(np.argmax(graph.out_degrees))])[0]
    results += [result_of(graph, source, *call) for call in calls]
    results.append([part.arcs for part in map(af.partition(graph, 3).part, range(3))])
    return repr(results)


def use_parts(folder, calls):
    """As :func:`use_store`, on the parts of a folder."""
    parts = af.load_parts(folder)
    results = [[parts.part(i).arcs for i in range(parts.k)], [parts.part(i).out.offsets[-1] for i in range(parts.k)]]
    source = parts.graph.ids.to_ids([int(np.argmax(parts.graph.out_degrees))])[0]
    bfs = af.bfs(parts.graph, source, parts=parts, transport="local")["level"].tolist()
    ranks = np.round(af.pagerank(parts.graph, parts=parts, transport="local")["rank"], 6).tolist()
    return repr([*results, bfs, ranks, str(parts.statistics)])


def outcome(act, expected):
    """How using a folder ends, in a child process: one of the codes above, or minus the signal that killed it."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = RAW
        try:
            code = RIGHT if act() == expected else WRONG
        except ArcfluxError:
            code = REFUSED
        except BaseException as error:
            print(f"   {type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(code)
    used, since = 0.0, time.monotonic()
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        before, used = used, seconds_of_cores(child)
        if used != before or is_runnable(child):
            since = time.monotonic()
        if used > SECONDS or time.monotonic() - since > IDLE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return HUNG
        time.sleep(0.005 if used < 1 else 0.2)
    return os.waitstatus_to_exitcode(ended[1])


def seconds_of_cores(pid):
    """How long a process has computed, on all cores together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bad_outcomes(place, family, take=1):
    """Use every store of a family; yields what it was and how it ended, where that is not as it should be."""
    rng = np.random.default_rng([5, *os.environ.get("ARCFLUX_TEST_SEED", "").encode()])
    family, kind = family.removeprefix("parts-"), "parts" if family.startswith("parts-") else "store"
    given = part_samples() if kind == "parts" else samples()
    use = use_parts if kind == "parts" else use_store
    for title, sample in given.items():
        if family == "graphs" and title not in ("directed", "undirected"):
            continue
        folder, right = place / f"{title}.arcflux", place / f"right-{title}.arcflux"
        if kind == "parts":
            sample.save(right)
        else:
            store.write(sample, right, reverse=True)
        calls = list(every_call()) if family == "graphs" else CALLS if take == 1 else CALLS[:3]
        expected = use(right, calls)  # which compiles everything, too: the children find it done
        fine = {RIGHT, REFUSED} | ({WRONG} if family in ("values", "types", "graphs") else set())
        for number, (name, act) in enumerate(crafted(right, folder, family, rng)):
            if number % take == 0:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(right, folder)
                act()
                code = outcome(lambda folder=folder, calls=calls, use=use: use(folder, calls), expected)
                if code not in fine:
                    yield f"{title}: {name}", code


def crafted(right, folder, family, rng):
    """Every way to spoil `folder`, a copy of a right store: what it is, and a function that does it."""
    if family == "graphs":
        for prefix in ("", "in_") if (right / "in_offsets.npy").exists() else ("",):
            offsets, neighbours = (np.load(right / f"{prefix}{name}.npy") for name in ("offsets", "neighbours"))
            for title, *arrays in other_rows(offsets, neighbours, rng):
                yield (
                    f"{prefix}rows {title}",
                    lambda prefix=prefix, arrays=arrays: [
                        put(folder, f"{prefix}{name}", values)
                        for name, values in zip(("offsets", "neighbours"), arrays, strict=True)
                    ],
                )
        return
    for name in sorted(file.name[:-4] for file in right.glob("*.npy")):
        array = np.load(right / f"{name}.npy")
        if family in ("values", "types"):
            for title, values in mutations(array, rng) if family == "values" else shapes(array):
                yield f"{name} {title}", lambda name=name, values=values: put(folder, name, values)
        elif family == "files":
            for title, act in other_files(folder, name):
                yield f"{name} {title}", act
        else:
            for _ in range(6):
                at, bit = int(rng.integers((right / f"{name}.npy").stat().st_size)), int(rng.integers(8))
                yield f"{name} bit {bit} of byte {at}", lambda name=name, at=at, bit=bit: flip(folder, name, at, bit)
    if family == "flips":
        for _ in range(40):
            at, bit = int(rng.integers((right / "manifest.json").stat().st_size)), int(rng.integers(8))
            yield f"manifest bit {bit} of byte {at}", lambda at=at, bit=bit: flip(folder, "manifest", at, bit, "json")


def flip(folder, name, at, bit, suffix="npy"):
    file = folder / f"{name}.{suffix}"
    raw = bytearray(file.read_bytes())
    raw[at] ^= 1 << bit
    file.write_bytes(raw)


if __name__ == "__main__":
    os.fsync = lambda descriptor: None  # slow, and not the point here
    found = list(bad_outcomes(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
    print(*(f"{code:4} {name}" for name, code in found), sep="\n")
    sys.exit(bool(found))
