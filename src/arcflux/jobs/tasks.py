"""What jobs run: an algorithm by its name, or a vertex program; its parameters, and its needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from arcflux.algorithms.registry import find, run_options
from arcflux.applications.target import Target, program_target
from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.jobs.accounts import Account
from arcflux.plan.work import Work, work_of
from arcflux.program import Program
from arcflux.result import Result

__all__ = ["Task", "task_of"]

# Options of a run that jobs set themselves.
_OURS = (
    "cancel",
    "debug",
    "devices",
    "max_supersteps",
    "progress",
    "ranks_per_node",
    "threads",
    "timeout",
    "transport",
)
_ROOM = 1 << 20
_parsing = threading.Lock()


@dataclass(frozen=True)
class Task:
    """Something to run on a graph, with its parameters."""

    target: Target
    parameters: Mapping[str, Any]
    graph: Graph
    program: Program | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.target.name

    @property
    def native(self) -> bool:
        """Whether it has kernels of its own, which keep their initial number of workers."""
        return "max_supersteps" not in self.target.options

    @cached_property
    def work(self) -> Work:
        """The planner's description of it."""
        columns = {name: column.dtype for name, column in self.graph.columns.items()}
        # Python 3.11 cannot parse in two threads at once.
        with _parsing:
            return work_of(self.program if self.program is not None else self.name, None, columns)

    @cached_property
    def account(self) -> Account:
        """The resources of its kernels, memory or arithmetic: a random read costs more than its bytes."""
        work = self.work
        kind = f"{self.name} on {self.graph.vertices} vertices, {self.graph.arcs} arcs"  # speeds are measured by kind
        return Account.of_work(kind, work.arc_bytes + 2.0 * work.value, max(2.0, work.operations))

    @cached_property
    def memory(self) -> int:
        """The bytes that it takes beside the graph, about."""
        return int((self.work.peak or self.work.state) * self.graph.vertices) + _ROOM

    def call(self, **options: Any) -> Result:
        """Run it, with those of the options that it accepts."""
        known = {name: value for name, value in options.items() if name in self.target.options or name == "cancel"}
        return self.target.call(self.graph, **self.parameters, **known)


def task_of(what: Any, graph: Graph, parameters: Mapping[str, Any]) -> Task:
    """A task from what a user names: an algorithm, its function, or a program; parameters are checked by name."""
    if isinstance(what, Program):
        return _checked(Task(program_target(what), parameters, graph, what))
    name: Any = what if isinstance(what, str) else _name_of(what)
    if not isinstance(name, str):
        raise UsageError(f"the task is {what!r}", expected="the name of an algorithm, or a class with @af.program")
    entry = find(name)
    target = Target(entry.name, entry.call, entry.arguments, entry.options, entry.fields, entry)
    return _checked(Task(target, parameters, graph))


def _name_of(what: Callable[..., Any]) -> Any:
    if isinstance(what, type):
        raise UsageError(
            f"{what.__name__} is a class, and no program yet", expected="a class that af.program has read",
            remedy=f"write @af.program above class {what.__name__}",
        )  # fmt: skip
    return getattr(what, "__name__", None)


def _checked(task: Task) -> Task:
    target = task.target
    known = [*target.arguments, *(name for name in sorted(target.options) if name not in _OURS)]
    for name in task.parameters:
        if name in target.arguments:
            continue
        if name in _OURS and name in run_options() | {"cancel"}:
            raise UsageError(
                f"{name}= of a job is decided by Jobs", expected="parameters of the task",
                remedy="threads= and devices= of af.Jobs; max_seconds=, max_supersteps= and job.cancel()",
            )  # fmt: skip
        if name not in known:
            raise UsageError(
                f"{target.name} has no parameter {name!r}", expected=f"one of: {', '.join(known) or 'none'}",
                remedy=did_you_mean(name, known),
            )  # fmt: skip
    for name, argument in target.arguments.items():
        if argument.required and name not in task.parameters:
            raise UsageError(f"{target.name} needs {name}", expected=f"{name}=")
    return task
