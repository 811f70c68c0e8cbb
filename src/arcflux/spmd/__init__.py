"""The ground under every parallel loop: one function, run by all workers at once (single program, multiple data).

memory.py: big arrays, on huge pages, that give memory back. pool.py: persistent threads and :func:`~.pool.run`.
jit.py: the decorators that make a kernel out of a Python function. machine.py: atomics and prefetch.
random.py: counter-based random numbers.

Only jit.py, machine.py and random.py import Numba, and modules that hold kernels are imported when first used, so that
``import arcflux`` stays fast.
"""
