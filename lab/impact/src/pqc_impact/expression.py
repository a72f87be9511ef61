"""Sums of bytes as a scenario writes them, such as ``inputs * (41 + with_length(signature))``.

Names are sizes in bytes and counts; the functions are the length prefixes of encodings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from mldsa_lab import sets
from mldsa_lab.estimate import figure


def compact_size(number: float) -> float:
    """Bytes of a number in Bitcoin's variable-length form."""
    return 1 if number < 0xFD else 3 if number <= 0xFFFF else 5


def with_length(content: float) -> float:
    """Content behind its length as a `compact_size`, as scripts and witness items are."""
    return compact_size(content) + content


def push(content: float) -> float:
    """The script operation that pushes as many bytes (OP_PUSHBYTES, OP_PUSHDATA1, 2, 4)."""
    prefix = 1 if content <= 75 else 2 if content <= 0xFF else 3 if content <= 0xFFFF else 5
    return prefix + content


def rlp(content: float) -> float:
    """An RLP string of as many bytes; one byte below 0x80 encodes itself."""
    return content if content == 1 else rlp_list(content)


def rlp_list(content: float) -> float:
    """An RLP list whose items take as many bytes."""
    if content <= 55:
        return 1 + content
    return 1 + math.ceil(math.floor(math.log2(content) + 1) / 8) + content


def short_vec(count: float) -> float:
    """Bytes of a length in Solana's compact-u16: seven bits in each."""
    return 1 if count < 0x80 else 2 if count < 0x4000 else 3


def der(content: float) -> float:
    """A DER value of one tag byte around as many bytes (X.690)."""
    whole = math.floor(content)
    return sets.der(whole) + content - whole


def base64(content: float) -> float:
    """Content in Base64, filled up (RFC 4648, 4)."""
    return 4 * math.ceil(content / 3)


def base64url(content: float) -> float:
    """Content in base64url without filling, as JOSE has it (RFC 7515, 2)."""
    return math.ceil(4 * content / 3)


def cbor(content: float) -> float:
    """A CBOR string of as many bytes (RFC 8949, 3)."""
    head = 1 if content < 24 else 2 if content < 0x100 else 3 if content < 0x10000 else 5
    return head + content


def tls_records(content: float) -> float:
    """Return the bytes of the encrypted records of TLS 1.3 around a message (RFC 8446, 5).

    Every 2^14 bytes have a header of five bytes, the content's type and a tag of 16.
    """
    return content + math.ceil(content / 2**14) * (5 + 1 + 16)


def words(content: float) -> float:
    """Content filled up to words of 32 bytes, as Solidity's ABI does."""
    return 32 * math.ceil(content / 32)


FUNCTIONS: dict[str, Callable[..., float]] = {
    f.__name__: f
    for f in (
        compact_size, with_length, push, rlp, rlp_list, short_vec, words, der, base64, base64url,
        cbor, tls_records,
    )
} | {"min": min, "max": max, "ceil": math.ceil}  # fmt: skip
"""The functions that an expression may call."""


def evaluate(text: str, names: Mapping[str, float], place: str = "") -> float:
    """Return the value of an expression. ValueError begins with its ``place`` in the file and names
    the error."""
    value: float = figure.evaluate(text, names, FUNCTIONS, place)
    if not (math.isfinite(value) and value >= 0):
        where = f"{place}: " if place else ""
        raise ValueError(f"{where}{text[:80]!r} is {value:g}: must be zero or more")
    return value
