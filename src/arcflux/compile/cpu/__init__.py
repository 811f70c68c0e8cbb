"""The target cpu: phases and drivers as Numba source."""
