"""An input (key, message, context and rnd), and inputs that follow from a seed of 32 bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.files import Hex
from mldsa_lab.sets import (
    ALL_SETS,
    CONTEXT_BYTES_MAX,
    SCHEMES,
    SECRET_BYTES,
    SEED_BYTES,
    Scheme,
    parameter_set,
)
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

    ``pk``, ``sk``, ``output`` (a signature or ciphertext), ``secret`` (of a ciphertext) and
    ``trace`` are known outputs; keys that never leave a worker are None. ``known_digests``: of
    outputs that a compact selection leaves out. ``role``: as in a record (`InputRow`).
    ``is_valid``: its signature or keys must be accepted.
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
    is_valid: bool = True

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
        return self.scheme.traits.plain_rnd if self.rnd is None else self.rnd

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
        if value is None or "encaps" not in self.scheme.traits.operations:
            return replace(self, output=value)
        return replace(self, output=value[:-SECRET_BYTES], secret=value[-SECRET_BYTES:])


def positions(
    inputs: int, size: int, *, number: int = 0, count: int = 1, thread: int = 0, threads: int = 1
) -> list[int]:
    """The positions, of ``inputs`` in all, that a thread performs in run ``number`` of ``count``,
    each of ``size`` operations.

    Runs begin at equal distances. Threads begin apart too, so that they do equal work but not the
    same at the same time.
    """
    first = number * inputs // count + thread * (inputs // threads)
    return [(first + place) % inputs for place in range(size)]


# Inputs from a run's seed.


_DOMAIN = b"mldsa-lab pool 1"
MESSAGE_BYTES_MAX = 1 << 24
"""The longest message of a generated input, bytes."""


def candidates(
    run_seed: bytes,
    set_name: str,
    count: int,
    *,
    message_bytes: int = 32,
    context_bytes: int = 0,
    stream: str = "design",
    start: int = 0,
) -> Iterator[Input]:
    """Yield candidates ``start .. start + count - 1`` of a set, for deterministic signing.

    Each has its number as id and a key of its own, whose seed has the set's size. Candidate i is
    SHAKE256(domain, run seed, set, stream, sizes, i), every field prefixed with its length. It is
    the same for any ``count``, and independent between sets and streams. ``stream``
    separates uses of one run seed, such as the pool to design from and inputs taken at random.
    LabError for an unknown set, a run seed that is not 32 bytes, or sizes out of range.
    """
    if len(run_seed) != SEED_BYTES:
        raise LabError(f"run seed of {len(run_seed)} bytes: must have {SEED_BYTES}")
    if set_name not in ALL_SETS:
        raise LabError(f"parameter set {set_name!r}: must be one of {', '.join(ALL_SETS)}")
    if count < 0 or start < 0:
        raise LabError(f"pool of {count} from {start}: both must be at least 0")
    # A spec whose inputs have an rnd of their own draws it with the message.
    if not 0 <= message_bytes <= MESSAGE_BYTES_MAX + SEED_BYTES:
        raise LabError(f"message size {message_bytes}: must be in 0..{MESSAGE_BYTES_MAX} bytes")
    if not 0 <= context_bytes <= CONTEXT_BYTES_MAX:
        raise LabError(f"context size {context_bytes}: must be in 0..{CONTEXT_BYTES_MAX} bytes")
    prefix = hashlib.shake_256()
    sizes = message_bytes.to_bytes(8, "little") + context_bytes.to_bytes(8, "little")
    for part in (_DOMAIN, run_seed, set_name.encode(), stream.encode(), sizes):
        prefix.update(len(part).to_bytes(8, "little") + part)

    seed_bytes = SCHEMES[set_name].seed_bytes

    def draw(number: int) -> Input:
        shake = prefix.copy()
        shake.update(number.to_bytes(8, "little"))
        message_end = seed_bytes + message_bytes
        data = shake.digest(message_end + context_bytes)
        seed, message = data[:seed_bytes], data[seed_bytes:message_end]
        return Input(set_name, number, seed, message, data[message_end:])

    return (draw(number) for number in range(start, start + count))


# Inputs of a pool.


Rnd = Literal["zero", "given"]
"""rnd of Algorithm 2: 32 zero bytes (deterministic signing), or each input's own 32 bytes."""

STREAM = "inputs"
"""Of the candidates that are a pool's inputs."""
_KEYS = "keys"


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The inputs of one pool, numbered from 0.

    ``set``: an ML-DSA parameter set. ``seed``: 32 bytes. ``message_bytes``, ``context_bytes``: the
    sizes of every message and context. ``per_key``: how many consecutive inputs share a key, 1 for
    a key each, 0 for one key for all. ``rnd``: see `Rnd`. Input i is the same for any number of
    inputs. LabError if a value is out of range.
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
        find_xi = cache(self.xi)
        for index, candidate in enumerate(drawn, start):
            xi = candidate.key if self.per_key == 1 else find_xi(self.key_number(index))
            message = candidate.message[: self.message_bytes]
            rnd = candidate.message[self.message_bytes :] or None
            inputs.append(msgspec.structs.replace(candidate, seed=xi, message=message, rnd=rnd))
        return inputs

    def input(self, index: int) -> Input:
        """Input number ``index``; LabError if it is negative."""
        return self.inputs(index, 1)[0]
