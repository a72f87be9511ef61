"""`mldsa-lab audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def audit(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Tables of claims, YAML or JSON (docs/audit.md).", metavar="FILES"),
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option("--example", help="Audit a worked example.", metavar="NAME"),
    ] = None,
    list_examples: Annotated[
        bool, typer.Option("--list-examples", help="Name the worked examples and stop.")
    ] = False,
    show_example: Annotated[
        str | None,
        typer.Option(
            "--show-example", help="Print the file of an example and stop.", metavar="NAME"
        ),
    ] = None,
    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write the findings to this file.", metavar="PATH"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if a claim is contradicted.")
    ] = False,
) -> None:
    """Judge published figures by theory, the standard and arithmetic."""
    # Imported only here: SciPy takes longer to load than other commands to run.
    import json

    from mldsa_lab.audit import (
        Verdict,
        as_json,
        example_names,
        example_text,
        print_audits,
        read_claims,
    )
    from mldsa_lab.audit import audit as judge
    from mldsa_lab.audit import example as shipped
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path, words
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_target, write_text

    if list_examples:
        for name in example_names():
            print(f"{name}  {shipped(name).source.title}")
        return
    if show_example is not None:
        print(example_text(show_example), end="")
        return
    names = words(example)
    if not files and not names:
        raise LabError("audit: name a file of claims, or --example NAME (--list-examples)")
    if json_path is not None:
        check_target(json_path)
    tables = [read_claims(path) for path in files or ()] + [shipped(name) for name in names]
    audits = [judge(table) for table in tables]
    console = make_console()
    print_audits(audits, console)
    if json_path is not None:
        write_text(json_path, json.dumps(as_json(audits), indent=2, ensure_ascii=False) + "\n")
        show_path(console, "findings", json_path)
    if strict and any(a.counts[Verdict.CONTRADICTION] for a in audits):
        raise typer.Exit(1)
