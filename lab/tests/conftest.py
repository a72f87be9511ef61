"""What holds for every test, those of the studies too."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes is no matter of right or wrong, on a busy machine least of all.
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")


def pytest_configure() -> None:
    """The width of the terminal that the tests are started from decides nothing (pytest-xdist sets
    the variable in its processes even where there is no terminal)."""
    os.environ.pop("COLUMNS", None)
