"""From the cells of a study to its figures and their report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mldsa_lab import LabError, located
from mldsa_lab.estimate.compare import compare_groups
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.records import METRICS, busy_notes
from mldsa_lab.sets import ALL_SETS, parse_set_names, sizes
from mldsa_lab.show.figure_tables import NOTES, SpreadColumns, TableLayout
from mldsa_lab.show.report import PlotSpec, Report, Section, sections_of
from mldsa_lab.study.file import (
    SPREAD,
    Contrast,
    CostsAsked,
    Gathered,
    SizesAsked,
    StudyFile,
    choose_key,
    identify_figure,
)

_TELLING = (
    "set", "operation", "message_bytes", "threads", "batch_size", "mode", "implementation",
    "backend", "key", "build", "worker", "version", "language",
)  # fmt: skip
_REPLICATES = {
    "processes": "processes as replicates",
    "rounds": "rounds as replicates, which are not independent of each other",
}
_NOTES = {
    "mean": "means, the median over the processes",
    "allocated": "bytes allocated, means over the measured inputs, the median over the processes",
    "collections": "garbage collections in a million operations on the measured inputs",
    SPREAD: "by how much the largest mean of a process is above the least",
}
_METHOD = (
    "Each process is measured in fresh workers and with other inputs. Rounds within a process are "
    "not independent of each other, so each process counts once, by its mean. Where a plot shows "
    "both, large dots are processes and faint ones below them rounds. Ratios are Hodges and "
    "Lehmann's with the interval that inverts the Mann-Whitney test; delta is Cliff's."
)
_STATISTICS = ("median", "least", "largest")


def study_report(
    study: StudyFile, profile: str, measured: Gathered, sources: Sequence[str] = ()
) -> Report:
    """Return the report of a study; ``sources``: the names of its records. A note names a contrast
    of only one group, and a figure without a point. LabError if a contrast cannot be made, or a
    table or figure has no cells."""
    from mldsa_lab.study.plots import plot_specs

    measured = replace(measured, named=study.named)
    contrasts = {contrast.name: _compare_groups(contrast, measured) for contrast in study.contrasts}
    parts = [
        *filter(None, contrasts.values()),
        *filter(None, (_tabulate_costs(asked, measured) for asked in study.tables)),
        *(_tabulate_sizes(asked, measured) for asked in study.sizes),
    ]
    drawn = {asked.name: list(plot_specs(asked, measured)) for asked in study.figures}
    plots = [spec for specs in drawn.values() for spec in specs]
    cells = list(_list_cells(measured, plots, is_brief=not parts))
    notes = [
        f"Excluded in {n} of {measured.runs} runs: {text}." for text, n in measured.excluded.items()
    ]
    alone = [name for name, part in contrasts.items() if part is None]
    notes += [f"{name}: only one group was measured." for name in alone]
    notes += [f"{name}: no set has both values." for name, specs in drawn.items() if not specs]
    return Report(
        kind=f"study, profile {profile}",
        headline=study.title,
        figures=[
            *_list_figures(measured),
            *(
                Figure({"of": f"runs without {t}"}, "count", n)
                for t, n in measured.excluded.items()
            ),
            *(f for figures, _ in parts for f in figures),
        ],
        sections=[*cells, *(section for _, section in parts)],
        about=study.text.strip().removesuffix("."),
        method=_METHOD,
        notes=notes,
        source=", ".join(sources),
        warnings=busy_notes(measured.loads),
    )


Part = tuple[list[Figure], Section]


def _make_part(
    figures: list[Figure], layout: TableLayout, confidence: float = 0.95, note: str = ""
) -> Part:
    """The figures of one table, with the table."""
    (section,) = sections_of(figures, [layout], confidence, note)
    return figures, section


def _list_figures(measured: Gathered) -> Iterator[Figure]:
    """The mean, and whatever else is known, of each process of each cell."""
    for cell in measured.cells:
        for name, keys, values, unit in cell.all_figures():
            for process, value in enumerate(values, 1):
                yield Figure({**keys, "process": process}, name, float(value), unit=unit)


def _list_cells(
    measured: Gathered, plots: Sequence[PlotSpec], *, is_brief: bool
) -> Iterator[Section]:
    """A table for each operation; the plots are at the first."""
    telling: list[str] = []
    for name in _TELLING:
        texts = [{c.texts(names) for c in measured.cells} for names in (telling, [*telling, name])]
        if len(texts[1]) > len(texts[0]):
            telling.append(name)
    telling = telling or ["implementation"]
    rows = [name for name in telling if name != "operation"] or ["implementation"]
    by_unit: dict[str, list[Figure]] = {}
    for cell in sorted(measured.cells, key=lambda c: (*c.texts(telling[:-1]), c.middle)):
        keys, figures = cell.keys(("operation", *rows)), by_unit.setdefault(cell.unit, [])
        costs = (cell.middle, float(cell.means.min()), float(cell.means.max()))
        for statistic, cost in zip(_STATISTICS, costs, strict=True):
            figures.append(Figure({**keys, "statistic": statistic}, "mean", cost, unit=cell.unit))
        figures.append(Figure({**keys, "of": "processes"}, "count", len(cell.means)))
    columns = [SpreadColumns("mean", name, keys={"statistic": name}) for name in _STATISTICS]
    columns.append(SpreadColumns("count", "processes", keys={"of": "processes"}))
    layout = TableLayout(
        "Costs of {operation}", ("operation",), tuple(map(choose_key, rows)), tuple(columns)
    )
    for figures in by_unit.values():
        for one in sections_of(figures, [layout], 0.95, "means of processes", is_brief=is_brief):
            yield Section(one.grid, one.table, tuple(plots), is_brief)
            plots = ()


def _compare_groups(contrast: Contrast, measured: Gathered) -> Part | None:
    """Return the comparison of groups within each place; None where there is only one group."""
    where = f"contrast {contrast.name!r}"
    with located(where):
        places = measured.arranged(contrast.where, contrast.within, contrast.between)
    figures: list[Figure] = []
    for place in places.values():
        # The same pairs everywhere, whatever the order of the records.
        groups = dict(sorted(place.items()))
        cells = list(groups.values())
        for label, cell in groups.items():
            if cell.unit != cells[0].unit:
                raise LabError(f"{where}: {label} costs {cell.unit}, others {cells[0].unit}")
        keys = {"contrast": contrast.name, **cells[0].keys(contrast.within)}
        values = {
            label: cell.rounds if contrast.replicates == "rounds" else cell.means
            for label, cell in groups.items()
        }
        figures += compare_groups(values, keys, contrast.tests, contrast.alpha, contrast.replicates)
    if not figures:
        return None
    within = [choose_key(field) for field in contrast.within]
    varying = [n for n in within if len({f.keys[n] for f in figures}) > 1]
    rows = (*varying, "first", "second")
    split = ("contrast", *(n for n in within if n not in varying))
    columns = (
        SpreadColumns("ratio", "ratio", spare_interval=3),
        SpreadColumns("delta", "delta", spare=2),
        *(SpreadColumns("p_value", t.title(), spare=1, keys={"test": t}) for t in contrast.tests),
        SpreadColumns("ratio", "finding", show=NOTES),
    )
    note = f"{_REPLICATES[contrast.replicates]}; p-values, of pairs after Bonferroni; "
    layout = TableLayout("{contrast}", split, rows, columns)
    return _make_part(figures, layout, 1 - contrast.alpha, f"{note}α {contrast.alpha:g}")


def _tabulate_costs(asked: CostsAsked, measured: Gathered) -> Part | None:
    """Return a figure of cells, with a column for each text of the fields ``columns``.

    Rows that begin alike are next to each other, in the order of the first.
    """
    with located(f"table {asked.name!r}"):
        arranged = measured.arranged(asked.where, asked.rows, asked.columns)
    if not arranged:
        return None
    texts = [list(dict.fromkeys(column)) for column in zip(*arranged, strict=True)]
    name, more = identify_figure(asked.figure)
    figures: list[Figure] = []
    units: dict[str, str] = {}
    columns: dict[str, SpreadColumns] = {}
    for row in sorted(arranged, key=lambda row: tuple(map(list.index, texts, row))):
        for label, cell in arranged[row].items():
            unit = cell.choose_unit(asked.figure)
            if units.setdefault(label, unit) != unit:
                both = " and ".join(sorted((unit, units[label])))
                raise LabError(f"table {asked.name!r}: {label}: costs in {both}")
            keys = {"table": asked.name, **cell.keys((*asked.rows, *asked.columns)), **more}
            figures.append(Figure(keys, name, cell.figure(asked.figure), unit=unit))
            title = (label or asked.figure).translate(_ESCAPED)
            own = cell.keys(asked.columns) | more
            columns.setdefault(label, SpreadColumns(name, title, keys=own))
    rows = tuple(map(choose_key, asked.rows))
    layout = TableLayout("{table}", ("table",), rows, tuple(columns.values()))
    note = _NOTES.get(asked.figure, f"{asked.figure} of one operation, median over the processes")
    if asked.figure in METRICS and not any(f.value is not None for f in figures):
        return None  # not measured
    return _make_part(figures, layout, note=note)


_MEAN: Mapping[str, Key] = {"statistic": "mean"}
_ESCAPED = str.maketrans({"{": "{{", "}": "}}"})
"""For names in the title of a column."""


def _tabulate_sizes(asked: SizesAsked, measured: Gathered) -> Part:
    """The bytes of the objects of the sets asked for, else of those measured."""
    present = {cell.fields["set"] for cell in measured.cells}
    names = parse_set_names(asked.sets) or [name for name in ALL_SETS if name in present]
    figures = []
    for name in names:
        for size in sizes(name):
            own = {"set": name, "object": size.object, "encoding": size.encoding}
            keys: dict[str, Key] = {"table": asked.name, **own}
            most = Figure(keys, "bytes", size.bytes, unit="B", kind="exact", source=size.source)
            mean = replace(most, keys={**keys, **_MEAN}, value=size.mean)
            figures += [most, mean] if size.mean else [most]
    rows = ("set", "object", "encoding", "source")
    columns = (SpreadColumns("bytes", "bytes"), SpreadColumns("bytes", "mean", keys=_MEAN))
    layout = TableLayout("{table}", ("table",), rows, columns)
    shown = [replace(f, keys={**f.keys, "source": f.source}, unit="") for f in figures]
    return figures, _make_part(shown, layout, note="the most where they vary")[1]
