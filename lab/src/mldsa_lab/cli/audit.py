"""`mldsa-lab audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli import shared


def audit(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Tables of claims, YAML or JSON (docs/audit.md).", metavar="FILES"),
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option(
            "--example", help="Audit a worked example; `list` names them.", metavar="NAME"
        ),
    ] = None,
    json_path: shared.JsonOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if a claim is contradicted.")
    ] = False,
) -> None:
    """Judge published figures by theory, the standard and arithmetic."""
    # Imported only here: SciPy takes longer to load than other commands to run.
    from mldsa_lab import LabError
    from mldsa_lab.audit import audit as judge
    from mldsa_lab.audit import read_claims
    from mldsa_lab.audit.judgement import Verdict
    from mldsa_lab.audit.reading import example_path, examples
    from mldsa_lab.audit.report import audit_report

    names = shared.words(example)
    if names == ("list",):
        for name, path in examples().items():
            print(f"{name:16} {read_claims(path).source.title}\n{'':16} {path}")
        return
    if not files and not names:
        raise LabError("audit: name a file of claims, or a worked example: --example list")
    outputs = shared.OutputOptions(no_page=True, json=json_path).check()
    tables = [read_claims(path) for path in (*(files or ()), *map(example_path, names))]
    audits = [(table, judge(table)) for table in tables]
    outputs.show(audit_report(audits), shared.console())
    if strict and any(f.verdict is Verdict.CONTRADICTION for _, found in audits for f in found):
        raise typer.Exit(1)
