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
    for title, rows in tables.items():
        found = [Figure({**k, "of": of}, "share", v) for k, row in rows for of, v in row.items()]
        titles = dict.fromkeys(of for _, row in rows for of in row)
        columns = tuple(SpreadColumns("share", t, keys={"of": t}) for t in titles)
        layout = TableLayout(title, (), tuple(rows[0][0]), columns)
        sections += sections_of(found, [layout], 0.95)
        figures += found
    return Report(kind, headline, figures, sections, about=about)
