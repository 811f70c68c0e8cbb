"""Pieces of kernel source that the targets share."""
