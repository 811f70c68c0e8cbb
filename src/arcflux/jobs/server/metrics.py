"""Numbers of the service for Prometheus, in its text format."""

from __future__ import annotations

import resource
import time
from typing import Any

__all__ = ["prometheus"]


def prometheus(service: Any) -> str:
    """All metrics."""
    counts = service.queue.counts()
    lines: list[str] = []

    def say(name: str, kind: str, text: str, *values: tuple[str, float]) -> None:
        lines.append(f"# HELP arcflux_{name} {text}")
        lines.append(f"# TYPE arcflux_{name} {kind}")
        lines.extend(f"arcflux_{name}{labels} {value:g}" for labels, value in values)

    states = ("queued", "running", "done", "failed", "cancelled")
    say("jobs", "gauge", "Jobs by state.", *((f'{{state="{state}"}}', counts.get(state, 0)) for state in states))
    ended = ("done", "failed", "cancelled")
    say("jobs_ended_total", "counter", "Jobs that ended since the start.",
        *((f'{{state="{state}"}}', service.totals[state]) for state in ended))  # fmt: skip
    say("job_seconds_total", "counter", "Seconds of jobs on the cores.", ("", service.totals["seconds"]))
    say(
        "scheduling_seconds_total",
        "counter",
        "Seconds of deciding whose turn it is.",
        ("", service.jobs.cores.deciding),
    )
    say("result_bytes_total", "counter", "Bytes of results that were sent.", ("", service.totals["result_bytes"]))
    say("job_memory_bytes", "gauge", "Bytes that running jobs were given.", ("", service.jobs.memory_used))
    say("job_memory_budget_bytes", "gauge", "Bytes that jobs may take together.", ("", service.jobs.budget))
    say("threads", "gauge", "Threads that jobs share.", ("", service.jobs.threads))
    say("graphs_open", "gauge", "Graphs that are open.", ("", len(service.catalogue.opened())))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say("process_peak_memory_bytes", "gauge", "The most memory that the process had.", ("", peak))
    say("uptime_seconds", "gauge", "Seconds since the start.", ("", time.time() - service.begun))
    return "\n".join(lines) + "\n"
