"""Which inputs a pool has: all of them follow from a seed of 32 bytes and a few sizes."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SEED_BYTES, parameter_set

MESSAGE_BYTES_MAX = 1 << 24
"""The longest message of a generated input, bytes."""

Rnd = Literal["zero", "given"]
"""rnd of Algorithm 2: 32 zero bytes (deterministic signing), or each input's own 32 bytes."""

STREAM = "inputs"
"""Of the candidates that are a pool's inputs."""
_KEYS = "keys"


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The inputs of one pool, numbered from 0.

    ``set``: an ML-DSA parameter set; ``seed``: 32 bytes; ``message_bytes``, ``context_bytes``:
    the sizes of every message and context; ``per_key``: how many consecutive inputs share a key,
    1 for a key of its own each, 0 for one key for all; ``rnd``: see `Rnd`. Input i is the same
    for any number of inputs. LabError if a value is out of range.
    """

    set: str
    seed: Hex
    message_bytes: int = 32
    context_bytes: int = 0
    per_key: int = 1
    rnd: Rnd = "zero"

    def __post_init__(self) -> None:
        parameter_set(self.set)
        if len(self.seed) != SEED_BYTES:
            raise LabError(f"pool seed of {len(self.seed)} bytes: must have {SEED_BYTES}")
        if not 0 <= self.message_bytes <= MESSAGE_BYTES_MAX:
            raise LabError(
                f"message size {self.message_bytes}: must be in 0..{MESSAGE_BYTES_MAX} bytes"
            )
        if not 0 <= self.context_bytes <= CONTEXT_BYTES_MAX:
            raise LabError(
                f"context size {self.context_bytes}: must be in 0..{CONTEXT_BYTES_MAX} bytes"
            )
        if self.per_key < 0:
            raise LabError(f"inputs per key {self.per_key}: must be at least 0")
        if self.rnd not in ("zero", "given"):
            raise LabError(f"rnd {self.rnd!r}: must be 'zero' or 'given'")

    def key_number(self, index: int) -> int:
        """Which key input ``index`` has, from 0."""
        return index // self.per_key if self.per_key else 0

    def xi(self, key: int) -> bytes:
        """The seed of key number ``key``."""
        (drawn,) = candidates(self.seed, self.set, 1, message_bytes=0, stream=_KEYS, start=key)
        return drawn.key

    def inputs(self, start: int, count: int) -> list[Input]:
        """Inputs ``start .. start + count - 1``; LabError if these are negative."""
        drawn = candidates(
            self.seed,
            self.set,
            count,
            message_bytes=self.message_bytes + (SEED_BYTES if self.rnd == "given" else 0),
            context_bytes=self.context_bytes,
            stream=STREAM,
            start=start,
        )
        found: list[Input] = []
        xi_of = cache(self.xi)
        for index, candidate in enumerate(drawn, start):
            xi = candidate.key if self.per_key == 1 else xi_of(self.key_number(index))
            message = candidate.message[: self.message_bytes]
            rnd = candidate.message[self.message_bytes :] or None
            found.append(msgspec.structs.replace(candidate, seed=xi, message=message, rnd=rnd))
        return found

    def input(self, index: int) -> Input:
        """Input number ``index``; LabError if it is negative."""
        return self.inputs(index, 1)[0]
