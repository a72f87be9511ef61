"""Which inputs a pool has: all of them follow from a seed of 32 bytes and a few sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, Literal

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.sets import CONTEXT_BYTES_MAX, PARAMETER_SETS, SEED_BYTES, parameter_set

MESSAGE_BYTES_MAX = 1 << 24
"""The longest message of a generated input, bytes."""

Rnd = Literal["zero", "given"]
"""rnd of Algorithm 2: 32 zero bytes (deterministic signing), or each input's own 32 bytes."""

_INPUTS = "inputs"
_KEYS = "keys"


@dataclass(frozen=True, slots=True)
class SigningInput:
    """All that a signature is made of: key seed xi (32 bytes), message, context (at most 255
    bytes) and rnd (32 bytes)."""

    xi: bytes
    message: bytes
    context: bytes
    rnd: bytes


@dataclass(frozen=True, slots=True)
class Spec:
    """The inputs of one pool, numbered from 0.

    ``set``: an ML-DSA parameter set; ``seed``: 32 bytes; ``message_bytes``, ``context_bytes``:
    the sizes of every message and context; ``per_key``: how many consecutive inputs share a key,
    1 for a key of its own each, 0 for one key for all; ``rnd``: see `Rnd`. Input i is the same
    for any number of inputs. LabError if a value is out of range.
    """

    set: str
    seed: bytes
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
        return next(
            candidates(self.seed, self.set, 1, message_bytes=0, stream=_KEYS, start=key)
        ).seed

    def inputs(self, start: int, count: int) -> list[SigningInput]:
        """Inputs ``start .. start + count - 1``."""
        own = self.per_key == 1
        rnd_bytes = SEED_BYTES if self.rnd == "given" else 0
        drawn = candidates(
            self.seed,
            self.set,
            count,
            message_bytes=self.message_bytes + rnd_bytes,
            context_bytes=self.context_bytes,
            stream=_INPUTS,
            start=start,
        )
        found: list[SigningInput] = []
        key, xi = -1, b""
        for index, candidate in enumerate(drawn, start):
            if own:
                xi = candidate.seed
            elif self.key_number(index) != key:
                key = self.key_number(index)
                xi = self.xi(key)
            message = candidate.message[: self.message_bytes]
            rnd = candidate.message[self.message_bytes :] or bytes(SEED_BYTES)
            found.append(SigningInput(xi, message, candidate.context, rnd))
        return found

    def input(self, index: int) -> SigningInput:
        """Input number ``index``; LabError if it is negative."""
        return next(islice(self.inputs(index, 1), 1))

    def as_json(self) -> dict[str, Any]:
        """The fields as plain values, the seed in hexadecimal."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return values | {"seed": self.seed.hex()}

    @classmethod
    def from_json(cls, value: object, where: str) -> Spec:
        """The inverse of `as_json`; LabError, beginning with ``where``, if it is not one."""
        names = [f.name for f in fields(cls)]
        if not isinstance(value, Mapping) or sorted(value) != sorted(names):
            raise LabError(f"{where}: must be an object with the keys {', '.join(names)}")
        texts, numbers = ("set", "seed", "rnd"), ("message_bytes", "context_bytes", "per_key")
        for name in texts:
            if not isinstance(value[name], str):
                raise LabError(f"{where}: {name} must be a text")
        for name in numbers:
            if type(value[name]) is not int:
                raise LabError(f"{where}: {name} must be a whole number")
        try:
            seed = bytes.fromhex(value["seed"])
        except ValueError:
            raise LabError(f"{where}: seed must be hexadecimal") from None
        try:
            return cls(**{**value, "seed": seed})
        except LabError as error:
            raise LabError(f"{where}: {error}") from None


def spec_sets() -> tuple[str, ...]:
    """The parameter sets that a pool may be of."""
    return tuple(PARAMETER_SETS)
