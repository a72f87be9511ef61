"""Figures of a scenario as tables, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.format import UNKNOWN, Shown, Unit, choose_unit, clean, estimate
from mldsa_lab.show.grid import PAGE, TERMINAL, Column, Dot, Grid, markdown
from pqc_impact.base import ScenarioForm
from pqc_impact.figures import Impact, on_cores
from pqc_impact.file import Template
from pqc_impact.network import RELAYS
from pqc_impact.protocol import Message, Protocol
from pqc_impact.protocol_figures import extra, over, verified_on
from pqc_impact.rows import FORBIDDEN, ImpactRow, Kind
from pqc_impact.spreading import FULL, as_today, reach, stale
from pqc_impact.sweep import SHARES
from pqc_impact.times import CONFIDENCE

_MARKS = "abcdefghijklmnopqrstuvwxyz"
_KINDS: dict[Kind, str] = {
    "exact": "exact",
    "measured": "measured",
    "assumed": "resting on assumptions of the scenario",
}
_LONG = (Unit(86400.0, "d"), Unit(3600.0, "h"))


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A column: the figure, its title, and when a narrow terminal gives it up, as of a
    `Column`."""

    figure: str
    title: str
    spare: int = 0


def rules(found: Impact) -> dict[str, str]:
    """The rules of today that something breaks, by mark."""
    broken = dict.fromkeys(r.figure for r in found.rows if r.figure.startswith(FORBIDDEN))
    return {
        mark: figure.removeprefix(FORBIDDEN) for mark, figure in zip(_MARKS, broken, strict=False)
    }


def unit_of(rows: Iterable[ImpactRow | None]) -> Unit:
    """The unit of display of figures in one unit."""
    known = [row for row in rows if row is not None and row.value is not None]
    stored = known[0].unit if known else ""
    values = [row.value for row in known]
    if stored == "s":
        least = min((v for v in values if v), default=0.0)
        for unit in _LONG:
            if least >= 2 * unit.divisor:
                return unit
        unit = choose_unit([None if v is None else v * 1e9 for v in values], "ns")
        return Unit(unit.divisor / 1e9, unit.name)
    if known and known[0].figure.startswith("share"):
        return Unit(0.01, "%")
    if stored in ("", "×", "1/s") or known[0].figure.startswith("fee"):
        return Unit(1.0, "" if stored == "1/s" else stored)
    return choose_unit(values, stored)


def shown(row: ImpactRow | None, unit: Unit) -> Shown:
    """A figure as text."""
    if row is None or row.value is None:
        return UNKNOWN
    if row.low is None and row.value == int(row.value) and unit.divisor == 1:
        return Shown(f"{row.value:,.0f}", number=row.value)
    if row.low is None:
        return estimate(Interval(row.value), unit)
    return estimate(Interval(row.value, row.low, row.high), unit)


def least_sure(rows: Sequence[ImpactRow]) -> Kind:
    """The kind of figures together: measured if one is, else assumed if one is."""
    kinds = {row.kind for row in rows}
    return next(kind for kind in ("measured", "assumed", "exact") if kind in kinds)


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A line of a table or plot: a scheme in a template, under a label."""

    label: str
    template: str
    scheme: str

    def row(self, found: Impact, figure: str) -> ImpactRow | None:
        """Its figure of this name."""
        return found.find(self.template, self.scheme, figure)


def lines_of(found: Impact, template: ScenarioForm, *, today: bool = True) -> list[FigureLine]:
    """The schemes that a template is shown for; before them, if wanted, what it is compared with
    where that is another template."""
    name = template.name
    made = [FigureLine(s.name, name, s.name) for t, s in found.scenario.pairs() if t is template]
    beside, scheme = found.scenario.today_of(template)
    if made and today and beside is not template:
        made.insert(0, FigureLine(f"{scheme.name}, today", beside.name, scheme.name))
    return made


def grid(
    found: Impact, lines: Sequence[FigureLine], title: str, wanted: Sequence[FigureColumn]
) -> Grid:
    """A table of these figures."""
    legend = rules(found)
    columns = [Column("scheme", [line.label for line in lines], head=True)]
    kinds: dict[Kind, list[str]] = {}
    rows_of = {want: [line.row(found, want.figure) for line in lines] for want in wanted}
    alike: dict[tuple[str, str], list[ImpactRow | None]] = {}
    for want, rows in rows_of.items():
        alike.setdefault(_quantity(want, rows), []).extend(rows)
    for want, rows in rows_of.items():
        known = [row for row in rows if row is not None]
        if not known:
            continue
        unit = unit_of(alike[_quantity(want, rows)])
        named = f"{want.title}, {unit.name}" if unit.name else want.title
        cells = [shown(row, unit) for row in rows]
        columns.append(
            Column(named, cells, number=True, spare=want.spare, spare_interval=want.spare or 1)
        )
        kinds.setdefault(least_sure(known), []).append(want.title)
    marks = [
        "".join(
            mark for mark, rule in legend.items()
            if line.row(found, FORBIDDEN + rule) is not None
        )
        for line in lines
    ]  # fmt: skip
    said = (f"{_KINDS[k]}: {', '.join(dict.fromkeys(kinds[k]))}" for k in _KINDS if k in kinds)
    note = "; ".join(said)
    colours = list(found.scenario.schemes)
    return Grid(
        title, f"{note[:1].upper()}{note[1:]}.", tuple(columns), CONFIDENCE,
        dots=[Dot(colours.index(line.scheme)) for line in lines], marks=marks, legend=legend,
        wide=True, sortable=False, stacked=True,
    )  # fmt: skip


def _quantity(want: FigureColumn, rows: Sequence[ImpactRow | None]) -> tuple[str, str]:
    """What a column measures and its stored unit: times of one quantity share a unit."""
    stored = next((row.unit for row in rows if row is not None), "")
    if stored != "s":
        return want.figure, stored
    words = want.figure.replace("%", "").replace(",", "").split()
    return next(word for word in words if not word.isdigit()), stored


def use_grid(found: Impact, template: Template) -> Grid:
    """What a transaction takes, and how many there are."""
    wanted = [FigureColumn("bytes", "bytes"), FigureColumn("bytes over today's", "of today's", 3)]
    for name in template.use:
        wanted += [FigureColumn(f"{name} used", name, 2), FigureColumn(f"fee for {name}", "fee", 2)]
    wanted.append(FigureColumn("fee", "fee", 2))
    what = "messages" if template.per_block else "transactions"
    wanted += [
        FigureColumn(f"{what} per block", "in a block"),
        FigureColumn(f"{what} per second", "per second"),
        FigureColumn("transactions over today's", "of today's"),
        FigureColumn("bytes per second", "bandwidth"),
    ]
    for name in template.use:
        wanted.append(FigureColumn(f"share of the {name} of a block", f"share of {name}"))
        figure = f"{name} of a block for today's throughput"
        wanted.append(FigureColumn(figure, "limit for today's throughput", 4))
        limit = next(one for one in found.chain.limits if one.name == name)
        wanted += [
            FigureColumn(f"transactions per second at {text}", f"at {text}", 1)
            for text in limit.given
        ]
    return grid(found, lines_of(found, template), template.name, wanted)


def verify_grid(found: Impact, template: Template) -> Grid:
    """What a node has to verify, and how long its first synchronisation takes."""
    wanted = []
    what = "as given" if template.per_block else "as today"
    cores = found.chain.node.cores
    for place, number in enumerate(cores):
        on, spare, last = on_cores(number), place and 2, number == cores[-1]
        figure = f"verification of a block at today's throughput {on}"
        wanted.append(FigureColumn(figure, f"{what}, {on}", spare))
        if last:
            figure = f"share of the interval at today's throughput {on}"
            wanted.append(FigureColumn(figure, "of the interval", 1))
            wanted.append(FigureColumn(f"verification of a block {on}", f"full block {on}", 1))
        if last or not place:
            figure = f"first synchronisation {on}"
            wanted.append(FigureColumn(figure, f"first sync {on}", 4 - place))
            named = on_cores(number, batches=True)
            figure = f"verification of a block at today's throughput {named}"
            wanted.append(FigureColumn(figure, f"{what}, {named}", 3))
            wanted.append(FigureColumn(f"first synchronisation {named}", f"first sync {named}", 3))
    return grid(found, lines_of(found, template), f"{template.name}: verification", wanted)


def store_grid(found: Impact, template: Template) -> Grid:
    """What a node keeps."""
    wanted = [
        FigureColumn("archive of a year", "archive a year"),
        FigureColumn("archive of ten years", "ten years", 1),
        FigureColumn("archive of a year at today's throughput", "at today's throughput"),
        FigureColumn("pruned archive of a year at today's throughput", "that pruned", 3),
        FigureColumn("compressed archive of a year at today's throughput", "that compressed", 3),
        FigureColumn("blocks that the mempool holds", "blocks in the mempool", 1),
    ]
    for state in found.chain.state:
        wanted += [
            FigureColumn(f"{state.name}, the hash of a key stored", f"{state.name}, hashes", 2),
            FigureColumn(f"{state.name}, keys stored", f"{state.name}, keys", 2),
        ]
    return grid(found, lines_of(found, template), f"{template.name}: storage", wanted)


def parts_grid(found: Impact, template: ScenarioForm) -> Grid:
    """The bytes by part."""
    fixed = [p.name for p in template.parts if not p.holds]
    wanted = [FigureColumn(f"bytes, {p.name}", p.name) for p in template.parts]
    title = f"{template.name}: bytes by part"
    lines = lines_of(found, template, today=False)
    made = grid(found, lines, title, [*wanted, FigureColumn("bytes", "together")])
    if len(fixed) < 2:
        return made
    # The terminal has one column for the parts without keys and signatures: all parts add up.
    rows = [[line.row(found, f"bytes, {name}") for name in fixed] for line in lines]
    sums = [sum(row.value or 0.0 for row in of if row is not None) for of in rows]
    rest = Column("other parts, B", [Shown(f"{n:,.10g}", number=n) for n in sums], number=True,
                  where=TERMINAL)  # fmt: skip
    only_page = {f"{name}, B" for name in fixed}
    columns = [replace(c, where=PAGE) if c.title in only_page else c for c in made.columns]
    return replace(made, columns=(columns[0], rest, *columns[1:]))


def network_grid(found: Impact, template: Template) -> Grid:
    """How blocks spread over the network."""
    wanted = []
    interval = found.chain.interval
    for block, short, shares in ((as_today(1), "today's", SHARES), (FULL, "full", (0.9,))):
        for relay in RELAYS:
            wanted += [
                FigureColumn(
                    reach(share, block, relay),
                    f"{relay}, {short}: {share:.0%}",
                    0 if share == 0.9 else 3,
                )
                for share in shares
            ]
            named = f"{relay}, {short}: stale"
            wanted.append(FigureColumn(stale(interval, block, relay), named, 2))
    return grid(found, lines_of(found, template), f"{template.name}: blocks on the network", wanted)


def wire_grid(found: Impact, message: Message) -> Grid:
    """What a message takes."""
    scenario = _protocol(found)
    wanted = [
        FigureColumn("bytes", "bytes"),
        FigureColumn("bytes over today's", "of today's", 1),
        *(FigureColumn(extra(w.name), f"extra round trips, {w.name}") for w in scenario.windows),
        *(FigureColumn(over(link.name), link.name, 2) for link in scenario.links),
    ]
    return grid(found, lines_of(found, message), message.name, wanted)


def operations_grid(found: Impact, message: Message) -> Grid:
    """What a message costs who signs it and who verifies it."""
    device = _protocol(found).device
    wanted = [
        FigureColumn("signing on 1 core", "signing"),
        FigureColumn("signing per second and core", "signed per second and core"),
        FigureColumn("verification on 1 core", "verification"),
        FigureColumn("verification per second and core", "verified per second and core", 1),
    ]
    if device is not None:
        wanted.append(FigureColumn(verified_on(device.name), f"verification, {device.name}"))
    return grid(found, lines_of(found, message), f"{message.name}: signatures", wanted)


def _protocol(found: Impact) -> Protocol:
    assert isinstance(found.scenario, Protocol)
    return found.scenario


PROTOCOL_TABLES = {
    "Bytes and round trips": wire_grid,
    "Signatures": operations_grid,
    "Bytes by part": parts_grid,
}
"""The tables of a message, with their titles on the page."""
TABLES = {
    "In a block": use_grid,
    "Verification and first synchronisation": verify_grid,
    "Blocks on the network": network_grid,
    "Storage": store_grid,
    "Bytes by part": parts_grid,
}
"""The tables of a form of transaction, with their titles on the page."""


def tables(found: Impact, template: ScenarioForm) -> list[tuple[str, Grid]]:
    """The tables of a template that have figures, with their titles on the page."""
    kinds: dict[str, Any] = PROTOCOL_TABLES if isinstance(found.scenario, Protocol) else TABLES
    made = [(title, make(found, template)) for title, make in kinds.items()]
    return [(title, grid) for title, grid in made if len(grid.columns) > 1]


def grids(found: Impact) -> list[Grid]:
    """All tables, template after template."""
    shown_ones = (t for t in found.scenario.all_templates.values() if lines_of(found, t))
    return [grid for template in shown_ones for _, grid in tables(found, template)]


_THROUGHPUT, _BYTES = "transactions over today's", "bytes over today's"


def overview(found: Impact) -> Grid:
    """One table over forms and schemes: throughput in percent of today's, or bytes over today's in
    a scenario without blocks."""
    figures = _over_today(found)
    schemes = dict.fromkeys(str(f.keys["scheme"]) for f in figures)
    columns = tuple(
        SpreadColumns(scheme, scheme, spare=1 if "+" in scheme else 2 if " " in scheme else 0)
        for scheme in schemes
    )
    titles = {_THROUGHPUT: "Throughput, % of today's", _BYTES: "Bytes, × today's"}
    title = titles[figures[0].source] if figures else found.scenario.title
    made = figure_tables.tables(figures, TableLayout(title, (), ("form",), columns))
    return (
        figure_tables.grid(made[0], CONFIDENCE) if made else Grid(title, "", (Column("form", []),))
    )


def headline(found: Impact) -> str:
    """The range over forms of the first scheme that has one, ML-DSA-44 before others."""
    figures = _over_today(found)
    schemes = dict.fromkeys(str(f.keys["scheme"]) for f in figures)
    if not schemes:
        return found.scenario.title
    scheme = "ML-DSA-44" if "ML-DSA-44" in schemes else next(iter(schemes))
    values = sorted(f.value or 0.0 for f in figures if f.keys["scheme"] == scheme)
    span = " to ".join(f"{v:.2g}" for v in dict.fromkeys((values[0], values[-1])))
    if figures[0].source == _THROUGHPUT:
        return f"{found.scenario.title}: {scheme} leaves {span} % of today's throughput"
    return f"{found.scenario.title}: {scheme} takes {span} times today's bytes"


def _over_today(found: Impact) -> list[Figure]:
    """The figures of the overview, named by their scheme; forms of today's scheme are left out."""
    rows = [r for r in found.rows if r.value is not None]
    name = _THROUGHPUT if any(r.figure == _THROUGHPUT for r in rows) else _BYTES
    factor = 100.0 if name == _THROUGHPUT else 1.0
    return [
        Figure({"form": r.template, "scheme": r.scheme}, r.scheme, factor * r.value, source=name)
        for r in rows
        if r.figure == name and r.value is not None and r.value != 1
    ]


def remarks(found: Impact) -> list[str]:
    """What a reader must know beside the tables: rules broken, what is missing, sources."""
    said = [f"{mark}: forbidden today, {rule}" for mark, rule in rules(found).items()]
    missing: dict[str, list[str]] = {}
    for row in found.rows:
        if row.value is None and not row.figure.startswith(FORBIDDEN):
            missing.setdefault(f"{row.scheme}: {row.source}", []).append(row.figure)
    said += [f"not known of {reason}" for reason in missing]
    said += dict.fromkeys(
        f"{t.name}: {t.note}" for t in found.scenario.all_templates.values() if t.note
    )
    return said


SOURCED = ("verification", "signing", "compressed archive")
"""How figures begin whose sources are listed."""


def sources(found: Impact) -> list[str]:
    """Where times and compressibility are from."""
    texts = dict.fromkeys(
        f"{row.scheme}: {row.source}"
        for row in found.rows
        if row.value is not None and row.figure.startswith(SOURCED)
    )
    return list(texts)


def as_json(rows: Sequence[ImpactRow]) -> str:
    """A list of objects with the keys of a row."""
    return json.dumps([row.as_dict() for row in rows], indent=1, ensure_ascii=False) + "\n"


def as_markdown(found: Impact) -> str:
    """All tables, and what must be known beside them."""
    head = [f"# {clean(found.scenario.title)}\n"]
    head += [clean(found.scenario.text) + "\n"] if found.scenario.text else []
    head.append(f"Times: {', '.join(found.records)}.\n")
    parts = [f"## {clean(g.title)}\n\n{clean(g.note)}\n\n{markdown(g)}" for g in grids(found)]
    lists = [
        f"## {title}\n\n" + "".join(f"- {clean(line)}\n" for line in lines)
        for title, lines in (
            ("Notes", remarks(found)),
            ("Sources of what is measured", sources(found)),
        )
        if lines
    ]
    return "\n".join(head + parts + lists)
