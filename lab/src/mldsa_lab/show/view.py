"""A record and its summary, arranged as a reader meets them: tables, marks, reasons, warnings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mldsa_lab.estimate.interval import FEWEST_ROUNDS
from mldsa_lab.estimate.summary import Summary, SummaryRow
from mldsa_lab.records import Gate, Record, Variant, base_id
from mldsa_lab.sets import ALL_SETS, BUILDS, FAMILIES, PARAMETER_SETS, TUNED_BUILD, sets_of
from mldsa_lab.show.format import Shown, Unit, choose_unit, estimate, plain
from mldsa_lab.wording import join_words

SHOWN_OPERATIONS = ("sign", "verify", "encaps", "decaps", "keygen", "hash", "lookup")
"""Operations in the order of a report: signing first, which differs most."""
MAIN_SET = "ML-DSA-65"
"""The set that a headline is of, where it was measured; else the first one."""

MARKS = {
    "h": "signs hedged only, so it was measured on random inputs: the luck of their attempts is "
    "part of its interval",
    "w": "wall-clock time, where others have the thread's processor time",
    "f": f"measured in fewer than {FEWEST_ROUNDS} rounds: no interval",
    "n": "see the notes on single figures",
    "!": "left out part-way through the run; the rounds before that count",
}
"""What each mark of a table says."""
KEYS = {"compact": "many keys", "expanded": "one key"}
"""Which keys the operations of a run have, by the variant's key form."""

_PREFERRED = (
    "mldsa-native", "mldsa-lanes", "aws-lc", "libcrux", "rustcrypto", "fips204", "filippo", "circl",
)  # fmt: skip
_FORMS = {"batch": "batch", "single": "loop"}


@dataclass(frozen=True, slots=True)
class TableLine:
    """One row of a table, its numbers as text in the table's unit. `rank`: as `ranks` gives it;
    lines that cannot be told apart share it."""

    row: SummaryRow
    label: str
    colour: int
    rank: int
    mean: Shown
    quantiles: tuple[Shown, ...]
    ratio: Shown
    marks: str

    @property
    def is_reference(self) -> bool:
        """Whether this is what the others' ratios relate to."""
        return self.row.ratio == self.row.ratio_low == self.row.ratio_high == 1.0


@dataclass(frozen=True, slots=True)
class Table:
    """One set and operation, best mean first."""

    set: str
    operation: str
    unit: Unit
    lines: tuple[TableLine, ...]

    @property
    def has_quantiles(self) -> bool:
        """Whether percentiles are shown: for signing, whose cost is random by design; those of
        other operations would show the machine's noise."""
        return self.operation == "sign" and any(line.row.p50 is not None for line in self.lines)


@dataclass(frozen=True, slots=True)
class VariantRemark:
    """Something said about a variant: that the gate refused it, that it failed, a note."""

    variant: str
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class View:
    """Everything a report shows of one record."""

    record: Record
    summary: Summary
    tables: tuple[Table, ...]
    refused: tuple[VariantRemark, ...]
    faults: tuple[VariantRemark, ...]
    warnings: tuple[str, ...]
    notes: tuple[VariantRemark, ...]
    labels: dict[str, str]
    colours: dict[str, int]

    def of(self, set_name: str) -> tuple[Table, ...]:
        """The tables of one set, in the order of `SHOWN_OPERATIONS`."""
        return tuple(t for t in self.tables if t.set == set_name)

    def table(self, set_name: str, operation: str) -> Table | None:
        """The first table of this set and operation."""
        found = (t for t in self.tables if (t.set, t.operation) == (set_name, operation))
        return next(found, None)

    @property
    def sets(self) -> tuple[str, ...]:
        """The ML-DSA sets that were measured, in canonical order."""
        present = {t.set for t in self.tables}
        return tuple(s for s in PARAMETER_SETS if s in present)

    @property
    def main_set(self) -> str | None:
        """The set that stands for all; None where no ML-DSA was measured."""
        return MAIN_SET if MAIN_SET in self.sets else next(iter(self.sets), None)

    @property
    def others(self) -> dict[str, tuple[str, ...]]:
        """The sets of each family beside ML-DSA that were measured, in canonical order."""
        present = {t.set for t in self.tables}
        found = {f: tuple(s for s in sets_of(f) if s in present) for f in FAMILIES if f != "ml-dsa"}
        return {family: sets for family, sets in found.items() if sets}

    @property
    def builds(self) -> tuple[str, ...]:
        """The builds that were measured; none in a record that names none."""
        found = {r.build for r in self.summary.rows}
        return tuple(build for build in BUILDS if build in found)

    @property
    def languages(self) -> bool:
        """Whether implementations in several languages were measured."""
        return len({r.language for r in self.summary.rows}) > 1

    @property
    def marks(self) -> dict[str, str]:
        """The marks in use and what they say."""
        used = "".join(line.marks for table in self.tables for line in table.lines)
        return {mark: text for mark, text in MARKS.items() if mark in used}

    @property
    def rounds(self) -> int:
        """Rounds with samples."""
        return len({s.round for s in self.record.samples})


def is_run(row: SummaryRow) -> bool:
    """Whether this row's calls were runs of operations: those have tables of their own."""
    return row.mode == "batch" or row.batch_size > 1 or row.threads > 1


def how(row: SummaryRow) -> str:
    """How its operations are called: with which key, and in which batches."""
    if row.mode == "batch":
        return f"batch of {row.batch_size:,}, {KEYS[row.key]}"
    return f"{row.key} key"


def way_order(said: str) -> int:
    """The place of what `how` says in tables."""
    ways = ("compact key", "expanded key", *KEYS.values())
    return next(i for i, way in enumerate(ways) if said.endswith(way))


def cost(row: SummaryRow | None, unit: Unit, figure: str = "mean") -> Shown:
    """A row's mean, or another ``figure`` of `SummaryRow.interval`, in this unit."""
    return estimate(row.interval(figure) if row else None, unit)


def ratio(row: SummaryRow | None, figure: str = "ratio") -> Shown:
    """A row's ratio to the reference, or another ``figure`` without a unit."""
    return estimate(row.interval(figure) if row else None)


def slower(summary: Summary, one: SummaryRow, other: SummaryRow) -> bool:
    """Whether `one` clearly costs more than `other`: the interval of their paired ratio is above
    1. Where there is none, their means' intervals must be apart; without intervals nothing is
    clear."""
    bounds = (one.ratio_low, other.ratio_high)
    if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]
        return True  # so is their own ratio, which is narrower: not worth its work
    paired = summary.over(one, other)
    if paired is not None and paired.low is not None:
        return paired.low > 1
    low, high = one.mean_low, other.mean_high
    return low is not None and high is not None and low > high


def ranks(summary: Summary, rows: Sequence[SummaryRow]) -> list[int]:
    """For rows by ascending mean: one more than the number of rows that are clearly faster.

    Ranks ascend: a paired ratio may contradict the means, so no rank exceeds a later one.
    """
    faster = [sum(slower(summary, row, other) for other in rows[:i]) for i, row in enumerate(rows)]
    return [1 + min(faster[i:]) for i in range(len(faster))]


def build(record: Record, summary: Summary, colours: dict[str, int] | None = None) -> View:
    """Arrange one record. `colours` may come from `assign_colours` over several records."""
    colours = colours or assign_colours([record])
    measured = {s.variant for s in record.samples}
    labels = short_labels(v for w in record.workers for v in w.variants if v.id in measured)
    rounds: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for cell in record.samples:
        rounds[cell.variant, cell.set, cell.operation].add(cell.round)
    arranged = _Arranged(record, summary, labels, colours, rounds)
    tables = [
        table
        for set_name in ALL_SETS
        for operation in SHOWN_OPERATIONS
        for table in arranged.tables(set_name, operation)
    ]
    warnings = _warnings(record) + list(summary.notes if summary.rows else ())
    if tables and all("f" in line.marks for table in tables for line in table.lines):
        # Said once, not on every line.
        tables = [_unmarked(table, "f") for table in tables]
        warnings.append(
            f"Every figure rests on fewer than {FEWEST_ROUNDS} rounds: there are no intervals."
        )
    return View(
        record, summary, tuple(tables), tuple(_refusals(record)), tuple(_faults(record)),
        tuple(warnings), tuple(_notes(summary)), labels, colours,
    )  # fmt: skip


def assign_colours(records: Iterable[Record]) -> dict[str, int]:
    """A colour number per implementation: the same for the usual ones in every report."""
    listed = list(records)
    names = {v.implementation for r in listed for w in r.workers for v in w.variants}
    timed = {r.variant(s.variant).implementation for r in listed for s in r.samples}
    ordered = list(_PREFERRED) + sorted((names & timed) - set(_PREFERRED))
    return {name: index for index, name in enumerate(ordered)}


def short_labels(variants: Iterable[Variant]) -> dict[str, str]:
    """The shortest label that tells each variant (by id) from the others: `aws-lc`,
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
            if variant.threads > 1:
                parts.append(f"{variant.threads} threads")
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


def label_of(view: View, variant: str) -> str:
    """The label of a variant's single calls."""
    return view.labels.get(base_id(variant), base_id(variant))


@dataclass(frozen=True, slots=True)
class _Arranged:
    record: Record
    summary: Summary
    labels: dict[str, str]
    colours: dict[str, int]
    rounds: dict[tuple[str, str, str], set[int]]

    def tables(self, set_name: str, operation: str) -> list[Table]:
        rows = [
            r
            for r in self.summary.rows
            if (r.set, r.operation) == (set_name, operation)
            and r.mean is not None
            and not is_run(r)
        ]
        made = []
        # Cycles of a simulator and nanoseconds of a clock cannot be ranked together.
        for stored in sorted({r.unit for r in rows}):
            mine = sorted((r for r in rows if r.unit == stored), key=lambda r: r.mean or 0.0)
            unit = choose_unit([r.mean for r in mine], stored)
            placed = zip(mine, ranks(self.summary, mine), strict=True)
            lines = tuple(self._line(row, rank, unit) for row, rank in placed)
            made.append(Table(set_name, operation, unit, lines))
        return made

    def _line(self, row: SummaryRow, rank: int, unit: Unit) -> TableLine:
        return TableLine(
            row=row,
            label=self.labels.get(row.variant, row.variant),
            colour=self.colours.get(row.implementation, 0),
            rank=rank,
            mean=cost(row, unit),
            quantiles=tuple(
                Shown(plain(q, unit), number=q) for q in (row.p50, row.p95, row.p99, row.p999)
            ),
            ratio=ratio(row),
            marks=self._marks(row),
        )

    def _marks(self, row: SummaryRow) -> str:
        marks = ""
        if row.operation == "sign" and not row.deterministic and row.set in PARAMETER_SETS:
            marks += "h"
        if row.clock == "wall" and self.summary.clock == "cpu" and row.unit == "ns":
            marks += "w"
        if len(self.rounds.get((row.variant, row.set, row.operation), ())) < FEWEST_ROUNDS:
            marks += "f"
        if row.notes:
            marks += "n"
        if any(
            fault.variant == row.variant
            and fault.set in (None, row.set)
            and fault.operation in (None, row.operation)
            for fault in self.record.faults
        ):
            marks += "!"
        return marks


def _refusals(record: Record) -> list[VariantRemark]:
    """One refusal per variant and reason, the sets it holds for named together."""
    sets: dict[tuple[str, str], list[str]] = defaultdict(list)
    for gate in record.gates:
        if not gate.passed:
            sets[gate.variant, _why(gate)].append(gate.set)
    return [VariantRemark(v, join_words(names), reason) for (v, reason), names in sets.items()]


def _why(gate: Gate) -> str:
    parts = [
        f"{c.check}: {c.failed} of {c.cases} wrong"
        + (f" ({c.first_failure})" if c.first_failure else "")
        for c in gate.checks
        if c.failed
    ]
    return "; ".join(parts) or "refused without a named check"


def _faults(record: Record) -> list[VariantRemark]:
    made = []
    for fault in record.faults:
        parts = [fault.set or "all sets", fault.operation or "all operations"]
        if fault.round is not None:
            parts.append(f"from round {fault.round + 1} on")
        made.append(VariantRemark(fault.variant, ", ".join(parts), fault.reason))
    return made


def _unmarked(table: Table, mark: str) -> Table:
    lines = tuple(replace(line, marks=line.marks.replace(mark, "")) for line in table.lines)
    return replace(table, lines=lines)


def _notes(summary: Summary) -> list[VariantRemark]:
    """What the estimates of single figures say about themselves; equal notes are joined."""
    where: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in summary.rows:
        for note in row.notes:
            where[row.variant, note].append(f"{row.set} {row.operation}")
    return [VariantRemark(v, join_words(cells), note) for (v, note), cells in where.items()]


def _warnings(record: Record) -> list[str]:
    warnings = []
    if record.interrupted:
        rounds = len({s.round for s in record.samples})
        noun = "round" if rounds == 1 else "rounds"
        warnings.append(
            f"This run was interrupted after {rounds} {noun} (the last may be incomplete): what "
            "was measured until then is shown."
        )
    cores = record.run.machine.get("cores")
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    # The bench itself is one running thread.
    if isinstance(cores, int) and loads and max(loads) > 1 + cores / 2:
        warnings.append(
            f"The machine was busy with other work: load average up to {max(loads):.1f} on "
            f"{cores} cores. Ratios suffer less from that than absolute times."
        )
    return warnings + record.warnings
