"""An input: key, message, context and rnd, and the outputs of an operation."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mldsa_lab.errors import LabError
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SCHEMES, SECRET_BYTES, SEED_BYTES, Scheme
from mldsa_lab.theory.trace import Trace


def check_sizes(part: Any, *digests: str) -> None:
    """LabError unless xi, rnd and the named ``digests`` of ``part`` have 32 bytes where they are
    known, and its context at most 255."""
    for name in ("xi", "rnd", *digests):
        value = getattr(part, name)
        if value is not None and len(value) != SEED_BYTES:
            raise LabError(f"{name} has {len(value)} bytes, must have {SEED_BYTES}")
    size = len(part.context)
    if size > CONTEXT_BYTES_MAX:
        raise LabError(f"context has {size} bytes, must have at most {CONTEXT_BYTES_MAX}")


def normalize_rnd(rnd: bytes | None) -> bytes | None:
    """Return the rnd of a file as an `Input` has it: None for that of deterministic signing."""
    return rnd if rnd is not None and any(rnd) else None


class Digests(NamedTuple):
    """SHA-256 of pk, sk and signature, in hexadecimal."""

    pk: str
    sk: str
    signature: str


class Outputs(NamedTuple):
    """Outputs of FIPS 204 for an input: pk (pkEncode), sk (skEncode) and signature, all bytes."""

    pk: bytes
    sk: bytes
    signature: bytes


class Input(Struct, frozen=True):
    """One input of a set, from the pool that it is drawn in to the record of a run.

    ``seed``: of its key, xi of ML-DSA; where it is not known, ``sk`` is the private key as skEncode
    writes it. ``rnd``: None for deterministic signing; m of encapsulation.

    ``pk``, ``sk``, ``output`` (a signature or ciphertext), ``secret`` (that a ciphertext holds) and
    ``trace`` are known outputs; keys that never leave a worker are None. ``known_digests``: of
    outputs that a compact selection leaves out. ``role``: as in a record (`InputRow`). ``valid``:
    whether its signature or keys must be accepted.
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
    known_digests: Digests | None = None
    role: str = "design"
    valid: bool = True

    def __str__(self) -> str:
        context = f", context {len(self.context)}" if self.context else ""
        return f"input {self.id} (message {len(self.message)} bytes{context})"

    @property
    def scheme(self) -> Scheme:
        """The scheme of its set."""
        return SCHEMES[self.set]

    @property
    def key(self) -> bytes:
        """The seed, or the private key where the seed is not known."""
        key = self.sk if self.seed is None else self.seed
        assert key is not None
        return key

    @property
    def signing_rnd(self) -> bytes:
        """The rnd that signing takes: its own, or that of deterministic signing."""
        return self.scheme.kin.plain_rnd if self.rnd is None else self.rnd

    @property
    def outputs(self) -> Outputs:
        """Keys and signature; LabError where only their digests are known."""
        if self.pk is None or self.sk is None or self.output is None:
            raise LabError(f"input {self.id}: has no outputs; sign it first")
        return Outputs(self.pk, self.sk, self.output)

    @property
    def digests(self) -> Digests:
        """The digests of keys and signature."""
        if self.known_digests is not None:
            return self.known_digests
        return Digests(*(hashlib.sha256(part).hexdigest() for part in self.outputs))

    def with_output(self, value: bytes | None) -> Input:
        """Return the input with a signature, or with a ciphertext and its secret."""
        if value is None or "encaps" not in self.scheme.kin.operations:
            return replace(self, output=value)
        return replace(self, output=value[:-SECRET_BYTES], secret=value[-SECRET_BYTES:])
