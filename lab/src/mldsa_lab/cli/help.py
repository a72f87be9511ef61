"""The help of a command: its group, values named by words, and the examples of `help.txt`."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

GROUPS = {
    "Measure": ("bench", "study"),
    "Your own target": ("trace", "select", "estimate", "rtl"),
    "Analyse": ("report", "compare", "check"),
    "Migration": ("impact", "propagate"),
    "Workers": ("workers",),
}
"""The commands of `mldsa-lab --help`."""

_METAVARS = {"str": "TEXT", "path": "PATH", "int": "NUMBER", "float": "NUMBER"}


def topics() -> dict[str, tuple[str, list[str]]]:
    """Return the document and the examples of each command, such as `study run`."""
    text = files(__package__).joinpath("help.txt").read_text(encoding="utf-8")
    parts = (part.strip().split("\n") for part in text.split("# ")[1:])
    heads = ((head.partition(": "), lines) for head, *lines in parts)
    return {path: (document, lines) for (path, _, document), lines in heads}


def write_end(ctx: Any, formatter: Any) -> None:
    """Write the last lines of a command's help."""
    document, lines = topics()[ctx.command_path.partition(" ")[2]]
    with formatter.section("Examples"):
        formatter.write_text("\n".join(["\b", *lines]))
    formatter.write(f"\nDocument: {document}\n")


class LabCommand(TyperCommand):
    """A command whose help says TEXT, PATH or NUMBER for a value, and ends with examples."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        for param in self.params:
            if isinstance(param, TyperArgument):
                param.metavar = param.metavar or str(param.name).upper()
                param.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
            elif isinstance(param, TyperOption) and not (param.is_flag or param.metavar):
                text = param.display_type(None).strip("<>")  # type: ignore[arg-type]
                param.metavar = _METAVARS.get(text.split()[0], text)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples and document."""
        write_end(ctx, formatter)
