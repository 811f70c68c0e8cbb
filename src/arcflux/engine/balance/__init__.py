"""Rebalancing: bounds of parts move between supersteps when that pays, towards equal times (Lux, section 5).

`weights.py` estimates the work of vertices and the speed of devices from the times of parts (`fit.py` has the least
squares), `plan.py` decides which bounds are better, `schedule.py` when to plan, `migrate.py` moves the bounds.
"""
