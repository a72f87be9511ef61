"""What ratios are to."""

from __future__ import annotations

from collections.abc import Sequence

from mldsa_lab.errors import LabError
from mldsa_lab.records.rows import Variant

DEFAULT_REFERENCE = "mldsa-native"
"""Ratios are to it unless an option says otherwise; a run without it has none. Where both builds
are measured, a name without one means the default build."""


def known_reference(reference: str, variants: Sequence[Variant]) -> None:
    """LabError unless the reference for ratios is an implementation or variant of this run."""
    if not any(reference in v.names for v in variants):
        known = ", ".join(dict.fromkeys(v.implementation for v in variants))
        raise LabError(f"unknown reference {reference!r}: this run measures {known}")
