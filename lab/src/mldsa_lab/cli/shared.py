"""What the commands have in common: the screen, lists of words, where a file went."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

_PIPE_WIDTH = 120
EXIT_INTERRUPTED = 130


def console() -> Console:
    """The screen; where the output is no terminal, wide enough for whole tables."""
    screen = Console()
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _PIPE_WIDTH
    return screen


def words(values: Iterable[str] | None) -> tuple[str, ...]:
    """Names given by repeated options or with commas."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part)


def show_path(screen: Console, title: str, path: Path) -> None:
    """Say where a file was written."""
    screen.print(f"[bold]{title:<10}[/] {path}", highlight=False, soft_wrap=True)
