"""Signed inputs as jobs of the worker protocol, and the check of what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mldsa_lab.bench.material import check_taken, sign_job
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.worker.protocol import Announced, JobInput

_WEAKEST = ("portable", "literal")


@dataclass(frozen=True)
class SignedInputs:
    """Inputs of one parameter set with the keys and signatures that FIPS 204 makes of them."""

    set: str
    inputs: tuple[Input, ...]

    def __len__(self) -> int:
        return len(self.inputs)

    def part(self, start: int, end: int) -> SignedInputs:
        """Inputs at ``start .. end - 1``."""
        return SignedInputs(self.set, self.inputs[start:end])

    def jobs(self, variant: Announced) -> list[JobInput]:
        """What this variant's signing is handed, in order; LabError if it cannot take one of the
        inputs."""
        for item in self.inputs:
            check_taken(item, variant, f"input {item.id}")
        return [sign_job(item, variant) for item in self.inputs]

    def check(
        self, variant: Announced, results: Iterable[tuple[int, bytes | None, str | None]]
    ) -> None:
        """LabError for the first signature that failed or is wrong: (input, SHA-256, failure) for
        each."""
        right = {item.id: item.digests.signature for item in self.inputs}
        for number, digest, failure in results:
            if failure is not None:
                raise LabError(f"{variant.id}, {self.set}, input {number}: failed: {failure}")
            if digest is None or digest.hex() != right[number]:
                raise LabError(
                    f"{variant.id}, {self.set}, input {number}: the signature is wrong, so its "
                    "cost says nothing"
                )


def one_each(
    variants: Iterable[Announced], wanted: Sequence[str], known: Iterable[str] | None = None
) -> list[Announced]:
    """The variants that were asked for, by implementation or id, in the order asked.

    Of an implementation: that with a compact key before expanded ones, code for this CPU before
    portable code, and the last announced of several. LabError for a name that fits no
    deterministic signer, unless it is among ``known`` (implementations that a worker left out may
    have).
    """
    signers = [v for v in variants if v.family == "ml-dsa" and "sign" in v.operations]
    signers = [v for v in signers if v.rnd != "none"]
    chosen: list[Announced] = []
    for name in wanted:
        fitting = [v for v in signers if name in (v.id, v.implementation)]
        if not fitting:
            if known is not None and name in known:
                continue
            names = ", ".join(dict.fromkeys(v.implementation for v in signers))
            raise LabError(
                f"unknown implementation {name!r}: it is no deterministic signer here; "
                f"known are {names}"
            )
        best = max(
            enumerate(fitting),
            key=lambda item: (
                item[1].key == "compact", item[1].backend not in _WEAKEST, item[0],
            ),
        )[1]  # fmt: skip
        if best not in chosen:
            chosen.append(best)
    return chosen
