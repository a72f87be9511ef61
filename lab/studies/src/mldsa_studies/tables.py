"""Reports of studies whose figures are all shares or relative errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.report import Report, sections_of

Row = tuple[Mapping[str, Key], Mapping[str, float]]
"""The keys of a row, and its fractions by the titles of their columns."""


def percent_report(
    kind: str,
    headline: str,
    tables: Mapping[str, Sequence[Row]],
    about: str = "",
) -> Report:
    """Return a report of tables by their titles, fractions in percent. The figures are ``share``s,
    and their key ``of`` is the title of the column."""
    figures, sections = [], []
    for heading, rows in tables.items():
        result = [
            Figure({**keys, "of": title}, "share", value)
            for keys, row in rows
            for title, value in row.items()
        ]
        titles = dict.fromkeys(title for _, row in rows for title in row)
        columns = tuple(SpreadColumns("share", t, keys={"of": t}) for t in titles)
        layout = TableLayout(heading, (), tuple(rows[0][0]), columns)
        sections += sections_of(result, [layout], 0.95)
        figures += result
    return Report(kind, headline, figures, sections, about=about)
