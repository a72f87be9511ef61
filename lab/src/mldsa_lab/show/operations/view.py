"""A record of operations and its summary, as a reader meets them: tables in order, ranks, marks,
labels, colours, reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import FEWEST_ROUNDS, is_above
from mldsa_lab.estimate.samples import CellKey
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.estimate.summary_row import SummaryRow
from mldsa_lab.records import Fault, Gate, Record, Variant, base_id
from mldsa_lab.sets import ALL_SETS, BUILDS, FAMILIES, PARAMETER_SETS, TUNED_BUILD, sets_of
from mldsa_lab.show.format import Unit, choose_unit
from mldsa_lab.show.report import EXCLUDED, REJECTED, SERIES_COUNT, Look, Reason
from mldsa_lab.wording import join_words

SHOWN_OPERATIONS = (
    "sign", "verify", "encaps", "decaps", "keygen", "hash", "handshake", "accept", "lookup",
)  # fmt: skip
"""Operations in the order of a report: signing first, which differs most."""
MAIN_SET = "ML-DSA-65"
"""The set that a headline is of, where it was measured; else the first one."""
TOLD_SIZE = 1000
"""The batch size that stands for all, where it was measured; else the largest."""
MARKS = {
    "h": "signs hedged only, so it was measured on random inputs: the luck of their attempts is "
    "part of its interval",
    "e": "has no compact key for some operation: its time with an expanded key, made beforehand",
    "x": "excluded with a compact key, for the reason below",
    "w": "wall-clock time, where others have the thread's processor time",
    "f": f"measured in fewer than {FEWEST_ROUNDS} rounds: no interval",
    "n": "see the notes on single figures",
    "!": "left out part-way through the run; the rounds before that count",
}
"""What each mark of a table says."""
COMPACT = "compact key"
"""What `calls` says of single calls that begin with the key's bytes."""
KEYS = {"compact": "many keys", "expanded": "one key"}
"""Which keys the operations of a batch have, by the variant's key form."""
_COLOURED = (
    "mldsa-native", "mldsa-lanes", "aws-lc", "libcrux", "rustcrypto", "fips204", "filippo", "circl",
    "mldsa-lanes-hardened", "wolfssl",
    "openssl", "boringssl", "jdk", "bouncycastle", "botan", "liboqs", "go-ml-dsa", "mldsa-oracle",
    "cryptography", "zig-ml-dsa",
    "mldsa-lanes-c", "mldsa-lanes-python", "conscrypt", "accp", "node-crypto", "liboqs-js",
    "noble-post-quantum", "bouncycastle-1.83", "pqcrypto", "dilithium-py", "fast-mldsa",
    "qybersafe", "mldsa", "mldsa-core",
)  # fmt: skip
"""Implementations of ML-DSA whose colours are the same in every report, by number."""
_FORMS = {"batch": "batch", "single": "loop"}
Fitted = tuple[SummaryRow, Fit]


@dataclass(frozen=True)
class View:
    """A record with its summary. ``tables``: rows of single calls by set, operation and unit, best
    first; ``labels`` by variant, ``colours`` by implementation."""

    summary: Summary
    tables: dict[tuple[str, str, str], list[SummaryRow]]
    labels: dict[str, str]
    colours: dict[str, int]

    @property
    def record(self) -> Record:
        """The record."""
        return self.summary.record

    def table(self, set_name: str, operation: str) -> list[SummaryRow]:
        """Return the rows of the first table of this set and operation; none if there is none."""
        found = (rows for key, rows in self.tables.items() if key[:2] == (set_name, operation))
        return next(found, [])

    def fitted(self, set_name: str) -> list[Fitted]:
        """Return the signing rows of a set that have a fit, fastest first."""
        return [(r, r.fit) for r in self.table(set_name, "sign") if r.fit is not None]

    @property
    def sets(self) -> list[str]:
        """The ML-DSA sets that were measured, in canonical order."""
        return [s for s in PARAMETER_SETS if any(key[0] == s for key in self.tables)]

    @property
    def main_set(self) -> str | None:
        """The set that stands for all; None where no ML-DSA was measured."""
        return MAIN_SET if MAIN_SET in self.sets else next(iter(self.sets), None)

    @property
    def others(self) -> list[str]:
        """The families beside ML-DSA that were measured."""
        present = {key[0] for key in self.tables}
        return [f for f in FAMILIES if f != "ml-dsa" and present.intersection(sets_of(f))]

    @property
    def builds(self) -> list[str]:
        """The builds that were measured; none in a record that names none."""
        return [
            build for build in BUILDS if any(r.worker.build == build for r in self.summary.rows)
        ]

    @property
    def rounds(self) -> int:
        """Rounds with samples."""
        return len({s.round for s in self.record.samples})

    def told(self, set_name: str, operation: str) -> list[SummaryRow]:
        """Return the best row of each implementation and way of calling: single calls and batches
        of the size that is told, on one thread, in default builds where both were measured."""
        rows = [r for r in self.summary.rows if r.set == set_name and r.mean is not None]
        size = told_size(rows)
        found: dict[tuple[str, str], SummaryRow] = {}
        for r in rows:
            v = r.variant
            is_told = v.batch_size == (size if v.mode == "batch" else 1) and v.threads == 1
            if r.operation == operation and is_told and not r.again:
                found.setdefault((v.implementation, calls(r)), r)
        return list(found.values())

    def is_expanded_only(self, row: SummaryRow) -> bool:
        """Return whether this is its implementation's best row of an operation that it does not
        announce with a compact key."""
        return self._is_best_expanded(row) and not self._compact(row)

    def is_excluded_compact(self, row: SummaryRow) -> bool:
        """Return whether this is its implementation's best row of an operation that was excluded
        with a compact key before it was measured."""
        record, about = self.record, (row.set, row.operation)
        bad = {gate.variant for gate in record.gates if gate.set == row.set and not gate.passed}
        bad |= {fault.variant for fault in record.faults if _concerns(fault, *about)}
        return self._is_best_expanded(row) and any(v.id in bad for v in self._compact(row))

    def _is_best_expanded(self, row: SummaryRow) -> bool:
        """Return whether this is its implementation's best single call, where none is with a
        compact key."""
        name = row.variant.implementation
        mine = [
            r for r in self.told(row.set, row.operation)
            if r.variant.mode == "single" and r.variant.implementation == name
        ]  # fmt: skip
        return mine[:1] == [row] and all(r.variant.key != "compact" for r in mine)

    def _compact(self, row: SummaryRow) -> list[Variant]:
        """The variants with a compact key that its worker announces for the same."""
        return [
            v
            for v in row.worker.variants
            if v.implementation == row.variant.implementation
            and (v.key, v.runs) == ("compact", False)
            and row.set in v.sets
            and row.operation in v.operations
        ]

    @cached_property
    def ranks(self) -> dict[CellKey, int]:
        """The rank of each row of the tables that has one, by variant, set and operation."""
        return {
            row.cell: rank
            for rows in self.tables.values()
            for row, rank in zip(rows, ranks(self.summary, rows), strict=True)
            if rank is not None
        }

    @cached_property
    def few_rounds(self) -> dict[CellKey, bool]:
        """Whether a cell has too few rounds for an interval."""
        rounds: dict[CellKey, set[int]] = defaultdict(set)
        for s in self.record.samples:
            rounds[s.variant, s.set, s.operation].add(s.round)
        return {key: len(of) < FEWEST_ROUNDS for key, of in rounds.items()}

    def marks(self, row: SummaryRow) -> tuple[str, ...]:
        """Return the marks of a row."""
        # What holds for all is said once.
        few = self.few_rounds[row.cell] and not all(self.few_rounds.values())
        hedged = (
            row.operation == "sign" and not row.variant.deterministic and row.set in PARAMETER_SETS
        )
        told = {
            "h": hedged,
            "w": row.clock == "wall" and self.summary.clock == "cpu" and row.unit == "ns",
            "f": few,
            "n": bool(row.notes),
            "!": any(
                fault.variant == row.variant.id and _concerns(fault, row.set, row.operation)
                for fault in self.record.faults
            ),
        }
        return tuple(mark for mark, holds in told.items() if holds)

    def label(self, variant: str) -> str:
        """Return the label of a variant's single calls."""
        return self.labels.get(base_id(variant), base_id(variant))

    def warnings(self) -> list[str]:
        """Return what makes all figures doubtful."""
        record, made = self.record, []
        if record.interrupted:
            noun = "round" if self.rounds == 1 else "rounds"
            made.append(
                f"This run was interrupted after {self.rounds} {noun} (the last may be "
                "incomplete): what was measured until then is shown."
            )
        cores = record.run.machine.get("cores")
        loads = [row.load1 for row in record.loads if row.load1 is not None]
        busy = record.busy
        # The bench itself is one running thread.
        if not busy and isinstance(cores, int) and loads and max(loads) > 1 + cores / 2:
            busy = f"load average up to {max(loads):.1f} on {cores} cores"
        if busy:
            made.append(
                f"The machine was busy with other work: {busy}. Ratios suffer less from that than "
                "absolute times."
            )
        made += record.warnings + list(self.summary.notes if self.summary.rows else ())
        if self.tables and all(self.few_rounds.values()):
            made.append(
                f"Every figure rests on fewer than {FEWEST_ROUNDS} rounds: there are no intervals."
            )
        return made

    def remarks(self) -> dict[str, list[Reason]]:
        """Return remarks by title: rejected and excluded variants, notes, skipped workers."""
        record = self.record
        rejected: dict[tuple[str, str], list[str]] = defaultdict(list)
        for gate in record.gates:
            if not gate.passed:
                rejected[gate.variant, _why(gate)].append(gate.set)
        notes: dict[tuple[str, str], list[str]] = defaultdict(list)
        for row in self.summary.rows:
            for note in row.notes:
                notes[row.variant.id, note].append(f"{row.set} {row.operation}")
        faults = []
        for fault in record.faults:
            parts = [fault.set or "all sets", fault.operation or "all operations"]
            parts += [f"from round {fault.round + 1} on"] if fault.round is not None else []
            faults.append(Reason(fault.variant, ", ".join(parts), fault.reason))
        rows = [row for of in self.tables.values() for row in of]
        used = {m for row in rows for m in self.marks(row)}
        of_ml_dsa = [row for row in rows if row.set in self.sets]
        used |= {"e" for row in of_ml_dsa if self.is_expanded_only(row)}
        used |= {"x" for row in of_ml_dsa if self.is_excluded_compact(row)}
        titled = {
            "Marks": [Reason(mark, "", text) for mark, text in MARKS.items() if mark in used],
            REJECTED: _joined(rejected),
            EXCLUDED: faults,
            "Notes on single figures": _joined(notes),
            "Workers that could not run here": [
                Reason(s.worker, "", s.reason) for s in record.skipped
            ],
        }
        return {title: listed for title, listed in titled.items() if listed}


def read_view(record: Record, look: Look, colours: dict[str, int] | None = None) -> View:
    """Summarise and arrange a record. ``colours`` may come from `assign_colours` over several
    records. LabError if it cannot be summarised."""
    summary = summarise(
        record, reference=look.reference, clock=look.clock, confidence=look.confidence
    )
    found: dict[tuple[str, str, str], list[SummaryRow]] = defaultdict(list)
    for row in summary.rows:
        if row.mean is not None and not row.variant.runs:
            found[row.set, row.operation, row.unit].append(row)  # by mean, as they come
    places = {name: place for place, name in enumerate(ALL_SETS)}
    order = sorted(found, key=lambda k: (places[k[0]], SHOWN_OPERATIONS.index(k[1]), k[2]))
    measured = {s.variant for s in record.samples}
    labels = short_labels(v for v, _ in record.variants.values() if v.id in measured)
    colours = colours or assign_colours([record])
    return View(summary, {key: found[key] for key in order}, labels, colours)


def unit_of(rows: Iterable[SummaryRow]) -> Unit:
    """Return the unit in which these means are shown."""
    listed = list(rows)
    return choose_unit([r.cost for r in listed], listed[0].unit)


def calls(row: SummaryRow) -> str:
    """Return how operations are called: with which key, and in which batches."""
    v = row.variant
    if v.mode == "batch":
        return f"batch of {v.batch_size:,}, {KEYS[v.key]}"
    return f"{v.key} key"


def told_size(rows: Iterable[SummaryRow]) -> int:
    """Return the batch size that stands for all; 0 where there is none."""
    known = {r.variant.batch_size for r in rows if r.variant.mode == "batch"}
    return TOLD_SIZE if TOLD_SIZE in known else max(known, default=0)


def best_rows(rows: Iterable[SummaryRow], key: str = "compact") -> list[SummaryRow]:
    """Return the best variant of each implementation with this key form, the fastest first. Where
    both builds were measured, of the default ones: those are what a user of the library gets."""
    found: dict[str, SummaryRow] = {}
    for row in rows:
        if row.variant.key == key and not row.again:
            found.setdefault(row.variant.implementation, row)
    return list(found.values())


def slower(summary: Summary, one: SummaryRow, other: SummaryRow) -> bool:
    """Return whether `one` clearly costs more than `other`: the interval of their paired ratio is
    above 1. Where there is none, their means' intervals must be apart; without intervals nothing
    is clear."""
    if is_above(one.figures.get("ratio"), other.figures.get("ratio")):
        return True  # so is their own ratio, which is narrower: not worth its work
    paired = one.over(other, summary.confidence)
    if paired is not None and paired.low is not None:
        return paired.low > 1
    return is_above(one.mean, other.mean)


def has_interval(row: SummaryRow) -> bool:
    """Return whether the limits of the mean are known."""
    return row.mean is not None and row.mean.low is not None


def ranks(summary: Summary, rows: Sequence[SummaryRow]) -> list[int | None]:
    """Return, for rows by ascending mean, the place of the first row of each group: rows that are
    not clearly slower than this one share its rank, and the next rank is the next row's place.

    Rows without an interval have no rank and no place: nothing tells them from others."""
    places: list[int | None] = []
    placed: list[SummaryRow] = []
    rank = 0
    for row in rows:
        if not has_interval(row):
            places.append(None)
            continue
        placed.append(row)
        if not rank or slower(summary, row, placed[rank - 1]):
            rank = len(placed)
        places.append(rank)
    return places


def _concerns(fault: Fault, set_name: str, operation: str) -> bool:
    """Return whether a variant was excluded from this set and operation."""
    return fault.set in (None, set_name) and fault.operation in (None, operation)


def assign_colours(records: Iterable[Record]) -> dict[str, int]:
    """Return a colour number per implementation: the same for the known ones in every report. No
    number occurs twice in a family, and no plot shows two families."""
    measured = ((record.variants, {s.variant for s in record.samples}) for record in records)
    timed = {variants[name][0] for variants, ids in measured for name in ids}
    colours = {name: number for number, name in enumerate(_COLOURED)}
    for family in FAMILIES:
        names = {v.implementation for v in timed if v.family == family}
        known = names.intersection(_COLOURED)
        colours |= free_colours(sorted(names - known), {colours[name] for name in known})
    return colours


def free_colours(names: Iterable[str], taken: Collection[int]) -> dict[str, int]:
    """Return a number for each name that no other has and that is not ``taken``; those of known
    implementations come last."""
    known = len(_COLOURED)
    usual = (*range(known, SERIES_COUNT), *range(known), *range(SERIES_COUNT, 10 * SERIES_COUNT))
    free = (number for number in usual if number not in taken)
    return dict(zip(names, free, strict=False))


def short_labels(variants: Iterable[Variant]) -> dict[str, str]:
    """Return the shortest label that tells each variant (by id) from the others: `aws-lc`,
    `mldsa-lanes avx2`, `mldsa-lanes avx2 exp.` (expanded key), `aws-lc tuned` (beside the default
    build). A variant measured in runs has the label of its single calls with the runs behind it."""
    every = list(variants)
    bases = {v.base: v for v in every}
    labels = {base: _label(v, list(bases.values())) for base, v in bases.items()}
    by_label: dict[tuple[str, str], list[str]] = defaultdict(list)
    for base, label in labels.items():
        by_label[label, bases[base].family].append(base)
    for same in by_label.values():
        if len(same) > 1:
            labels |= {base: base for base in same}
    for variant in every:
        if variant.runs:
            parts = [labels[variant.base], f"{_FORMS[variant.mode]} {variant.batch_size}"]
            parts += [f"{variant.threads} threads"] if variant.threads > 1 else []
            labels[variant.id] = " ".join(parts)
    return labels


def _label(variant: Variant, listed: Sequence[Variant]) -> str:
    """What tells it from the other variants of its implementation."""
    own = (variant.implementation, variant.family)
    peers = [v for v in listed if (v.implementation, v.family) == own]
    parts = [variant.implementation]
    if len({v.backend for v in peers if v.tuned == variant.tuned}) > 1:
        parts.append(variant.backend)
    if variant.key != "compact":
        parts.append("exp.")
    if variant.tuned and not all(v.tuned for v in peers):
        parts.append(TUNED_BUILD)
    return " ".join(parts)


def _why(gate: Gate) -> str:
    parts = [
        f"{c.check}: {c.failed} of {c.cases} wrong"
        + (f" ({c.first_failure})" if c.first_failure else "")
        for c in gate.checks
        if c.failed
    ]
    return "; ".join(parts) or "rejected without a named check"


def _joined(found: dict[tuple[str, str], list[str]]) -> list[Reason]:
    """A remark per subject and reason, the places it holds for named together."""
    return [Reason(who, join_words(places), reason) for (who, reason), places in found.items()]
