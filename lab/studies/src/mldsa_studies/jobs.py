"""Inputs as jobs of the worker protocol, and the check of their signatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mldsa_lab import LabError
from mldsa_lab.bench.options import check_signable
from mldsa_lab.inputs.input import Input
from mldsa_lab.worker.protocol import AnnouncedVariant, JobInput, make_job

_WEAKEST = ("portable", "literal")


def sign_jobs(inputs: Sequence[Input], variant: AnnouncedVariant) -> list[JobInput]:
    """Return the inputs of this variant's signing, in order; LabError if it cannot take one of the
    inputs."""
    for item in inputs:
        check_signable(item, variant, f"input {item.id}")
    return [make_job(item, "sign", variant) for item in inputs]


def check_signatures(
    variant: AnnouncedVariant,
    inputs: Sequence[Input],
    results: Iterable[tuple[int, bytes | None, str | None]],
) -> None:
    """LabError for the first signature that failed or is wrong: (input, SHA-256, failure) each."""
    right = {item.id: item.digests.signature for item in inputs}
    for number, digest, failure in results:
        where = f"{variant.id}, input {number}"
        if failure is not None:
            raise LabError(f"{where}: failed: {failure}")
        if digest is None or digest.hex() != right[number]:
            raise LabError(f"{where}: the signature is wrong, so its cost is not used")


def one_each(
    variants: Iterable[AnnouncedVariant], requested: Sequence[str], optional: Sequence[str] = ()
) -> list[AnnouncedVariant]:
    """Return the variants of these implementations or ids, in the order asked.

    Of an implementation: a compact key before expanded ones, code for this CPU before portable
    code, and the last announced of several. LabError for a name that fits no deterministic signer,
    unless it is ``optional``.
    """
    signers = [v for v in variants if v.family == "ml-dsa" and "sign" in v.operations]
    signers = [v for v in signers if v.rnd != "none"]
    chosen: list[AnnouncedVariant] = []
    for name in requested:
        fitting = [v for v in signers if name in (v.id, v.implementation)]
        if not fitting and name not in optional:
            names = ", ".join(dict.fromkeys(v.implementation for v in signers))
            raise LabError(
                f"unknown implementation {name!r}: it is no deterministic signer here; "
                f"known are {names}"
            )
        # Of equals the sort keeps the order, so that the last one is the last announced.
        fitting.sort(key=lambda v: (v.key == "compact", v.backend not in _WEAKEST))
        chosen += [v for v in fitting[-1:] if v not in chosen]
    return chosen
