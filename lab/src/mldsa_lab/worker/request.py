"""What an implementation is asked: an input, the outputs that are known of it, and how both become
a job of the protocol."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

from mldsa_lab.implementation import Implementation
from mldsa_lab.inputs.input import ZERO_RND, Input
from mldsa_lab.sets import LOOKUP, SCHEMES, SECRET_BYTES, TLS_GROUPS, TLS_OPERATIONS, Scheme
from mldsa_lab.theory.trace import Trace
from mldsa_lab.worker.protocol import JobInput

ACCEPTED, REFUSED = b"\x01", b"\x00"
"""The outputs of verification."""
_TLS13, _AES_256_GCM_SHA384 = b"\x03\x04", b"\x13\x02"


@dataclass(frozen=True, slots=True)
class Item:
    """One input of a set. ``seed``: what its key is made of; ``rnd``: None for deterministic
    signing, of a KEM the m of encapsulation.

    ``pk``, ``sk``, ``output`` (a signature or ciphertext), ``secret`` (that a ciphertext holds) and
    ``trace`` are known outputs; keys that never leave a worker are None. ``valid``: whether its
    signature or keys must be accepted.
    """

    set: str
    id: int
    seed: bytes | None
    message: bytes = b""
    context: bytes = b""
    rnd: bytes | None = None
    pk: bytes | None = None
    sk: bytes | None = None
    output: bytes | None = None
    secret: bytes | None = None
    trace: Trace = ()
    role: str = ""
    valid: bool = True

    def __str__(self) -> str:
        context = f", context {len(self.context)}" if self.context else ""
        return f"input {self.id} (message {len(self.message)} bytes{context})"

    @classmethod
    def of(cls, item: Input, set_name: str) -> Self:
        """The item of a signed input of ML-DSA. LabError where it has no outputs."""
        what, made = item.what, item.made
        return cls(
            set_name,
            item.id,
            what.xi,
            what.message,
            what.context,
            None if what.rnd == ZERO_RND else what.rnd,
            made.pk,
            made.sk,
            made.signature,
            trace=item.trace,
            role=item.role,
        )

    @property
    def scheme(self) -> Scheme:
        """The scheme of its set."""
        return SCHEMES[self.set]

    def with_output(self, value: bytes | None) -> Item:
        """The item with a signature, or with a ciphertext and its secret."""
        if value is None or "encaps" not in self.scheme.kin.operations:
            return replace(self, output=value)
        return replace(self, output=value[:-SECRET_BYTES], secret=value[-SECRET_BYTES:])

    def job(self, operation: str, variant: Implementation, **changed: Any) -> JobInput:
        """The input as this variant is handed it for an operation, with other fields where some
        are ``changed``."""
        kin = self.scheme.kin
        rnd = kin.plain_rnd if self.rnd is None else self.rnd
        seed = self.seed if "seed" in kin.private_keys else None
        signed = {"message": self.message, "context": self.context}
        match operation:
            case "keygen":
                fields: dict[str, Any] = {"seed": self.seed}
            case "hash":
                fields = {"message": self.message}
            case "encaps":
                fields = {"pk": self.pk, "rnd": self.rnd if variant.rnd == "given" else None}
            case "decaps":
                fields = {"seed": seed, "sk": self.sk, "pk": self.pk, "ciphertext": self.output}
            case "verify":
                fields = {"pk": self.pk, "signature": self.output, **signed}
                fields["seed"] = None if kin.encoded else self.seed
            case _ if operation == LOOKUP or operation in TLS_OPERATIONS:
                fields = {}
            case _:
                fields = {"seed": seed, "sk": self.sk, "pk": self.pk, **signed}
                fields["rnd"] = rnd if variant.deterministic else None
        return JobInput(self.id, **fields | changed)

    def expected(self, operation: str, variant: Implementation) -> bytes | None:
        """The output that must come out; None where it is not known, or another each time."""
        match operation:
            case "keygen":
                return self.pk if "seed" in self.scheme.kin.private_keys else None
            case "sign":
                return self.output if variant.deterministic else None
            case "verify":
                return ACCEPTED if self.valid else REFUSED
            case "hash":
                return hashlib.sha3_256(self.message).digest()
            case "encaps":
                known = variant.rnd == "given" and self.output is not None
                return (self.output or b"") + (self.secret or b"") if known else None
            case "decaps":
                return self.secret
            case _ if operation in TLS_OPERATIONS:
                group = next(g for name, g in TLS_GROUPS.items() if f"-{name}-" in self.set)
                return _TLS13 + _AES_256_GCM_SHA384 + group.to_bytes(2, "big")
            case _:
                return b""  # of a lookup
