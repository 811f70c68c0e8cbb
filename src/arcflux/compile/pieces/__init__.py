"""Pieces of kernel source that the targets have in common."""
