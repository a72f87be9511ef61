"""The tables of `study rtl`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.format import MISSING, Shown, estimate, number
from mldsa_lab.show.grid import Column, Grid, markdown
from mldsa_lab_rtl.study import LOADED, PHASES, RANDOM_MEAN, TOTAL, CoreRow, at
from mldsa_lab_rtl.study_published import PUBLISHED, PUBLISHED_FIGURES
from mldsa_lab_rtl.synth import Resources, Taken

_FIGURES = {
    "keygen": "key generation", "sign_best": "signing, best", "sign_mean": "signing, mean",
    "sign_p50": "signing, p50", "sign_p95": "signing, p95", "sign_p99": "signing, p99",
    "verify": "verification",
}  # fmt: skip
BESIDE = "beside what was published"
"""The title of the table whose rows have sources."""
_SLOPES = {"per_z": "z", "per_r0": "r0", "per_hint": "hint"}
_MANY = (1, 10, 100)
"""Signatures under one key that are compared."""


@dataclass(frozen=True)
class CoreFindings:
    """Rows of cores, and what synthesis found of some of them."""

    rows: Sequence[CoreRow]
    resources: Sequence[Resources]
    confidence: float

    @property
    def cores(self) -> list[tuple[str, str]]:
        """Name and configuration of each core."""
        return list(dict.fromkeys((r.core, r.configuration) for r in self.rows))

    def grids(self) -> list[Grid]:
        """All tables."""
        made = [self._latency(core) for core in self.cores]
        made += [self._slopes(), *self._several()]
        made.append(self._random())
        made += resource_grids(self.resources)
        made.append(self._literature())
        if product := self._product():
            made.append(product)
        return [grid for grid in made if grid.rows]

    def as_markdown(self) -> str:
        """The tables as Markdown."""
        tables = [f"**{g.title}** ({g.note})\n\n{markdown(g)}" for g in self.grids()]
        return "\n".join([*tables, *(f"- {source}" for source in self.sources())]) + "\n"

    def _shown(self, *place: object) -> Shown | str:
        row = at(self.rows, *place)  # type: ignore[arg-type]
        return MISSING if row is None else _shown(row)

    def _grid(self, title: str, note: str, *columns: Column) -> Grid:
        return Grid(title, note, columns, self.confidence)

    def _latency(self, core: tuple[str, str]) -> Grid:
        """Every operation in every set, split by phase."""
        listed = [
            (s, figure)
            for s in PARAMETER_SETS
            for figure in _FIGURES
            if at(self.rows, core, s, figure) is not None
        ]
        phases = (
            Column(phase, [self._shown(core, s, f, phase) for s, f in listed], number=True)
            for phase in (TOTAL, *PHASES)
        )
        return self._grid(
            " ".join(core), "cycles; signing with the private key handed over",
            Column("set", [s for s, _ in listed], head=True),
            Column("operation", [_FIGURES[f] for _, f in listed]),
            *phases,
        )  # fmt: skip

    def _places(self, figure: str = "sign_mean") -> list[tuple[tuple[str, str], str]]:
        """Cores and sets that have the figure."""
        return [
            (core, s)
            for s in PARAMETER_SETS
            for core in self.cores
            if at(self.rows, core, s, figure) is not None
        ]

    def _slopes(self) -> Grid:
        """What a rejected attempt costs, by the check that refused it."""
        places = self._places()
        columns = (
            Column(title, [self._shown(c, s, f"sign_{name}") for c, s in places], number=True)
            for name, title in _SLOPES.items()
        )
        return self._grid(
            "a rejected attempt", "cycles, by the first check that fails", *_heads(places), *columns
        )

    def _random(self) -> Grid:
        """The mean of random signatures beside the exact one."""
        places = self._places(RANDOM_MEAN)
        return self._grid(
            "random signatures", "mean cycles; the exact mean has to lie within their interval",
            *_heads(places),
            Column("exact mean", [self._shown(c, s, "sign_mean") for c, s in places], True),
            Column("random ones", [self._shown(c, s, RANDOM_MEAN) for c, s in places], True),
        )  # fmt: skip

    def _several(self) -> list[Grid]:
        """Signatures under one key, loaded once or each time."""
        places = [p for p in self._places() if at(self.rows, *p, f"sign{LOADED}_mean") is not None]

        def each(core: tuple[str, str], s: str, count: int) -> str:
            again = at(self.rows, core, s, "sign_mean")
            once = at(self.rows, core, s, f"sign{LOADED}_mean")
            assert again is not None and once is not None
            return number((again.cycles - once.cycles) / count + once.cycles, 0)

        columns = (
            Column(f"{count} after one load", [each(c, s, count) for c, s in places], number=True)
            for count in _MANY[1:]
        )
        grid = self._grid(
            "signatures under one key", "mean cycles of each",
            *_heads(places),
            Column("loaded each time", [self._shown(c, s, "sign_mean") for c, s in places], True),
            *columns,
            Column("key stays", [self._shown(c, s, f"sign{LOADED}_mean") for c, s in places], True),
        )  # fmt: skip
        return [grid] if places else []

    @property
    def _sets(self) -> list[str]:
        return [s for s in PARAMETER_SETS if any(row.set == s for row in self.rows)]

    def sources(self) -> list[str]:
        """Those of the published figures of these sets, by their letters."""
        used = {p.source for p in PUBLISHED if p.set in self._sets}
        return [f"[{_letter(source)}] {source}" for source in _SOURCES if source in used]

    def _own(self, core: tuple[str, str], s: str) -> list[float | None]:
        rows = (at(self.rows, core, s, figure) for figure in PUBLISHED_FIGURES)
        return [None if row is None else row.cycles for row in rows]

    def _literature(self) -> Grid:
        """Ours beside what was published."""
        lines: list[tuple[str, str, list[float | None], str, str, str]] = []
        for s in self._sets:
            for core in self.cores:
                of = self._of(core)
                area = _area((of.lut, of.ff, of.dsp, of.bram)) if of else MISSING
                lines.append((s, " ".join(core), self._own(core, s), area, MISSING, "this run"))
            for p in PUBLISHED:
                if p.set == s:
                    area = _area(p.area) if p.area else MISSING
                    source = f"[{_letter(p.source)}]"
                    lines.append((s, p.core, [*p.cycles], area, number(p.fmax, 0), source))
        figures = (
            Column(_FIGURES[figure], [number(line[2][n], 0) for line in lines], True)
            for n, figure in enumerate(PUBLISHED_FIGURES)
        )
        return self._grid(
            BESIDE, "cycles; constants, each with its source",
            Column("set", [line[0] for line in lines], head=True),
            Column("core", [line[1] for line in lines]),
            *figures,
            Column("LUT/FF/DSP/BRAM", [line[3] for line in lines], spare=1),
            Column("fmax, MHz", [line[4] for line in lines], True, spare=1),
            Column("source", [line[5] for line in lines]),
        )  # fmt: skip

    def _of(self, core: tuple[str, str]) -> Taken | None:
        return next((r.total for r in self.resources if (r.core, r.configuration) == core), None)

    def _product(self) -> Grid | None:
        """Cycles times LUTs; of the literature those of the set, or of a core that has one area
        for all sets."""
        if not self.resources:
            return None
        lines: list[tuple[str, str, float, list[float | None]]] = []
        for s in self._sets:
            for core in self.cores:
                if (taken := self._of(core)) is not None:
                    lines.append((s, " ".join(core), taken.lut, self._own(core, s)))
            for name in dict.fromkeys(p.core for p in PUBLISHED if p.set == s):
                of = [p for p in PUBLISHED if (p.core, p.set) == (name, s)]
                area = next((p.area for p in of if p.area), None)
                known = [
                    next((p.cycles[n] for p in of if p.cycles[n] is not None), None)
                    for n in range(len(PUBLISHED_FIGURES))
                ]
                if area is not None:
                    lines.append((s, name, area[0], [*known]))
        columns = (
            Column(_FIGURES[figure], [_product(line[3][n], line[2]) for line in lines], True)
            for n, figure in enumerate(PUBLISHED_FIGURES)
        )
        return self._grid(
            "latency x area", "millions of cycles x LUTs, less is better",
            Column("set", [line[0] for line in lines], head=True),
            Column("core", [line[1] for line in lines]),
            *columns,
        )  # fmt: skip


_SOURCES = tuple(dict.fromkeys(p.source for p in PUBLISHED))


def _letter(source: str) -> str:
    return "abcdefgh"[_SOURCES.index(source)]


def _product(cycles: float | None, luts: float) -> str:
    return number(None if cycles is None else cycles * luts / 1e6, 1)


def _shown(row: CoreRow) -> Shown:
    if row.cycles_low == row.cycles_high:  # the same for every input
        return Shown(number(row.cycles, 0), number=row.cycles)
    return estimate(Interval(row.cycles, row.cycles_low, row.cycles_high))


def _heads(places: Sequence[tuple[tuple[str, str], str]]) -> tuple[Column, Column]:
    return (
        Column("set", [s for _, s in places], head=True),
        Column("core", [" ".join(core) for core, _ in places]),
    )


def _area(of: tuple[float, float, float, float]) -> str:
    return " / ".join(f"{value:g}" for value in of)


def resource_grids(found: Sequence[Resources]) -> list[Grid]:
    """What cores take, as wholes and by module."""
    if not found:
        return []
    whole = Grid(
        "resources", f"{found[0].target}, by {', '.join(found[0].tools.values())}",
        (
            Column("core", [f"{r.core} {r.configuration}" for r in found], head=True),
            *_taken([r.total for r in found]),
        ),
    )  # fmt: skip
    return [whole, *map(_modules, found)]


def _taken(of: Sequence[Taken]) -> tuple[Column, ...]:
    return (
        Column("LUT", [number(t.lut, 0) for t in of], True),
        Column("memory", [number(t.memory, 0) for t in of], True),
        Column("cells", [number(t.cells, 0) for t in of], True),
        Column("FF", [number(t.ff, 0) for t in of], True),
        Column("DSP", [number(t.dsp, 0) for t in of], True),
        Column("BRAM", [number(t.bram, 1) for t in of], True),
    )


def _modules(of: Resources) -> Grid:
    rows = of.modules
    return Grid(
        f"{of.core} {of.configuration} by module", "without the modules within each",
        (
            Column("module", [m.module for m in rows], head=True),
            Column("instances", [str(m.instances) for m in rows], True),
            *_taken([m.taken for m in rows]),
        ),
    )  # fmt: skip
