"""What holds for every test, those of the studies too."""

from __future__ import annotations

import os


def pytest_configure() -> None:
    """The width of the terminal that the tests are started from decides nothing (pytest-xdist sets
    the variable in its processes even where there is no terminal)."""
    os.environ.pop("COLUMNS", None)
