"""arcflux partition: the card, JSON, a folder, a picture, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import failing

import arcflux as af
from arcflux.partition import PARTITIONERS


@pytest.mark.parametrize("how", PARTITIONERS)
def test_card_and_json_and_folder(run, how):
    code, out, err = run("partition", "kron:7", "-k", 4, "--how", how, "--out", "parts")
    assert (code, err) == (0, "")
    parts = af.partition("kron:7", 4, how)
    assert out.startswith(str(parts) + "\n  split in ")
    assert out.endswith("ms, written to parts\n")
    assert np.array_equal(af.load_parts("parts").owner, parts.owner)
    code, out, _ = run("partition", "kron:7", "-k", 4, "--how", how, "--json")
    found = json.loads(out)
    assert (code, found["k"], found["how"], found["out"]) == (0, 4, how, None)
    assert found["statistics"] == parts.statistics.to_dict()
    assert found["bounds"] == (None if parts.bounds is None else parts.bounds.tolist())
    assert found["seconds"] > 0


def test_options_reach_the_partitioner(run):
    for arguments, parts in {
        ("--how", "random", "--seed", 7): af.partition("kron:7", 3, "random", seed=7),
        ("--how", "degree", "--threshold", 5): af.partition("kron:7", 3, "degree", threshold=5),
        ("--shares", "2,1,1"): af.partition("kron:7", 3, shares=[2, 1, 1]),
    }.items():
        found = json.loads(run("partition", "kron:7", "-k", 3, *arguments, "--json")[1])
        assert found["statistics"] == parts.statistics.to_dict()
        assert found["notes"] == parts.notes


def test_a_picture(run):
    assert run("partition", "kron:7", "-k", 4, "--plot", "parts.png")[0] == 0
    assert Path("parts.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_of_parts_is_verified(run):
    run("partition", "kron:7", "-k", 3, "--how", "random", "--out", "parts")
    assert run("verify", "parts")[:2] == (0, "parts: every checksum is right\n")
    raw = bytearray(Path("parts/part1.sources.npy").read_bytes())
    raw[-1] ^= 1
    Path("parts/part1.sources.npy").write_bytes(raw)
    code, error, _ = failing(run, "verify", "parts")
    assert (code, error["class"]) == (3, "ChecksumError")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["path:4", "-k", 0], 2),
        (["path:4", "-k", 2, "--seed", 3], 2),
        (["path:4", "-k", 2, "--how", "magic"], 2),
        (["path:4"], 2),
        (["absent.el", "-k", 2], 3),
        (["path:4", "-k", 2, "--plot", "a.txt"], 2),
    ],
)
def test_refusals(run, arguments, code):
    assert failing(run, "partition", *arguments)[0] == code
    assert not list(Path().iterdir())
