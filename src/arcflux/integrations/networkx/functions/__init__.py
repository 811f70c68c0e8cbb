"""The functions of NetworkX that the backend has: the same names, arguments, values, order and errors."""
