"""`mldsa-lab workers`: which workers can run here, and how they behave."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mldsa_lab import LabError
from mldsa_lab.checkout import NOT_SHIPPED, find_root
from mldsa_lab.cli import shared

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.worker.registry import BuildDirs, WorkerEntry


def workers(
    ctx: typer.Context,
    action: Annotated[
        Literal["doctor", "setup", "conform"],
        typer.Argument(
            help="doctor: say which workers can run here, and what each missing one needs; setup: "
            "fetch and make what workers need, or list those that can be set up; conform: build a "
            "worker and check its answers and that it keeps to the protocol.",
            metavar="doctor|setup|conform",
        ),
    ] = "doctor",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Workers of the registry, of setup also NAME:tuned for the tuned build; of doctor "
            "and conform ./PROGRAM, [NAME=]FOLDER of a JDK, or CORE.toml.",
            metavar="NAMES",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="conform: make these checks only.", metavar="CHECKS"),
    ] = None,
    registry: shared.RegistryOption = None,
) -> None:
    """Show, set up or check the workers that run implementations."""
    from mldsa_lab.worker.registry import BuildDirs, read_registry

    if action != "conform":
        shared.reject_options(ctx, action, "makes no checks", "only")
    place = BuildDirs.for_tree(find_root())
    own = read_registry(place.root / "lab" / "workers" / "registry.toml")
    listed = read_registry(registry) if registry else own
    if action == "doctor":
        _doctor(listed, own, shared.words(names), place)
    elif action == "setup":
        _setup(listed, shared.words(names), place)
    else:
        _conform(listed, own, shared.words(names), shared.words(only), place)


def _doctor(
    listed: Sequence[WorkerEntry],
    own: Sequence[WorkerEntry],
    names: Sequence[str],
    place: BuildDirs,
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mldsa_lab.bench.launch import find_workers
    from mldsa_lab.screen import print_end
    from mldsa_lab.worker.build import find_jdks, is_set_up, is_shipped, unmet

    console = shared.console()
    entries = find_workers(names, listed, own) if names else listed
    states = [(entry, unmet(entry, place)) for entry in entries if is_shipped(entry, place)]
    ready = {entry.name: entry.language for entry, lacking in states if not lacking}
    addable = [e for e, lacking in states if len(lacking) == 1 and not is_set_up(e, place)]
    setups = Counter(
        (e.language, e.home_of or e.label) for e in addable if e.language not in ready.values()
    )
    most = {language: name for (language, name), _ in reversed(setups.most_common())}
    adding = (f"To add {each}: mldsa-lab workers setup {name}" for each, name in most.items())
    print_end(console, f"Ready: {', '.join(ready) or 'none'}.", adding)
    console.print()
    _machine(console, dict.fromkeys(text for entry, _ in states for text in _tools(entry)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("worker", "written in", "state"):
        table.add_column(title)
    for entry, lacking in states:
        if lacking:
            state = Text("; ".join(lacking), style="yellow" if entry in addable else "red")
        elif shutil.which(entry.fill(entry.run, place)[0]) is not None:
            state = Text("ready", style="green")
        else:
            state = Text("ready, not built yet", style="green")
        name = entry.name if entry.default else f"{entry.name} (not by default)"
        table.add_row(Text(name), Text(entry.language), state)
    console.print(table)
    elsewhere = [e.name for e in entries if not is_shipped(e, place)]
    if elsewhere:
        text = f"\n{', '.join(elsewhere)}: {NOT_SHIPPED}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    for jdk in () if "java" in elsewhere else find_jdks():
        text = f"{jdk.name}: `mldsa-lab bench --worker {jdk.folder}` measures it"
        shared.show_named(console, "\nJava on this machine ", text)
    if not any(entry.default and not lacking for entry, lacking in states):
        raise typer.Exit(1)
    print_end(console, commands=["mldsa-lab bench --quick"])


def _setup(listed: Sequence[WorkerEntry], names: Sequence[str], place: BuildDirs) -> None:
    from rich.markup import escape

    from mldsa_lab.screen import Screen, print_end
    from mldsa_lab.worker.build import is_set_up, set_up
    from mldsa_lab.worker.registry import every_build, named

    console = shared.console()
    entries = every_build(listed)
    screen = Screen(console)
    for entry in named(entries, names):
        if not entry.setup or is_set_up(entry, place):
            state = "is set up" if entry.setup else "nothing to set up"
            screen.line("setup", escape(f"worker {entry.label} ({entry.language}): {state}"))
            continue
        with screen.phase("setup") as phase:
            set_up(entry, place, phase.show)
            phase.summary = f"worker {entry.label} ({entry.language})"
    if not names:
        for entry in (entry for entry in entries if entry.setup):
            state = "set up" if is_set_up(entry, place) else "not set up"
            shared.show_named(console, "", f"{entry.label} ({entry.language}): {state}")
    else:
        print_end(console, commands=["mldsa-lab bench --quick --workers all"])


def _conform(
    listed: Sequence[WorkerEntry],
    own: Sequence[WorkerEntry],
    names: Sequence[str],
    only: Sequence[str],
    place: BuildDirs,
) -> None:
    from rich.markup import escape

    from mldsa_lab.bench.gate import ReferenceItems
    from mldsa_lab.bench.launch import find_workers
    from mldsa_lab.screen import Screen, print_end
    from mldsa_lab.worker.build import build
    from mldsa_lab.worker.conformance import conform_entry

    if len(names) != 1:
        raise LabError("workers conform: name one worker")
    (entry,) = find_workers(names, listed, own)
    console = shared.console()
    screen = Screen(console)
    with screen.phase("build") as phase:
        build(entry, place, phase.show)
        phase.summary = f"worker {entry.title}"
    with screen.phase("conform") as phase, ReferenceItems(place, phase.show) as reference:
        result = conform_entry(
            entry, place, only=only or None, reference_items=reference.items, progress=phase.show,
            on_note=lambda text: screen.line("note", f"[yellow]{escape(text)}[/]"),
        )  # fmt: skip
    for line in result.lines():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if not result.passed:
        raise typer.Exit(1)
    print_end(console, commands=[f"mldsa-lab bench --quick --worker default,{names[0]}"])


def _tools(entry: WorkerEntry) -> list[str]:
    from mldsa_lab.machine import tool_version

    tools = []
    for need in entry.needs:
        version = tool_version(need.version or (need.tool, "--version"))
        at_least = f" (needs {need.minimum} or newer)" if need.minimum else ""
        tools.append(f"{version}{at_least}" if version else f"{need.tool}: not found{at_least}")
    return tools


def _machine(console: Console, tools: Iterable[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from mldsa_lab.machine import describe

    m = describe()
    rows = {
        "cpu": f"{m['cpu'] or 'unknown'} ({m['architecture']}), {m['cores']} cores",
        "features": " ".join(m["features"]) or "unknown",
        "governor": m["governor"] or "not readable",
        "load": "unknown" if m["load1"] is None else f"{m['load1']:.2f}",
        "system": f"{m['os']}, Python {m['python']}",
        "tools": "\n".join(tools),
    }
    table = Table.grid(padding=(0, 2))
    for key, value in rows.items():
        table.add_row(Text(key, style="bold"), Text(value))
    console.print(table)
    console.print()
