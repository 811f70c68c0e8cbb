"""What a run would cost, here or on a machine that is not here: predicted time, bytes, memory, and why.

profile.py reads machines (``profiles/*.toml``).
"""
