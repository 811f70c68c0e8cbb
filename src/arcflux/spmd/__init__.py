"""The basis of every parallel loop: one function, run by all workers at once (single program, multiple data).

memory.py: large arrays on huge pages, whose memory can be released. pool.py: persistent threads and :func:`~.pool.run`.
jit.py: the decorators that compile a Python function as a kernel. machine.py: atomics and prefetch. random.py:
counter-based random numbers.

Only jit.py, machine.py and random.py import Numba, and modules with kernels are imported when first used, so that
``import arcflux`` stays fast.
"""
