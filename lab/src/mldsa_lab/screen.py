"""Progress of a run: one line for each finished phase, a bar for the current phase; and its end.

Without a terminal, a phase that takes longer than 10 seconds has another line with its current
step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

_TITLE_WIDTH = 10
_TEXT_WIDTH = 64
_DRAWN_S = 0.25  # between two drawings of a still phase
_LINES_S = 10.0  # until a phase has a line, where nothing is drawn


class Phase:
    """A phase at work. `total` is in the phase's own steps."""

    def __init__(self, screen: Screen, title: str, progress: Progress, task: TaskID) -> None:
        self._screen = screen
        self._title = title
        self._progress = progress
        self._task = task
        self._drawn = time.monotonic()
        self.text = ""
        """The current step."""
        self.summary = ""
        """The text of the line that stays when the phase is over."""

    def show(self, text: str, *, step: float = 0) -> None:
        """Show the current step, after `step` more steps."""
        self._progress.update(self._task, text=escape(text[:_TEXT_WIDTH]), advance=step)
        self._draw(text)

    def reach(self, completed: float, text: str) -> None:
        """Show the current step, after `completed` steps in all."""
        self._progress.update(self._task, text=escape(text[:_TEXT_WIDTH]), completed=completed)
        self._draw(text)

    def _draw(self, text: str) -> None:
        now, self.text = time.monotonic(), text
        is_still = not self._progress.live.auto_refresh
        if self._progress.disable:
            if is_still and now - self._drawn > _LINES_S:
                self._screen.line(self._title, f"[dim]{escape(text)}[/]")
                self._drawn = math.inf
        elif is_still and now - self._drawn > _DRAWN_S:
            self._progress.refresh()
            self._drawn = now


class Screen:
    """Where a run is shown."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def phase(
        self, title: str, total: float | None = None, *, still: bool = False
    ) -> Iterator[Phase]:
        """A phase with its bar (only a spinner where `total` is None) ; its line at the end.

        A `still` one is drawn only when it is told something, so that this process takes no CPU
        time from a worker that measures.
        """
        columns = [SpinnerColumn(), TextColumn(f"[bold]{title:<{_TITLE_WIDTH}}[/]")]
        if total is not None:
            columns.append(BarColumn(bar_width=28))
        columns += [TimeElapsedColumn(), TextColumn("{task.fields[text]}", style="dim")]
        began = time.monotonic()
        progress = Progress(*columns, console=self.console, transient=True, auto_refresh=not still)
        if not self.console.is_terminal:
            progress.disable = True
        with progress:
            phase = Phase(self, title, progress, progress.add_task(title, total=total, text=""))
            if progress.disable and not still:
                with self._slow_line(title, phase):
                    yield phase
            else:
                yield phase
        if phase.summary:
            self.line(title, f"{escape(phase.summary)} [dim]{time.monotonic() - began:.1f} s[/]")

    @contextmanager
    def _slow_line(self, title: str, phase: Phase) -> Iterator[None]:
        """Print a line of the phase after `_LINES_S` seconds, also while its program is silent."""
        timer = Timer(
            _LINES_S, lambda: self.line(title, f"[dim]{escape(phase.text or 'at work')}[/]")
        )
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def line(self, title: str, markup: str) -> None:
        """A line that stays."""
        text = f"[bold]{title:<{_TITLE_WIDTH}}[/] {markup}"
        self.console.print(text, highlight=False, soft_wrap=True)

    def warn(self, title: str, text: str) -> None:
        """A line about something left out."""
        self.line(title, f"[yellow]left out:[/] {escape(text)}")

    def lines(self, texts: list[str]) -> None:
        """Lines of another program, indented."""
        for text in texts:
            self.console.print(
                " " * (_TITLE_WIDTH + 1) + escape(text), style="dim", highlight=False
            )


def print_end(
    console: Console,
    answer: str = "",
    details: Iterable[str] = (),
    doubts: Iterable[str] = (),
    commands: Iterable[str] = (),
    files: Iterable[tuple[str, object]] = (),
) -> None:
    """Print the last lines of a command: its answer with details, reasons for doubt, the next
    commands, and files by title."""
    lines = [Text(answer, "bold")] if answer else []
    lines += [Text(text) for text in details]
    lines += [Text(f"note: {text}", "yellow") for text in doubts]
    for line in lines:
        console.print(line)
    for title, text in (*(("next", command) for command in commands), *files):
        named = Text.assemble((f"{title:<{_TITLE_WIDTH}} ", "bold"), str(text))
        console.print(named, soft_wrap=True)
