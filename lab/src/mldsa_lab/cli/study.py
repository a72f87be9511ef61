"""`mldsa-lab study`: its commands are in the package mldsa-studies, which may be missing."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from mldsa_lab.errors import LabError

_HELP = "How good the estimates are; instruction counts of implementations."


def add_to(app: typer.Typer) -> None:
    """Add the command, or one that says how to install it."""
    if find_spec("mldsa_studies") is None:
        takes_all = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command("study", help=_HELP, context_settings=takes_all)(_missing)
        return
    from mldsa_studies.command import app as studies

    app.add_typer(studies, name="study", help=_HELP)


def _missing(context: typer.Context) -> None:
    raise LabError(
        "study: the package mldsa-studies is not installed; in a checkout of the source, "
        "`pip install ./lab[bench] ./studies` installs it"
    )
