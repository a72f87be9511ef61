"""Figures of a scenario as a report: layouts of tables, plots, headline and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import FigureTable, SpreadColumns, TableLayout
from mldsa_lab.show.format import Unit, choose_unit
from mldsa_lab.show.grid import TERMINAL, Column, Dot, Grid
from mldsa_lab.show.report import PlotSpec, Report, Section, sections_of
from pqc_impact.figures import BY, ELSEWHERE, FORBIDDEN, Impact, full_name
from pqc_impact.network import Network
from pqc_impact.spreading import reach
from pqc_impact.sweep import SHARES
from pqc_impact.times import BUSY, CONFIDENCE, DRAWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ImpactColumn = tuple[str, str, int]
"""A pattern of figures' names, the title of the column of each, and `Column.spare`."""
NETWORK, PARTS = "Blocks on the network", "Bytes by part"
SERVER = "Response times of one core that signs"
_HELD = {"": "other parts", "other": "other parts", "expanded keys": "keys"}
"""Columns of parts, by `Part.holds` where they are called otherwise."""
TABLES: dict[str, tuple[ImpactColumn, ...]] = {
    "Size and throughput": (
        ("bytes", "bytes", 0),
        ("bytes over today's", "bytes, of today's", 3),
        ("(extra round trips, .*)", r"\1", 0),
        ("transfer over (.*)", r"\1", 2),
        ("(.*) used", r"\1", 2),
        ("fee.*", "fee", 2),
        ("(?:transactions|messages) per block", "in a block", 0),
        ("(?:transactions|messages) per second", "per second", 0),
        ("transactions over today's", "throughput, of today's", 0),
        ("bytes per second", "bandwidth", 0),
        ("(share of the .*) of a block", r"\1", 0),
        ("transactions per second at (.*)", r"per second at \1", 1),
        ("(.*) of a block for today's throughput", r"\1 for today's throughput", 4),
    ),
    "Signing and verification": (
        ("signing on 1 core", "signing", 0),
        ("signing per second and core", "signed per second and core", 1),
        ("verification on (.*)", r"verification, \1", 0),
        ("verification per second and core", "verified per second and core", 1),
        ("verification of a block at today's throughput (on .*)", r"as many as today, \1", 1),
        ("verification of a block at today's throughput (in .*)", r"as many as today, \1", 2),
        ("share of the interval at today's throughput (on .*)", r"of the interval, \1", 4),
        ("first synchronisation (on .*)", r"first sync, \1", 2),
    ),
    "Operations per second": (("(.*) per second on ([0-9]+) threads?", r"\1, \2", 1),),
    "Threads": (
        ("scaling of (.*) on ([0-9]+) threads", r"\1, \2", 1),
        ("efficiency of (.*) on ([0-9]+) threads", r"\1, \2", 2),
    ),
    "Life cycle of a key": (
        ("life cycle, (.*)", r"\1", 0),
        ("life cycle", "together", 0),
        ("share of the life cycle, (.*)", r"\1", 1),
    ),
    "Optimisations": (
        ("speed-up of (.*) by (.*)", r"\1, \2", 1),
        ("clock at which .*, (.*)", r"as fast in hardware, \1", 2),
    ),
    SERVER: (
        ("response time, ([^,]*), at ([0-9]*)% load", r"\1, \2 %", 0),
        ("utilisation with ([^,]*)", r"load with \1", 1),
        ("signatures per second with ([^,]*)", "per second", 0),
        ("signatures per second with [^,]*, (.*)", r"per second, \1", 2),
        ("response time, ([^,]*), at ([0-9]*)% load, (.*)", r"\1, \2 %, \3", 3),
        ("utilisation with (.*, batches .*)", r"load with \1", 4),
    ),
    "A node": (
        ("bandwidth of a node(.*)", r"bandwidth\1", 0),
        ("(share of the line.*)", r"\1", 1),
        ("(.*) capacity over today's throughput (.*)", r"\1 capacity, \2", 2),
    ),
    NETWORK: (
        ("(.*)% of nodes have", r"to \1 %", 0),
        ("share of stale blocks, (.*),", r"stale, \1", 2),
    ),
    "Storage": (
        ("archive of a year", "archive a year", 0),
        ("archive of ten years", "ten years", 1),
        ("archive of a year at today's throughput", "at today's throughput", 0),
        ("(pruned|compressed) archive .*", r"\1 at today's throughput", 3),
        ("chain in (.*)", r"chain in \1", 1),
        ("disk for the chain in (.*)", r"disk, \1", 2),
        ("blocks that the mempool holds", "blocks in the mempool", 1),
        ("(.*), (?:the )?(hash|keys).* stored", r"\1, \2", 2),
    ),
    PARTS: (("other parts|signatures|keys", r"\g<0>", 0), ("bytes", "together", 0)),
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
_LONG = (Unit(86400.0, "d"), Unit(3600.0, "h"))


def report(found: Impact) -> Report:
    """Return everything that is shown of a scenario."""
    figures = [*found.figures, *_held(found)]
    headline, sections = overview(found)
    kinds = []
    for title, columns in TABLES.items():
        if made := table(figures, title, columns):
            plots = tuple(_plots(found, figures, title))
            sections.append(Section(grid(found, made), plots=plots, brief=title == SERVER))
            kinds.append(f"{title}: {_kinds(made)}")
    return Report(
        kind=f"what a migration costs · scenario {found.name}",
        headline=headline,
        figures=[as_row(f) for f in found.figures],
        sections=sections,
        about=found.scenario.text.removesuffix("."),
        method=_METHOD,
        notes=[*notes(found), *kinds],
        source=", ".join(found.records),
    )


def network_report(network: Network, figures: Sequence[Figure]) -> Report:
    """Return everything that is shown of blocks without a scheme."""
    made = table(figures, NETWORK, TABLES[NETWORK])
    assert made is not None
    about = (
        f"{network.title}: the mean of {network.blocks} blocks, and their middle 95 %, over "
        f"{network.nodes:,} nodes"
    )
    section = Section(figure_tables.grid(made, CONFIDENCE))
    return Report("how blocks spread", about, [as_row(f) for f in figures], [section])


def as_row(figure: Figure) -> Figure:
    """Return a figure whose keys hold everything that a row of JSON has beside its value."""
    keys = {name: figure.keys[name] for name in ("scenario", "template", "scheme")}
    more = {"figure": full_name(figure), "unit": figure.unit, "kind": figure.flags[0]}
    keys |= more | {"source": figure.source}
    return Figure(keys, "value", figure.value, figure.low, figure.high)


def table(
    figures: Sequence[Figure], title: str, columns: Sequence[ImpactColumn]
) -> FigureTable | None:
    """Return a table of the figures that match the columns, with a row for each combination of
    keys; None if there is none."""
    shown: list[Figure] = []
    spread = []
    for pattern, heading, spare in columns:
        matching: dict[str, list[Figure]] = {}
        for f in figures:
            if re.fullmatch(pattern, f.name) and ("relay" in f.keys) == (title == NETWORK):
                matching.setdefault(f.name, []).append(f)
        for name, of_name in matching.items():
            # The columns of one pattern and stored unit share their unit.
            alike = [f for many in matching.values() for f in many if f.unit == of_name[0].unit]
            unit = unit_of(alike)
            text = re.sub(f"^{pattern}$", heading, name) + (f", {unit.name}" if unit.name else "")
            escaped = text.replace("{", "{{").replace("}", "}}")
            spread.append(SpreadColumns(name, escaped, spare=spare))
            shown += [_in_unit(f, unit) for f in of_name]
    fewest = {"template": 2}  # A column that says the same everywhere is left out.
    rows = tuple(
        key for key in _ROWS
        if len({f.keys[key] for f in shown if f.keys.get(key)}) >= fewest.get(key, 1)
    )  # fmt: skip
    made = figure_tables.tables(shown, TableLayout(title, (), rows, tuple(spread)))
    return made[0] if made else None


def grid(found: Impact, made: FigureTable) -> Grid:
    """Return a table for every renderer: with the mark of each rule that a form breaks, the
    implementations of times, and a mark at each scheme whose times are from another machine."""
    schemes, legend = list(found.scenario.schemes), rules(found)
    keys = [{k: str(v) for k, v in of[0].keys.items()} for of in made.rows.values()]
    plain = figure_tables.grid(made, CONFIDENCE)
    # The page is too narrow for columns of the other keys: they stand below the schemes.
    others = [key for key in made.layout.rows if key != "scheme"]
    changed: dict[str, dict[str, Any]] = {key: {"where": TERMINAL, "head": False} for key in others}
    names, libraries, note = _sources(made)
    below = [[*(k[key] for key in others), *each] for k, each in zip(keys, libraries, strict=True)]
    changed["scheme"] = {"head": True, "cells": names}
    if any(below):
        changed["scheme"]["below"] = [", ".join(texts) for texts in below]
    if others:
        changed[others[0]] |= {"title": "form"} if others[0] == "template" else {}
    columns = [replace(c, **changed.get(c.title, {})) for c in plain.columns]
    if any(libraries):
        cells = [", ".join(texts) for texts in libraries]
        column = Column("implementation", cells, where=TERMINAL)
        columns.insert(len(made.layout.rows), column)
    marks = [
        "".join(
            mark
            for mark, rule in legend.items()
            if found.find(k["template"], k["scheme"], FORBIDDEN + rule)
        )
        for k in keys
    ]
    dots = [Dot(schemes.index(k["scheme"])) for k in keys]
    return replace(plain, note=note, columns=tuple(columns), dots=dots, marks=marks, legend=legend)


def _sources(made: FigureTable) -> tuple[list[str], list[list[str]], str]:
    """Return for each row its scheme, with a mark if its times are from another machine, and the
    implementations of its times; and the note on the mark."""
    libraries, records = (_flagged(made, start) for start in (BY, ELSEWHERE))
    schemes = (str(of[0].keys["scheme"]) for of in made.rows.values())
    names = [s + f" {_OTHER_MACHINE}" * bool(r) for s, r in zip(schemes, records, strict=True)]
    elsewhere = ", ".join(dict.fromkeys(name for of in records for name in of))
    note = f"{_OTHER_MACHINE}: measured on another machine, {elsewhere}" if elsewhere else ""
    return names, libraries, note


def _flagged(made: FigureTable, start: str) -> list[list[str]]:
    """Return, for each row, what its figures' flags that begin with ``start`` name."""
    flags = (dict.fromkeys(flag for f in of for flag in f.flags) for of in made.rows.values())
    return [[x.removeprefix(start) for x in of if x.startswith(start)] for of in flags]


def document_table(
    found: Impact, template: str, names: Sequence[str], schemes: Sequence[str] = ()
) -> Grid:
    """Return the figures of these names of one form, for a document, or with the template "" those
    of schemes; of these schemes alone, if any are given. The first row is the form of today where
    that is another one. Schemes have the implementations of their times, and a mark if these are
    from another machine than the first record's. The table's note explains the mark and names
    records of busy machines."""
    forms = found.scenario.all_templates
    rows = {("", name): name for name in found.scenario.schemes}
    if template:
        if template not in forms:
            raise LabError(f"template {template!r}: must be one of {'; '.join(forms)}")
        form = forms[template]
        beside, today = found.scenario.today_of(form)
        rows = {(template, s.name): s.name for f, s in found.scenario.pairs() if f is form}
        if beside is not form:
            rows = {(beside.name, today.name): f"{today.name}, today", **rows}
    figures = [
        replace(f, keys={"scheme": label})
        for key, label in rows.items()
        if not schemes or key[1] in schemes
        for f in found.figures
        if (f.keys["template"], f.keys["scheme"]) == key
    ]
    for name in names:
        if not any(f.name == name for f in figures):
            raise LabError(f"template {template!r}: there is no figure {name!r}")
    made = table(figures, "", [(f"({re.escape(name)})", r"\1", 0) for name in names])
    assert made is not None
    plain = figure_tables.grid(made, CONFIDENCE)
    cells, libraries, note = _sources(made)
    below = [", ".join(each) for each in libraries] if any(libraries) else ()
    busy = [text for text in found.remarks if text.startswith(BUSY)] if below else []
    note = ". ".join(filter(None, (note, *busy)))
    columns = [
        replace(c, head=True, cells=cells, below=below) if c.title == "scheme" else c
        for c in plain.columns
    ]
    return replace(plain, columns=tuple(columns), note=note)


def _kinds(made: FigureTable) -> str:
    """Return the columns of each kind; of several kinds in one column the least certain counts."""
    titles: dict[str, dict[str, None]] = {}
    for column in made.layout.columns:
        found = {f.flags[0] for f in made.at(column.name) if f is not None}
        kind = next(kind for kind in ("assumed", "measured", "exact") if kind in found)
        titles.setdefault(kind, {})[column.title.partition(", ")[0]] = None
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in titles.items())


def _in_unit(figure: Figure, unit: Unit) -> Figure:
    """Return a figure whose values are in a unit that its column's title names."""
    values = [None if x is None else unit.shown(x) for x in figure.interval or (None, None, None)]
    value = values[0]
    if value is not None and values[1] is None and value == int(value):
        values[0] = int(value)
    return replace(figure, value=values[0], low=values[1], high=values[2], unit="")


def unit_of(figures: Sequence[Figure]) -> Unit:
    """Return the unit of display of figures in one unit."""
    stored, name = figures[0].unit, figures[0].name
    values = [f.value for f in figures]
    known = sorted(v for v in values if v)
    if stored == "s" and known:
        # The median decides: a column of seconds may hold microseconds.
        shorter = choose_unit([known[len(known) // 2] * 1e9], "ns")
        longer = (unit for unit in _LONG if known[0] >= 2 * unit.divisor)
        return next(longer, Unit(shorter.divisor / 1e9, shorter.name))
    if name.startswith(("share", "efficiency", "utilisation")):
        return Unit(0.01, "%")
    if stored in ("", "×", "1/s") or name.startswith("fee"):
        return Unit(1.0, "" if stored == "1/s" else stored)
    return choose_unit(values, stored)


def rules(found: Impact) -> dict[str, str]:
    """Return the rules of today that a form breaks, by their mark in tables."""
    broken = dict.fromkeys(f.name for f in found.figures if f.name.startswith(FORBIDDEN))
    marks = "abcdefghijklmnopqrstuvwxyz"
    return {m: name.removeprefix(FORBIDDEN) for m, name in zip(marks, broken, strict=False)}


def overview(found: Impact) -> tuple[str, list[Section]]:
    """Return the headline, and one table over forms and schemes: throughput in percent of today's,
    or bytes over today's in a scenario without blocks. Neither has today's scheme."""
    title = found.scenario.title
    by_throughput = any(f.name == "transactions over today's" for f in found.figures)
    wanted = "transactions over today's" if by_throughput else "bytes over today's"
    figures = [
        Figure(
            {"form": f.keys["template"]}, str(f.keys["scheme"]), f.value * (1, 100)[by_throughput]
        )
        for f in found.figures
        if f.name == wanted and f.value is not None and f.value != 1
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


def notes(found: Impact) -> list[str]:
    """Return the rules that are broken, the figures that are missing, and sources."""
    lines = [f"{mark}: forbidden today, {rule}" for mark, rule in rules(found).items()]
    renamed = found.scenario.renamed.items()
    lines += [
        f"{name} is taken as {ours}, with the sizes and times of the standard"
        for name, ours in renamed
    ]
    lines += found.remarks
    unknown = dict.fromkeys(
        f"Not known of {f.keys['scheme']}: {f.source}"
        for f in found.figures
        if f.value is None and not f.name.startswith(FORBIDDEN)
    )
    forms = found.scenario.all_templates.values()
    lines += [*unknown, *dict.fromkeys(f"{form.name}: {form.note}" for form in forms if form.note)]
    sourced = ("verification", "compressed archive")
    lines += dict.fromkeys(
        f"{f.keys['scheme']}: {f.source}"
        for f in found.figures
        if f.value is not None and f.name.startswith(sourced)
    )
    return lines


# --- plots ----------------------------------------------------------------------------------------


def _held(found: Impact) -> Iterator[Figure]:
    """Yield bytes by what they are, of every form and scheme."""
    for f in found.figures:
        if f.name == "bytes":
            form, scheme = str(f.keys["template"]), str(f.keys["scheme"])
            sizes = dict.fromkeys(("other parts", "signatures", "keys"), 0.0)
            for part in found.scenario.all_templates[form].parts:
                size = found.find(form, scheme, f"bytes, {part.name}")
                sizes[_HELD.get(part.holds, part.holds)] += (size and size.value) or 0.0
            yield from (
                Figure(f.keys, n, v, None, None, "B", "", f.flags) for n, v in sizes.items()
            )


def _plots(found: Impact, figures: Sequence[Figure], title: str) -> Iterator[PlotSpec]:
    """Yield bytes by part of each form, or times over the size of a block."""
    if title == PARTS:
        legend = tuple((n, Dot(i)) for i, n in enumerate(("other parts", "signatures", "keys")))
        for form in found.scenario.all_templates:
            yield PlotSpec(form, partial(_draw_parts, figures, form), legend)
    elif title == NETWORK:
        curves = [f for f in figures if "relay" in f.keys and f.value]
        for pair in dict.fromkeys((f.keys["template"], f.keys["relay"]) for f in curves):
            named = f"{pair[0]}, {pair[1]}: 50 (dotted), 90 and 99 % (dashed) of nodes"
            yield PlotSpec(named, partial(_draw_spread, found, *pair))


def _draw_parts(figures: Sequence[Figure], form: str) -> Drawing:
    """Bars of bytes, parted by what the bytes are."""
    from mldsa_lab.show import plots, svg

    sizes: dict[str, list[float]] = {}
    for f in figures:
        if f.keys["template"] == form and f.name in ("other parts", "signatures", "keys"):
            sizes.setdefault(str(f.keys["scheme"]), []).append(f.value or 0.0)
    bars = [
        plots.PartedBar(
            scheme, f"{sum(values):,.0f}",
            tuple((svg.series(n), svg.ON_DARK, value) for n, value in enumerate(values)),
        )
        for scheme, values in sizes.items()
    ]  # fmt: skip
    return plots.amounts(bars, "B", 520.0)


def _draw_spread(found: Impact, form: Key, relay: Key) -> Drawing:
    """Curves of times over the size of a block."""
    from mldsa_lab.show import plots

    drawn = []
    for place, scheme in enumerate(found.scenario.schemes):
        here = [
            f for f in found.figures
            if (f.keys["template"], f.keys["scheme"]) == (form, scheme) and "block" in f.keys
        ]  # fmt: skip
        sizes = {f.keys["block"]: (f.value or 0.0) / 1e6 for f in here if "relay" not in f.keys}
        for share, style in zip(SHARES, (":", "-", "--"), strict=True):
            points = sorted(
                (sizes[f.keys["block"]], Interval(f.value))
                for f in here
                if (f.name, f.keys.get("relay")) == (reach(share), relay) and f.value
            )
            if points:
                drawn.append(plots.Path(scheme, place, style, tuple(points)))
    return plots.over_key(drawn, (), "MB of a block", "s", 380.0)
