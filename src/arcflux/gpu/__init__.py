"""GPUs: the only interface to numba.cuda (api.py), the pieces of kernels for GPUs, launch shapes, and the executor."""
