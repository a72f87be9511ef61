"""`mldsa-lab doctor`, `setup` and `conform`: which workers can run here, and how they behave."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mldsa_lab import LabError, plugins
from mldsa_lab.checkout import NOT_SHIPPED, find_root
from mldsa_lab.cli import shared
from mldsa_lab.machine import describe, tool_version
from mldsa_lab.screen import Screen
from mldsa_lab.worker.build import (
    build,
    find_jdks,
    is_set_up,
    is_shipped,
    jdk_entries,
    set_up,
    unmet,
)
from mldsa_lab.worker.registry import (
    CORES,
    JDKS,
    BuildDirs,
    WorkerEntry,
    every_build,
    named,
    read_registry,
)


def doctor(
    registry: Annotated[
        Path | None, typer.Option(help="Look at this registry file instead of the tree's own.")
    ] = None,
    jdk: Annotated[
        list[str] | None,
        typer.Option(
            help="Also say whether this JDK (17 or newer) can run a worker. Repeatable.",
            metavar="[NAME=]PATH",
        ),
    ] = None,
) -> None:
    """Say which workers can run here, and what each missing one needs."""
    console, place = shared.console(), BuildDirs.for_tree(find_root())
    entries = _entries(place, registry, jdk or ())
    # What is unmet of each.
    found = [(entry, unmet(entry, place)) for entry in entries if is_shipped(entry, place)]
    _machine(console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("worker", "written in", "state", "tools"):
        table.add_column(title)
    for entry, lacking in found:
        if len(lacking) == 1 and not is_set_up(entry, place):
            state = Text("not set up", style="yellow")
        elif lacking:
            state = Text("cannot run", style="red")
        elif shutil.which(entry.fill(entry.run, place)[0]) is not None:
            state = Text("ready", style="green")
        else:
            state = Text("ready, not built yet", style="green")
        name = entry.name if entry.default else f"{entry.name} (not by default)"
        table.add_row(Text(name), Text(entry.language), state, Text("\n".join(_tools(entry))))
    console.print(table)
    for entry, lacking in found:
        for text in lacking:
            console.print(Text.assemble("\n", (f"{entry.name}: ", "bold"), text), soft_wrap=True)
    elsewhere = [e.name for e in entries if not is_shipped(e, place)]
    if elsewhere:
        text = f"\n{', '.join(elsewhere)}: {NOT_SHIPPED}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    for found_jdk in () if "java" in elsewhere else find_jdks():
        text = f"{found_jdk.name}: `mldsa-lab bench --jdk {found_jdk.folder}` measures it"
        shared.show_named(console, "\nJava on this machine ", text)
    if not any(entry.default and not lacking for entry, lacking in found):
        raise typer.Exit(1)


def setup(
    workers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Workers of the registry; `NAME:tuned` for their tuned build.", metavar="[NAMES]"
        ),
    ] = None,
    registry: Annotated[
        Path | None, typer.Option(help="Take them from this registry file.")
    ] = None,
) -> None:
    """Fetch and make what workers need; without names, list those that can be set up."""
    console = shared.console()
    place = BuildDirs.for_tree(find_root())
    entries = every_build(read_registry(registry or place.root / "workers" / "registry.toml"))
    screen = Screen(console)
    for entry in named(entries, shared.words(workers)):
        if not entry.setup or is_set_up(entry, place):
            state = "is set up" if entry.setup else "nothing to set up"
            screen.line("setup", escape(f"worker {entry.label} ({entry.language}): {state}"))
            continue
        with screen.phase("setup") as phase:
            set_up(entry, place, phase.show)
            phase.summary = f"worker {entry.label} ({entry.language})"
    if not workers:
        for entry in (entry for entry in entries if entry.setup):
            state = "set up" if is_set_up(entry, place) else "not set up"
            shared.show_named(console, "", f"{entry.label} ({entry.language}): {state}")


def conform(
    worker: Annotated[
        str,
        typer.Argument(
            help="A worker of the registry, or ./PROGRAM; jdks: that of --jdk; cores: of --core."
        ),
    ],
    only: Annotated[
        list[str] | None, typer.Option(help="Make these checks alone.", metavar="CHECKS")
    ] = None,
    registry: Annotated[Path | None, typer.Option(help="Take it from this registry file.")] = None,
    jdk: Annotated[
        list[str] | None,
        typer.Option(
            help="A JDK (17 or newer) that WORKER names: as jdks, or as java-NAME. Repeatable.",
            metavar="[NAME=]PATH",
        ),
    ] = None,
    core: Annotated[
        list[Path] | None,
        typer.Option(
            help="The manifest of a hardware core that WORKER names: as cores, or by its worker's "
            "name. Repeatable.",
            metavar="PATH",
        ),
    ] = None,
    resets: shared.ResetsOption = False,
) -> None:
    """Build a worker and check that it keeps to the protocol and gives right answers."""
    from mldsa_lab.bench.gate import ReferenceItems
    from mldsa_lab.worker.conformance import conform_entry

    console = shared.console()
    place = BuildDirs.for_tree(find_root())
    shared.check_resets(resets, core)
    own = _entries(place, registry)
    given = {
        JDKS: ("--jdk", jdk_entries(jdk or (), own)),
        CORES: ("--core", plugins.workers("core")(core, own, resets) if core else []),
    }
    if worker in given:
        option, several = given[worker]
        if len(several) != 1:
            raise LabError(f"{worker}: {option} has to be given once, not {len(several)} times")
        (entry,) = several
    else:
        (entry,) = named([*own, *(e for _, several in given.values() for e in several)], [worker])
    screen = Screen(console)
    with screen.phase("build") as phase:
        build(entry, place, phase.show)
        phase.summary = f"worker {entry.title}"
    checks = shared.words(only) or None
    with screen.phase("conform") as phase, ReferenceItems(place, phase.show) as reference:
        result = conform_entry(
            entry, place, only=checks, reference_items=reference.items, progress=phase.show,
            on_note=lambda text: screen.line("note", f"[yellow]{escape(text)}[/]"),
        )  # fmt: skip
    for line in result.lines():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if not result.passed:
        raise typer.Exit(1)


def _entries(
    place: BuildDirs, registry: Path | None, jdks: Sequence[str] = ()
) -> list[WorkerEntry]:
    """Those of a registry, and behind them one for each ``--jdk``."""
    own = read_registry(place.root / "workers" / "registry.toml")
    return [*(read_registry(registry) if registry else own), *jdk_entries(jdks, own)]


def _tools(entry: WorkerEntry) -> list[str]:
    found = []
    for need in entry.needs:
        version = tool_version(need.version or (need.tool, "--version"))
        at_least = f" (needs {need.minimum} or newer)" if need.minimum else ""
        found.append(f"{version}{at_least}" if version else f"{need.tool}: not found{at_least}")
    return found


def _machine(console: Console) -> None:
    m = describe()
    rows = {
        "cpu": f"{m['cpu'] or 'unknown'} ({m['architecture']}), {m['cores']} cores",
        "features": " ".join(m["features"]) or "unknown",
        "governor": m["governor"] or "not readable",
        "load": "unknown" if m["load1"] is None else f"{m['load1']:.2f}",
        "system": f"{m['os']}, Python {m['python']}",
    }
    table = Table.grid(padding=(0, 2))
    for key, value in rows.items():
        table.add_row(Text(key, style="bold"), Text(value))
    console.print(table)
    console.print()
