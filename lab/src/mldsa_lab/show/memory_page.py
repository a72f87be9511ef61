"""What operations take of memory as one self-contained page, in the style of a run's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from mldsa_lab.records import Run
from mldsa_lab.show import plots, svg
from mldsa_lab.show.format import Unit, clean, plain
from mldsa_lab.show.grid import Dot, Grid, heading
from mldsa_lab.show.memory import KIB, MemoryLine, grids, remarks
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.sizes import OBJECTS, raw_bytes

_WIDTH = 380.0
_NUMBER = Unit(1.0, "")
_FEW = 2
"""Sizes of batches below which no curve is drawn."""

Parts = dict[str, Callable[[MemoryLine], float | None]]

_TAKEN: Parts = {
    "stack": lambda line: line.stack,
    "heap": lambda line: line.heap,
    "key made ready": lambda line: line.kept or 0,
}
_MOVED: Parts = {"read": lambda line: line.read, "written": lambda line: line.written}
_MISSED: Parts = {
    "misses of 32 KiB alone": lambda line: (
        None
        if line.first_misses is None or line.last_misses is None
        else line.first_misses - line.last_misses
    ),
    "misses of 1 MiB too": lambda line: line.last_misses,
}


@dataclass(frozen=True)
class MemoryPanel:
    """A plot with its title and its colours' names."""

    title: str
    picture: Markup
    legend: tuple[tuple[str, Dot], ...] = ()


@dataclass(frozen=True)
class SetSection:
    """A parameter set: of each operation its plots, and the table."""

    name: str
    operations: list[tuple[str, list[MemoryPanel]]]
    grid: Grid


def render(listed: Sequence[MemoryLine], run: Run, record: str) -> str:
    """The page as text; ``record``: the file, as the page names it."""
    sections = []
    for number, grid in enumerate(grids(listed)):
        name = grid.title.rpartition(" ")[2]
        of_set = [line for line in listed if line.set == name]
        operations = {
            o: list(_panels(name, o, [line for line in of_set if line.operation == o], number))
            for o in dict.fromkeys(line.operation for line in of_set)
        }
        drawn = [(o, panels) for o, panels in operations.items() if panels]
        sections.append(SetSection(name, drawn, grid))
    script = asset("page.js")
    return templates("mldsa_lab.show").get_template("memory.html.j2").render(
        sections=sections, remarks=remarks(listed), run=run, record=record, heading=heading,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _panels(
    name: str, operation: str, listed: Sequence[MemoryLine], number: int
) -> Iterator[MemoryPanel]:
    single = [line for line in listed if line.single]
    of = f"{name} {operation}"
    for place, (title, parts, unit, beside) in enumerate(
        (
            ("Stack, heap and key", _TAKEN, KIB, True),
            ("Read and written", _MOVED, KIB, True),
            ("Misses of simulated caches", _MISSED, _NUMBER, False),
        )
    ):
        bars = [bar for line in single if (bar := _bar(line, parts, unit))]
        if not bars:
            continue
        colours = {part: Dot(i) for i, part in enumerate(parts)}
        if beside and (artefacts := _artefacts(name, len(parts))):
            bars.insert(0, artefacts)
            there = [o for o in OBJECTS if raw_bytes(name, o)]
            colours |= {o: Dot(len(parts) + i) for i, o in enumerate(there)}
        with svg.drawing():
            figure = plots.amounts(bars, unit.name or "number", _WIDTH)
        yield _panel(title, figure, f"m{number}-{operation}-{place}", of, tuple(colours.items()))
    curves = _curves([line for line in listed if not line.single])
    if curves:
        with svg.drawing():
            figure = plots.curves(curves, "operations of a call", "KiB of one", _WIDTH)
        yield _panel("Heap of batches", figure, f"m{number}-{operation}-batch", of)


def _panel(
    title: str, figure: Figure, name: str, of: str, legend: tuple[tuple[str, Dot], ...] = ()
) -> MemoryPanel:
    return MemoryPanel(title, Markup(svg.to_svg(figure, name, clean(f"{of}: {title}"))), legend)


def _label(line: MemoryLine) -> str:
    built = f" {line.build}" if line.build not in (None, "default") else ""
    expanded = ", expanded" if line.key == "expanded" else ""
    return f"{line.implementation} {line.backend}{built}{expanded}"


def _bar(line: MemoryLine, parts: Parts, unit: Unit) -> plots.PartedBar | None:
    """A line of a plot; None where a figure is lacking."""
    values = [part(line) for part in parts.values()]
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return None
    drawn = tuple((svg.series(i), svg.ON_DARK, unit.shown(v)) for i, v in enumerate(known))
    return plots.PartedBar(_label(line), plain(sum(known), unit), drawn)


def _artefacts(name: str, first: int) -> plots.PartedBar | None:
    """The bar of what is stored and sent: keys, signature, ciphertext; None if a set has none."""
    sizes = [size for size in (raw_bytes(name, o) for o in OBJECTS) if size]
    if not sizes:
        return None
    drawn = tuple((svg.series(first + i), svg.ON_DARK, KIB.shown(s)) for i, s in enumerate(sizes))
    return plots.PartedBar("what is stored and sent", plain(sum(sizes), KIB), drawn)


def _curves(listed: Sequence[MemoryLine]) -> list[plots.DottedCurve]:
    """Of one thread, the heap of an operation over the size of its batch."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in listed:
        if line.threads == 1 and line.heap_each:
            found.setdefault(_label(line), []).append((line.batch_size, KIB.shown(line.heap_each)))
    return [
        plots.DottedCurve(label, i, "-", [x for x, _ in points], [y for _, y in points])
        for i, (label, points) in enumerate(found.items())
        if len(points) >= _FEW
    ]
