"""Records of operations: signing and the others, single calls, batches, threads, other schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mldsa_lab import join_words
from mldsa_lab.bench.workload import WorkloadPlan
from mldsa_lab.estimate.cells import SPREAD, CellKey
from mldsa_lab.estimate.figure import EXCLUDED, NAMES, Figure, Key
from mldsa_lab.estimate.summary import MeasuredCell, Summary, summarise
from mldsa_lab.kinds.kind import Kind, Measured
from mldsa_lab.records import METRICS, RUN_FACTS, Record
from mldsa_lab.sets import (
    ALL_SETS,
    BUILDS,
    PERCENTILES,
    SCHEME_FAMILIES,
    SCHEMES,
    SIGNATURE_OPERATIONS,
    list_sets,
)
from mldsa_lab.show.figure_tables import CELL, TABLE, Lines, Ranking, SpreadColumns, TableLayout
from mldsa_lab.show.findings import find
from mldsa_lab.show.grid import PAGE, TERMINAL
from mldsa_lab.show.plot_specs import cost_plots, law_plots
from mldsa_lab.show.remarks import (
    SHOWN_OPERATIONS,
    appendix,
    explain_empty,
    format_time,
    headline_cells,
    is_excluded_compact,
    is_expanded_only,
    main_set,
    marks,
    measured_sets,
    other_families,
    remarks,
    shown_tables,
    texts,
    warnings,
)
from mldsa_lab.show.report import (
    COMPACT,
    Look,
    Report,
    Section,
    assign_colours,
    calls,
    describe_record,
    headline_batch_size,
    sections_of,
)

_IDENTITIES = {name: f"quantile percentile={share}" for name, share in PERCENTILES.items()}
FIELDS = {
    name: _IDENTITIES.get(name, name if name in NAMES else "")
    for name in (
        "implementation", "version", "language", "called_from", "backend", "build", "key", "mode",
        "batch_size", "threads", "set", "operation", "deterministic", "unit", "samples", "mean",
        "mean_low", "mean_high", *PERCENTILES, "min", "min_low", "min_high", "max", "sd",
        "ratio", "ratio_low", "ratio_high", "clock", "per_second", "per_second_low",
        "per_second_high", "scaling", "scaling_low", "scaling_high", "allocated", "collections",
        *RUN_FACTS,
    )
}  # fmt: skip
"""The documented fields of a row of CSV: the identity of a figure, or "" for an attribute."""
BATCHES, THREADS = "Batches", "Threads"
CLASSICAL, READING = "Beside classical schemes", "How to read"
TITLES = {
    "sign": "Signing", "verify": "Verification", "encaps": "Encapsulation",
    "decaps": "Decapsulation", "keygen": "Key generation", "hash": "Hashing",
    "handshake": "Handshakes", "accept": "Server's part of handshakes", "lookup": "Look-up",
}  # fmt: skip
"""The operations in sentences."""


class OperationsKind(Kind):
    """Records without another kind: cells with estimates, and what they say together."""

    def read(self, record: Record, look: Look) -> Measured:
        return MeasuredOperations.read_from(record, look)

    def report(self, measured: Measured, source: str, name: str = "") -> Report:
        assert isinstance(measured, MeasuredOperations)
        run, record, summary = measured, measured.record, measured.summary
        findings = find(summary)
        last, paragraphs, facts = appendix(record, len(summary.cells))
        sections = list(_list_sections(run))
        shown = {letter for s in sections for letter in "".join(s.grid.marks)}
        builds = f", {join_words(run.builds)} build{'s' * (len(run.builds) > 1)}"
        cpu = record.run.machine.get("cpu") or "processor not known"
        profile = f"{format_time(record.run.started)}, {record.run.profile} profile"
        empty = f"the run has no measurements: {explain_empty(record)}"
        return Report(
            kind=f"{profile}{builds if run.builds else ''}, {cpu}",
            headline=findings.headline,
            figures=run.figures,
            sections=[*sections, *last],
            method=self.method,
            source=source,
            sentences=findings.sentences,
            warnings=[*warnings(summary), *findings.cautions],
            remarks=remarks(summary, shown),
            texts=_write_texts(run, {s.chapter for s in sections}) | paragraphs,
            facts=facts,
            fields=FIELDS,
            name=name,
            lacking="" if summary.cells else empty,
        )


@dataclass(frozen=True)
class MeasuredOperations(Measured):
    """A record of operations with its cells; ``by_cell``: their figures."""

    summary: Summary
    by_cell: Mapping[CellKey, Sequence[Figure]]

    @classmethod
    def read_from(cls, record: Record, look: Look) -> MeasuredOperations:
        """Return a record with its cells. LabError if it cannot be summarised."""
        summary = summarise(
            record, baseline=look.baseline, clock=look.clock, confidence=look.confidence
        )
        figures = describe_record(record, summary.figures(), look)
        by_cell: dict[CellKey, list[Figure]] = {}
        for f in figures:
            if "operation" in f.keys:
                cell = str(f.keys["variant"]), str(f.keys["set"]), str(f.keys["operation"])
                by_cell.setdefault(cell, []).append(f)
        look = replace(look, colours=look.colours or assign_colours([record]))
        return cls(record, figures, look, summary, by_cell)

    @property
    def builds(self) -> list[str]:
        """The builds that were measured; none in a record that names none."""
        return [b for b in BUILDS if any(c.worker.build == b for c in self.summary.cells)]

    def list_figures(self, cells: Iterable[MeasuredCell]) -> list[Figure]:
        """Return the figures of these cells, in their order."""
        return [f for cell in cells for f in self.by_cell[cell.id]]


# --- tables ---------------------------------------------------------------------------------------


def _list_sections(run: MeasuredOperations) -> Iterator[Section]:
    """Every table with its plots, in the order of the page."""
    summary, builds = run.summary, run.builds
    main, built = main_set(summary), f"; {builds[0]} build" if len(builds) == 1 else ""
    best = f"the best variant of each implementation{built}"
    for name in [main] if main else []:
        yield from (replace(s, is_first=True) for s in _list_overviews(run, name, best))
    for name in measured_sets(summary):
        if name != main:
            yield from _list_overviews(run, name, best)
        for operation in SHOWN_OPERATIONS:
            figures = run.list_figures(summary.table(name, operation))
            layout, note = _lay_out_operation(run, operation), f"best first{built}"
            for section in _make(run, figures, layout, note, chapter=name, is_brief=False):
                plots = cost_plots(summary, name, run.look) if operation == "sign" else ()
                yield replace(section, plots=tuple(plots))
    for chapter, tables in ((BATCHES, batch_tables), (THREADS, thread_tables)):
        for name, figures, layout in tables(run):
            is_brief = main in (None, name)
            yield from _make(run, figures, layout, "best first", chapter, is_brief=is_brief)
    is_brief = main is None
    if summary.classical and any(cell.variant.runs for cell in summary.cells):
        figures, layout = _compare_classical(run)
        note = "cost over that of the fastest implementation of each"
        yield from _make(run, figures, layout, note, chapter=CLASSICAL, is_brief=is_brief)
    for family in other_families(summary):
        figures, layout = _show_family(run, family)
        note, chapter = "for comparison", layout.title
        yield from _make(run, figures, layout, note, chapter=chapter, is_brief=is_brief)


def _make(
    run: MeasuredOperations, figures: Sequence[Figure], layout: TableLayout, note: str,
    chapter: str, *, is_brief: bool,
) -> list[Section]:  # fmt: skip
    return sections_of(
        run.figures.with_items(figures),
        [layout],
        run.look.confidence,
        note,
        is_brief=is_brief,
        chapter=chapter,
    )


def _lay_out_operation(run: MeasuredOperations, operation: str) -> TableLayout:
    """All variants of one set and operation. Percentiles are shown for signing, whose cost is
    random by design; percentiles of other operations would show the machine's noise."""
    quantiles = PERCENTILES.values() if operation == "sign" else ()
    phases = dict.fromkeys(f.keys["phase"] for f in run.figures if "phase" in f.keys)
    column = partial(SpreadColumns, unit_scope=TABLE)
    return TableLayout(
        "{set} {operation}", ("set", "operation", "unit"),
        ("implementation", "backend", "key", "build"),
        (
            column("mean", "mean", spare_interval=0),
            # There is no room for the limits of percentiles.
            *(
                column(
                    "quantile", f"p{share}", spare=3 * (share == 50), keys={"percentile": share},
                    has_limits=False,
                )
                for share in quantiles
            ),
            *(column(name, name, spare=1) for name in SPREAD),
            *(
                SpreadColumns("mean", str(phase), spare=1, keys={"phase": phase})
                for phase in phases
            ),
            *(SpreadColumns(name, name, spare=2) for name in METRICS),
            SpreadColumns("ratio", "ratio", spare_interval=2),
        ),
        rankings=(
            Ranking("Mean cost", "mean"),
            Ranking("Relative to the baseline", "ratio", run.look.baseline),
        ),
        leading=(SpreadColumns("rank", "#", spare=1),),
        below=("version", "language"), page_keys=("version", "language"),
        colours=run.look.colours, marks=marks(run.summary), tag="language",
    )  # fmt: skip


def _list_overviews(run: MeasuredOperations, set_name: str, note: str) -> Iterator[Section]:
    """Return the overview of implementations in one set. It has single calls with a compact key
    next to the distribution of signing cost, then expanded keys and batches."""
    plots = tuple(law_plots(run.summary, set_name, run.look))
    is_brief = set_name == main_set(run.summary)
    for figures, layout in overview_tables(run, set_name):
        for section in _make(run, figures, layout, note, set_name, is_brief=is_brief):
            yield replace(section, plots=plots)
            plots = ()


def overview_tables(
    run: MeasuredOperations, set_name: str
) -> Iterator[tuple[list[Figure], TableLayout]]:
    """Yield the best variants of each implementation in one set: single calls with a compact key,
    then expanded keys and batches."""
    summary = run.summary
    for more in (False, True):
        cells = {
            o: [
                c for c in headline_cells(summary, set_name, o)
                if (calls(c.variant) != COMPACT) == more
            ]
            for o in SHOWN_OPERATIONS
        }  # fmt: skip
        measured = [o for o in SHOWN_OPERATIONS if cells[o]]
        if not measured:
            continue
        first = cells[measured[0]]
        figures = [
            Figure({"set": set_name, "variant": c.variant.id}, "place", rank)
            for c, rank in zip(first, summary.ranks(first), strict=True)
            if rank is not None
        ]
        for operation in measured:
            figures += run.list_figures(cells[operation])
            if not more:
                figures += _replace_compact(run, headline_cells(summary, set_name, operation))
        columns = [
            spread
            for o in measured
            for spread in (
                SpreadColumns("mean", o, "operation", o, spare_interval=4),
                SpreadColumns("ratio", "ratio", "operation", o, spare=2),
            )
        ]
        batches = any(c.variant.mode == "batch" for listed in cells.values() for c in listed)
        kind = f"expanded keys{' and batches' * batches}" if more else "single calls, compact key"
        yield figures, TableLayout(
            f"{{set}}: {kind}", ("set", "unit"), ("implementation", "calls"), tuple(columns),
            leading=(SpreadColumns("place", "#"),), below=("language", "backend", "build"),
            colours=run.look.colours, marks=marks(summary), tag="language",
        )  # fmt: skip


def _replace_compact(run: MeasuredOperations, cells: Sequence[MeasuredCell]) -> Iterator[Figure]:
    """Yield the figures of implementations without a cell with a compact key.

    These are their figures with an expanded key, or that the compact one was excluded.
    """
    for cell in cells:
        if is_expanded_only(run.summary, cell):
            for f in run.list_figures([cell]):
                yield replace(f, keys={**f.keys, "calls": COMPACT})
        if is_excluded_compact(run.summary, cell):
            keys = {**cell.keys, "calls": COMPACT}
            yield Figure(keys, "mean", None, unit=cell.unit, verdict=EXCLUDED)


def _select_runs(
    run: MeasuredOperations, is_shown: Callable[[MeasuredCell], bool]
) -> Iterator[tuple[str, list[MeasuredCell]]]:
    """The cells of batches or threads of each set and operation; only nanoseconds."""
    cells = [c for c in run.summary.cells if c.variant.runs and c.mean and c.unit == "ns"]
    for set_name in ALL_SETS:
        for operation in SHOWN_OPERATIONS:
            own = [c for c in cells if (c.set, c.operation) == (set_name, operation)]
            if shown := [c for c in own if is_shown(c)]:
                yield set_name, shown


def batch_tables(run: MeasuredOperations) -> Iterator[tuple[str, list[Figure], TableLayout]]:
    """Yield the cost of an operation over batch size, the best at the headline's size first.

    Loops of single calls have the cost of one at any length.
    """
    for name, cells in _select_runs(run, lambda c: c.variant.threads == 1):
        size = headline_batch_size(c.variant for c in cells)
        if not size:
            continue
        costs = {c.variant.base: c.cost for c in cells if c.variant.mode == "single"}
        costs |= {c.variant.base: c.cost for c in cells if c.variant.batch_size == size}
        cells.sort(key=lambda c: costs.get(c.variant.base, float("inf")))
        sizes = sorted({c.variant.batch_size for c in cells if c.variant.mode == "batch"})
        columns = [
            SpreadColumns(
                "mean", f"{n:,}" if n else "loop", "size", n or "loop", 3 * (n != size),
                below="ratio", unit_scope=TABLE,
            )
            for n in (0, *sizes)
        ]  # fmt: skip
        columns.append(SpreadColumns("ratio", f"ratio at {size:,}", "size", size, where=TERMINAL))
        lines = Lines(
            "mean", "size", ("label", "keys"), "Cost over batch size", "operations in a batch",
            level="loop", baseline=run.look.baseline,
        )  # fmt: skip
        yield name, run.list_figures(cells), TableLayout(
            "{set} {operation} in batches", ("set", "operation"), ("label", "keys"),
            tuple(columns), (lines,), colours=run.look.colours,
        )  # fmt: skip


def thread_tables(run: MeasuredOperations) -> Iterator[tuple[str, list[Figure], TableLayout]]:
    """Yield operations per second over numbers of threads, and the ratio to one thread; the most
    first."""
    threaded = {_identify_series(c) for c in run.summary.cells if c.variant.threads > 1}
    for name, cells in _select_runs(run, lambda c: _identify_series(c) in threaded):
        cells.sort(key=lambda c: c.variant.threads)
        rates = {c.variant.base + c.variant.mode: c.value("per_second") or 0.0 for c in cells}
        cells.sort(key=lambda c: -rates[c.variant.base + c.variant.mode])
        counts, columns = sorted({c.variant.threads for c in cells}), []
        for n in counts:
            spare, where = 2 * (n not in (1, counts[-1])), "" if n == counts[-1] else PAGE
            threads = SpreadColumns("per_second", "{value} threads", "threads", n, spare)
            columns.append(replace(threads, unit_scope=TABLE))
            if n > 1:
                columns.append(SpreadColumns("scaling", "scaling", "threads", n, where=where))
        rate = Lines(
            "per_second", "threads", ("implementation", "mode"), "Throughput",
            dashed=("mode", "batch"), is_rate=True,
        )  # fmt: skip
        title = "Throughput over that of one thread"
        scaling = replace(rate, name="scaling", title=title, is_ratio=True)
        yield name, run.list_figures(cells), TableLayout(
            "{set} {operation} on threads", ("set", "operation"), ("label", "calls"),
            tuple(columns), (rate, scaling), colours=run.look.colours,
        )  # fmt: skip


def _identify_series(cell: MeasuredCell) -> tuple[str | int, ...]:
    """Return the properties that a cell shares with the same calls on one thread."""
    v = cell.variant
    return cell.set, cell.operation, v.base, v.mode, v.batch_size


def word_scaling(summary: Summary) -> str:
    """Return a sentence on the scaling of threads; nothing where they were not measured."""
    threaded = [c for c in summary.cells if c.variant.threads > 1]
    most = max((c.variant.threads for c in threaded if c.interval("scaling")), default=0)
    values = (c.value("scaling") for c in threaded if c.variant.threads == most)
    known = sorted(value for value in values if value is not None)
    if not known:
        return ""
    return (
        f"{most} threads do {known[len(known) // 2]:.2f} times the work of one (the middle of "
        f"{len(known)} series; from {known[0]:.2f} to {known[-1]:.2f})."
    )


def _compare_classical(run: MeasuredOperations) -> tuple[list[Figure], TableLayout]:
    """ML-DSA's cheapest variants of each kind over classical schemes, the fastest implementation of
    each scheme first."""
    places = {name: place for place, name in enumerate((*ALL_SETS, *SHOWN_OPERATIONS))}
    compared = sorted(run.summary.classical, key=lambda c: (places[c.against.set], -c.ratio.value))
    cells = list(dict.fromkeys(c.cell for c in compared))
    cells.sort(key=lambda c: (places[c.set], places[c.operation], -c.cost))
    columns: dict[str, SpreadColumns] = {}
    for c in compared:
        scheme, against = c.against.set, c.against.variant
        title = f"÷ {scheme} {run.summary.label(against)}"
        spare = 3 * any(t.startswith(f"÷ {scheme} ") for t in columns)
        keys: dict[str, Key] = {"scheme": scheme, "against": against.id}
        columns.setdefault(title, SpreadColumns("ratio", title, spare=spare, keys=keys))
    row_keys = ("set", "operation", "label", "calls")
    cost = SpreadColumns("mean", "cost", unit_scope=CELL)
    return run.list_figures(cells), TableLayout(
        CLASSICAL, (), row_keys, (cost, *columns.values()), marks=marks(run.summary)
    )


def _show_family(run: MeasuredOperations, family: str) -> tuple[list[Figure], TableLayout]:
    """Return all schemes of a family other than ML-DSA in one table. They are for comparison and
    have no iterations."""
    info, figures = SCHEME_FAMILIES[family], list[Figure]()
    output = "ciphertext" if "encaps" in info.operations else "signature"
    for (name, _, _), cells in shown_tables(run.summary):
        if name not in list_sets(family):
            continue
        figures += run.list_figures(cells)
        sizes = {"public key": SCHEMES[name].public_key_bytes, output: SCHEMES[name].output_bytes}
        figures += [
            Figure({"set": name, "variant": cell.variant.id, "object": o}, "bytes", size)
            for cell in cells if info.has_keys for o, size in sizes.items()
        ]  # fmt: skip
    columns = [
        *(SpreadColumns("mean", o, "operation", o, unit_scope=CELL) for o in SHOWN_OPERATIONS),
        *(
            SpreadColumns("bytes", f"{o}, bytes", spare=2, keys={"object": o})
            for o in ("public key", output)
        ),
    ]
    row_keys = ("set", "implementation", "backend", "build", "key")
    return figures, TableLayout(info.title, (), row_keys, tuple(columns), marks=marks(run.summary))


# --- words ---


def _write_texts(run: MeasuredOperations, present: set[str]) -> dict[str, list[str]]:
    """The paragraphs of each chapter that is present, in the order of the page."""
    summary, body = run.summary, dict[str, list[str]]()
    clock = "of the thread on the processor" if summary.clock == "cpu" else "by the wall clock"
    known = {"baseline": summary.baseline, "confidence": 100 * summary.confidence, "clock": clock}
    sets = measured_sets(summary)
    for title in (READING, *sets, BATCHES, THREADS, CLASSICAL):
        if title in sets:
            missing = [o for o in SIGNATURE_OPERATIONS if not summary.table(title, o)]
            body[title] = [f"{TITLES[o]} of {title} was not measured in this run." for o in missing]
        elif title in present or (title == READING and summary.tables):
            body[title] = [text.format(**known) for text in texts(title)]
    if READING in body:
        body[READING] += [text for build in run.builds for text in texts(build)]
    if THREADS in body:
        body[THREADS].insert(0, word_scaling(summary))
    families = other_families(summary)
    return body | {SCHEME_FAMILIES[f].title: texts(f) for f in families}


KIND = OperationsKind("operations", WorkloadPlan, texts("operations")[0])
