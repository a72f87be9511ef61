"""Our own figures in an answer, judged by the audit's rules of arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from mldsa_lab.answers.page import AnswerPage
from mldsa_lab.audit import audit
from mldsa_lab.audit.claims import Batch, Claim, Scaling
from mldsa_lab.audit.judgement import Judgement
from mldsa_lab.audit.values import Positive
from mldsa_lab.estimate.figure import Figure

RULES = ("scaling.arithmetic", "batch.total")
_ROUNDED = 0.002
"""Half of a unit of the last digit that our figures are shown with, over the figure."""
_OF_POINT = ("cost", "total", "per_second", "speedup", "efficiency")


def own_findings(page: AnswerPage, figures: Sequence[Figure]) -> list[Judgement]:
    """Return what arithmetic says of our figures of scalings and batches;
    ``figures``: those of `answer_figures`."""
    ours = (f for f in figures if f.name == "ours")
    values = {
        cell.value.label: figure.value for cell, figure in zip(page.cells(), ours, strict=True)
    }
    claims = tuple(filter(None, (_own(claim, values) for claim in page.claims().claims)))
    table = structs.replace(page.claims(), claims=claims)
    return [f for f in audit(table) if f.rule in RULES]


def _own(claim: Claim, values: Mapping[str, float | None]) -> Claim | None:
    """Return a scaling or batch with our figures in the place of the published ones; None where
    some are missing, and for other claims."""
    if not isinstance(claim, Scaling | Batch):
        return None
    points = []
    for point in claim.points:
        size = getattr(point, "threads", None) or getattr(point, "size", None)
        names = [name for name in _OF_POINT if getattr(point, name, None) is not None]
        ours = {name: values.get(f"{claim.id}, {size} {name}") for name in names}
        if None in ours.values():
            return None
        rounded = {name: Positive(v, v * _ROUNDED) for name, v in ours.items() if v}
        points.append(structs.replace(point, **rounded))
    return structs.replace(claim, points=tuple(points), cost_of=(), same={})
