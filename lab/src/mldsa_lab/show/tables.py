"""Every table of a report, as data: what stands in it is decided here, how it looks in `grid`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.sets import ALL_SETS, SCHEME_FAMILIES, SCHEMES, TUNED_BUILD
from mldsa_lab.show.format import MISSING, UNKNOWN, Shown, choose_unit, estimate
from mldsa_lab.show.grid import PAGE, TERMINAL, Column, Dot, Grid
from mldsa_lab.show.runs import RunTable, Series, batches, threads, told_size
from mldsa_lab.show.view import (
    SHOWN_OPERATIONS,
    Table,
    TableLine,
    View,
    cost,
    how,
    label_of,
    ranks,
    ratio,
    way_order,
)
from mldsa_lab.wording import join_words

TITLES = {
    "sign": "Signing", "verify": "Verification", "encaps": "Encapsulation",
    "decaps": "Decapsulation", "keygen": "Key generation", "hash": "Hashing", "lookup": "Look-up",
}  # fmt: skip
"""Headings of the operations."""
_QUANTILES = ("p50", "p95", "p99", "p99.9")


def overviews(view: View, set_name: str) -> list[Grid]:
    """The best variants of each implementation in one set: single calls with a compact key, then
    expanded keys and batches. Of default builds where both were measured."""
    found: dict[tuple[str, bool], dict[tuple[str, str], dict[str, SummaryRow]]] = {}
    for row in _told(view, set_name):
        more = row.mode == "batch" or row.key != "compact"
        ways = found.setdefault((row.unit, more), {})
        best = ways.setdefault((row.implementation, how(row)), {})
        best.setdefault(row.operation, row)
    made = [
        _overview(view, set_name, list(ways.items()), more)
        for (_, more), ways in sorted(found.items(), key=lambda item: item[0][1])
    ]
    return made


def _told(view: View, set_name: str) -> list[SummaryRow]:
    """Single calls and batches of the size that is told, on one thread, in default builds where
    both were measured; cheapest first."""
    rows = [r for r in view.summary.rows if r.set == set_name and r.mean is not None]
    size = told_size(r.batch_size for r in rows if r.mode == "batch")
    kept = [
        r
        for r in rows
        if not r.again and r.threads == 1 and r.batch_size == (size if r.mode == "batch" else 1)
    ]
    return sorted(kept, key=lambda r: r.mean or 0.0)


def leaders(view: View) -> Grid | None:
    """Of each operation, way of calling and set the fastest implementation and the next one;
    None where no operation was measured of two."""
    found: dict[tuple[str, str, str], dict[str, dict[str, SummaryRow]]] = {}
    for name in view.sets:
        for row in _told(view, name):
            rows = found.setdefault((row.operation, how(row), row.unit), {}).setdefault(name, {})
            rows.setdefault(row.implementation, row)
    found = {k: of for k, of in found.items() if any(len(rows) > 1 for rows in of.values())}
    if not found:
        return None
    keys = sorted(found, key=lambda k: (SHOWN_OPERATIONS.index(k[0]), way_order(k[1])))
    columns = [
        Column("operation", [operation for operation, _, _ in keys], head=True),
        Column("calls", [way for _, way, _ in keys]),
    ]
    for name in view.sets:
        spare = 0 if name == view.main_set else 2
        cells = [_leader(view, list(found[key].get(name, {}).values())) for key in keys]
        first, following, factors = zip(*cells, strict=True)
        short = name.removeprefix("ML-DSA-")
        columns += [
            Column(f"{short}: fastest", first, spare=spare),
            Column("next", following, spare=spare),
            Column("times", factors, number=True, spare=spare, spare_interval=1),
        ]
    return Grid(
        "The fastest of each operation",
        "and the cost of the next implementation over its own" + _built(view),
        tuple(columns), view.summary.confidence, stacked=True, sortable=False, wide=True,
    )  # fmt: skip


def _leader(view: View, best: Sequence[SummaryRow]) -> tuple[str, str, Shown]:
    """The fastest of the rows, the next one, and its cost over that of the fastest.

    Paired ratios decide: with few rounds the order of the means may contradict them.
    """
    if len(best) < 2:
        return (best[0].implementation if best else MISSING), MISSING, UNKNOWN

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
    return (
        first.implementation,
        following.implementation,
        estimate(view.summary.over(following, first)),
    )


def _overview(
    view: View,
    set_name: str,
    ways: Sequence[tuple[tuple[str, str], dict[str, SummaryRow]]],
    more: bool,
) -> Grid:
    operations = [o for o in SHOWN_OPERATIONS if any(o in best for _, best in ways)]
    listed = sorted(ways, key=lambda way: _first_mean(way[1], operations))
    first = [best[operations[0]] for _, best in listed if operations[0] in best]
    placed = [_rank(rank) for rank in ranks(view.summary, first)]
    languages = view.languages
    about = [_about(best, languages) for _, best in listed]
    spoken = [next(iter(best.values())).language for _, best in listed]
    names = [name for (name, _), _ in listed]
    # An implementation that signs with expanded keys alone can sign.
    lines = [] if more else [(n.row, t.operation) for t in view.of(set_name) for n in t.lines]
    expanded = {
        (r.implementation, o) for r, o in lines if r.key == "expanded" and not r.threads > 1
    }
    columns = [
        Column("#", placed + [Shown("")] * (len(listed) - len(first)), number=True),
        Column("implementation", names, head=True, below=[", ".join(a) for a in about]),
        *([Column("calls", [way for (_, way), _ in listed])] if more else []),
        *([Column("language", spoken, spare=3, where=TERMINAL)] if languages else []),
        Column("backend", [_backends(best) for _, best in listed], spare=3, where=TERMINAL),
    ]
    for operation in operations:
        rows = [best.get(operation) for _, best in listed]
        known = [r for r in rows if r is not None]
        unit = choose_unit([r.mean for r in known], known[0].unit)
        means = [
            Shown("expanded") if r is None and (name, operation) in expanded else cost(r, unit)
            for r, name in zip(rows, names, strict=True)
        ]
        columns.append(Column(f"{operation}, {unit.name}", means, number=True, spare_interval=4))
        if any(r.ratio is not None for r in known):
            ratios = [ratio(r) for r in rows]
            columns.append(Column("ratio", ratios, number=True, spare=2, spare_interval=1))
    kind = "expanded keys and batches" if more else "single calls, compact key"
    dots = [
        Dot(view.colours.get(name, 0), next(iter(best.values())).key == "expanded")
        for (name, _), best in listed
    ]
    return Grid(
        f"{set_name}: {kind}",
        "the best variant of each implementation" + _built(view),
        tuple(columns), view.summary.confidence, dots, bold=0, stacked=True, sortable=False,
        tags=spoken if languages else (),
    )  # fmt: skip


def _rank(rank: int) -> Shown:
    return Shown(str(rank), number=rank)


def _first_mean(best: dict[str, SummaryRow], operations: Sequence[str]) -> tuple[int, float]:
    return next((i, best[o].mean or 0.0) for i, o in enumerate(operations) if o in best)


def _about(best: dict[str, SummaryRow], languages: bool) -> tuple[str, ...]:
    """An implementation's language where there are several, the backends of its best variants, and
    its build."""
    first = next(iter(best.values()))
    return (
        *([first.language] if languages else []),
        _backends(best),
        *([f"{first.build} build"] if first.build else []),
    )


def _backends(best: dict[str, SummaryRow]) -> str:
    return join_words(dict.fromkeys(r.backend for r in best.values()))


def results(table: Table, view: View, *, brief: bool = False) -> Grid:
    """All variants of one set and operation, best first; `brief`: without what labels say."""
    lines = table.lines
    several = len(view.builds) > 1
    columns = [Column("#", [_rank(n.rank) for n in lines], number=True, spare=1)]
    if brief:
        columns.append(Column("implementation", [n.label for n in lines], head=True))
    else:
        columns += [
            Column("implementation", [n.row.implementation for n in lines], head=True),
            Column("backend", [n.row.backend for n in lines]),
            Column("key", [n.row.key for n in lines]),
            *([Column("build", [n.row.build or "" for n in lines])] if several else []),
        ]
    columns.append(Column("mean", [n.mean for n in lines], number=True))
    if table.has_quantiles:
        columns += [
            Column(name, [n.quantiles[i] for n in lines], number=True, spare=0 if i else 3)
            for i, name in enumerate(_QUANTILES)
        ]
    if any(n.row.ratio is not None for n in lines):
        ratios = [n.ratio for n in lines]
        columns.append(Column("ratio", ratios, number=True, spare_interval=2))
    if not brief:
        columns.append(Column("version", [n.row.version for n in lines], where=PAGE))
        if not several:
            columns.append(Column("language", [n.row.language for n in lines], where=PAGE))
    reference = next((i for i, n in enumerate(lines) if n.is_reference), None)
    return Grid(
        f"{table.set}  {table.operation}", f"{table.unit.name}, best first{_built(view)}",
        tuple(columns), view.summary.confidence, [dot(n) for n in lines],
        [n.marks for n in lines], view.marks, 0, reference, wide=True,
        tags=[n.row.language for n in lines] if view.languages else (),
    )  # fmt: skip


def dot(line: TableLine) -> Dot:
    """The mark of a line on the page."""
    return Dot(line.colour, line.row.key == "expanded")


def _built(view: View) -> str:
    return f"; {view.builds[0]} build" if len(view.builds) == 1 else ""


def of_family(view: View, family: str) -> Grid:
    """All schemes of a family beside ML-DSA in one table: they stand for comparison and have no
    attempts."""
    kin = SCHEME_FAMILIES[family]
    rows: list[tuple[str, dict[str, TableLine]]] = []
    for scheme in view.others[family]:
        found: dict[str, dict[str, TableLine]] = defaultdict(dict)
        for table in view.of(scheme):
            for line in table.lines:
                found[line.row.variant][table.operation] = line
        rows += [(scheme, lines) for lines in found.values()]
    first = [next(iter(lines.values())) for _, lines in rows]
    names = [
        f"{n.row.implementation} {TUNED_BUILD}" if n.row.again else n.row.implementation
        for n in first
    ]
    columns = [
        Column("scheme", [scheme for scheme, _ in rows], head=True),
        Column("implementation", names),
        Column("backend", [n.row.backend for n in first], spare=1),
    ]
    if any(n.row.key != "compact" for n in first):
        columns.append(Column("key", [n.row.key for n in first]))
    for operation in SHOWN_OPERATIONS:
        # From microseconds to milliseconds: a unit for each figure.
        cells, units = [], []
        for _, lines in rows:
            row = lines[operation].row if operation in lines else None
            unit = choose_unit([row.mean], row.unit) if row else None
            cells.append(cost(row, unit) if unit else Shown(""))
            units.append(unit.name if unit else "")
        if any(units):
            columns += [Column(operation, cells, number=True), Column("", units)]
    of = [SCHEMES[scheme] for scheme, _ in rows]
    output = "ciphertext" if "encaps" in kin.operations else "signature"
    weights = (
        ("public key, bytes", [s.public_key_bytes for s in of]),
        (f"{output}, bytes", [s.output_bytes for s in of]),
    )
    for title, sizes in weights if kin.keyed else ():
        cells = [Shown(f"{size:,}", number=size) for size in sizes]
        columns.append(Column(title, cells, number=True, spare=2))
    return Grid(
        kin.title, "for comparison", tuple(columns), view.summary.confidence,
        sortable=False,
    )  # fmt: skip


def of_batches(table: RunTable, view: View) -> Grid:
    """The cost of one operation over batch size."""
    series = table.series
    loops = [s.loop for s in series]
    columns = [
        Column("implementation", [s.label for s in series], head=True),
        Column("keys", [s.keys for s in series]),
        _costs("loop", loops, table, 2),
    ]
    for size in table.numbers:
        rows = [s.rows.get(size) for s in series]
        columns.append(_costs(f"{size:,}", rows, table, 0 if size == table.ratio_size else 3))
    ratios = [ratio(table.told(s)) for s in series]
    if any(r != UNKNOWN for r in ratios):
        title = f"ratio at {table.ratio_size:,}"
        columns.append(Column(title, ratios, number=True, spare_interval=1, where=TERMINAL))
    return Grid(
        f"{table.set}  {table.operation} in batches", f"{table.unit.name} for one, best first",
        tuple(columns), view.summary.confidence, _dots(series), bold=0, stacked=True,
    )  # fmt: skip


def _costs(title: str, rows: Sequence[SummaryRow | None], table: RunTable, spare: int) -> Column:
    below = [f"× {r.ratio:.3f}" if r is not None and r.ratio else "" for r in rows]
    cells = [cost(r, table.unit) for r in rows]
    return Column(title, cells, number=True, spare=spare, spare_interval=1, below=below)


def of_threads(table: RunTable, view: View) -> Grid:
    """Operations per second over numbers of threads, and over those of one."""
    series = table.series
    columns = [
        Column("implementation", [s.label for s in series], head=True),
        Column("calls", [s.calls for s in series]),
    ]
    most = max(table.numbers)
    for count in table.numbers:
        rows = [s.rows.get(count) for s in series]
        rates = [cost(r, table.unit, "per_second") for r in rows]
        title = f"{count} thread" if count == 1 else f"{count} threads"
        spare = 0 if count in (1, most) else 2
        columns.append(Column(title, rates, number=True, spare=spare, spare_interval=1))
        if count > 1:
            scalings = [ratio(r, "scaling") for r in rows]
            where = "" if count == most else PAGE
            columns.append(Column("scaling", scalings, number=True, spare_interval=1, where=where))
    return Grid(
        f"{table.set}  {table.operation} on threads", f"{table.unit.name}, best first",
        tuple(columns), view.summary.confidence, _dots(series), bold=0, stacked=True,
    )  # fmt: skip


def _dots(series: Sequence[Series]) -> list[Dot]:
    return [Dot(s.colour, s.key == "expanded") for s in series]


def beside(view: View) -> Grid:
    """ML-DSA's cheapest variants of each kind over classical schemes."""
    compared: dict[tuple[str, str], dict[tuple[str, str, str], Shown]] = defaultdict(dict)
    for c in sorted(view.summary.classical, key=lambda c: ALL_SETS.index(c.scheme)):
        compared[c.scheme, c.against][c.set, c.operation, c.variant] = estimate(c.ratio)
    known = {key for of in compared.values() for key in of}
    rows = [r for r in view.summary.rows if (r.set, r.operation, r.variant) in known]
    places = {o: i for i, o in enumerate(SHOWN_OPERATIONS)}
    rows.sort(key=lambda r: (ALL_SETS.index(r.set), places[r.operation], -(r.mean or 0.0)))
    keys = [(r.set, r.operation, r.variant) for r in rows]
    ratios = {c: [of.get(key, UNKNOWN) for key in keys] for c, of in compared.items()}
    units = [choose_unit([r.mean], r.unit) for r in rows]
    costs = [cost(r, unit) for r, unit in zip(rows, units, strict=True)]
    columns = [
        Column("set", [r.set for r in rows], head=True),
        Column("operation", [r.operation for r in rows]),
        Column("implementation", [label_of(view, r.variant) for r in rows], spare=2),
        Column("calls", [how(r) for r in rows]),
        Column("cost", costs, number=True, spare_interval=1),
        Column("", [u.name for u in units]),
    ]
    labels = [view.labels.get(against, against) for _, against in ratios]
    for (scheme, against), label in zip(ratios, labels, strict=True):
        alone = labels.count(label) == 1 and scheme.lower().split("-")[-1] in label
        title = f"÷ {label}" if alone else f"÷ {scheme} {label}"
        columns.append(Column(title, ratios[scheme, against], number=True, where=PAGE))
    for scheme in dict.fromkeys(scheme for scheme, _ in ratios):
        # In the terminal only the fastest implementation of each: the largest ratio.
        of = zip(*(of for c, of in ratios.items() if c[0] == scheme), strict=True)
        most = [max(each, key=lambda e: e.number or 0.0) for each in of]
        title = scheme.removeprefix("ECDSA-")
        columns.append(Column(title, most, number=True, spare_interval=1, where=TERMINAL))
    return Grid(
        "Beside classical schemes", "cost over that of the fastest implementation of each",
        tuple(columns), view.summary.confidence, stacked=True, sortable=False,
    )  # fmt: skip


def of_runs(view: View) -> list[Grid]:
    """The tables of batches, threads and what stands beside classical schemes."""
    made = [of_batches(table, view) for table in batches(view)]
    made += [of_threads(table, view) for table in threads(view)]
    if made and view.summary.classical:
        made.append(beside(view))
    return made


def all_grids(view: View, *, overview: bool = True) -> list[Grid]:
    """The tables of one run, in the order of the terminal: the best of each implementation in
    the main set come last, where they are read first."""
    made = [results(table, view) for name in view.sets for table in view.of(name)]
    made += [of_family(view, family) for family in view.others]
    made += of_runs(view)
    made += [grid] if (grid := leaders(view)) is not None else []
    if overview and view.main_set is not None:
        made += overviews(view, view.main_set)
    return made


def brief_grids(view: View) -> list[Grid]:
    """One table for each question: batches and threads of the main set where they were measured,
    the fastest implementations, and the best of each implementation in the main set. All tables
    of a run without a main set."""
    if view.main_set is None:
        return all_grids(view)
    made = [of_batches(t, view) for t in batches(view) if t.set == view.main_set]
    made += [of_threads(t, view) for t in threads(view) if t.set == view.main_set]
    made += [grid] if (grid := leaders(view)) is not None else []
    return made + overviews(view, view.main_set)
