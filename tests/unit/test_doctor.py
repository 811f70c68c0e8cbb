"""The doctor: what it finds, in JSON and for people, and that it finds it on poor machines too."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arcflux import config, doctor
from arcflux.cli import main
from arcflux.errors import SpaceError

KEYS = {"arcflux", "python", "platform", "packages", "extras", "devices", "threads", "memory_bytes", "huge_pages",
        "cache", "advice"}  # fmt: skip


def test_json_has_the_documented_keys(capsys):
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert left.value.code == 0
    assert set(found) == KEYS
    assert found["threads"] == config.threads()
    assert 0 < found["memory_bytes"]["available"] <= found["memory_bytes"]["total"]
    assert found["devices"]["cpu"]["cores"] >= 1
    assert set(found["devices"]["cuda"]) == {"driver", "nvidia_smi"}
    assert all(found["packages"].values())
    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    (extras,) = re.findall(r'^all = \["arcflux\[(.*)\]"\]$', project, re.MULTILINE)
    assert list(found["extras"]) == extras.split(",")
    assert found["cache"] == {"folder": str(config.cache_folder()), "bytes": found["cache"]["bytes"]}


def test_text_says_the_same(capsys):
    with pytest.raises(SystemExit):
        main(["doctor"])
    labels = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert " ".join(labels[:10]) == "arcflux platform packages extras cpu cuda threads memory pages cache"
    assert set(labels[10:]) == {"faster"}


def test_gpus_are_asked_for_when_one_asks(capsys, monkeypatch):
    """Here there is no driver, or none is looked for: the doctor says what is missing, and that is no failure."""
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("arcflux.gpu.driver._LIBRARIES", ("libcuda-of-nobody.so",))
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--gpu", "--json"])
    assert left.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {*KEYS, "gpu"}
    gpu = found["gpu"]
    assert set(gpu) == {"simulated", "driver", "needed", "packages", "link", "gpus", "usable", "problem"}
    assert (gpu["gpus"], gpu["usable"], gpu["driver"], gpu["simulated"]) == ([], False, None, False)
    assert "there is no CUDA driver on this machine" in gpu["problem"]
    assert gpu["link"]["chosen"] in ("nccl", "staged")
    with pytest.raises(SystemExit):
        main(["doctor", "--gpu"])
    out = capsys.readouterr().out
    assert "driver    none" in out
    assert "gpu       there is no CUDA driver on this machine\n" in out
    assert "docker run --gpus" in out


def test_advice(monkeypatch, tmp_path):
    monkeypatch.setenv("ARCFLUX_THREADS", "1")
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor, "_huge_pages", lambda: "never")
    monkeypatch.setattr(doctor, "_memory", lambda: (1 << 30, 1 << 20))
    monkeypatch.setattr(doctor, "_cores", lambda: {0, 1, 2, 3})
    advice = "\n".join(doctor.examine()["advice"])
    for said in ("huge pages are off", "ARCFLUX_THREADS=1 leaves cores idle", "the cache is empty", "less than 1 GiB"):
        assert said in advice
    assert all(line in doctor.text(doctor.examine()) for line in advice.splitlines())


def test_a_machine_that_says_nothing(monkeypatch, tmp_path):
    def refuse(*given, **named):
        raise OSError("not here")

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(
        doctor.metadata, "version", lambda name: (_ for _ in ()).throw(doctor.metadata.PackageNotFoundError)
    )
    found = doctor.examine()
    assert found["memory_bytes"] == {"total": 0, "available": 0}
    assert doctor.available_memory() == 0
    assert found["huge_pages"] is None
    assert "numpy missing" in doctor.text(found)
    json.dumps(found)


def test_a_cache_that_cannot_be_used(monkeypatch):
    monkeypatch.setattr(config, "cache_folder", lambda: (_ for _ in ()).throw(SpaceError("the cache is broken")))
    found = doctor.examine()
    assert found["cache"] == {"folder": None, "problem": "the cache is broken", "bytes": 0}
    assert any("compiled anew" in line for line in found["advice"])
    assert "the cache is broken" in doctor.text(found)


def test_a_file_that_vanishes_from_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path))
    (tmp_path / "kernel").write_bytes(b"12345")
    real = Path.stat
    monkeypatch.setattr(Path, "is_file", lambda path: path.name in ("kernel", "gone"))
    monkeypatch.setattr(Path, "rglob", lambda path, pattern: [path / "kernel", path / "gone"])
    assert doctor.examine()["cache"]["bytes"] == real(tmp_path / "kernel").st_size


def test_no_extra_is_imported():
    script = "import sys; from arcflux import doctor; doctor.examine(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    for name in ("mpi4py", "pymetis", "networkx", "matplotlib", "numba", "pyarrow", "nccl"):
        assert name not in modules
