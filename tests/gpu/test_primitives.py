"""The kernels that serve every program, against NumPy: sizes around blocks and tiles, all orders of lanes."""

import numpy as np
import pytest

from arcflux.errors import UsageError
from arcflux.gpu import api
from arcflux.gpu import primitives as on_gpu
from arcflux.gpu.simulator import shuffled

SIZES = [0, 1, 129, 500]
RNG = np.random.default_rng(7)


def there(array):
    return api.to_device(np.asarray(array))


def back(array):
    return array.copy_to_host()


@pytest.fixture(params=[None, 1], ids=lambda seed: "in order" if seed is None else f"shuffled {seed}")
def order(request):
    if request.param is None:
        yield
    elif not api.simulated():
        pytest.skip("a GPU has an order of its own")
    else:
        with shuffled(request.param):
            yield


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "?"])
def test_fill(size, dtype):
    array = there(np.zeros(size, dtype))
    on_gpu.fill(array, np.dtype(dtype).type(1))
    assert back(array).tolist() == [np.dtype(dtype).type(1)] * size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["i4", "i8", "u4"])
def test_gather_and_scatter(size, kind):
    index = RNG.permutation(1000)[:size].astype(kind)
    values, out = RNG.random(1000), np.full(size, -1.0)
    near = there(out)
    on_gpu.gather(there(values), there(index), near)
    assert np.array_equal(back(near), values[index])
    far = there(np.zeros(1000))
    on_gpu.scatter(near, there(index), far)
    expected = np.zeros(1000)
    expected[index] = values[index]
    assert np.array_equal(back(far), expected)


@pytest.mark.parametrize("width", [1, 7, 8, 19])
def test_gather_and_scatter_rows(width):
    index = RNG.permutation(90)[:50].astype("i4")
    values = RNG.random((90, width)).astype("f4")
    near = there(np.zeros((50, width), "f4"))
    on_gpu.gather(there(values), there(index), near)
    assert np.array_equal(back(near), values[index])
    far = there(np.zeros((90, width), "f4"))
    on_gpu.scatter(near, there(index), far)
    expected = np.zeros((90, width), "f4")
    expected[index] = values[index]
    assert np.array_equal(back(far), expected)


def bits(flags):
    """Flags in words of 64 bits, as NumPy packs them."""
    whole = np.zeros(-(-len(flags) // 64) * 64, bool)
    whole[: len(flags)] = flags
    return np.packbits(whole, bitorder="little").view(np.uint64)


@pytest.mark.parametrize(("size", "share"), [(1, 1.0), (65, 0.5), (64, 0.0), (9000, 0.02)])
def test_bits_to_a_list_and_back(order, size, share):
    flags = RNG.random(size) < share
    words = bits(flags)
    items, count = there(np.full(size + 5, -1, np.int32)), there(np.array([5]))
    on_gpu.list_of(there(words), items, count)
    found = int(back(count)[0]) - 5
    assert found == flags.sum()
    listed = back(items)[5 : 5 + found]
    assert np.array_equal(np.sort(listed), np.flatnonzero(flags))
    assert (back(items)[:5] == -1).all()
    assert (back(items)[5 + found :] == -1).all()
    again = there(np.zeros_like(words))
    on_gpu.bits_of(there(listed), found, again)
    assert np.array_equal(back(again), words)


def test_a_list_ascends_within_a_block():
    flags = RNG.random(64 * on_gpu.THREADS) < 0.05
    items, count = there(np.zeros(len(flags), np.int32)), there(np.zeros(1, np.int64))
    on_gpu.list_of(there(bits(flags)), items, count)
    assert np.array_equal(back(items)[: flags.sum()], np.flatnonzero(flags))


def test_only_the_first_items_of_a_list_count():
    words = there(np.zeros(2, np.uint64))
    on_gpu.bits_of(there(np.array([3, 127, 3, 5])), 3, words)
    assert back(words).tolist() == [1 << 3, 1 << 63]


@pytest.mark.parametrize("size", SIZES)
def test_or_and_popcount(order, size):
    one, other = (RNG.integers(0, 1 << 63, size, np.uint64) for _ in range(2))
    into, count = there(one), there(np.array([7]))
    on_gpu.merge(into, there(other))
    assert np.array_equal(back(into), one | other)
    on_gpu.ones(into, count)
    assert back(count)[0] == 7 + np.unpackbits((one | other).view(np.uint8)).sum()


@pytest.mark.parametrize(("size", "kind"), [(0, "i4"), (1, "i4"), (1024, "i8"), (1025, "i4"), (4200, "u1")])
def test_scan(size, kind):
    values = RNG.integers(0, 200, size).astype(kind)
    sums, out = there(np.full(on_gpu.tiles(size), -1)), there(np.full(size, -1))
    on_gpu.scan(there(values), sums, out)
    assert np.array_equal(back(out), np.cumsum(values, dtype=np.int64) - values)
    assert back(sums)[-1] == values.sum(dtype=np.int64)


def test_scan_in_place_and_beyond_32_bits(order):
    values = np.full(1100, 1 << 40)
    array = there(values)
    on_gpu.scan(array, there(np.zeros(on_gpu.tiles(1100), np.int64)), array)
    assert np.array_equal(back(array), np.arange(1100) << 40)


def test_a_scan_of_more_tiles_than_threads():
    """The block that scans the sums of tiles takes them in turns."""
    count = 300
    sums = there(np.concatenate([RNG.integers(0, 99, count), [-1]]))
    before = back(sums)[:-1].copy()
    api.launch(on_gpu.KERNELS["scan_sums"], 1, on_gpu.THREADS, sums, np.uint64(count))
    assert np.array_equal(back(sums), [0, *np.cumsum(before)])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("operation", ["sum", "min", "max"])
def test_reduction(operation, dtype, size):
    kind = np.dtype(dtype)
    values = RNG.integers(-1000, 1000, size).astype(kind)
    lowest, highest = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    neutral = kind.type({"sum": 0, "min": highest, "max": lowest}[operation])
    partial = there(np.zeros(on_gpu.partials(size), kind))
    on_gpu.reduced(operation, there(values), neutral, partial)
    assert back(partial)[0] == getattr(np, operation)(values, initial=neutral)


def test_float_sums_have_the_same_bits_in_any_order_of_lanes():
    values = RNG.random(1000) * 10.0 ** RNG.integers(-9, 9, 1000)
    found = set()
    for seed in range(3):
        partial = there(np.zeros(on_gpu.partials(1000)))
        with shuffled(seed):
            on_gpu.reduced("sum", there(values), 0.0, partial)
        found.add(float(back(partial)[0]))
    assert len(found) == 1
    assert found.pop() == pytest.approx(values.sum(), rel=1e-12)


def test_a_reduction_that_there_is_not():
    with pytest.raises(UsageError, match="operation is 'mean'"):
        on_gpu.reduced("mean", there(np.zeros(3)), 0.0, there(np.zeros(1)))
