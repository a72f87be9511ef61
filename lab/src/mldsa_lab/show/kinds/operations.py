"""Records of operations: signing and the others, single calls, batches, threads, other schemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.summary import KEYS as ROW_FIELDS
from mldsa_lab.estimate.summary import SummaryRow, summarise
from mldsa_lab.records import Record, base_id
from mldsa_lab.sets import (
    ALL_SETS,
    SCHEME_FAMILIES,
    SCHEMES,
    SIGNATURE_OPERATIONS,
    TUNED_BUILD,
    sets_of,
)
from mldsa_lab.show.figure_tables import (
    CELL,
    COLUMN,
    Lines,
    Ranking,
    SpreadColumns,
    TableLayout,
)
from mldsa_lab.show.format import MISSING, Unit
from mldsa_lab.show.grid import PAGE, TERMINAL, Dot
from mldsa_lab.show.kinds.appendix import appendix, when, why_empty
from mldsa_lab.show.kinds.elsewhere import NARROW, WIDE
from mldsa_lab.show.kinds.findings import find
from mldsa_lab.show.kinds.kind import Look
from mldsa_lab.show.kinds.view import (
    KEYS,
    MARKS,
    SHOWN_OPERATIONS,
    View,
    calls,
    cell,
    is_run,
    ranks,
    read_view,
    told_size,
    unit_of,
)
from mldsa_lab.show.report import PlotSpec, Report, Section, sections_of
from mldsa_lab.wording import join_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

RUN_FIELDS = ("started", "tool", "cpu", "architecture", "os", "commit")
"""What each row says of its run; null where the record does not say."""
FIELDS = (*ROW_FIELDS, *RUN_FIELDS)
"""The documented fields of a row, in order."""
LEADERS, BATCHES, THREADS = "The fastest of each operation", "Batches", "Threads"
CLASSICAL, READING = "Beside classical schemes", "How to read"
TITLES = {
    "sign": "Signing", "verify": "Verification", "encaps": "Encapsulation",
    "decaps": "Decapsulation", "keygen": "Key generation", "hash": "Hashing", "lookup": "Look-up",
}  # fmt: skip
"""The operations in sentences."""
_QUANTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
_WITH_LIMITS = ("mean", "ratio", "per_second", "scaling")
_ROW_KEYS = tuple(
    name
    for name in ROW_FIELDS
    if name not in (*_QUANTILES, *_WITH_LIMITS) and not name.endswith(("_low", "_high"))
)
_WAYS = ("compact key", "expanded key", *KEYS.values())
_CROSSED = (
    "Measured in the same run, on random inputs. No reference of ours stands behind it: the gate "
    "asks for {known}, rejection of what was altered, and the other implementations' agreement, "
    "where there are any."
)
_FAMILIES = {
    "classical": "Measured in the same run for comparison. They have no iterations; the gate "
    "checks that they sign, verify, and reject what was altered.",
    "slh-dsa": _CROSSED.format(known="NIST's known answers"),
    "fn-dsa": _CROSSED.format(known="signatures by its own keys")
    + " FIPS 206 is a draft without vectors.",
    "ml-kem": _CROSSED.format(known="NIST's known answers"),
    "hash": "What signers and pipelines hash with; the gate compares digests with Python's.",
}
_TEXTS = {
    LEADERS: "Of each implementation the best variant. Times: how many times as much an operation "
    "costs with the next implementation, from the same rounds.",
    BATCHES: "A batch is one call that performs many operations, by an interface made for it; the "
    "figure is the cost of one of them. Many keys: the inputs have keys of their own, compact; one "
    "key: all share an expanded one. Batches take a hundred inputs in turn, whose mean iterations "
    "are those of all signatures. An implementation without such an interface is measured in a "
    "loop of single calls over the same inputs, which costs the same for each at any length. Below "
    "each cost stand its interval and its ratio to single calls of {reference}, measured in the "
    "same rounds.",
    THREADS: "Each thread has keys and inputs of its own and does as much as every other; the "
    "figure is the number of operations of all threads together in a second by the wall clock, "
    "from the common start to the end of the last. Scaling is that over the same with one thread, "
    "in the same rounds. Cores that share execution units, and other work of the machine, keep it "
    "below the number of threads.",
    CLASSICAL: "The cost of one ML-DSA operation over that of one classical operation, single "
    "calls, in the same rounds: below 1 ML-DSA is cheaper. Of each kind the cheapest variant of "
    "the run.",
}
_METHOD = (
    "Deterministic signing is bit-exact, so the iterations that a message costs are the same for "
    "every correct implementation. They are traced once; a small set of inputs is chosen so that "
    "its iterations are near their exact expectations and well spread; all implementations sign "
    "those same inputs in interleaved rounds of rotated order. The cost of a signature is fitted "
    "as a base plus a cost per iteration rejected by z, by r0 and by the hint; the fit is "
    "evaluated at the exact expectations for the mean, and summed over the exact law of the "
    "rejections for percentiles. Key generation and verification are robust means over rounds. "
    "Signers that are hedged only are measured on random inputs and marked. The derivation, the "
    "intervals and the checks on them are in `docs/methodology.md`. In “Where the mean goes” the "
    "fit cannot separate set-up from the one successful iteration that every signature has. The "
    "successful iteration is shown as what an r0-rejected one costs, which it does at least; "
    "set-up is the rest, with the hint in it."
)
_LAW = (
    "Each line is the exact distribution of rejected iterations, priced by the fit of that "
    "implementation and spread by what signatures of equal iterations differ in: read upwards "
    "from a percentile. Dots at p50, p95, p99 and p99.9; dashed for an expanded key. Of each "
    "implementation the fastest variant, and an expanded key where it saves more than a tenth. "
    "Where a fit falls to 0 or below nothing is drawn."
)
_CLOUDS = (
    "Cost over iterations: a dot is a designed input, its cost over all rounds; the line is the "
    "fit at the expected mix of rejections, the shade reaches from rejections by z alone to r0 "
    "alone. Each plot has its own scale, from zero. Rejected iterations:"
)
_MIXES = ("all z", "mostly z", "even, or none", "mostly r0", "all r0")
_PARTS = {"setup": "set-up", "final": "final iteration", "z": "z-rejected", "r": "r0-rejected"}


def view_of(record: Record, look: Look, colours: dict[str, int] | None = None) -> View:
    """Summarise and arrange a record. LabError if it cannot be summarised."""
    summary = summarise(
        record, reference=look.reference, clock=look.clock, confidence=look.confidence
    )
    return read_view(record, summary, colours)


def operations_report(view: View, source: str, name: str = "", *, clouds: bool = True) -> Report:
    """Return the report of a run of operations. ``name``: what tells it from others on the same
    page; ``clouds``: with plots of cost over iterations."""
    record, run = view.record, view.record.run
    found, figures = find(view), operation_figures(view)
    more = appendix(record, len(view.summary.rows))
    sections = list(_sections(view, figures, clouds))
    builds = f", {join_words(view.builds)} build{'s' * (len(view.builds) > 1)}"
    cpu = run.machine.get("cpu") or "processor not known"
    used = {m for rows in view.tables.values() for row in rows for m in view.marks(row)}
    empty = f"the run holds no measurements: {why_empty(record)}"
    return Report(
        kind=f"{when(run.started)}, {run.profile} profile{builds if view.builds else ''}, {cpu}",
        headline=found.headline,
        figures=figures,
        sections=[*sections, *more.sections],
        method=_METHOD,
        notes=[f"{mark}: {text}" for mark, text in MARKS.items() if mark in used],
        source=source,
        sentences=found.sentences,
        warnings=[*view.warnings(), *found.cautions],
        remarks=view.remarks(),
        texts=_texts(view, {s.chapter for s in sections}) | more.texts,
        facts=more.facts,
        names=FIELDS,
        name=name,
        lacking="" if view.summary.rows else empty,
    )


def operation_figures(view: View) -> list[Figure]:
    """Return the figures of each row of the summary, and the ranks of single calls."""
    run = view.record.run
    known: dict[str, Any] = {**run.machine, "started": run.started, "tool": run.tool}
    known["commit"] = getattr(run, "commit", None) or known.get("commit")
    about: dict[str, Key] = {name: known.get(name) for name in RUN_FIELDS}
    return [f for row in view.summary.rows for f in _row_figures(view, row, about)]


def _row_figures(view: View, row: SummaryRow, about: dict[str, Key]) -> Iterator[Figure]:
    keys: dict[str, Key] = {name: getattr(row, name) for name in _ROW_KEYS}
    keys |= {"variant": row.variant, "label": view.label(row.variant)} | about
    flags = view.marks(row)
    if row.mean is None:
        yield Figure(keys, "mean", None, unit=row.unit, flags=flags)
    for name in _WITH_LIMITS:
        if (found := row.interval(name)) is not None:
            unit = row.unit if name == "mean" else ""
            yield replace(Figure.of(keys, name, found, unit), flags=flags * (name == "mean"))
    for name in _QUANTILES:
        if (value := getattr(row, name)) is not None:
            yield Figure(keys, name, value, unit=row.unit)
    if (rank := view.ranks.get(cell(row))) is not None:
        yield Figure(keys, "rank", rank)


# --- tables ---------------------------------------------------------------------------------------


def _sections(view: View, figures: Sequence[Figure], clouds: bool) -> Iterator[Section]:
    """Every table with its plots, in the order of the page."""
    confidence = view.summary.confidence
    by_cell: dict[tuple[Key, Key], list[Figure]] = {}
    for f in figures:
        if (f.keys["set"], f.keys["operation"], f.keys["variant"]) in view.ranks:
            by_cell.setdefault((f.keys["set"], f.keys["operation"]), []).append(f)
    if view.main_set is not None:
        for section in _overviews(view, view.main_set):
            yield replace(section, is_first=True)
    times, layout = leader_table(view)
    yield from sections_of(times, [layout], confidence, _built(view)[2:], chapter=LEADERS)
    for name in view.sets:
        if name != view.main_set:
            for section in _overviews(view, name):
                yield replace(section, brief=False)
        for operation in SHOWN_OPERATIONS:
            layout = _of_operation(view, operation)
            note = f"best first{_built(view)}"
            found = by_cell.get((name, operation), [])
            for section in sections_of(found, [layout], confidence, note, brief=False):
                plots = _cost_plots(view, name, clouds) if operation == "sign" else ()
                yield replace(section, chapter=name, plots=tuple(plots))
    for chapter, of in ((BATCHES, batch_tables(view)), (THREADS, thread_tables(view))):
        for found, layout in of:
            brief = view.main_set in (None, found[0].keys["set"])
            yield from sections_of(found, [layout], confidence, brief=brief, chapter=chapter)
    brief = view.main_set is None
    if view.summary.classical and any(is_run(row) for row in view.summary.rows):
        found, layout = _beside(view)
        note = "cost over that of the fastest implementation of each"
        yield from sections_of(found, [layout], confidence, note, brief=brief, chapter=CLASSICAL)
    for family in view.others:
        found, layout = _family(view, family)
        chapter, note = SCHEME_FAMILIES[family].title, "for comparison"
        yield from sections_of(found, [layout], confidence, note, brief=brief, chapter=chapter)


def _of_operation(view: View, operation: str) -> TableLayout:
    """All variants of one set and operation. Percentiles are shown for signing, whose cost is
    random by design; those of other operations would show the machine's noise."""
    quantiles = _QUANTILES if operation == "sign" else {}
    return TableLayout(
        "{set} {operation}", ("set", "operation", "unit"),
        ("implementation", "backend", "key", "build"),
        (
            SpreadColumns("mean", "mean", spare_interval=0),
            *(SpreadColumns(n, t, spare=3 * (n == "p50")) for n, t in quantiles.items()),
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


def _told(view: View, set_name: str) -> list[SummaryRow]:
    """Single calls and batches of the size that is told, on one thread, in default builds where
    both were measured; cheapest first."""
    rows = [r for r in view.summary.rows if r.set == set_name and r.mean is not None]
    size = told_size(rows)
    kept = [
        r
        for r in rows
        if not r.again and r.threads == 1 and r.batch_size == (size if r.mode == "batch" else 1)
    ]
    return sorted(kept, key=lambda r: r.mean or 0.0)


def _overviews(view: View, set_name: str) -> Iterator[Section]:
    """How implementations stand in one set: single calls with a compact key, beside the
    distribution of signing cost, then expanded keys and batches."""
    plots = tuple(_law_plots(view, set_name))
    note = f"the best variant of each implementation{_built(view)}"
    for figures, layout in overview_tables(view, set_name):
        for section in sections_of(figures, [layout], view.summary.confidence, note):
            yield replace(section, chapter=set_name, plots=plots)
            plots = ()


def overview_tables(view: View, set_name: str) -> Iterator[tuple[list[Figure], TableLayout]]:
    """Yield the best variants of each implementation in one set: single calls with a compact key,
    then expanded keys and batches. Of default builds where both were measured."""
    found: dict[tuple[bool, str], dict[tuple[str, str], dict[str, SummaryRow]]] = {}
    for row in _told(view, set_name):
        more = row.mode == "batch" or row.key != "compact"
        best = found.setdefault((more, row.unit), {})
        best.setdefault((row.implementation, calls(row)), {}).setdefault(row.operation, row)
    for (more, _), ways in sorted(found.items(), key=lambda item: item[0][0]):
        measured = [o for o in SHOWN_OPERATIONS if any(o in best for best in ways.values())]
        columns = [
            spread
            for o in measured
            for spread in (
                SpreadColumns("mean", o, "operation", o, spare_interval=4, own_unit=COLUMN),
                SpreadColumns("ratio", "ratio", "operation", o, spare=2),
            )
        ]
        batches = any(way.startswith("batch") for _, way in ways)
        kind = f"expanded keys{' and batches' * batches}" if more else "single calls, compact key"
        layout = TableLayout(
            f"{set_name}: {kind}", (), ("implementation", "calls"), tuple(columns),
            leading=(SpreadColumns("rank", "#"),), below=("language", "backend", "build"),
            colours=view.colours, tag="language",
        )  # fmt: skip
        yield list(_overview(view, ways, measured, more)), layout


def _overview(
    view: View,
    ways: dict[tuple[str, str], dict[str, SummaryRow]],
    measured: Sequence[str],
    more: bool,
) -> Iterator[Figure]:
    def order(item: tuple[object, dict[str, SummaryRow]]) -> tuple[int, float]:
        best = item[1]
        return next((i, best[o].mean or 0.0) for i, o in enumerate(measured) if o in best)

    listed = sorted(ways.items(), key=order)
    ranked = ranks(view.summary, [of[measured[0]] for _, of in listed if measured[0] in of])
    # An implementation that signs with expanded keys alone can sign.
    others = {(r.implementation, r.operation) for rows in view.tables.values() for r in rows}
    for place, ((name, way), best) in enumerate(listed):
        first = next(iter(best.values()))
        keys: dict[str, Key] = {
            "set": first.set, "implementation": name, "calls": way, "key": first.key,
            "language": first.language, "build": first.build,
            "backend": join_words(dict.fromkeys(r.backend for r in best.values())),
        }  # fmt: skip
        if place < len(ranked):
            yield Figure(keys, "rank", ranked[place])
        for operation in measured:
            at, row = keys | {"operation": operation}, best.get(operation)
            if row is not None:
                yield from _with_ratio(at, row)
            elif not more and (name, operation) in others:
                yield Figure(at, "mean", None, unit=first.unit, flags=("expanded",))


def _with_ratio(keys: dict[str, Key], row: SummaryRow) -> Iterator[Figure]:
    for name, unit in (("mean", row.unit), ("ratio", "")):
        if (found := row.interval(name)) is not None:
            yield Figure.of(keys, name, found, unit)


def leader_table(view: View) -> tuple[list[Figure], TableLayout]:
    """Return the fastest implementation of each operation, way of calling and set, the next one,
    and its cost over that of the fastest; nothing where no operation was measured of two."""
    found: dict[tuple[str, str, str], dict[str, dict[str, SummaryRow]]] = {}
    for name in view.sets:
        for row in _told(view, name):
            rows = found.setdefault((row.operation, calls(row), row.unit), {}).setdefault(name, {})
            rows.setdefault(row.implementation, row)
    order = {way: place for place, way in enumerate(_WAYS)}
    figures = []
    for (operation, way, _), of in sorted(
        found.items(),
        key=lambda item: (
            SHOWN_OPERATIONS.index(item[0][0]),
            next(place for said, place in order.items() if item[0][1].endswith(said)),
        ),
    ):
        if any(len(rows) > 1 for rows in of.values()):
            for name in view.sets:
                keys: dict[str, Key] = {"operation": operation, "calls": way, "set": name}
                figures.append(_leader(view, keys, list(of.get(name, {}).values())))
    columns = [
        replace(spread, across="set", which=name, spare=0 if name == view.main_set else 2)
        for name in view.sets
        for spread in (
            SpreadColumns("times", f"{name.removeprefix('ML-DSA-')}: fastest", show="fastest"),
            SpreadColumns("times", "next", show="next"),
            SpreadColumns("times", "times"),
        )
    ]
    return figures, TableLayout(LEADERS, (), ("operation", "calls"), tuple(columns))


def _leader(view: View, keys: dict[str, Key], best: Sequence[SummaryRow]) -> Figure:
    """The next implementation's cost over that of the fastest.

    Paired ratios decide: with few rounds the order of the means may contradict them.
    """
    if len(best) < 2:
        names = {"fastest": best[0].implementation if best else MISSING, "next": MISSING}
        return Figure(keys | names, "times", None)

    def factor(row: SummaryRow, other: SummaryRow) -> float:
        found = view.summary.over(row, other)
        return (row.mean or 0.0) / (other.mean or 1.0) if found is None else found.value

    first = best[0]
    for row in best[1:]:
        if factor(row, first) < 1:
            first = row
    following = min((row for row in best if row is not first), key=lambda row: factor(row, first))
    if factor(following, first) < 1:  # the ratios form a cycle
        first, following = following, first
    names = {"fastest": first.implementation, "next": following.implementation}
    found = view.summary.over(following, first)
    return Figure(keys | names, "times", None) if found is None else Figure.of(
        keys | names, "times", found
    )  # fmt: skip


def _runs(
    view: View, rows: Iterable[SummaryRow]
) -> Iterator[tuple[dict[str, Key], dict[tuple[str, str], list[SummaryRow]]]]:
    """Of each set and operation its keys, and rows of batches or threads by variant and mode;
    nanoseconds alone."""
    found: dict[tuple[str, str], dict[tuple[str, str], list[SummaryRow]]] = {}
    for row in rows:
        if is_run(row) and row.mean is not None and row.unit == "ns":
            series = found.setdefault((row.set, row.operation), {})
            series.setdefault((base_id(row.variant), row.mode), []).append(row)
    for set_name in ALL_SETS:
        for operation in SHOWN_OPERATIONS:
            if (set_name, operation) in found:
                yield {"set": set_name, "operation": operation}, found[set_name, operation]


def batch_tables(view: View) -> Iterator[tuple[list[Figure], TableLayout]]:
    """Yield the cost of an operation over batch size; loops of single calls have the cost of one
    at any length."""
    for keys, found in _runs(view, (r for r in view.summary.rows if r.threads == 1)):
        every = [r for rows in found.values() for r in rows]
        sizes = sorted({r.batch_size for r in every if r.mode == "batch"})
        if not sizes:
            continue
        size, series = told_size(every), []
        for (base, mode), rows in found.items():
            loop = next(iter(found.get((base, "single"), [])), None)
            if mode == "batch" or (base, "batch") not in found:
                sized = {r.batch_size: r for r in rows if r.mode == "batch"}
                series.append((sized.get(size) if sized else loop, sized, loop))
        series.sort(key=lambda of: (of[0].mean if of[0] else None) or float("inf"))
        figures: list[Figure] = []
        for told, sized, loop in series:
            row = next(iter(sized.values()), loop)
            assert row is not None
            own: dict[str, Key] = keys | _names(view, row) | {"keys": KEYS[row.key]}
            for at, one in (("loop", loop), *sorted(sized.items())):
                there: dict[str, Key] = own | {"batch_size": at}
                figures += _with_ratio(there, one) if one is not None else ()
            if told is not None and (ratio := told.interval("ratio")) is not None:
                figures.append(Figure.of(own, "told", ratio))
            if not sized and loop is not None:
                figures.append(Figure(own, "level", loop.mean, unit=loop.unit))
        columns = [SpreadColumns("mean", "loop", "batch_size", "loop", 2, below="ratio")]
        columns += [
            SpreadColumns("mean", f"{n:,}", "batch_size", n, 3 * (n != size), below="ratio")
            for n in sizes
        ]
        columns.append(SpreadColumns("told", f"ratio at {size:,}", where=TERMINAL))
        lines = Lines(
            "mean", "batch_size", ("label", "keys"), "Cost over batch size",
            "operations in a batch", level="level",
        )  # fmt: skip
        yield figures, TableLayout(
            "{set} {operation} in batches", ("set", "operation"), ("label", "keys"),
            tuple(columns), (lines,), colours=view.colours,
        )  # fmt: skip


def _names(view: View, row: SummaryRow) -> dict[str, Key]:
    return {
        "implementation": row.implementation, "label": view.label(row.variant), "key": row.key,
        "mode": row.mode,
    }  # fmt: skip


def thread_tables(view: View) -> Iterator[tuple[list[Figure], TableLayout]]:
    """Yield operations per second over numbers of threads, and over those of one."""
    measured = (r for r in view.summary.rows if r.per_second is not None)
    for keys, found in _runs(view, measured):
        every = [r for rows in found.values() for r in rows]
        counts = sorted({r.threads for r in every})
        thousands = min(r.per_second or 1.0 for r in every) >= 100
        unit = Unit(1e3, "thousand per second") if thousands else Unit(1.0, "per second")
        figures = []
        series = [sorted(rows, key=lambda r: r.threads) for rows in found.values()]
        for rows in sorted(series, key=lambda rows: -(rows[-1].per_second or 0.0)):
            size = rows[0].batch_size
            way = f"batches of {size:,}" if rows[0].mode == "batch" else "single"
            for row in rows:
                own = keys | _names(view, row) | {"calls": way, "threads": row.threads}
                for name, scale, of in (
                    ("per_second", 1 / unit.divisor, unit.name), ("scaling", 1.0, ""),
                ):  # fmt: skip
                    if (value := row.interval(name)) is not None:
                        figures.append(Figure.of(own, name, value.times(scale), of))
        columns = []
        for n in counts:
            spare, where = 2 * (n not in (1, counts[-1])), "" if n == counts[-1] else PAGE
            columns.append(SpreadColumns("per_second", "{value} threads", "threads", n, spare))
            if n > 1:
                columns.append(SpreadColumns("scaling", "scaling", "threads", n, where=where))
        best, dashed = ("implementation", "mode"), ("mode", "batch")
        rate = Lines("per_second", "threads", best, "Throughput", dashed=dashed, is_rate=True)
        scaling = Lines(
            "scaling", "threads", best, "Throughput over that of one thread", dashed=dashed,
            is_rate=True, is_ratio=True,
        )  # fmt: skip
        yield figures, TableLayout(
            "{set} {operation} on threads", ("set", "operation"), ("label", "calls"),
            tuple(columns), (rate, scaling), colours=view.colours,
        )  # fmt: skip


def scaling_sentence(view: View) -> str:
    """Return what threads do together; nothing where they were not measured."""
    found = [f for figures, _ in thread_tables(view) for f in figures if f.name == "scaling"]
    most = max((int(f.keys["threads"] or 0) for f in found), default=0)
    known = sorted(f.value or 0.0 for f in found if f.keys["threads"] == most)
    if most < 2:
        return ""
    return (
        f"{most} threads do {known[len(known) // 2]:.2f} times the work of one (the middle of "
        f"{len(known)} series; from {known[0]:.2f} to {known[-1]:.2f})."
    )


def _beside(view: View) -> tuple[list[Figure], TableLayout]:
    """ML-DSA's cheapest variants of each kind over classical schemes; in the terminal only over
    the fastest implementation of each."""
    compared = sorted(view.summary.classical, key=lambda c: ALL_SETS.index(c.scheme))
    known = {(c.set, c.operation, c.variant) for c in compared}
    titles = {c.against + c.scheme: (c.scheme, view.labels.get(c.against, c.against))
              for c in compared}  # fmt: skip
    labels = [label for _, label in titles.values()]
    rows = [r for r in view.summary.rows if cell(r) in known]
    rows.sort(
        key=lambda r: (
            ALL_SETS.index(r.set),
            SHOWN_OPERATIONS.index(r.operation),
            -(r.mean or 0.0),
        )
    )
    figures = []
    for row in rows:
        keys: dict[str, Key] = {"set": row.set, "operation": row.operation, "calls": calls(row)}
        keys |= _names(view, row)
        figures += [f for f in _with_ratio(keys, row) if f.name == "mean"]
        mine = [c for c in compared if (c.set, c.operation, c.variant) == cell(row)]
        for c in mine:
            figures.append(Figure.of(keys | {"against": c.against + c.scheme}, "over", c.ratio))
        for scheme in dict.fromkeys(c.scheme for c in mine):
            most = max((c.ratio for c in mine if c.scheme == scheme), key=lambda i: i.value)
            figures.append(Figure.of(keys | {"scheme": scheme}, "most", most))
    columns = [SpreadColumns("mean", "cost", own_unit=CELL)]
    for against, (scheme, label) in titles.items():
        alone = labels.count(label) == 1 and scheme.lower().split("-")[-1] in label
        title = f"÷ {label}" if alone else f"÷ {scheme} {label}"
        columns.append(SpreadColumns("over", title, "against", against, where=PAGE))
    for scheme in dict.fromkeys(scheme for scheme, _ in titles.values()):
        title = scheme.removeprefix("ECDSA-")
        columns.append(SpreadColumns("most", title, "scheme", scheme, where=TERMINAL))
    return figures, TableLayout(
        CLASSICAL, (), ("set", "operation", "label", "calls"), tuple(columns), colours=view.colours
    )


def _family(view: View, family: str) -> tuple[list[Figure], TableLayout]:
    """All schemes of a family beside ML-DSA in one table: they stand for comparison and have no
    iterations."""
    kin, figures = SCHEME_FAMILIES[family], list[Figure]()
    output = "ciphertext, bytes" if "encaps" in kin.operations else "signature, bytes"
    for (set_name, operation, _), rows in view.tables.items():
        for row in rows if set_name in sets_of(family) else ():
            name = f"{row.implementation}{f' {TUNED_BUILD}' * row.again}"
            keys: dict[str, Key] = {
                "scheme": set_name, "implementation": name, "backend": row.backend, "key": row.key,
            }  # fmt: skip
            figures += _with_ratio(keys | {"operation": operation}, row)
            scheme = SCHEMES[set_name]
            for title, size in (
                ("public key, bytes", scheme.public_key_bytes), (output, scheme.output_bytes),
            ):  # fmt: skip
                figures += [Figure(keys, title, size)] if kin.keyed else []
    columns = [
        *(SpreadColumns("mean", o, "operation", o, own_unit=CELL) for o in SHOWN_OPERATIONS),
        SpreadColumns("public key, bytes", "public key, bytes", spare=2),
        SpreadColumns(output, output, spare=2),
    ]
    rows_of = ("scheme", "implementation", "backend", "key")
    return figures, TableLayout(kin.title, (), rows_of, tuple(columns))


# --- plots and words ------------------------------------------------------------------------------


def _draw(name: str, *arguments: object) -> Drawing:
    # Imported only here: its libraries may be missing, and take long to load.
    from mldsa_lab.show.kinds import signing_plots

    drawn: Drawing = getattr(signing_plots, name)(*arguments)
    return drawn


def _law_plots(view: View, set_name: str) -> Iterator[PlotSpec]:
    """The distribution of the signing cost of a set, if any signer has a fit."""
    if view.fitted(set_name):
        yield PlotSpec(
            f"What signatures of {set_name} cost, from the cheapest to the rare and expensive",
            partial(_draw, "draw_laws", view, set_name, WIDE),
            text=_LAW,
            alt=f"Estimated distribution of the cost of {set_name} sign, over percentiles",
            narrow=partial(_draw, "draw_laws", view, set_name, NARROW),
        )


def _cost_plots(view: View, set_name: str, clouds: bool) -> Iterator[PlotSpec]:
    """The parts of the mean, and costs over iterations of each signer."""
    if not (pairs := view.fitted(set_name)):
        return
    draw = partial(_draw, "draw_parts", view, set_name)
    legend = tuple((title, Dot(part)) for part, title in _PARTS.items())
    alt = f"Parts of the mean cost of {set_name} sign"
    yield PlotSpec("Where the mean goes", draw, legend, alt=alt)
    mixes = tuple((text, Dot(f"mix{n}")) for n, text in enumerate(_MIXES))
    unit = unit_of(view.table(set_name, "sign"))
    for row, fit in pairs if clouds else ():
        label, draw = view.label(row.variant), partial(_draw, "draw_cloud", fit, set_name, unit)
        alt = f"Cost over iterations of {label}, {set_name} sign"
        yield PlotSpec(label, draw, mixes, _CLOUDS, alt, small=True)


def _built(view: View) -> str:
    return f"; {view.builds[0]} build" if len(view.builds) == 1 else ""


def _texts(view: View, present: set[str]) -> dict[str, list[str]]:
    """The paragraphs of each chapter that is present, in the order of the page."""
    reference = view.summary.reference
    made = {READING: _reading(view)} if view.tables else {}
    about = {title: [text.format(reference=reference)] for title, text in _TEXTS.items()}
    about[THREADS].insert(0, scaling_sentence(view))
    for title in (LEADERS, *view.sets, BATCHES, THREADS, CLASSICAL):
        if title in view.sets:
            missing = [o for o in SIGNATURE_OPERATIONS if not view.table(title, o)]
            made[title] = [f"{TITLES[o]} of {title} was not measured in this run." for o in missing]
        elif title in present:
            made[title] = about[title]
    return made | {SCHEME_FAMILIES[f].title: [_FAMILIES[f]] for f in view.others}


def _reading(view: View) -> list[str]:
    clock = "of the thread on the processor" if view.summary.clock == "cpu" else "by the wall clock"
    builds = {
        "default": "The default build is what a project gets that merely depends on the libraries: "
        "Cargo's release profile, no flags. ",
        "tuned": "The tuned build has link-time optimisation and flags for the CPU of the run; a "
        "backend called +native may so use instructions beyond those of its name. ",
    }
    both = "Headline, sentences and the tables of implementations are of default builds. "
    told = "".join(builds[b] for b in view.builds) + both * (len(view.builds) > 1)
    return [
        "The mean of signing is the expected cost of one signature over all messages, with its "
        f"{100 * view.summary.confidence:g} % interval; p50 to p99.9 are percentiles of the cost "
        "of a single signature. They spread because signing repeats whole iterations until one is "
        "accepted, not because the machine is noisy. The ratio is the cost divided by that of "
        f"{view.summary.reference}, measured in the same rounds: it carries over to other machines "
        "and loads better than a time does. # is one more than the number of variants that are "
        "clearly faster: variants whose own ratio, measured so, has 1 in its interval cannot be "
        "told apart by this run and share a rank.",
        "Compact keys (full dots) begin with the key's bytes or a parsed key; expanded ones "
        "(hollow dots, exp. in plots) keep the matrix Â or transformed vectors from call to call, "
        f"outside the timed part. Compare like with like. {told}Times are {clock}.",
    ]
