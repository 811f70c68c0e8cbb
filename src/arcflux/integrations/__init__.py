"""Arcflux behind the front doors of other libraries."""
