"""Kernels of algorithms that are no vertex programs, because they follow chains of vertices or intersect lists."""
