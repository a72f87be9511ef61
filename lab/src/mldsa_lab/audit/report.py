"""Findings for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.audit.audit import NONE, Audited
from mldsa_lab.audit.verdict import Judgement, Verdict

FORMAT = "mldsa-lab audit"
VERSION = 1

_LISTED = 6  # claims that are named where many say the same
_STYLES = {
    Verdict.CONSISTENT: "green",
    Verdict.UNDECIDABLE: "cyan",
    Verdict.IMPLAUSIBLE: "yellow",
    Verdict.CONTRADICTION: "bold red",
}


def as_json(audits: Sequence[Audited]) -> dict[str, Any]:
    """The object that `--json` writes; docs/audit.md describes it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sources": [_source(audited) for audited in audits],
        "counts": {v.value: sum(a.counts[v] for a in audits) for v in Verdict},
    }


def _source(audited: Audited) -> dict[str, Any]:
    source = audited.table.source
    return {
        "file": audited.table.path,
        "title": source.title,
        "kind": source.kind,
        "url": source.url,
        "date": source.date,
        "counts": {v.value: count for v, count in audited.counts.items()},
        "findings": [_finding(audited, finding) for finding in audited.findings],
    }


def _finding(audited: Audited, finding: Judgement) -> dict[str, Any]:
    claim = audited.table.claim(finding.claim)
    return {
        "claim": finding.claim,
        "about": claim.__struct_config__.tag,
        "verdict": finding.verdict.value,
        "rule": asdict(finding.rule),
        "claimed": {"text": finding.claimed, "value": _finite(finding.value)},
        "predicted": {
            "text": finding.predicted.text,
            "low": _finite(finding.predicted.low),
            "high": _finite(finding.predicted.high),
        },
        "reading": finding.reading,
    }


def _finite(value: float | None) -> float | None:
    """JSON knows no infinity: a limit that there is not is null."""
    return value if value is not None and math.isfinite(value) else None


def print_audits(audits: Sequence[Audited], console: Console) -> None:
    """A table for each source, the gravest findings first, then the rules that were used."""
    for audited in audits:
        _print_source(audited, console)
    used = {finding.rule_id: finding.rule for a in audits for finding in a.findings}
    used.pop(NONE, None)
    if not used:
        return
    legend = RichTable.grid(padding=(0, 2, 0, 0))
    legend.add_column(no_wrap=True, style="cyan")
    legend.add_column()
    for name in sorted(used):
        text = Text(used[name].sentence)
        text.append(f" [{used[name].source}]", style="dim")
        legend.add_row(name, text)
    console.print("[bold]rules[/]")
    console.print(legend)


def grouped(findings: Sequence[Judgement]) -> list[tuple[Judgement, list[str]]]:
    """Findings of equal verdict, rule, figures and reading with all their claims, the gravest
    first. Excludes findings without a rule."""
    gravity = list(Verdict)
    said: dict[tuple[Any, ...], tuple[Judgement, list[str]]] = {}
    for finding in sorted(findings, key=lambda f: -gravity.index(f.verdict)):
        if finding.rule_id != NONE:
            predicted = finding.predicted.text
            same = (finding.verdict, finding.rule_id, finding.claimed, predicted, finding.reading)
            said.setdefault(same, (finding, []))[1].append(finding.claim)
    return list(said.values())


def _print_source(audited: Audited, console: Console) -> None:
    source = audited.table.source
    about = ", ".join(part for part in (source.kind, source.date) if part)
    console.print(f"[bold]{escape(source.title)}[/] [dim]({escape(about)})[/]", highlight=False)
    for line in (source.url, source.note):
        if line:
            console.print(Padding(f"[dim]{escape(line)}[/]", (0, 0, 0, 2)), highlight=False)
    table = RichTable(
        box=None, pad_edge=False, show_header=True, header_style="bold", padding=(0, 1)
    )
    table.add_column("claim, rule", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claimed, predicted", max_width=34)
    table.add_column("reading", ratio=1)
    last = ""
    for finding, claims in grouped(audited.findings):
        name = _listed(claims) if claims != [last] else ""
        last = claims[-1]
        first = Text(name, style="bold")
        first.append(("\n" if name else "") + f"  {finding.rule_id}", style="not bold cyan")
        offset = "\n" * (name.count("\n") + bool(name))
        values = Text(f"{offset}{finding.claimed}")
        if finding.predicted.text:
            values.append(f"\n{finding.predicted.text}", style="dim")
        table.add_row(
            first,
            Text(offset + finding.verdict.value, style=_STYLES[finding.verdict]),
            values,
            Text(offset + finding.reading),
        )
    if table.row_count:
        console.print(Padding(table, (1, 0, 0, 0)))
    unjudged = [f.claim for f in audited.findings if f.rule_id == NONE]
    if unjudged:
        text = f"no rule, too few figures: {_listed(unjudged, ', ')}"
        console.print(Padding(Text(text, style="dim"), (0, 0, 0, 2)))
    summary = ", ".join(
        f"[{_STYLES[verdict]}]{count} {verdict.value}[/]"
        for verdict, count in audited.counts.items()
        if count
    )
    console.print(f"  {summary}\n", highlight=False)


def _listed(claims: Sequence[str], between: str = "\n") -> str:
    """The first few claims, and how many more."""
    more = len(claims) - _LISTED
    return between.join(claims[:_LISTED]) + (f"{between}and {more} more" if more > 0 else "")
