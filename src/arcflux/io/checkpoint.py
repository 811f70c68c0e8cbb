"""Where a run stands between two supersteps, as a folder: plain arrays and a manifest with checksums, as in a store.

All of it is read and checked before anything is made of it, nothing is ever run, and the folder appears under its name
when it is whole: a process that is killed while it writes leaves the one before.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import StoreError
from arcflux.io.checks import are_booleans, examine
from arcflux.io.directory import Directory, read_folder
from arcflux.io.manifest import check_manifest_sum, incomplete, is_entry, open_array, read_json
from arcflux.io.replace import replacing
from arcflux.io.store import check_bytes, refuse_strangers, write_array, write_manifest
from arcflux.spmd.space import afford

__all__ = ["FORMAT", "Standing", "read", "remove", "write"]

Array = NDArray[Any]

FORMAT = "arcflux-checkpoint"
_VERSION = 1
_WHAT = "checkpoint"
_REMEDY = "name a new folder, or remove this one: the run then begins anew"


@dataclass(frozen=True)
class Standing:
    """Where a run stands between two supersteps.

    run: a digest of the program, its parameters and the graph; step: supersteps that are over; seconds: how long they
    took; fields: name -> dtype[V] or dtype[V, K]; senders: bool[V], the vertices that send next, None where all do;
    totals: name -> the value that is known now; past: name -> a number or a row of each superstep.
    """

    run: str
    step: int
    seconds: float
    fields: Mapping[str, Array]
    senders: Array | None = None
    totals: Mapping[str, Array] = field(default_factory=dict)
    past: Mapping[str, Array] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, Array]:
        """All arrays, flat, by the names of their files."""
        named = {f"{kind}.{name}": np.atleast_1d(array)
                 for kind in ("fields", "totals", "past") for name, array in getattr(self, kind).items()}  # fmt: skip
        senders = {} if self.senders is None else {"senders": self.senders}
        return {name: np.ascontiguousarray(array).reshape(-1) for name, array in (named | senders).items()}


def write(standing: Standing, path: Path) -> None:
    """Write a checkpoint in the place of the one before."""
    arrays = standing.arrays
    total = sum(array.nbytes for array in arrays.values())
    with replacing(path, folder=True) as folder, trace.task(f"write {path.name}", total, "bytes") as task:
        refuse_strangers(path, FORMAT)
        entries = {name: write_array(folder, name, array, task) for name, array in arrays.items()}
        said = {"format": FORMAT, "version": _VERSION, "run": standing.run, "step": standing.step}
        write_manifest(folder, {**said, "seconds": standing.seconds, "arrays": entries})


def read(path: Path, like: Standing) -> Standing | None:
    """The checkpoint of a run, None if there is none yet; `like` has the run's digest, and an array of each kind."""
    if not os.path.exists(path) or (os.path.isdir(path) and not any(path.iterdir())):
        return None
    return read_folder(path, _WHAT, _REMEDY, lambda directory: _read(directory, like))


def remove(path: Path) -> None:
    """Remove a checkpoint: its run is over."""
    refuse_strangers(path, FORMAT)
    shutil.rmtree(path, ignore_errors=True)


def _read(directory: Directory, like: Standing) -> Standing:
    manifest = read_json(directory, FORMAT, _VERSION, _WHAT, _REMEDY)
    check_manifest_sum(directory.path, manifest)
    entries = manifest.get("arrays")
    if not isinstance(entries, dict) or not all(is_entry(name, entry) for name, entry in entries.items()):
        raise incomplete(directory.path, "the manifest lacks or mistypes arrays")
    step, seconds = manifest.get("step"), manifest.get("seconds")
    if type(step) is not int or step < 0 or not isinstance(seconds, float) or not 0 <= seconds < math.inf:
        raise incomplete(directory.path, "the manifest lacks or mistypes step or seconds")
    if manifest.get("run") != like.run:
        raise StoreError(
            "this is the checkpoint of another run", path=directory.path,
            expected="that of this program with these parameters, on this graph", remedy=_REMEDY,
        )  # fmt: skip
    wanted = _wanted(like, step)
    if entries.keys() != wanted.keys():
        odd = min(entries.keys() ^ wanted.keys())
        raise incomplete(directory.path, f"{odd}.npy is {'missing' if odd in wanted else 'none of this run'}")
    held = {name: open_array(directory, name, entry) for name, entry in entries.items()}
    for name, (dtype, shape) in wanted.items():  # before the first byte of them is read: files can have any size
        if held[name].dtype != dtype or len(held[name]) != math.prod(shape):
            raise incomplete(directory.path, f"{name}.npy is not of {dtype}{shape}")
    afford(sum(array.nbytes for array in held.values()), "the checkpoint")
    check_bytes(directory.path, entries, held)
    for name, values in held.items():
        if values.dtype == np.bool_ and (fault := examine(values, [are_booleans(values)])[1]):
            raise incomplete(directory.path, f"{name}.npy: {fault}")
    read = {name: np.array(held[name]).reshape(shape) for name, (_, shape) in wanted.items()}
    fields, totals, past = (
        {name: read[f"{kind}.{name}"] for name in getattr(like, kind)} for kind in ("fields", "totals", "past")
    )
    return Standing(like.run, step, seconds, fields, read.get("senders"), totals, past)


def _wanted(like: Standing, step: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """The types and shapes of the arrays that a run has after so many supersteps."""
    wanted = {f"{kind}.{name}": (one.dtype, one.shape)
              for kind in ("fields", "totals") for name, one in getattr(like, kind).items()}  # fmt: skip
    wanted |= {f"past.{name}": (one.dtype, (step, *one.shape[1:])) for name, one in like.past.items()}
    return wanted if like.senders is None else {**wanted, "senders": (like.senders.dtype, like.senders.shape)}
