"""Reports of studies whose figures are all shares or relative errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.report import Report, sections_of

Row = tuple[Mapping[str, Key], Mapping[str, float]]
"""The keys of a row, and its fractions by the titles of their columns."""


def percent_report(
    kind: str, headline: str, tables: Mapping[str, Sequence[Row]], about: str = ""
) -> Report:
    """Return a report of tables by their titles, fractions in percent."""
    figures, sections = [], []
    for title, rows in tables.items():
        found = [Figure(k, name, 100 * v, unit="%") for k, of in rows for name, v in of.items()]
        columns = tuple(SpreadColumns(n, n) for n in dict.fromkeys(f.name for f in found))
        layout = TableLayout(title, (), tuple(rows[0][0]), columns)
        sections += sections_of(found, [layout], 0.95)
        figures += found
    return Report(kind, headline, figures, sections, about=about)
