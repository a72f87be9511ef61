"""A signing input, from the seed it is drawn from to what FIPS 204 makes of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

from mldsa_lab.errors import LabError
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SEED_BYTES
from mldsa_lab.theory.trace import Trace

ZERO_RND = bytes(SEED_BYTES)
"""rnd of deterministic signing."""


@dataclass(frozen=True, slots=True)
class SigningInput:
    """All that a signature is made of: the key's seed xi (32 bytes), message, context (at most 255
    bytes) and rnd (32 bytes). Where the seed is not known xi is None, and ``sk`` is the private key
    as skEncode writes it."""

    xi: bytes | None
    message: bytes
    context: bytes = b""
    rnd: bytes = ZERO_RND
    sk: bytes | None = None

    @property
    def key(self) -> bytes:
        """The seed or the private key, whichever was given."""
        key = self.xi if self.sk is None else self.sk
        assert key is not None
        return key

    @property
    def seed(self) -> bytes:
        """xi; LabError where it is not known."""
        if self.xi is None:
            raise LabError("the seed xi of its key is not known")
        return self.xi


def check_sizes(part: Any, *digests: str) -> None:
    """LabError unless what ``part`` has of xi, rnd and the named ``digests`` has 32 bytes, and its
    context at most 255."""
    for name in ("xi", "rnd", *digests):
        value = getattr(part, name)
        if value is not None and len(value) != SEED_BYTES:
            raise LabError(f"{name} has {len(value)} bytes, must have {SEED_BYTES}")
    size = len(part.context)
    if size > CONTEXT_BYTES_MAX:
        raise LabError(f"context has {size} bytes, must have at most {CONTEXT_BYTES_MAX}")


class Digests(NamedTuple):
    """SHA-256 of pk, sk and signature, in hexadecimal."""

    pk: str
    sk: str
    signature: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """What FIPS 204 makes of an input: pk (pkEncode), sk (skEncode) and signature, all bytes."""

    pk: bytes
    sk: bytes
    signature: bytes

    @property
    def digests(self) -> Digests:
        """Their digests."""
        parts = (self.pk, self.sk, self.signature)
        return Digests(*(hashlib.sha256(part).hexdigest() for part in parts))


@dataclass(frozen=True, slots=True)
class Input:
    """What is signed, the trace of signing it, and what comes out or, in compact selections, the
    digests of that. ``role``: what a bench measures it for (see `mldsa_lab.records`)."""

    id: int
    what: SigningInput
    trace: Trace
    outputs: Outputs | Digests
    role: str = "design"

    @property
    def digests(self) -> Digests:
        """The digests of the outputs."""
        return self.outputs if isinstance(self.outputs, Digests) else self.outputs.digests

    @property
    def made(self) -> Outputs:
        """The outputs; LabError where only their digests are known."""
        if isinstance(self.outputs, Digests):
            raise LabError(f"input {self.id}: has no outputs; sign it first")
        return self.outputs
