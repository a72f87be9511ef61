"""Figures of scenarios in Markdown files, rewritten.

    <!-- mldsa-lab:impact scenario=bitcoin template="P2PKH, 1 in, 2 out" figures="bytes|fee" -->
    … what stands here is replaced …
    <!-- /mldsa-lab:impact -->

``schemes="A|B"`` takes these alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.show.grid import markdown
from mldsa_lab.show.splice import replace_marked
from pqc_impact.figures import Impact
from pqc_impact.show import document_table

_SAID, _MAY = {"scenario", "template", "figures"}, {"schemes"}


def splice(path: Path, found: Callable[[str], Impact]) -> tuple[str, str]:
    """The text of a Markdown file before and after its tables are made anew; ``found`` gives the
    figures of a scenario by name."""

    def made(said: str, where: str) -> str:
        words = [word.partition("=") for word in shlex.split(said)]
        given = {name: value for name, _, value in words}
        if not _SAID <= set(given) <= _SAID | _MAY:
            raise LabError(f"{where}: the marker must say scenario, template, figures")
        impact = found(given["scenario"])
        template = impact.scenario.all_templates.get(given["template"])
        if template is None:
            known = "; ".join(impact.scenario.all_templates)
            raise LabError(f"{where}: template {given['template']!r}: must be one of {known}")
        schemes = given["schemes"].split("|") if "schemes" in given else ()
        return markdown(
            document_table(impact, given["template"], given["figures"].split("|"), schemes)
        )

    return replace_marked(path, "impact", made)


def splice_file(path: Path, found: Callable[[str], Impact]) -> bool:
    """Rewrite the tables of a Markdown file; whether anything changed."""
    old, new = splice(path, found)
    if new != old:
        write_text(path, new)
    return new != old
