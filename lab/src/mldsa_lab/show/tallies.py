"""What was traced, beside what theory says."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mldsa_lab import join_words
from mldsa_lab.inputs.tracing import Tally

_FAR = 4.0  # standard errors, which chance makes in one figure of 16,000


def print_tallies(tallies: Sequence[Tally], console: Console) -> None:
    """A table of the shares found and expected, with their distance in standard errors; and a
    sentence on those that chance does not explain."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("set", "", "found", "expected", "standard errors"):
        table.add_column(title, justify="left" if title in ("set", "") else "right")
    for tally in tallies:
        for number, (name, found, expected, distance) in enumerate(tally.rows()):
            table.add_row(
                tally.set if number == 0 else "",
                name,
                f"{found:.5f}",
                f"{expected:.5f}",
                "depends on the key" if distance is None else f"{distance:+.1f}",
            )
        table.add_row("", "longest", f"{tally.longest} attempts", "", "")
    console.print(table)
    for tally in tallies:
        far = {name: abs(d) for name, _, _, d in tally.rows() if d is not None and abs(d) > _FAR}
        if far:
            console.print(
                f"{tally.set}: {join_words(far)} up to {max(far.values()):.0f} standard errors "
                "from what theory says of all signatures. Were these inputs chosen by their "
                "traces, or crafted? Averages over them are not those of all signatures."
            )
