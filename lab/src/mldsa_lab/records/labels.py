"""Short names of variants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mldsa_lab.records.rows import Variant
from mldsa_lab.sets import TUNED_BUILD

_FORMS = {"batch": "batch", "single": "loop"}


def short_labels(variants: Sequence[Variant]) -> dict[str, str]:
    """Return the shortest label that tells each variant (by id) from the others:
    `aws-lc`, `mldsa-lanes avx2`, `mldsa-lanes avx2 exp.` (expanded key), `aws-lc tuned` (beside the
    default build). A variant measured in runs has the label of its single calls with the runs
    behind it."""
    bases = {v.base: v for v in variants}
    labels = {base: _label(v, list(bases.values())) for base, v in bases.items()}
    by_label: dict[tuple[str, str], list[str]] = defaultdict(list)
    for base, label in labels.items():
        by_label[label, bases[base].family].append(base)
    for same in by_label.values():
        if len(same) > 1:
            labels |= {base: base for base in same}
    for variant in variants:
        if variant.runs:
            parts = [labels[variant.base], f"{_FORMS[variant.mode]} {variant.batch_size}"]
            parts += [f"{variant.threads} threads"] if variant.threads > 1 else []
            labels[variant.id] = " ".join(parts)
    return labels


def _label(variant: Variant, listed: Sequence[Variant]) -> str:
    """Return the label that tells it from the other variants of its implementation."""
    own = (variant.implementation, variant.family)
    peers = [v for v in listed if (v.implementation, v.family) == own]
    parts = [variant.implementation]
    if len({v.backend for v in peers if v.tuned == variant.tuned}) > 1:
        parts.append(variant.backend)
    if variant.key != "compact":
        parts.append("exp.")
    if variant.tuned and not all(v.tuned for v in peers):
        parts.append(TUNED_BUILD)
    return " ".join(parts)
