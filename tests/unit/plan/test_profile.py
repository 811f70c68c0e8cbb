"""Machines as numbers: the seeds' figures are there, each with its source, and nonsense is refused."""

import re
from importlib import resources

import pytest

from arcflux.errors import FormatError, UsageError
from arcflux.plan.profile import ACCESSES, PLACES, profile_names, read

SHIPPED = profile_names()
TEXT = (resources.files("arcflux.plan") / "profiles" / "dgx1.toml").read_text()


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", SHIPPED)
def test_every_figure_of_a_shipped_machine_has_a_source(name):
    profile = read(name)
    assert profile.name == name
    assert profile.title
    for attribute, source in profile.sources.items():
        assert len(source) > 4, attribute
        assert "given in" not in source, attribute
    figures = {key for key, value in vars(profile).items() if isinstance(value, float | int) and value}
    assert figures <= set(profile.sources)


def test_the_tables_of_hive():
    found = read("dgx1").throughput
    assert [found["regular_read"][place] / 1e9 for place in PLACES] == pytest.approx([448.59, 14.01, 444.74, 12.17])
    assert [found["random_update"][place] / 1e9 for place in PLACES] == pytest.approx([3.44, 0.83, 1.92e-5, 2.08])
    assert read("dgx1").latency["regular_update"]["host"] == pytest.approx(79.29e-6)
    assert read("dgx2").throughput["regular_write"]["host"] == pytest.approx(170.113e9)
    assert read("dgx2").latency["random_update"]["all"] == pytest.approx(0.17e-6)
    for name in ("dgx1", "dgx2"):
        assert set(read(name).throughput) == set(read(name).latency) == set(ACCESSES)


def test_peers_of_a_dgx1_are_a_cube_mesh():
    profile = read("dgx1")
    assert not set(profile.reachable(0)) & {5, 6, 7}
    for device in range(8):
        assert len(profile.reachable(device)) == profile.lanes == 4
        assert all(device in profile.reachable(other) for other in profile.reachable(device))
    assert read("dgx2").reachable(3) == [k for k in range(16) if k != 3]
    assert read("sci-k20").reachable(0) == []


def test_prices_are_those_of_lux_table_3():
    assert [read("xstream").price(gpus) for gpus in (4, 8, 16)] == [25998, 45998, 85998]
    assert read("lonestar5").price(1) == 28136
    assert read("xstream").price(17) == 2 * 5998 + 17 * 5000
    assert read("dgx1").price(8) is None


def test_a_file_of_ones_own(tmp_path):
    path = written(tmp_path, re.sub(r"devices = \{ value = 8, .*", "devices = 8", TEXT).replace("name = ", "#"))
    profile = read(path)
    assert profile.devices == 8
    assert profile.name == "mine"
    assert profile.sources["devices"] == f"given in {path}"
    assert read(profile) is profile


@pytest.mark.parametrize(
    ("pattern", "instead", "says"),
    [
        (r"cache_mb = .*\n", "", "device.cache_mb is missing"),
        (r"bandwidth_gbs = .*", "bandwidth_gbs = -3", "device.bandwidth_gbs is -3"),
        (r"bandwidth_gbs = .*", "bandwidth_gbs = 0", "device.bandwidth_gbs is 0"),
        (r"bandwidth_gbs = .*", "bandwidth_gbs = nan", "device.bandwidth_gbs is nan"),
        (r"bandwidth_gbs = .*", "bandwidth_gbs = true", "device.bandwidth_gbs is True"),
        (r"bandwidth_gbs = .*", 'bandwidth_gbs = "fast"', "device.bandwidth_gbs is 'fast'"),
        (r"bandwidth_gbs = .*", 'bandwidth_gbs = { source = "me" }', "device.bandwidth_gbs is None"),
        (r"devices = .*", "devices = 7.5", "node.devices is 7.5"),
        (r"nodes = .*", "nodes = 0", "machine.nodes is 0"),
        (r"efficiency = .*", "efficiency = 1.5", "device.efficiency is 1.5"),
        (r"\[0, 1, 1, 1, 1, 0, 0, 0\]", "[0, 1, 1, 1, 1, 1, 0, 0]", "link.peers"),
        (r"\[0, 1, 1, 1, 1, 0, 0, 0\]", "[0, 1]", "link.peers"),
        (r"random_read = \[6.78, ", "random_read = [", "throughput_gbs.random_read"),
        (r"random_read = \[6.78, ", "random_read = [-6.78, ", "throughput_gbs.random_read is -6.78"),
        (r"cache_mb", "cash_mb", "device.cache_mb is missing"),
        (r"\[network\]\ngbs = .*\n", "[network]\n", "network.gbs is missing"),
        (r"title = .*", "price = 3", "price is 3"),
        (r"title = .*", 'title = "', "is no TOML"),
        (r"title = .*", "colour = 3", "colour is no figure"),
        (r"lanes = ", "lane = ", "link.lane is no figure"),
    ],
)
def test_nonsense_is_refused(tmp_path, pattern, instead, says):
    changed, count = re.subn(pattern, instead, TEXT, count=1)
    assert count == 1
    path = written(tmp_path, changed)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert f"{path}: {says}" in str(caught.value)


def test_an_unknown_machine():
    with pytest.raises(UsageError, match="names no machine") as caught:
        read("dgx-2")
    assert caught.value.remedy == "dgx2"
    with pytest.raises(FormatError, match="cannot be read"):
        read("nowhere.toml")
