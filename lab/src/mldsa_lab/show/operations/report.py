"""Records of operations: signing and the others, single calls, batches, threads, other schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.samples import CellKey
from mldsa_lab.estimate.summary_row import SummaryRow
from mldsa_lab.records import METRICS
from mldsa_lab.sets import ALL_SETS, SCHEME_FAMILIES, SCHEMES, SIGNATURE_OPERATIONS, sets_of
from mldsa_lab.show.figure_tables import (
    CELL,
    COLUMN,
    NOTE,
    Lines,
    Ranking,
    SpreadColumns,
    TableLayout,
)
from mldsa_lab.show.grid import PAGE, TERMINAL
from mldsa_lab.show.operations.appendix import appendix, when, why_empty
from mldsa_lab.show.operations.findings import find
from mldsa_lab.show.operations.plot_specs import cost_plots, law_plots
from mldsa_lab.show.operations.texts import texts
from mldsa_lab.show.operations.view import (
    COMPACT,
    KEYS,
    MARKS,
    SHOWN_OPERATIONS,
    View,
    calls,
    ranks,
    told_size,
)
from mldsa_lab.show.report import Report, Section, sections_of
from mldsa_lab.wording import join_words

RUN_FIELDS = ("started", "tool", "cpu", "architecture", "os", "commit")
"""What each row says of its run; null where the record does not say."""
FIELDS = (
    "implementation", "version", "language", "called_from", "backend", "build", "key", "mode",
    "batch_size", "threads", "set", "operation", "deterministic", "unit", "samples", "mean",
    "mean_low", "mean_high", "p50", "p95", "p99", "p999", "min", "min_low", "min_high", "max", "sd",
    "ratio", "ratio_low", "ratio_high", "clock", "per_second", "per_second_low", "per_second_high",
    "scaling", "scaling_low", "scaling_high", "allocated", "collections", *RUN_FIELDS,
)  # fmt: skip
"""The documented fields of a row, in order."""
BATCHES, THREADS = "Batches", "Threads"
CLASSICAL, READING = "Beside classical schemes", "How to read"
TITLES = {
    "sign": "Signing", "verify": "Verification", "encaps": "Encapsulation",
    "decaps": "Decapsulation", "keygen": "Key generation", "hash": "Hashing",
    "handshake": "Handshakes", "accept": "Server's part of handshakes", "lookup": "Look-up",
}  # fmt: skip
"""The operations in sentences."""
_QUANTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
_SPREAD = ("min", "max", "sd")
_UNITS = {"ratio": "", "per_second": "per second", "scaling": ""}
_UNITS |= {name: unit for name, (unit, _) in METRICS.items()}
"""Units of figures that are no costs."""
Cells = Mapping[CellKey, Sequence[Figure]]


def operations_report(view: View, source: str, name: str = "", *, clouds: bool = True) -> Report:
    """Return the report of a run of operations. ``name``: what tells it from others on the same
    page; ``clouds``: with plots of cost over iterations."""
    record, run = view.record, view.record.run
    found, cells = find(view), figures_by_cell(view)
    last, paragraphs, facts = appendix(record, len(view.summary.rows))
    sections = list(_sections(view, cells, clouds))
    builds = f", {join_words(view.builds)} build{'s' * (len(view.builds) > 1)}"
    cpu = run.machine.get("cpu") or "processor not known"
    empty = f"the run holds no measurements: {why_empty(record)}"
    return Report(
        kind=f"{when(run.started)}, {run.profile} profile{builds if view.builds else ''}, {cpu}",
        headline=found.headline,
        figures=[f for of in cells.values() for f in of],
        sections=[*sections, *last],
        method=texts("operations")[0],
        source=source,
        sentences=found.sentences,
        warnings=[*view.warnings(), *found.cautions],
        remarks=view.remarks(),
        texts=_texts(view, {s.chapter for s in sections}) | paragraphs,
        facts=facts,
        names=FIELDS,
        name=name,
        lacking="" if view.summary.rows else empty,
    )


def figures_by_cell(view: View) -> dict[CellKey, list[Figure]]:
    """Return the figures of each row of the summary, and the ranks of single calls."""
    run = view.record.run
    known: dict[str, Any] = {**run.machine, "started": run.started, "tool": run.tool}
    known["commit"] = getattr(run, "commit", None) or known.get("commit")
    about: dict[str, Key] = {name: known.get(name) for name in RUN_FIELDS}
    return {row.cell: list(_row_figures(view, row, about)) for row in view.summary.rows}


def _row_figures(view: View, row: SummaryRow, about: dict[str, Key]) -> Iterator[Figure]:
    v = row.variant
    keys: dict[str, Key] = {
        **row.keys, "deterministic": v.deterministic, "unit": row.unit, "samples": row.samples,
        "clock": row.clock, "label": view.label(v.id), "calls": calls(row), "keys": KEYS[v.key],
        "size": v.batch_size if v.mode == "batch" else "loop", **about,
    }  # fmt: skip
    marks = view.marks(row)
    if row.mean is None:
        yield Figure(keys, "mean", None, unit=row.unit, notes=marks)
    for name, found in row.figures.items():
        # Tables have no room for the limits of percentiles.
        shown = Interval(found.value) if name in _QUANTILES else found
        told = marks if name == "mean" else ()
        yield Figure.of(keys, name, shown, _UNITS.get(name, row.unit), notes=told)
    if row.rate is not None and "per_second" not in row.figures:
        yield Figure.of(keys, "per_second", row.rate, _UNITS["per_second"])
    for name, part in row.phases.items():
        yield Figure.of(keys, name, part, row.unit)
    if (rank := view.ranks.get(row.cell)) is not None:
        yield Figure(keys, "rank", rank)


# --- tables ---------------------------------------------------------------------------------------


def _sections(view: View, cells: Cells, clouds: bool) -> Iterator[Section]:
    """Every table with its plots, in the order of the page."""
    main, built = view.main_set, f"; {view.builds[0]} build" if len(view.builds) == 1 else ""
    made = partial(sections_of, confidence=view.summary.confidence)
    best = f"the best variant of each implementation{built}"
    for name in [main] if main else []:
        yield from (replace(s, is_first=True) for s in _overviews(view, cells, name, best))
    for name in view.sets:
        if name != main:
            yield from _overviews(view, cells, name, best)
        for operation in SHOWN_OPERATIONS:
            of = [f for row in view.table(name, operation) for f in cells[row.cell]]
            layout = _of_operation(view, operation)
            for section in made(of, [layout], note=f"best first{built}", brief=False, chapter=name):
                plots = cost_plots(view, name, clouds) if operation == "sign" else ()
                yield replace(section, plots=tuple(plots))
    for chapter, tables in ((BATCHES, batch_tables), (THREADS, thread_tables)):
        for name, of, layout in tables(view, cells):
            brief = main in (None, name)
            yield from made(of, [layout], note="best first", brief=brief, chapter=chapter)
    if view.summary.classical and any(row.variant.runs for row in view.summary.rows):
        of, layout = _beside(view, cells)
        note = "cost over that of the fastest implementation of each"
        yield from made(of, [layout], note=note, brief=main is None, chapter=CLASSICAL)
    for family in view.others:
        of, layout = _family(view, cells, family)
        chapter = layout.title
        yield from made(of, [layout], note="for comparison", brief=main is None, chapter=chapter)


def _of_operation(view: View, operation: str) -> TableLayout:
    """All variants of one set and operation. Percentiles are shown for signing, whose cost is
    random by design; those of other operations would show the machine's noise."""
    quantiles = _QUANTILES.items() if operation == "sign" else ()
    phases = dict.fromkeys(name for row in view.summary.rows for name in row.phases)
    return TableLayout(
        "{set} {operation}", ("set", "operation", "unit"),
        ("implementation", "backend", "key", "build"),
        (
            SpreadColumns("mean", "mean", spare_interval=0, own_unit=NOTE),
            *(SpreadColumns(n, t, spare=3 * (n == "p50"), own_unit=NOTE) for n, t in quantiles),
            *(SpreadColumns(name, name, spare=1, own_unit=NOTE) for name in _SPREAD),
            *(SpreadColumns(name, name, spare=1, own_unit=NOTE) for name in phases),
            *(SpreadColumns(name, name, spare=2, own_unit=COLUMN) for name in METRICS),
            SpreadColumns("ratio", "ratio", spare_interval=2),
        ),
        rankings=(
            Ranking("Mean cost", "mean"),
            Ranking("Relative to the reference", "ratio", view.summary.reference),
        ),
        leading=(SpreadColumns("rank", "#", spare=1),),
        below=("version", "language"), page_keys=("version", "language"),
        colours=view.colours, legend=MARKS, tag="language",
    )  # fmt: skip


def _overviews(view: View, cells: Cells, set_name: str, note: str) -> Iterator[Section]:
    """How implementations stand in one set: single calls with a compact key, beside the
    distribution of signing cost, then expanded keys and batches."""
    plots = tuple(law_plots(view, set_name))
    for figures, layout in overview_tables(view, cells, set_name):
        for section in sections_of(figures, [layout], view.summary.confidence, note):
            brief = set_name == view.main_set
            yield replace(section, chapter=set_name, plots=plots, brief=brief)
            plots = ()


def overview_tables(
    view: View, cells: Cells, set_name: str
) -> Iterator[tuple[list[Figure], TableLayout]]:
    """Yield the best variants of each implementation in one set: single calls with a compact key,
    then expanded keys and batches."""
    for more in (False, True):
        rows = {
            o: [r for r in view.told(set_name, o) if (calls(r) != COMPACT) == more]
            for o in SHOWN_OPERATIONS
        }
        measured = [o for o in SHOWN_OPERATIONS if rows[o]]
        if not measured:
            continue
        first = rows[measured[0]]
        figures = [
            Figure(cells[r.cell][0].keys, "place", rank)
            for r, rank in zip(first, ranks(view.summary, first), strict=True)
            if rank is not None
        ]
        for operation in measured:
            figures += [f for r in rows[operation] for f in cells[r.cell]]
            for row in [] if more else view.told(set_name, operation):
                if view.is_expanded_only(row):
                    for f in cells[row.cell]:
                        keys = {**f.keys, "calls": COMPACT}
                        figures.append(replace(f, keys=keys, notes=("e",)))
                if view.is_excluded_compact(row):
                    keys = {**cells[row.cell][0].keys, "calls": COMPACT}
                    figures.append(Figure(keys, "mean", None, unit=row.unit, notes=("x",)))
        columns = [
            spread
            for o in measured
            for spread in (
                SpreadColumns("mean", o, "operation", o, spare_interval=4, own_unit=COLUMN),
                SpreadColumns("ratio", "ratio", "operation", o, spare=2),
            )
        ]
        batches = any(r.variant.mode == "batch" for of in rows.values() for r in of)
        kind = f"expanded keys{' and batches' * batches}" if more else "single calls, compact key"
        yield figures, TableLayout(
            f"{set_name}: {kind}", ("unit",), ("implementation", "calls"), tuple(columns),
            leading=(SpreadColumns("place", "#"),), below=("language", "backend", "build"),
            colours=view.colours, legend=MARKS, tag="language",
        )  # fmt: skip


def _runs(
    view: View, is_wanted: Callable[[SummaryRow], bool]
) -> Iterator[tuple[str, list[SummaryRow]]]:
    """The rows of batches or threads of each set and operation; nanoseconds alone."""
    rows = [r for r in view.summary.rows if r.variant.runs and r.mean and r.unit == "ns"]
    for set_name in ALL_SETS:
        for operation in SHOWN_OPERATIONS:
            of = [r for r in rows if (r.set, r.operation) == (set_name, operation)]
            if of := [r for r in of if is_wanted(r)]:
                yield set_name, of


def batch_tables(view: View, cells: Cells) -> Iterator[tuple[str, list[Figure], TableLayout]]:
    """Yield the cost of an operation over batch size, the best at the size that is told first;
    loops of single calls have the cost of one at any length."""
    for name, rows in _runs(view, lambda r: r.variant.threads == 1):
        size = told_size(rows)
        if not size:
            continue
        costs = {r.variant.base: r.cost for r in rows if r.variant.mode == "single"}
        costs |= {r.variant.base: r.cost for r in rows if r.variant.batch_size == size}
        rows.sort(key=lambda r: costs.get(r.variant.base, float("inf")))
        sizes = sorted({r.variant.batch_size for r in rows if r.variant.mode == "batch"})
        columns = [
            SpreadColumns(
                "mean", f"{n:,}" if n else "loop", "size", n or "loop", 3 * (n != size),
                below="ratio", own_unit=NOTE,
            )
            for n in (0, *sizes)
        ]  # fmt: skip
        columns.append(SpreadColumns("ratio", f"ratio at {size:,}", "size", size, where=TERMINAL))
        lines = Lines(
            "mean", "size", ("label", "keys"), "Cost over batch size", "operations in a batch",
            level="loop", reference=view.summary.reference,
        )  # fmt: skip
        yield name, [f for r in rows for f in cells[r.cell]], TableLayout(
            "{set} {operation} in batches", ("set", "operation"), ("label", "keys"),
            tuple(columns), (lines,), colours=view.colours,
        )  # fmt: skip


def thread_tables(view: View, cells: Cells) -> Iterator[tuple[str, list[Figure], TableLayout]]:
    """Yield operations per second over numbers of threads, and over those of one; the most
    first."""
    for name, rows in _runs(view, lambda r: "per_second" in r.figures):
        rows.sort(key=lambda r: r.variant.threads)
        rates = {(r.variant.base, r.variant.mode): r.figures["per_second"].value for r in rows}
        rows.sort(key=lambda r: -rates[r.variant.base, r.variant.mode])
        counts, columns = sorted({r.variant.threads for r in rows}), []
        for n in counts:
            spare, where = 2 * (n not in (1, counts[-1])), "" if n == counts[-1] else PAGE
            threads = SpreadColumns("per_second", "{value} threads", "threads", n, spare)
            columns.append(replace(threads, own_unit=NOTE))
            if n > 1:
                columns.append(SpreadColumns("scaling", "scaling", "threads", n, where=where))
        rate = Lines(
            "per_second", "threads", ("implementation", "mode"), "Throughput",
            dashed=("mode", "batch"), is_rate=True,
        )  # fmt: skip
        title = "Throughput over that of one thread"
        scaling = replace(rate, name="scaling", title=title, is_ratio=True)
        yield name, [f for r in rows for f in cells[r.cell]], TableLayout(
            "{set} {operation} on threads", ("set", "operation"), ("label", "calls"),
            tuple(columns), (rate, scaling), colours=view.colours,
        )  # fmt: skip


def scaling_sentence(view: View) -> str:
    """Return what threads do together; nothing where they were not measured."""
    rows = [r for r in view.summary.rows if "scaling" in r.figures and r.variant.threads > 1]
    most = max((r.variant.threads for r in rows), default=0)
    known = sorted(r.figures["scaling"].value for r in rows if r.variant.threads == most)
    if not known:
        return ""
    return (
        f"{most} threads do {known[len(known) // 2]:.2f} times the work of one (the middle of "
        f"{len(known)} series; from {known[0]:.2f} to {known[-1]:.2f})."
    )


def _beside(view: View, cells: Cells) -> tuple[list[Figure], TableLayout]:
    """ML-DSA's cheapest variants of each kind over classical schemes, the fastest implementation of
    each scheme first."""
    places = {name: place for place, name in enumerate((*ALL_SETS, *SHOWN_OPERATIONS))}
    compared = sorted(view.summary.classical, key=lambda c: (places[c.against.set], -c.ratio.value))
    rows = list(dict.fromkeys(c.row for c in compared))
    rows.sort(key=lambda r: (places[r.set], places[r.operation], -r.cost))
    figures = [f for row in rows for f in cells[row.cell]]
    columns: dict[str, SpreadColumns] = {}
    for c in compared:
        scheme, against = c.against.set, c.against.variant.id
        title = f"÷ {scheme} {view.labels.get(against, against)}"
        keys = {**cells[c.row.cell][0].keys, "against": title}
        figures.append(Figure.of(keys, "over", c.ratio))
        spare = 3 * any(t.startswith(f"÷ {scheme} ") for t in columns)
        columns.setdefault(title, SpreadColumns("over", title, "against", title, spare))
    row_keys = ("set", "operation", "label", "calls")
    cost = SpreadColumns("mean", "cost", own_unit=CELL)
    return figures, TableLayout(CLASSICAL, (), row_keys, (cost, *columns.values()))


def _family(view: View, cells: Cells, family: str) -> tuple[list[Figure], TableLayout]:
    """All schemes of a family beside ML-DSA in one table: they stand for comparison and have no
    iterations."""
    kin, figures = SCHEME_FAMILIES[family], list[Figure]()
    output = f"{'ciphertext' if 'encaps' in kin.operations else 'signature'}, bytes"
    for name, _, _ in view.tables:
        for row in (r for key, rows in view.tables.items() if key[0] == name for r in rows):
            if name in sets_of(family):
                figures += (own := cells[row.cell])
                sizes = {
                    "public key, bytes": SCHEMES[name].public_key_bytes,
                    output: SCHEMES[name].output_bytes,
                }
                figures += [Figure(own[0].keys, n, v) for n, v in sizes.items() if kin.keyed]
    columns = [
        *(SpreadColumns("mean", o, "operation", o, own_unit=CELL) for o in SHOWN_OPERATIONS),
        *(SpreadColumns(name, name, spare=2) for name in ("public key, bytes", output)),
    ]
    row_keys = ("set", "implementation", "backend", "build", "key")
    return figures, TableLayout(kin.title, (), row_keys, tuple(columns))


# --- words ---


def _texts(view: View, present: set[str]) -> dict[str, list[str]]:
    """The paragraphs of each chapter that is present, in the order of the page."""
    summary, made = view.summary, dict[str, list[str]]()
    clock = "of the thread on the processor" if summary.clock == "cpu" else "by the wall clock"
    known = {"reference": summary.reference, "confidence": 100 * summary.confidence, "clock": clock}
    for title in (READING, *view.sets, BATCHES, THREADS, CLASSICAL):
        if title in view.sets:
            missing = [o for o in SIGNATURE_OPERATIONS if not view.table(title, o)]
            made[title] = [f"{TITLES[o]} of {title} was not measured in this run." for o in missing]
        elif title in present or (title == READING and view.tables):
            made[title] = [text.format(**known) for text in texts(title)]
    if READING in made:
        made[READING] += [text for build in view.builds for text in texts(build)]
    if THREADS in made:
        made[THREADS].insert(0, scaling_sentence(view))
    return made | {SCHEME_FAMILIES[f].title: texts(f) for f in view.others}
