"""Inputs as jobs of the protocol, and the outputs that must come of them."""

from __future__ import annotations

import hashlib
from typing import Any

from mldsa_lab.implementation import Implementation
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import LOOKUP, TLS_GROUPS, TLS_OPERATIONS
from mldsa_lab.worker.protocol import JobInput

ACCEPTED, REFUSED = b"\x01", b"\x00"
"""The outputs of verification."""
_TLS13, _AES_256_GCM_SHA384 = b"\x03\x04", b"\x13\x02"


def make_job(item: Input, operation: str, variant: Implementation, **changed: Any) -> JobInput:
    """Return the input as this variant gets it for an operation, with other fields where some
    are ``changed``."""
    kin = item.scheme.kin
    seed = item.seed if "seed" in kin.private_keys else None
    signed = {"message": item.message, "context": item.context}
    match operation:
        case "keygen":
            fields: dict[str, Any] = {"seed": item.seed}
        case "hash":
            fields = {"message": item.message}
        case "encaps":
            fields = {"pk": item.pk, "rnd": item.rnd if variant.rnd == "given" else None}
        case "decaps":
            fields = {"seed": seed, "sk": item.sk, "pk": item.pk, "ciphertext": item.output}
        case "verify":
            fields = {"pk": item.pk, "signature": item.output, **signed}
            fields["seed"] = None if kin.encoded else item.seed
        case _ if operation == LOOKUP or operation in TLS_OPERATIONS:
            fields = {}
        case _:
            fields = {"seed": seed, "sk": item.sk, "pk": item.pk, **signed}
            fields["rnd"] = item.signing_rnd if variant.deterministic else None
    return JobInput(item.id, **fields | changed)


def expected_output(item: Input, operation: str, variant: Implementation) -> bytes | None:
    """Return the output that must come out; None where it is not known, or another each time."""
    match operation:
        case "keygen":
            return item.pk if "seed" in item.scheme.kin.private_keys else None
        case "sign":
            return item.output if variant.deterministic else None
        case "verify":
            return ACCEPTED if item.valid else REFUSED
        case "hash":
            return hashlib.sha3_256(item.message).digest()
        case "encaps":
            known = variant.rnd == "given" and item.output is not None
            return (item.output or b"") + (item.secret or b"") if known else None
        case "decaps":
            return item.secret
        case _ if operation in TLS_OPERATIONS:
            group = next(g for name, g in TLS_GROUPS.items() if f"-{name}-" in item.set)
            return _TLS13 + _AES_256_GCM_SHA384 + group.to_bytes(2, "big")
        case _:
            return b""  # of a lookup
