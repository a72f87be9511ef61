"""ML-DSA beside classical schemes that were measured in the same rounds."""

from __future__ import annotations

from dataclasses import dataclass

from mldsa_lab.estimate.cell import Estimate, Interval, ratio
from mldsa_lab.estimate.cells import Key
from mldsa_lab.records import Variant, Worker
from mldsa_lab.sets import PARAMETER_SETS


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cost of one ML-DSA variant over that of a classical scheme for the same operation.

    ``variant`` and ``against`` are ids, ``scheme`` is the classical one's set.
    """

    set: str
    operation: str
    variant: str
    scheme: str
    against: str
    ratio: Interval


def compare_classical(
    estimates: dict[Key, Estimate],
    variants: dict[str, tuple[Variant, Worker]],
    confidence: float,
) -> list[Comparison]:
    """The cheapest ML-DSA variant of each kind (compact or expanded key, single calls or batches),
    by set and operation, over every classical scheme's single calls; of ``variants`` alone."""
    cheapest: dict[tuple[str, str, str, str], Key] = {}
    schemes: list[Key] = []
    for key, estimate in estimates.items():
        if key[0] not in variants:
            continue
        v, set_name, operation = variants[key[0]][0], key[1], key[2]
        if v.threads > 1 or (v.runs and v.mode == "single"):
            continue
        if set_name not in PARAMETER_SETS:
            schemes.append(key)
            continue
        kind = (set_name, operation, v.key, v.mode)
        if kind not in cheapest or estimate.mean.value < estimates[cheapest[kind]].mean.value:
            cheapest[kind] = key
    return [
        Comparison(
            key[1], key[2], key[0], scheme[1], scheme[0],
            ratio(estimates[key], estimates[scheme], confidence),
        )
        for key in cheapest.values()
        for scheme in schemes
        if scheme[2] == key[2] and variants[scheme[0]][1].unit == variants[key[0]][1].unit
    ]  # fmt: skip
