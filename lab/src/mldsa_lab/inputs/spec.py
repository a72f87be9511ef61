"""The inputs of a pool, which follow from a seed of 32 bytes and a few sizes."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex
from mldsa_lab.inputs.candidates import MESSAGE_BYTES_MAX, candidates
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SEED_BYTES, parameter_set

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
    message_bytes: Annotated[int, msgspec.Meta(ge=0, le=MESSAGE_BYTES_MAX)] = 32
    context_bytes: Annotated[int, msgspec.Meta(ge=0, le=CONTEXT_BYTES_MAX)] = 0
    per_key: Annotated[int, msgspec.Meta(ge=0)] = 1
    rnd: Rnd = "zero"

    def __post_init__(self) -> None:
        parameter_set(self.set)
        if len(self.seed) != SEED_BYTES:
            raise LabError(f"pool seed of {len(self.seed)} bytes: must have {SEED_BYTES}")

    def key_number(self, index: int) -> int:
        """The number of the key of input ``index``, from 0."""
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
        inputs: list[Input] = []
        xi_of = cache(self.xi)
        for index, candidate in enumerate(drawn, start):
            xi = candidate.key if self.per_key == 1 else xi_of(self.key_number(index))
            message = candidate.message[: self.message_bytes]
            rnd = candidate.message[self.message_bytes :] or None
            inputs.append(msgspec.structs.replace(candidate, seed=xi, message=message, rnd=rnd))
        return inputs

    def input(self, index: int) -> Input:
        """Input number ``index``; LabError if it is negative."""
        return self.inputs(index, 1)[0]
