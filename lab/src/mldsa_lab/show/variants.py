"""The variants of a record for a reader: attributes, ways of calling, colours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.records import Record, Variant
from mldsa_lab.sets import FAMILIES
from mldsa_lab.show.report import SERIES_COUNT, Look

COMPACT = "compact key"
"""The text of `calls` for single calls that begin with the key's bytes."""
KEYS = {"compact": "many keys", "expanded": "one key"}
"""Which keys the operations of a batch have, by the variant's key form."""
HEADLINE_BATCH = 1000
"""The batch size that stands for all, where it was measured; else the largest."""
_COLOURED = (
    "mldsa-native", "mldsa-lanes", "aws-lc", "libcrux", "rustcrypto", "fips204", "filippo", "circl",
    "mldsa-lanes-hardened", "wolfssl",
    "openssl", "boringssl", "jdk", "bouncycastle", "botan", "liboqs", "go-ml-dsa", "mldsa-oracle",
    "cryptography", "zig-ml-dsa",
    "mldsa-lanes-c", "mldsa-lanes-python", "conscrypt", "accp", "node-crypto", "liboqs-js",
    "noble-post-quantum", "bouncycastle-1.83", "pqcrypto", "dilithium-py", "fast-mldsa",
    "qybersafe", "mldsa", "mldsa-core",
)  # fmt: skip
"""Implementations of ML-DSA whose colours are the same in every report, by number."""


def of_record(record: Record, figures: Sequence[Figure], look: Look) -> Figures:
    """Return figures of a record with the attributes of its variants and of its run."""
    labels = record.labels()
    about: dict[Key, dict[str, Key]] = {
        v.id: {
            **worker.about(v),
            "label": labels.get(v.base, v.base),
            "calls": calls(v),
            "keys": KEYS[v.key],
            "size": v.batch_size if v.mode == "batch" else "loop",
        }
        for v, worker in record.variants.values()
    }
    head: dict[str, Key] = {
        "reference": look.reference, "asked_clock": look.clock, "confidence": look.confidence,
    }  # fmt: skip
    return Figures(figures, {"variant": about}, head | record.facts())


def calls(variant: Variant) -> str:
    """Return how operations are called: with which key, and in which batches."""
    if variant.mode == "batch":
        return f"batch of {variant.batch_size:,}, {KEYS[variant.key]}"
    return f"{variant.key} key"


def headline_batch_size(variants: Iterable[Variant]) -> int:
    """Return the batch size that stands for all; 0 where there is none."""
    known = {v.batch_size for v in variants if v.mode == "batch"}
    return HEADLINE_BATCH if HEADLINE_BATCH in known else max(known, default=0)


def assign_colours(records: Iterable[Record]) -> dict[str, int]:
    """Return a colour number per implementation: the same for the known ones in every report. No
    number occurs twice in a family, and no plot shows two families."""
    measured = ((record.variants, {s.variant for s in record.samples}) for record in records)
    timed = {variants[name][0] for variants, ids in measured for name in ids}
    colours = {name: number for number, name in enumerate(_COLOURED)}
    for family in FAMILIES:
        names = {v.implementation for v in timed if v.family == family}
        known = names.intersection(_COLOURED)
        colours |= free_colours(sorted(names - known), {colours[name] for name in known})
    return colours


def free_colours(names: Iterable[str], taken: Collection[int]) -> dict[str, int]:
    """Return a number for each name that no other has and that is not ``taken``; those of known
    implementations come last."""
    known = len(_COLOURED)
    usual = (*range(known, SERIES_COUNT), *range(known), *range(SERIES_COUNT, 10 * SERIES_COUNT))
    free = (number for number in usual if number not in taken)
    return dict(zip(names, free, strict=False))
