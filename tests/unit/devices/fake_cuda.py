"""A CUDA driver of lies: its library, as ctypes would load it, and what Numba makes of it."""

import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

A100 = {"name": b"NVIDIA A100", "capability": (8, 0), "memory": 40 << 30, "processors": 108, "mode": 0}
H100 = {**A100, "name": b"NVIDIA H100", "capability": (9, 0), "memory": 80 << 30, "processors": 132}
NAMES = {0: b"CUDA_SUCCESS", 100: b"CUDA_ERROR_NO_DEVICE", 803: b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
         802: b"CUDA_ERROR_SYSTEM_NOT_READY", 999: b"CUDA_ERROR_UNKNOWN"}  # fmt: skip


class Library:
    """libcuda.so.1 with these GPUs; calls write through pointers and return codes, as the real one does."""

    def __init__(self, gpus=(A100,), version=13000, init=0, **codes):
        self.gpus, self.version, self.init, self.codes = list(gpus), version, init, codes

    def cuInit(self, flags):
        return self.init

    def cuDriverGetVersion(self, into):
        into._obj.value = self.version
        return self.codes.get("cuDriverGetVersion", 0)

    def cuDeviceGetCount(self, into):
        into._obj.value = len(self.gpus)
        return self.codes.get("cuDeviceGetCount", 0)

    def cuDeviceGet(self, into, index):
        into._obj.value = index
        return 0

    def cuDeviceGetName(self, into, size, handle):
        into.value = self.gpus[handle.value]["name"][: size - 1]
        return 0

    def cuDeviceTotalMem_v2(self, into, handle):
        into._obj.value = self.gpus[handle.value]["memory"]
        return 0

    def cuDeviceGetAttribute(self, into, number, handle):
        gpu = self.gpus[handle.value]
        into._obj.value = {16: gpu["processors"], 20: gpu["mode"], 75: gpu["capability"][0],
                           76: gpu["capability"][1]}[number]  # fmt: skip
        return self.codes.get("cuDeviceGetAttribute", 0)

    def cuGetErrorName(self, code, into):
        into._obj.value = NAMES.get(code)
        return 0


class CudaAPIError(Exception):
    """As numba.cuda raises it."""

    def __init__(self, code, msg):
        self.code, self.msg = code, msg
        super().__init__(code, msg)


class Numba:
    """The module numba.cuda, as far as devices use it: contexts, free memory, arrays; `fail` raises when opened."""

    def __init__(self, library, free=None, fail=None, room=None):
        self.library, self.fail, self.room = library, fail, room
        self.free = free if free is not None else library.gpus[0]["memory"] if library.gpus else 0
        self.opened, self.held, self.cleared = [], [], 0
        self.gpus = [self._gpu(index) for index in range(len(library.gpus))]

    def _gpu(self, index):
        numba = self

        @contextmanager
        def use():
            if numba.fail is not None:
                raise numba.fail
            numba.opened.append(index)
            yield

        class Once:
            def __enter__(self):
                self.inside = use()
                return self.inside.__enter__()

            def __exit__(self, *error):
                return self.inside.__exit__(*error)

        return Once()

    def current_context(self):
        return SimpleNamespace(
            get_memory_info=lambda: SimpleNamespace(free=self.free, total=0),
            deallocations=SimpleNamespace(clear=self._clear),
        )

    def _clear(self):
        self.cleared += 1

    def device_array(self, shape, dtype):
        array = Array(np.empty(shape, dtype))
        array.gpu_data = SimpleNamespace(free=self._freeing(weakref.ref(array)))
        if array.nbytes > (self.free if self.room is None else self.room):
            raise CudaAPIError(2, "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        self.held.append(weakref.ref(array))
        return array

    @property
    def arrays(self):
        """Those whose memory is taken."""
        return [found() for found in self.held if found() is not None]

    def _freeing(self, array):
        return lambda: self.held.remove(array)

    def to_device(self, array, stream=0):
        made = self.device_array(array.shape, array.dtype)
        made.values[...] = array
        return made


class Array:
    """An array on the GPU of lies."""

    def __init__(self, values):
        self.values, self.nbytes, self.dtype = values, values.nbytes, values.dtype
