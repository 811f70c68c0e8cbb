"""The target cuda: the same phases as source for numba.cuda."""
