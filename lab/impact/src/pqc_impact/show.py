"""Figures of a scenario as a report: layouts of tables, plots, headline and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mldsa_lab import LabError
from mldsa_lab.estimate.figure import FORBIDDEN, Figure, Key, parse_identity
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import FigureTable, SpreadColumns, TableLayout
from mldsa_lab.show.grid import TERMINAL, Column, Dot, Grid, Unit
from mldsa_lab.show.report import PlotSpec, Report, Section, sections_of
from pqc_impact.figures import BY, ELSEWHERE, Impact, count_cores, own_keys
from pqc_impact.network import Network
from pqc_impact.sweep import SHARES
from pqc_impact.times import BUSY, CONFIDENCE, DRAWS, NOUNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NETWORK, PARTS, THREADS = "Blocks on the network", "Bytes by part", "Threads"
SERVER = "Response times of one core that signs"
_HELD = {"": "other parts", "other": "other parts", "expanded keys": "keys"}
"""Columns of parts, by `Part.holds` where they are called otherwise."""
_AT = ("load", "limit")


def _words(keys: Mapping[str, Key]) -> dict[str, str]:
    """Return the values of keys in the words of titles."""
    words = {key: str(value) for key, value in keys.items()}
    words["at"] = f" at {keys['limit']}" if keys.get("limit") else ""
    words["at"] += " at today's throughput" if keys.get("load") == "today" else ""
    words["operation"] = NOUNS.get(words.get("operation", ""), "")
    words["years"] = {"1": "a year", "10": "ten years"}.get(words.get("years", ""), "")
    cores = count_cores(int(keys.get("threads") or 0))
    words |= {"cores": cores, "on": f"{'in batches ' * (keys.get('mode') == 'batch')}on {cores}"}
    words["kept"] = words.get("object", "").removesuffix(" archive")
    words["stored"] = words.get("stored", "").removesuffix(" of a key")
    return words


_VERIFIED: Mapping[str, Key] = {"operation": "verify"}
_TODAY = {**_VERIFIED, "of": "block", "load": "today"}
_RESPONSE, _SAFE = ("percentile", "utilisation"), ("percentile", "within")
_COUNTED: Mapping[str, tuple[Key, ...]] = {"of": ("transactions", "messages")}
_ARCHIVES: Mapping[str, tuple[Key, ...]] = {"object": ("pruned archive", "compressed archive")}
_PLAIN = Unit(1.0, "")
"""The unit of rates: they have no prefix, and titles say 'per second'."""


def _column(
    name: str,
    title: str,
    spare: int = 0,
    over: Sequence[str] = (),
    /,
    *optional: str,
    **keys: Key,
) -> SpreadColumns:
    """Return columns of the figures of one name with exactly these ``keys``. There is one for each
    combination of the keys ``over``, and of ``optional`` keys."""
    unit = _PLAIN if name == "per_second" else None
    return SpreadColumns(
        name,
        title,
        spare=spare,
        keys=keys,
        over=tuple(over),
        optional=optional,
        unit=unit,
        is_exact=True,
    )


TABLES: dict[str, tuple[SpreadColumns, ...]] = {
    "Size and throughput": (
        _column("bytes", "bytes"),
        _column("over_today", "bytes, of today's", 3, of="bytes"),
        _column("round_trips", "extra round trips, {window}", 0, ["window"]),
        _column("time", "{link}", 2, ["link"], of="transfer"),
        _column("used", "{resource}", 2, ["resource"]),
        _column("fee", "fee", 2),
        _column("fee", "fee for {resource}", 2, ["resource"]),
        replace(_column("count", "in a block", object="block"), either=_COUNTED),
        replace(_column("per_second", "per second"), either=_COUNTED),
        _column("over_today", "throughput, of today's", of="transactions"),
        _column("bytes_per_second", "bandwidth", of="blocks"),
        _column("share", "share of the {resource}", 0, ["resource"], of="limit"),
        _column("per_second", "per second at {limit}", 1, ["limit"], of="transactions"),
        _column("needed", "{resource} for today's throughput", 4, ["resource"], load="today"),
    ),
    "Signing and verification": (
        _column("time", "signing", of="message", operation="sign", threads=1),
        _column(
            "per_second",
            "signed per second and core",
            1,
            ["threads"],
            of="messages",
            operation="sign",
        ),
        _column("time", "verification, {cores}", 0, ["threads"], of="message", **_VERIFIED),
        _column("time", "verification, {device}", 0, ["device"], of="message", **_VERIFIED),
        _column(
            "per_second",
            "verified per second and core",
            1,
            ["threads"],
            of="messages",
            **_VERIFIED,
        ),
        _column("time", "as many as today, {on}", 1, ["threads"], **_TODAY),
        _column("time", "as many as today, {on}", 2, ["threads"], mode="batch", **_TODAY),
        _column("share", "of the interval, {on}", 4, ["threads"], **{**_TODAY, "of": "interval"}),
        _column("time", "first sync, {on}", 2, ["threads"], of="first sync"),
    ),
    "Operations per second": (
        _column("per_second", "{operation}, {threads}", 1, ["operation", "threads"]),
    ),
    THREADS: (
        _column("scaling", "{operation}, {threads}", 1, ["operation", "threads"]),
        _column("efficiency", "{operation}, {threads}", 2, ["operation", "threads"]),
    ),
    "Life cycle of a key": (
        _column("time", "{operation}", 0, ["operation"], of="life cycle"),
        _column("time", "together", of="life cycle"),
        _column("share", "{operation}", 1, ["operation"], of="life cycle"),
    ),
    "Optimisations": (
        _column("speed_up", "{operation}, {by}", 1, ["operation", "by"]),
        _column(
            "clock", "as fast in hardware, {operation}", 2, ["operation"], against="hardware core"
        ),
    ),
    SERVER: (
        _column("quantile", "p{percentile}, {utilisation} %", 0, _RESPONSE, of="response"),
        _column("share", "load with p{percentile} within {within}", 1, _SAFE, of="core"),
        _column("per_second", "per second", 0, _SAFE, operation="sign"),
        _column(
            "per_second", "per second, batches of {batch}", 2, [*_SAFE, "batch"], operation="sign"
        ),
        _column(
            "quantile",
            "p{percentile}, {utilisation} %, batches of {batch}",
            3,
            [*_RESPONSE, "batch"],
            of="response",
        ),
        _column(
            "share",
            "load with p{percentile} within {within}, batches of {batch}",
            4,
            [*_SAFE, "batch"],
            of="core",
        ),
    ),
    "A node": (
        _column("bytes_per_second", "bandwidth{at}", 0, [], *_AT, of="node"),
        _column("share", "share of the line{at}", 1, [], *_AT, of="line"),
        _column(
            "over_today",
            "{operation} capacity, {on}",
            2,
            ["operation", "threads"],
            "mode",
            of="capacity",
        ),
    ),
    NETWORK: (
        _column("time", "to {nodes} %", 0, ["nodes"], of="spread"),
        _column("share", "stale, every {interval}", 2, ["interval"], of="stale blocks"),
    ),
    "Storage": (
        _column("bytes", "archive a year", object="archive", years=1),
        _column("bytes", "ten years", 1, object="archive", years=10),
        _column("bytes", "at today's throughput", object="archive", years=1, load="today"),
        replace(
            _column("bytes", "{kept}{at}", 3, ["object"], years=1, load="today"), either=_ARCHIVES
        ),
        _column("bytes", "chain in {years}{at}", 1, ["years"], *_AT, object="chain"),
        _column("price", "disk, {years}{at}", 2, ["years"], *_AT, object="chain"),
        _column("capacity", "blocks in the mempool", 1, of="blocks", object="mempool"),
        _column("bytes", "{object}, {stored}", 2, ["object", "stored"]),
    ),
    PARTS: (_column("bytes", "{held}", 0, ["held"]), _column("bytes", "together")),
}
"""The columns of each table. A table without figures is left out."""
_METHOD = (
    "Exact figures follow from the encodings and the rules named in the scenario. Measured figures "
    f"are of the record, with an interval of 95 % carried through by {DRAWS:,} draws. Assumed "
    "figures rest on quantities that the scenario gives with their sources."
)
_ROWS = ("template", "scheme", "block", "relay")
"""The keys of rows; one that is empty everywhere has no column."""
_OTHER_MACHINE = "†"
"""Marks a scheme whose times are from another machine than those of the first record."""


def report(impact: Impact) -> Report:
    """Return everything that is shown of a scenario."""
    figures = [*impact.figures, *_held(impact)]
    headline, sections = overview(impact)
    kinds = []
    for title, columns in TABLES.items():
        if filled := table(figures, title, columns):
            plots = tuple(_plots(impact, figures, title))
            sections.append(Section(grid(impact, filled), plots=plots, is_brief=title == SERVER))
            kinds.append(f"{title}: {_kinds(filled)}")
    return Report(
        kind=f"what a migration costs · scenario {impact.name}",
        headline=headline,
        figures=impact.figures,
        sections=sections,
        about=impact.scenario.text.removesuffix("."),
        method=_METHOD,
        notes=[*notes(impact), *kinds],
        source=", ".join(impact.records),
        has_brief_notes=False,  # those of a scenario fill screens
    )


def network_report(network: Network, figures: Sequence[Figure]) -> Report:
    """Return everything that is shown of blocks without a scheme."""
    filled = table(figures, NETWORK, TABLES[NETWORK])
    assert filled is not None
    about = (
        f"{network.title}: the mean of {network.blocks} blocks, and their middle 95 %, over "
        f"{network.nodes:,} nodes"
    )
    section = Section(figure_tables.grid(filled, CONFIDENCE))
    return Report("how blocks spread", about, figures, [section])


def table(
    figures: Sequence[Figure], title: str, columns: Sequence[SpreadColumns]
) -> FigureTable | None:
    """Return a table of the figures that match the columns, with a row for each combination of
    keys; None if there is none."""
    names = {column.name for column in columns}
    named = [f for f in figures if f.name in names and _is_shown(f, title)]
    layout = TableLayout(title, (), _ROWS if title == NETWORK else _ROWS[:2], tuple(columns))
    layout = replace(layout, words=_words)
    for whole in figure_tables.tables(named, layout):
        # A column that says the same everywhere is left out.
        values = {key: {known.get(key) for known in whole.known} - {None, ""} for key in _ROWS}
        rows = tuple(key for key in _ROWS if len(values[key]) > (key == "template"))
        return figure_tables.tables(named, replace(layout, rows=rows))[0]
    return None


def _is_shown(figure: Figure, title: str) -> bool:
    """Return whether a table may show a figure: not the scaling of one thread, and blocks on the
    network only by relay."""
    if title == NETWORK:
        return "relay" in figure.keys
    return title != THREADS or figure.keys.get("threads") != 1


def grid(impact: Impact, filled: FigureTable) -> Grid:
    """Return a table for every renderer, with the implementations of times.

    It has a mark for each rule that a form breaks, and one at each scheme whose times are from
    another machine.
    """
    schemes, legend = list(impact.scenario.schemes), rules(impact)
    keys = [{k: str(v) for k, v in row[0].keys.items()} for row in filled.rows.values()]
    plain = figure_tables.grid(filled, CONFIDENCE)
    # The page is too narrow for columns of the other keys: they are below the schemes.
    others = [key for key in filled.layout.rows if key != "scheme"]
    changed: dict[str, Any] = {key: {"where": TERMINAL, "is_head": False} for key in others}
    names, libraries, note = _sources(filled)
    below = [[*(k[key] for key in others), *each] for k, each in zip(keys, libraries, strict=True)]
    changed["scheme"] = {"is_head": True, "cells": names}
    if any(below):
        changed["scheme"]["below"] = [", ".join(texts) for texts in below]
    if others:
        changed[others[0]] |= {"title": "form"} if others[0] == "template" else {}
    columns = [replace(c, **changed.get(c.title, {})) for c in plain.columns]
    if any(libraries):
        cells = [", ".join(texts) for texts in libraries]
        column = Column("implementation", cells, where=TERMINAL)
        columns.insert(len(filled.layout.rows), column)
    marks = [
        "".join(
            mark
            for mark, rule in legend.items()
            if impact.find(k.get("template", ""), k["scheme"], "excess", rule=rule)
        )
        for k in keys
    ]
    dots = [Dot(schemes.index(k["scheme"])) for k in keys]
    return replace(plain, note=note, columns=tuple(columns), dots=dots, marks=marks, legend=legend)


def _sources(filled: FigureTable) -> tuple[list[str], list[list[str]], str]:
    """Return for each row its scheme and the implementations of its times. The note explains the
    mark of schemes whose times are from another machine."""
    libraries, records = (_read_notes(filled, start) for start in (BY, ELSEWHERE))
    schemes = (str(row[0].keys["scheme"]) for row in filled.rows.values())
    names = [s + f" {_OTHER_MACHINE}" * bool(r) for s, r in zip(schemes, records, strict=True)]
    elsewhere = ", ".join(dict.fromkeys(name for row in records for name in row))
    note = f"{_OTHER_MACHINE}: measured on another machine, {elsewhere}" if elsewhere else ""
    return names, libraries, note


def _read_notes(filled: FigureTable, start: str) -> list[list[str]]:
    """Return, for each row, what its figures' notes that begin with ``start`` name."""
    notes = (dict.fromkeys(note for f in row for note in f.notes) for row in filled.rows.values())
    return [[x.removeprefix(start) for x in row if x.startswith(start)] for row in notes]


def document_table(
    impact: Impact, template: str, asked: Mapping[str, str], schemes: Sequence[str] = ()
) -> Grid:
    """Return figures of one form, for a document, or with the template "" those of schemes; only of
    these schemes, if there are any. The first row is the form of today where that is another one.
    Schemes have the implementations of their times, and a mark if these are from another machine
    than the first record's. The table's note explains the mark and names records of busy machines.
    ``asked``: by the title of their column, the name and the keys of figures."""
    forms = impact.scenario.all_templates
    rows = {("", name): name for name in impact.scenario.schemes}
    if template:
        if template not in forms:
            raise LabError(f"template {template!r}: must be one of {'; '.join(forms)}")
        form = forms[template]
        neighbor, today = impact.scenario.today_of(form)
        rows = {(template, s.name): s.name for f, s in impact.scenario.pairs() if f is form}
        if neighbor is not form:
            rows = {(neighbor.name, today.name): f"{today.name}, today", **rows}
    figures = [
        replace(f, keys={**own_keys(f), "scheme": label})
        for key, label in rows.items()
        if not schemes or key[1] in schemes
        for f in impact.figures
        if (f.keys.get("template", ""), f.keys["scheme"]) == key
    ]
    columns = []
    for title, text in asked.items():
        name, keys = parse_identity(text)
        if not any(f.name == name and own_keys(f) == keys for f in figures):
            raise LabError(f"template {template!r}: there is no figure {text!r}")
        columns.append(_column(name, title.replace("{", "{{").replace("}", "}}"), **keys))
    filled = table(figures, "", columns)
    assert filled is not None
    plain = figure_tables.grid(filled, CONFIDENCE)
    cells, libraries, note = _sources(filled)
    below = [", ".join(each) for each in libraries] if any(libraries) else ()
    busy = [text for text in impact.remarks if text.startswith(BUSY)] if below else []
    note = ". ".join(filter(None, (note, *busy)))
    shown = (
        replace(c, is_head=True, cells=cells, below=below) if c.title == "scheme" else c
        for c in plain.columns
    )
    return replace(plain, columns=tuple(shown), note=note)


def _kinds(filled: FigureTable) -> str:
    """Return the columns of each kind; of several kinds in one column the least certain counts."""
    titles: dict[str, dict[str, None]] = {}
    for column in filled.layout.columns:
        known = {f.kind for f in filled.figures_in(column) if f is not None}
        for kind in [k for k in ("assumed", "measured", "exact") if k in known][:1]:
            titles.setdefault(kind, {})[column.title.partition(", ")[0]] = None
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in titles.items())


def rules(impact: Impact) -> dict[str, str]:
    """Return the rules of today that a form breaks, by their mark in tables."""
    broken = dict.fromkeys(str(f.keys["rule"]) for f in impact.figures if f.verdict == FORBIDDEN)
    return dict(zip("abcdefghijklmnopqrstuvwxyz", broken, strict=False))


def overview(impact: Impact) -> tuple[str, list[Section]]:
    """Return the headline, and one table over forms and schemes: throughput in percent of today's,
    or bytes over today's in a scenario without blocks. Neither has today's scheme."""
    title = impact.scenario.title
    compared = [f for f in impact.figures if f.name == "over_today" and "template" in f.keys]
    by_throughput = any(own_keys(f) == {"of": "transactions"} for f in compared)
    compared_keys = {"of": "transactions" if by_throughput else "bytes"}
    figures = [
        Figure(
            {"form": f.keys["template"]}, str(f.keys["scheme"]), f.value * (1, 100)[by_throughput]
        )
        for f in compared
        if own_keys(f) == compared_keys and f.value is not None and f.value != 1
    ]
    schemes = dict.fromkeys(f.name for f in figures)
    if not schemes:
        return title, []
    scheme = "ML-DSA-44" if "ML-DSA-44" in schemes else next(iter(schemes))
    values = sorted(f.value or 0.0 for f in figures if f.name == scheme)
    span = " to ".join(f"{v:.2g}" for v in dict.fromkeys((values[0], values[-1])))
    headline = f"{title}: {scheme} takes {span} times today's bytes"
    heading = "Bytes, × today's"
    if by_throughput:
        headline = f"{title}: {scheme} leaves {span} % of today's throughput"
        heading = "Throughput, % of today's"
    columns = (SpreadColumns(s, s, spare=1 if "+" in s else 2 if " " in s else 0) for s in schemes)
    layout = TableLayout(heading, (), ("form",), tuple(columns))
    return headline, sections_of(figures, [layout], CONFIDENCE)


def notes(impact: Impact) -> list[str]:
    """Return the rules that are broken, the figures that are missing, and sources."""
    lines = [f"{mark}: forbidden today, {rule}" for mark, rule in rules(impact).items()]
    renamed = impact.scenario.renamed.items()
    lines += [
        f"{name} is taken as {ours}, with the sizes and times of the standard"
        for name, ours in renamed
    ]
    lines += impact.remarks
    unknown = dict.fromkeys(
        f"Not known of {f.keys['scheme']}: {f.source}"
        for f in impact.figures
        if f.value is None and f.verdict != FORBIDDEN
    )
    forms = impact.scenario.all_templates.values()
    lines += [*unknown, *dict.fromkeys(f"{form.name}: {form.note}" for form in forms if form.note)]
    lines += dict.fromkeys(
        f"{f.keys['scheme']}: {f.source}"
        for f in impact.figures
        if f.value is not None and _is_sourced(f)
    )
    return lines


def _is_sourced(figure: Figure) -> bool:
    """Return whether the notes have a figure's source: verification, and what was compressed."""
    keys = figure.keys
    is_elsewhere = keys.get("of") in ("life cycle", "first sync")
    is_timed = figure.name in ("time", "per_second") and not is_elsewhere
    is_archive = figure.name == "bytes" and keys.get("object") == "compressed archive"
    return is_archive or (is_timed and keys.get("operation") == "verify")


# --- plots ----------------------------------------------------------------------------------------


def _held(impact: Impact) -> Iterator[Figure]:
    """Yield bytes by what they are, of every form and scheme."""
    for f in impact.figures:
        if f.name == "bytes" and "template" in f.keys and not own_keys(f):
            form, scheme = str(f.keys["template"]), str(f.keys["scheme"])
            sizes = dict.fromkeys(("other parts", "signatures", "keys"), 0.0)
            for part in impact.scenario.all_templates[form].parts:
                size = impact.find(form, scheme, "bytes", part=part.name)
                sizes[_HELD.get(part.holds, part.holds)] += (size and size.value) or 0.0
            yield from (
                replace(f, keys={**f.keys, "held": n}, value=v, low=None, high=None, source="")
                for n, v in sizes.items()
            )


def _plots(impact: Impact, figures: Sequence[Figure], title: str) -> Iterator[PlotSpec]:
    """Yield bytes by part of each form, or times over the size of a block."""
    if title == PARTS:
        legend = tuple((n, Dot(i)) for i, n in enumerate(("other parts", "signatures", "keys")))
        for form in impact.scenario.all_templates:
            yield PlotSpec(form, partial(_draw_parts, figures, form), legend)
    elif title == NETWORK:
        curves = [f for f in figures if "relay" in f.keys and f.value]
        for pair in dict.fromkeys((f.keys["template"], f.keys["relay"]) for f in curves):
            named = f"{pair[0]}, {pair[1]}: 50 (dotted), 90 and 99 % (dashed) of nodes"
            yield PlotSpec(named, partial(_draw_spread, impact, *pair))


def _draw_parts(figures: Sequence[Figure], form: str) -> Drawing:
    """Bars of bytes, parted by what the bytes are."""
    from mldsa_lab.show import plots, svg

    sizes: dict[str, list[float]] = {}
    for f in figures:
        if f.keys.get("template") == form and "held" in f.keys:
            sizes.setdefault(str(f.keys["scheme"]), []).append(f.value or 0.0)
    bars = [
        plots.PartedBar(
            scheme, f"{sum(values):,.0f}",
            tuple((svg.series(n), svg.ON_DARK, value) for n, value in enumerate(values)),
        )
        for scheme, values in sizes.items()
    ]  # fmt: skip
    return plots.amounts(bars, "B", 520.0)


def _draw_spread(impact: Impact, form: Key, relay: Key) -> Drawing:
    """Curves of times over the size of a block."""
    from mldsa_lab.show import plots

    drawn = []
    for place, scheme in enumerate(impact.scenario.schemes):
        here = [
            f for f in impact.figures
            if "block" in f.keys and (f.keys["template"], f.keys["scheme"]) == (form, scheme)
        ]  # fmt: skip
        sizes = {f.keys["block"]: (f.value or 0.0) / 1e6 for f in here if "relay" not in f.keys}
        for share, style in zip(SHARES, (":", "-", "--"), strict=True):
            points = sorted(
                (sizes[f.keys["block"]], Interval(f.value))
                for f in here
                if (f.keys.get("nodes"), f.keys.get("relay")) == (round(100 * share), relay)
                and f.value
            )
            if points:
                drawn.append(plots.Path(scheme, place, style, tuple(points)))
    return plots.over_key(drawn, (), "MB of a block", "s", 380.0)
