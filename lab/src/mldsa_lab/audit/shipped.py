"""The worked examples that come with the lab."""

from __future__ import annotations

from importlib import resources

from mldsa_lab.audit.claims import ClaimTable
from mldsa_lab.audit.reading import parse_claims
from mldsa_lab.errors import LabError

_SUFFIX = ".yaml"


def example_names() -> tuple[str, ...]:
    """Their names, in order."""
    folder = resources.files("mldsa_lab.audit") / "examples"
    return tuple(
        sorted(f.name.removesuffix(_SUFFIX) for f in folder.iterdir() if f.name.endswith(_SUFFIX))
    )


def example_text(name: str) -> str:
    """The file of an example; LabError if there is none."""
    if name not in example_names():
        raise LabError(f"unknown example {name!r}: known are {', '.join(example_names())}")
    folder = resources.files("mldsa_lab.audit") / "examples"
    return (folder / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def example(name: str) -> ClaimTable:
    """The claims of an example."""
    return parse_claims(example_text(name), f"example {name}")
