"""What a person sees while work goes on: notes as lines, and a bar for anything that takes over a second, on stderr.

A bar needs a terminal; notes are printed anywhere, unless ARCFLUX_QUIET is set. Whoever listens to the trace already
(the command line, a notebook, a test) is left alone.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from html import escape
from typing import Any

from arcflux import config, trace
from arcflux.trace import readable

__all__ = ["Terminal", "watching"]

_PATIENCE = 1.0
_REFRESH = 0.2
# Whether this process has said on stderr that it compiles kernels.
_compiling_said = False


class Terminal:
    """A listener that writes to stderr."""

    def __init__(self, *, quiet: bool = False, bars: bool | None = None) -> None:
        self.quiet = quiet
        self._bars = bars
        self._progress: Any = None
        self._rows: dict[int, Any] = {}

    @cached_property
    def columns(self) -> int | None:
        """The width of the launcher's terminal, if this is a rank."""
        return config.terminal_columns()

    @cached_property
    def bars(self) -> bool:
        """Whether to draw bars: asked for, or there is a terminal or a notebook. Looked up when a task takes long."""
        if self._bars is not None:
            return self._bars
        return sys.stderr.isatty() or self.columns is not None or _in_notebook()

    def __call__(self, event: trace.Event) -> None:
        """Hear an event of the trace."""
        if self.quiet:
            return
        if isinstance(event, trace.Note):
            self._write(event)
        elif (event.seconds >= _PATIENCE or self._rows) and self.bars:
            self._draw(event)

    def _write(self, note: trace.Note) -> None:
        global _compiling_said
        text = note.text
        if isinstance(note, trace.Compiling):
            if _compiling_said:
                return
            _compiling_said, text = True, "compiling kernels (once per machine)"
        if self._progress is not None and not _in_notebook():
            self._progress.console.print(f"arcflux: {text}", highlight=False, markup=False)
        else:
            sys.stderr.write(f"arcflux: {text}\n")  # at once: a notebook shows each write by itself
            sys.stderr.flush()

    def _draw(self, task: trace.Task) -> None:
        row = self._rows.get(id(task))
        if task.finished:
            if row is not None:
                self._progress.remove_task(self._rows.pop(id(task)))
                if not self._rows:
                    self.close()
            return
        if row is None:
            if task.seconds < _PATIENCE:
                return  # another task has a bar
            row = self._bar().add_task(task.name, total=task.total or None, unit=task.unit, work=task)
            self._rows[id(task)] = row
        self._progress.update(row, completed=task.done)

    def _bar(self) -> Any:
        if self._progress is None:
            if _in_notebook():
                self._progress = _NotebookLine()
                return self._progress
            from rich.progress import BarColumn, Progress, TextColumn

            self._progress = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(), _Amount(), _Clock(),
                console=self._console(), transient=True, redirect_stdout=False,  # results stay on stdout
            )  # fmt: skip
            self._progress.start()
        return self._progress

    def _console(self) -> Any:
        """Stderr; that of a rank is a pipe, which its launcher shows on a terminal."""
        from rich.console import Console

        if self.columns is None:
            return Console(stderr=True)
        return Console(stderr=True, force_terminal=True, width=self.columns)

    def close(self) -> None:
        """Take the bars away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._rows.clear()


def _in_notebook() -> bool:
    """Whether output goes to a notebook's cell: bars of a terminal would be garbage there."""
    found = sys.modules.get("IPython")
    return found is not None and hasattr(found.get_ipython(), "kernel")


class _NotebookLine:
    """Tasks as one line below a cell, written anew now and then, with the calls of rich's bars that are used here."""

    def __init__(self) -> None:
        self._tasks: dict[int, trace.Task] = {}
        self._handle: Any = None
        self._last = 0.0

    def add_task(self, name: str, *, work: trace.Task, **_: Any) -> int:
        self._tasks[id(work)] = work
        return id(work)

    def remove_task(self, row: int) -> None:
        del self._tasks[row]

    def update(self, row: int, **_: Any) -> None:
        now = time.monotonic()
        if now - self._last > _REFRESH:
            self._last = now
            self._show("; ".join(_line(task) for task in self._tasks.values()))

    def stop(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        from IPython.display import display

        data = {"text/plain": text, "text/html": f"<code>{escape(text)}</code>" if text else ""}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _line(task: trace.Task) -> str:
    """A task in words."""
    said = readable if task.unit == "bytes" else "{:,.0f}".format
    amount = said(task.done) + (f" of {said(task.total)}" if task.total else "")
    return f"{task.name}: {amount}{'' if task.unit == 'bytes' else ' ' + task.unit}, {task.seconds:.0f} s"


def _Amount() -> Any:
    """A column with the amount done and the rate, in the task's unit."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Amount(ProgressColumn):
        def render(self, task: Any) -> Text:
            unit = task.fields.get("unit", "")
            said = readable if unit == "bytes" else "{:,.0f}".format
            amount = said(task.completed) + (f" of {said(task.total)}" if task.total else "")
            return Text(f"{amount}, {readable(task.speed or 0.0)}/s" if unit == "bytes" else f"{amount} {unit}")

    return Amount()


def _Clock() -> Any:
    """A column with the time that is left; with the time that went by where the end is unknown, as in a run."""
    from rich.progress import ProgressColumn, TimeRemainingColumn
    from rich.text import Text

    class Clock(ProgressColumn):
        left = TimeRemainingColumn()

        def render(self, task: Any) -> Text:
            return self.left.render(task) if task.total else Text(f"{task.fields['work'].seconds:.0f} s")

    return Clock()


def watching(show: bool | None = None) -> AbstractContextManager[None]:
    """Show what goes on while the block runs, unless it is shown already.

    `show` True draws bars even where stderr is no terminal, False shows nothing, None decides.
    """
    silent = (
        os.environ.get("ARCFLUX_QUIET")
        or not config.is_first_rank()
        or threading.current_thread() is not threading.main_thread()
    )
    unseen = trace.has_listeners() or show is False or (show is None and silent)
    return nullcontext() if unseen else _shown(Terminal(bars=show))


@contextmanager
def _shown(terminal: Terminal) -> Iterator[None]:
    try:
        with trace.listen(terminal):
            yield
    finally:
        terminal.close()
