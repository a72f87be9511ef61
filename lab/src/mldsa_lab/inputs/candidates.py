"""Candidate inputs derived from a run's seed, so that a pool is reproducible from 32 bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import ALL_SETS, CONTEXT_BYTES_MAX, SCHEMES, SEED_BYTES

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
    """Candidates ``start .. start + count - 1`` of a set, each with its number as id and a key of
    its own, whose seed has the set's size; deterministic signing.

    Candidate i is SHAKE256(domain, run seed, set, stream, sizes, i), every field prefixed with
    its length: the same for any ``count``, and independent between sets and streams. ``stream``
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
