"""Rejection traces: the failed checks of each iteration of a deterministic signature.

A trace comes in two forms. Pools and the tracing library store an iteration in 16 bits. Files that
people read, and the worker protocol, have a word for each iteration.

A word is ``ok``, or has a letter and an index for each failing check, in FIPS 204's order. The
letters are ``z`` (norm of z), ``r`` (norm of r0), ``c`` (norm of c t0), ``h`` (hint weight). The
index is that of the first polynomial that fails. A word names all failing checks, including those
that a signer would not have reached. `TraceTable` has many traces in arrays: millions fit where
tuples would not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.sets import parameter_set

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

CHECKS = "zrch"
"""The checks in FIPS 204's order; check number i has bit 1 << i in `Iteration.failed`."""
PASSED = 15
"""Stands for the index of the first failing polynomial where a check passed."""
SHIFTS = tuple(4 * i for i in range(len(CHECKS)))
"""The place of each check's index in an iteration's number."""

# No set has an index above 7 (k = 8).
_WORD = re.compile(r"(?:z([0-7]))?(?:r([0-7]))?(?:c([0-7]))?(?:h([0-7]))?")


class Iteration(int):
    """One iteration: in four times four bits, the lowest for z, the index of the first polynomial
    that fails each check, `PASSED` where none does. 0xFFFF is an accepted iteration."""

    __slots__ = ()

    @classmethod
    def from_indexes(cls, first_failing: Iterable[int]) -> Iteration:
        """The iteration with these indexes, of z, r0, ct0 and hint weight."""
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


ACCEPTED = Iteration(0xFFFF)
"""The accepted iteration."""

Trace = tuple[Iteration, ...]
"""The iterations of one signature; the last one, and only that, is accepted."""


@lru_cache(maxsize=65536)
def parse_iteration(word: str) -> Iteration:
    """Read one word such as ``ok``, ``z0r2`` or ``h3``; LabError if it is not of that form."""
    if word == "ok":
        return ACCEPTED
    match = _WORD.fullmatch(word)
    if not word or match is None:
        raise LabError(
            f"attempt {word[:40]!r}: must be 'ok' or failing checks in the order z, r, c, h, "
            "each with the index of its first failing polynomial, 0 to 7"
        )
    return Iteration.from_indexes(PASSED if text is None else int(text) for text in match.groups())


def parse_trace(words: Iterable[str], set_name: str | None = None) -> Trace:
    """Read a trace from its words; with ``set_name`` also check indexes against k and l.

    LabError if a word is malformed, an index is out of range, or the accepted iteration is not
    the last and only one.
    """
    trace = tuple(parse_iteration(word) for word in words)
    if not trace:
        raise LabError("trace: must have at least one attempt")
    if ACCEPTED in trace[:-1] or trace[-1] != ACCEPTED:
        shown = format_trace(trace)
        raise LabError(f"trace {shown[:80]!r}: the last attempt, and only that, must be 'ok'")
    if set_name is not None:
        p = parameter_set(set_name)
        sizes = (p.l, p.k, p.k, p.k)
        for iteration in trace:
            for check, index, size in zip(CHECKS, iteration.first_failing, sizes, strict=True):
                if index != PASSED and index >= size:
                    raise LabError(
                        f"attempt {str(iteration)!r}: index of {check} must be below {size} "
                        f"for {set_name}"
                    )
    return trace


def format_trace(trace: Iterable[Iteration]) -> str:
    """The words of a trace, separated by spaces."""
    return " ".join(str(iteration) for iteration in trace)


# Traces of many signatures.


Codes = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class TraceTable:
    """Traces of ``len(table)`` signatures of one parameter set.

    ``codes``: (iterations,) all iterations (`Iteration`), signature after signature; ``ends``:
    (signatures,) where in ``codes`` each signature's iterations end. LabError if a signature does
    not end in its only accepted iteration, or an index does not fit the set's k and l.
    """

    set: str
    codes: Codes
    ends: Ints

    def __post_init__(self) -> None:
        p = parameter_set(self.set)
        ends, codes = self.ends, self.codes
        if (len(ends) == 0) != (len(codes) == 0) or (len(ends) and ends[-1] != len(codes)):
            raise LabError(f"traces of {self.set}: the ends must cover all attempts")
        if (empty := self.iterations() <= 0).any():
            at = int(np.argmax(empty))
            raise LabError(f"trace {at} of {self.set}: must have at least one attempt")
        accepted = codes == ACCEPTED
        last = np.zeros(len(codes), dtype=bool)
        last[ends - 1] = True
        if (accepted != last).any():
            at = int(np.searchsorted(ends, int(np.argmax(accepted != last)), side="right"))
            raise LabError(
                f"trace {at} of {self.set}: the last attempt, and only that, must be accepted"
            )
        for check, size, column in zip(CHECKS, (p.l, p.k, p.k, p.k), SHIFTS, strict=True):
            index = (codes >> column) & PASSED
            wrong = (index >= size) & (index != PASSED)
            if wrong.any():
                at = int(np.searchsorted(ends, int(np.argmax(wrong)), side="right"))
                raise LabError(f"trace {at} of {self.set}: index of {check} must be below {size}")

    @staticmethod
    def from_traces(set_name: str, traces: Iterable[Trace]) -> TraceTable:
        """The table of these traces."""
        every = list(traces)
        codes = np.array([iteration for trace in every for iteration in trace], dtype=np.uint16)
        return TraceTable(set_name, codes, np.cumsum([len(t) for t in every], dtype=np.int64))

    @staticmethod
    def join(tables: Sequence[TraceTable]) -> TraceTable:
        """Several tables of one set, one after another; at least one."""
        codes = np.concatenate([t.codes for t in tables])
        sizes = np.concatenate([t.iterations() for t in tables])
        return TraceTable(tables[0].set, codes, np.cumsum(sizes))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ints:
        """(signatures,) where in ``codes`` each signature's iterations begin."""
        return self.ends - self.iterations()

    def iterations(self) -> Ints:
        """(signatures,) iterations of each signature, the accepted one included."""
        return np.diff(self.ends, prepend=0)

    def signature_numbers(self) -> Ints:
        """(iterations,) the signature that each iteration belongs to."""
        return np.repeat(np.arange(len(self.ends)), self.iterations())

    def first_failing(self, check: str) -> Ints:
        """(iterations,) index of the first polynomial that fails ``check`` (one of "zrch"),
        `PASSED` where none does."""
        index = (self.codes >> SHIFTS[CHECKS.index(check)]) & PASSED
        return index.astype(np.int64)

    def rejections(self) -> NDArray[np.int8]:
        """(iterations,) class of each iteration: 0 z, 1 r, 2 h, 3 accepted."""
        z, r = (self.first_failing(check) != PASSED for check in "zr")
        classes = np.where(z, 0, np.where(r, 1, np.where(self.codes == ACCEPTED, 3, 2)))
        return classes.astype(np.int8)

    def counts(self) -> Array:
        """(signatures, 3) rejected iterations of each class: n_z, n_r, n_h."""
        # Four classes of iterations, of which the accepted ones are not counted.
        cells = 4 * self.signature_numbers() + self.rejections()
        counts = np.bincount(cells, minlength=4 * len(self)).reshape(-1, 4)
        return counts[:, :3].astype(np.float64)

    def trace(self, number: int) -> Trace:
        """The trace of one signature."""
        start = int(self.ends[number - 1]) if number else 0
        return tuple(map(Iteration, self.codes[start : self.ends[number]].tolist()))

    def traces(self) -> list[Trace]:
        """All traces; for tables of moderate size."""
        return [self.trace(i) for i in range(len(self))]

    def take(self, numbers: Sequence[int] | Ints) -> TraceTable:
        """The traces of these signatures, in this order."""
        places = np.asarray(numbers, dtype=np.int64)
        sizes = self.iterations()[places]
        ends = np.cumsum(sizes)
        # Position within each signature, added to where it starts.
        within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
        return TraceTable(
            self.set, self.codes[np.repeat(self.starts[places], sizes) + within], ends
        )
