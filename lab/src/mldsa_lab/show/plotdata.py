"""From tables and fits to the plain data that the plots take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.show.elsewhere import Elsewhere, colours
from mldsa_lab.show.format import Unit, plain
from mldsa_lab.show.plots import GRID, PERCENTILES, Bar, Cloud, Curve, Mark
from mldsa_lab.show.view import Table, TableLine, View
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel

SAVES = 0.9
"""An expanded key has a curve of its own where it costs less than this share of the compact one."""
SHARES = np.unique(np.append(1 - 10.0**-GRID, PERCENTILES).clip(1e-12))
"""The shares of signatures that a distribution plot asks for, ascending."""


def marks(table: Table, figure: str) -> list[Mark]:
    """The lines of a ranking by ``mean`` or ``ratio``."""
    scale = 1 / table.unit.divisor if figure == "mean" else 1.0
    made = []
    for n in table.lines:
        if (found := n.row.interval(figure)) is not None:
            found = found.times(scale)
            text = (n.mean if figure == "mean" else n.ratio).value
            hollow = n.row.key == "expanded"
            made.append(Mark(n.label, n.colour, hollow, found.value, found.low, found.high, text))
    return made


def fitted(view: View, table: Table) -> list[tuple[TableLine, Fit]]:
    """The lines of a signing table that have a fit, fastest first."""
    pairs = []
    for line in table.lines:
        fit = view.summary.fits.get((line.row.variant, table.set))
        if fit is not None:
            pairs.append((line, fit))
    return pairs


def chosen(pairs: Sequence[tuple[TableLine, Fit]]) -> list[tuple[TableLine, Fit]]:
    """For the distribution plot, where a curve for every variant would be a thicket: of each
    implementation the fastest variant with a compact key, and that with an expanded one if there
    is no other or if it saves enough; of the default build where both were measured."""
    kept: list[tuple[TableLine, Fit]] = []
    for name in dict.fromkeys(line.row.implementation for line, _ in pairs):
        every = [p for p in pairs if p[0].row.implementation == name]
        mine = [p for p in every if not p[0].row.again] or every
        compact = next((p for p in mine if p[0].row.key == "compact"), None)
        expanded = next((p for p in mine if p[0].row.key != "compact"), None)
        if compact is not None:
            kept.append(compact)
        if expanded is not None:
            limit = SAVES * (compact[0].row.mean or 0.0) if compact else float("inf")
            if (expanded[0].row.mean or 0.0) < limit:
                kept.append(expanded)
    return kept


def cloud(fit: Fit, set_name: str, unit: Unit) -> Cloud:
    """Measured cost of the designed inputs and the fit through them."""
    counts = np.asarray(fit.counts, dtype=np.float64)
    rejected = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # What fails the hint has passed r0 and cost as much: it counts with r0.
        share = np.where(rejected > 0, (rejected - counts[:, 0]) / rejected, np.nan)
    base, cost_z, cost_r, _ = (float(c) / unit.divisor for c in fit.attempt_costs)
    expected = RejectionModel.of(set_name).expected_counts
    return Cloud(
        attempts=rejected + 1, share_r0=share,
        cost=fit.cost / unit.divisor,
        base=base, cost_z=cost_z, cost_r0=cost_r,
        expected_z=float(expected[0]), expected_r0=float(expected[1] + expected[2]),
    )  # fmt: skip


def curves(pairs: Sequence[tuple[TableLine, Fit]], unit: Unit) -> list[Curve]:
    """The law of each signer's cost, with the scatter that its percentiles include."""
    return [_curve(line, fit.law(), unit.divisor) for line, fit in pairs]


def _curve(line: TableLine, law: Law, scale: float, label: str = "") -> Curve:
    costs, expanded = law.curve(SHARES) / scale, line.row.key == "expanded"
    return Curve(label or line.label, line.colour, expanded, costs, SHARES)


def relative_curves(
    measured: Sequence[Elsewhere], views: Sequence[View], set_name: str
) -> list[Curve]:
    """Laws in units of each one's mean: of what was measured elsewhere, and of each
    implementation's best variant."""
    made = []
    for entry, colour in zip(measured, colours(measured), strict=True):
        if entry.found.set == set_name:
            costs = entry.figures.fit.law().curve(SHARES) / entry.figures.mean.value
            made.append(Curve(entry.name, colour, False, costs, SHARES))
    for place, view in enumerate(views):
        table = view.table(set_name, "sign")
        for line, fit in chosen(fitted(view, table)) if table else ():
            run = f", run {chr(65 + place)}" if len(views) > 1 else ""
            made.append(_curve(line, fit.law(), line.row.mean or 1.0, line.label + run))
    return made


def bars(pairs: Sequence[tuple[TableLine, Fit]], set_name: str, unit: Unit) -> list[Bar]:
    """The mean's parts. The fit cannot part set-up from the one successful attempt that every
    signature has; that attempt does at least what an r0-rejected one does, and counts as that."""
    n_z, n_r, n_h = (float(n) for n in RejectionModel.of(set_name).expected_counts)
    made = []
    for line, fit in pairs:
        base, cost_z, cost_r, cost_h = (float(c) / unit.divisor for c in fit.attempt_costs)
        final = min(cost_r, base)
        made.append(
            Bar(
                line.label, base - final, final, n_z * cost_z, n_r * cost_r + n_h * cost_h,
                f"{plain(line.row.mean, unit)} {unit.name}",
            )
        )  # fmt: skip
    return made
