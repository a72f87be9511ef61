"""Rejection traces of many signatures in arrays: millions fit where tuples would not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.trace import ACCEPTED, CHECKS, PASSED, SHIFTS, Attempt, Trace

Codes = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class TraceTable:
    """Traces of ``len(table)`` signatures of one parameter set.

    ``codes``: (attempts,) all attempts (`Attempt`), signature after signature; ``ends``:
    (signatures,) where in ``codes`` each signature's attempts end. LabError if a signature does
    not end in its only accepted attempt, or an index does not fit the set's k and l.
    """

    set: str
    codes: Codes
    ends: Ints

    def __post_init__(self) -> None:
        p = parameter_set(self.set)
        ends, codes = self.ends, self.codes
        if (len(ends) == 0) != (len(codes) == 0) or (len(ends) and ends[-1] != len(codes)):
            raise LabError(f"traces of {self.set}: the ends must cover all attempts")
        if (empty := self.attempts() <= 0).any():
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
        codes = np.array([attempt for trace in every for attempt in trace], dtype=np.uint16)
        return TraceTable(set_name, codes, np.cumsum([len(t) for t in every], dtype=np.int64))

    @staticmethod
    def join(tables: Sequence[TraceTable]) -> TraceTable:
        """Several tables of one set, one after another; at least one."""
        codes = np.concatenate([t.codes for t in tables])
        attempts = np.concatenate([t.attempts() for t in tables])
        return TraceTable(tables[0].set, codes, np.cumsum(attempts))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ints:
        """(signatures,) where in ``codes`` each signature's attempts begin."""
        return self.ends - self.attempts()

    def attempts(self) -> Ints:
        """(signatures,) attempts of each signature, the accepted one included."""
        return np.diff(self.ends, prepend=0)

    def signature_of(self) -> Ints:
        """(attempts,) the signature that each attempt belongs to."""
        return np.repeat(np.arange(len(self.ends)), self.attempts())

    def first_failing(self, check: str) -> Ints:
        """(attempts,) index of the first polynomial that fails ``check`` (one of "zrch"),
        `PASSED` where none does."""
        index = (self.codes >> SHIFTS[CHECKS.index(check)]) & PASSED
        return index.astype(np.int64)

    def rejections(self) -> NDArray[np.int8]:
        """(attempts,) class of each attempt: 0 z, 1 r, 2 h, 3 accepted."""
        z, r = (self.first_failing(check) != PASSED for check in "zr")
        classes = np.where(z, 0, np.where(r, 1, np.where(self.codes == ACCEPTED, 3, 2)))
        return classes.astype(np.int8)

    def counts(self) -> Array:
        """(signatures, 3) rejected attempts of each class: n_z, n_r, n_h."""
        # Four classes of attempts, of which the accepted ones are not counted.
        cells = 4 * self.signature_of() + self.rejections()
        counts = np.bincount(cells, minlength=4 * len(self)).reshape(-1, 4)
        return counts[:, :3].astype(np.float64)

    def trace(self, number: int) -> Trace:
        """The trace of one signature."""
        start = int(self.ends[number - 1]) if number else 0
        return tuple(map(Attempt, self.codes[start : self.ends[number]].tolist()))

    def traces(self) -> list[Trace]:
        """All traces; for tables of moderate size."""
        return [self.trace(i) for i in range(len(self))]

    def take(self, numbers: Sequence[int] | Ints) -> TraceTable:
        """The traces of these signatures, in this order."""
        places = np.asarray(numbers, dtype=np.int64)
        sizes = self.attempts()[places]
        ends = np.cumsum(sizes)
        # Position within each signature, added to where it starts.
        within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
        return TraceTable(
            self.set, self.codes[np.repeat(self.starts[places], sizes) + within], ends
        )
