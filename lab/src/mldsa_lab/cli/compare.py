"""`mldsa-lab compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli.shared import ClockOption, ConfidenceOption, ReferenceOption
from mldsa_lab.records.reference import DEFAULT_REFERENCE

_FALSE_ALARMS = 0.05


def compare(
    first: Annotated[Path, typer.Argument(help="Record of the run before.")],
    second: Annotated[Path, typer.Argument(help="Record of the run after.")],
    pair: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this variant or implementation of the first run with that one of the "
            "second; for one run, give its record twice.",
            metavar="BEFORE=AFTER",
        ),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 if a cell is surely slower by more than this; unchanged programs "
            "do so in at most 5 % of comparisons.",
            metavar="PERCENT",
            min=0,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all cells, not the most changed ones alone.")
    ] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write the changes to this file.", metavar="PATH")
    ] = None,
    reference: ReferenceOption = DEFAULT_REFERENCE,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
) -> None:
    """Say what became slower or faster from one run to another, and what else differs."""
    import json

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.estimate.change import Changes, Side, changes
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.show.changes import as_json, failures, print_changes
    from mldsa_lab.show.present import Look, load

    pairs = []
    for text in pair or ():
        before, equals, after = text.partition("=")
        if not (before and equals and after):
            raise LabError(f"--pair: must be BEFORE=AFTER, is {text!r}")
        pairs.append((before, after))
    if json_path is not None:
        check_target(json_path)

    def compared(confidence: float) -> Changes:
        loaded = load([first, second], Look(reference, clock, confidence))
        one, other = (Side(*side) for side in loaded)
        return changes(one, other, pairs, confidence)

    found = compared(confidence)
    screen = make_console()
    print_changes(found, screen, confidence, every)
    if json_path is not None:
        write_text(json_path, json.dumps(as_json(found, confidence), indent=1) + "\n")
        show_path(screen, "changes", json_path)
    if fail_above is None:
        return
    judged = len(found.judged)
    if not judged:
        raise LabError(
            "--fail-above: nothing can be judged, since more than the code differs in every cell"
        )
    # Each side of an interval misses by chance half as often as both.
    slower = failures(compared(1 - 2 * _FALSE_ALARMS / judged), fail_above)
    screen.print(
        f"{len(slower)} of {judged} cells are slower by more than {fail_above:g} %; if none is, "
        f"chance says so of one in at most {_FALSE_ALARMS:.0%} of comparisons",
        highlight=False,
    )
    for line in slower:
        screen.print(f"  {line}", highlight=False, markup=False, style="bold red")
    if slower:
        raise typer.Exit(1)
