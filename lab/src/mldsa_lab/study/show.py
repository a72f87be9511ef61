"""What a study found: tables, page and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mldsa_lab.show.format import MISSING, choose_unit, clean, estimate, plain
from mldsa_lab.show.grid import Column, Grid, markdown
from mldsa_lab.study.cells import Gathered, StudyCell
from mldsa_lab.study.contrast import GroupTest, PairTest, compare_groups
from mldsa_lab.study.file import Contrast, Effort, StudyFile
from mldsa_lab.study.luck import LuckOfPair, luck_grid, luck_of
from mldsa_lab.study.tables import CostTable, SizeTable, place_columns

_TOLD = (
    "set", "operation", "message_bytes", "threads", "batch_size", "mode", "implementation",
    "backend", "key", "build", "worker", "version", "language",
)  # fmt: skip

_AS = {
    "processes": "processes as replicates",
    "rounds": "rounds as replicates, which are not independent of each other",
}

FORMAT = "mldsa-lab study result"
VERSION = 1


@dataclass(frozen=True)
class StudyFindings:
    """A study with what was measured and found: each contrast with its groups, the tables asked
    for."""

    study: StudyFile
    profile: str
    amount: Effort
    measured: Gathered
    contrasts: tuple[tuple[Contrast, tuple[GroupTest, ...]], ...]
    luck: tuple[tuple[Contrast, list[tuple[GroupTest, LuckOfPair]]], ...]
    tables: tuple[CostTable | SizeTable, ...]

    @classmethod
    def of(cls, study: StudyFile, profile: str, measured: Gathered) -> StudyFindings:
        """LabError if a contrast of the study finds nothing to compare, or a table no cells."""
        found = tuple((c, tuple(compare_groups(c, measured))) for c in study.contrasts)
        luck = tuple((c, [(o, k) for o in of for k in luck_of(c, o)]) for c, of in found)
        tables = [CostTable.of(asked, measured) for asked in study.tables]
        weights = [SizeTable.of(asked, measured) for asked in study.sizes]
        amount = study.amount(profile)
        return cls(study, profile, amount, measured, found, luck, (*tables, *weights))

    def as_json(self) -> dict[str, Any]:
        """The object of `study.json`; docs/studies.md describes it."""
        return {
            **head_json(self.study, self.profile),
            "cells": self.measured.as_json(),
            "left_out": self.left_out,
            "contrasts": [
                {
                    "name": contrast.name,
                    "alpha": contrast.alpha,
                    "replicates": contrast.replicates,
                    "groups": [_group_json(contrast, one) for one in tests],
                }
                for contrast, tests in self.contrasts
            ],
            "random_messages": [
                {
                    "contrast": contrast.name,
                    "within": dict(zip(contrast.within, one.within, strict=True)),
                    "groups": list(luck.pair.groups),
                    "messages": luck.messages,
                    "slower": luck.slower,
                    "faster": luck.faster,
                    "width": luck.width,
                    "designed": luck.designed,
                }
                for contrast, rows in self.luck
                for one, luck in rows
            ],
            "tables": [table.as_json() for table in self.tables],
        }

    def as_markdown(self) -> str:
        """The tables as Markdown."""
        parts = [f"## {grid.title}\n{grid.note}\n\n{markdown(grid)}" for grid in self.grids()]
        parts += [f"- {clean(text)}" for text in self.left_out]
        return "\n".join(parts)

    @property
    def left_out(self) -> list[str]:
        """Who was left out, why and how often, in sentences."""
        runs = len(self.measured.summaries)
        found = self.measured.left_out.items()
        return [f"left out in {times} of {runs} runs: {text}" for text, times in found]

    def grids(self) -> list[Grid]:
        """The tables of the contrasts, those asked for, then that of the cells."""
        made = [_contrast(contrast, tests) for contrast, tests in self.contrasts]
        made += [luck_grid(contrast, rows) for contrast, rows in self.luck if rows]
        made += [table.grid() for table in self.tables]
        return [*made, _cells(self.measured.cells, self.amount.processes)]


def head_json(study: StudyFile, profile: str) -> dict[str, Any]:
    """What `study.json` begins with."""
    return {"format": FORMAT, "version": VERSION, "title": study.title, "profile": profile}


def _group_json(contrast: Contrast, one: GroupTest) -> dict[str, Any]:
    return {
        "within": dict(zip(contrast.within, one.within, strict=True)),
        "kruskal": one.kruskal,
        "least": one.least,
        "pairs": [
            {
                "groups": list(pair.groups),
                "ratio": list(pair.ratio),
                "delta": pair.delta,
                "p": pair.p,
                "dunn": pair.dunn,
                "verdict": verdict(contrast, one, pair),
            }
            for pair in one.pairs
        ],
    }


def verdict(contrast: Contrast, one: GroupTest, pair: PairTest) -> str:
    """Which of a pair is slower, as far as the tests asked for show it."""
    if pair.p is None and pair.dunn is None and len(one.groups) > 2:
        return "no test of pairs"
    if pair.p is not None and one.least > one.alpha:
        return f"too few {contrast.replicates} to tell"
    if max(p for p in (pair.p, pair.dunn, one.kruskal) if p is not None) > one.alpha:
        return "no difference seen"
    return f"{pair.groups[0 if pair.ratio.value > 1 else 1]} is slower"


def _contrast(contrast: Contrast, tests: Sequence[GroupTest]) -> Grid:
    rows = [(one, pair) for one in tests for pair in one.pairs]
    columns = place_columns(contrast, [one for one, _ in rows])
    columns.append(Column("groups", [f"{p.groups[0]} / {p.groups[1]}" for _, p in rows], head=True))
    columns.append(Column("ratio", [estimate(p.ratio) for _, p in rows], number=True))
    columns.append(Column("delta", [f"{p.delta:+.2f}" for _, p in rows], number=True, spare=2))
    for name, title, values in (
        ("mann-whitney", "Mann-Whitney", [p.p for _, p in rows]),
        ("kruskal-wallis", "Kruskal-Wallis", [one.kruskal for one, _ in rows]),
        ("dunn", "Dunn", [p.dunn for _, p in rows]),
    ):
        if name in contrast.tests:
            columns.append(Column(title, [_chance(v) for v in values], number=True, spare=1))
    columns.append(Column("finding", [verdict(contrast, one, pair) for one, pair in rows]))
    return Grid(
        contrast.name,
        f"{_AS[contrast.replicates]}; p-values, of pairs after Bonferroni; α {contrast.alpha:g}",
        tuple(columns), 1 - contrast.alpha,
    )  # fmt: skip


def _chance(p: float | None) -> str:
    if p is None:
        return MISSING
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def _cells(cells: Sequence[StudyCell], processes: int) -> Grid:
    """The median over the processes, and the least and the largest mean."""
    told: list[str] = []
    for name in _TOLD:
        if len({c.told([*told, name]) for c in cells}) > len({c.told(told) for c in cells}):
            told.append(name)
    told = told or ["implementation"]
    ordered = sorted(cells, key=lambda c: (*c.told(told[:-1]), c.middle))
    units = [choose_unit([float(c.means.min())], c.unit) for c in ordered]
    costs = {
        "mean": [c.middle for c in ordered],
        "least": [float(c.means.min()) for c in ordered],
        "largest": [float(c.means.max()) for c in ordered],
    }
    columns = [
        Column(name.replace("_", " "), [c.fields[name] for c in ordered], head=name == told[-1])
        for name in told
    ]
    columns += [
        Column(title, [plain(v, unit) for v, unit in zip(values, units, strict=True)], number=True)
        for title, values in costs.items()
    ]
    columns.append(Column("unit", [unit.name for unit in units]))
    if len({len(c.means) for c in ordered}) > 1:
        columns.append(Column("processes", [str(len(c.means)) for c in ordered], number=True))
    note = f"median of the means of {processes} processes, the least and the largest"
    return Grid("Cells", note if processes > 1 else "means of one process", tuple(columns))
