"""Many jobs on one loaded graph: schedulers, a queue that outlives its server, a service and its dashboard (G2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.jobs.job import Job, Limits, Progress
    from arcflux.jobs.runtime import Jobs

__all__ = ["Job", "Jobs", "Limits", "Progress"]

import_lazily(__name__, {"job": "Job Limits Progress", "runtime": "Jobs"})
