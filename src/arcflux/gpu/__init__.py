"""GPUs: the one door to numba.cuda (api.py), what kernels are made of there, launch shapes, and the executor."""
