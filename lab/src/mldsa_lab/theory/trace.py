"""Rejection traces: the checks that each attempt of one deterministic signature failed.

Pools and the tracing library have attempts as numbers of 16 bits; files that people read, and the
worker protocol, have words: one per attempt, ``ok``, or every failing check in FIPS 204's order,
each as a letter and the index of the first polynomial that fails it: ``z`` (norm of z), ``r`` (norm
of r0), ``c`` (norm of c t0), ``h`` (hint weight). All checks of an attempt are given, those too
that a signer would not have reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mldsa_lab.errors import LabError
from mldsa_lab.sets import parameter_set

CHECKS = "zrch"
"""The checks in FIPS 204's order; check number i has bit 1 << i in `Attempt.failed`."""
PASSED = 15
"""Stands for the index of the first failing polynomial where a check passed."""
SHIFTS = tuple(4 * i for i in range(len(CHECKS)))
"""Where in an attempt's number each check's index stands."""

# No set has an index above 7 (k = 8).
_WORD = re.compile(r"(?:z([0-7]))?(?:r([0-7]))?(?:c([0-7]))?(?:h([0-7]))?")


class Attempt(int):
    """One attempt: in four times four bits, the lowest for z, the index of the first polynomial
    that fails each check, `PASSED` where none does. 0xFFFF is an accepted attempt."""

    __slots__ = ()

    @classmethod
    def from_indexes(cls, first_failing: Iterable[int]) -> Attempt:
        """The attempt with these indexes, of z, r0, ct0 and hint weight."""
        return cls(sum(index << at for at, index in zip(SHIFTS, first_failing, strict=True)))

    @property
    def first_failing(self) -> tuple[int, int, int, int]:
        """The indexes of z, r0, ct0 and hint weight."""
        return self & PASSED, self >> 4 & PASSED, self >> 8 & PASSED, self >> 12

    @property
    def failed(self) -> int:
        """Bitmap of failing checks: 1 z, 2 r0, 4 ct0, 8 hint weight; 0 accepted."""
        return sum(1 << bit for bit, index in enumerate(self.first_failing) if index != PASSED)

    @property
    def rejection(self) -> str:
        """Rejection class: ``z``, ``r``, ``h`` (ct0 or hint weight), or ``ok``."""
        if self.failed & 1:
            return "z"
        if self.failed & 2:
            return "r"
        return "h" if self.failed else "ok"

    def __str__(self) -> str:
        words = [f"{c}{i}" for c, i in zip(CHECKS, self.first_failing, strict=True) if i != PASSED]
        return "".join(words) or "ok"


ACCEPTED = Attempt(0xFFFF)
"""The accepted attempt."""

Trace = tuple[Attempt, ...]
"""The attempts of one signature; the last one, and only that, is accepted."""


@lru_cache(maxsize=65536)
def parse_attempt(word: str) -> Attempt:
    """Read one word such as ``ok``, ``z0r2`` or ``h3``; LabError if it is not of that form."""
    if word == "ok":
        return ACCEPTED
    match = _WORD.fullmatch(word)
    if not word or match is None:
        raise LabError(
            f"attempt {word[:40]!r}: must be 'ok' or failing checks in the order z, r, c, h, "
            "each with the index of its first failing polynomial, 0 to 7"
        )
    return Attempt.from_indexes(PASSED if text is None else int(text) for text in match.groups())


def parse_trace(words: Iterable[str], set_name: str | None = None) -> Trace:
    """Read a trace from its words; with ``set_name`` also check indexes against k and l.

    LabError if a word is malformed, an index is out of range, or the accepted attempt is not
    the last and only one.
    """
    trace = tuple(parse_attempt(word) for word in words)
    if not trace:
        raise LabError("trace: must have at least one attempt")
    if ACCEPTED in trace[:-1] or trace[-1] != ACCEPTED:
        shown = format_trace(trace)
        raise LabError(f"trace {shown[:80]!r}: the last attempt, and only that, must be 'ok'")
    if set_name is not None:
        p = parameter_set(set_name)
        sizes = (p.l, p.k, p.k, p.k)
        for attempt in trace:
            for check, index, size in zip(CHECKS, attempt.first_failing, sizes, strict=True):
                if index != PASSED and index >= size:
                    raise LabError(
                        f"attempt {str(attempt)!r}: index of {check} must be below {size} "
                        f"for {set_name}"
                    )
    return trace


def format_trace(trace: Iterable[Attempt]) -> str:
    """The words of a trace, separated by spaces."""
    return " ".join(str(attempt) for attempt in trace)
