"""Parts that take the same time: their bounds move between supersteps when that pays (Lux, section 5).

`weights.py` learns from the times of parts how heavy vertices and how fast devices are (`fit.py` has the least
squares), `plan.py` decides which bounds are better, `schedule.py` when that is asked, `migrate.py` moves them.
"""
