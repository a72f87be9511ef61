"""From claims to findings: the table of rules by kind of claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from mldsa_lab.audit import (
    arithmetic,
    attempts,
    claims,
    figures,
    power,
    scaling,
    signing,
    sizes,
    spread,
    strength,
    work,
)
from mldsa_lab.audit.judgement import NONE, Judgement, Verdict, judgement
from mldsa_lab.audit.published import judged_labels, repeated

Judge = Callable[[Any, claims.ClaimTable], Iterator[Judgement]]

JUDGES: dict[type[claims.Claim], tuple[Judge, ...]] = {
    claims.Cost: (
        figures.judge_order, figures.judge_mean, figures.judge_deviation, signing.judge_signing,
        work.judge_cost, work.judge_relations, power.judge_samples,
    ),
    claims.Size: (sizes.judge_size,),
    claims.Scaling: (scaling.judge_scaling,),
    claims.Batch: (scaling.judge_batch,),
    claims.Parts: (arithmetic.judge_parts,),
    claims.Rate: (arithmetic.judge_rate,),
    claims.Difference: (power.judge_difference,),
    claims.Counted: (arithmetic.judge_counted,),
    claims.ValueTable: (work.judge_table,),
    claims.Quotient: (arithmetic.judge_quotient,),
    claims.Product: (arithmetic.judge_product,),
    claims.Vectors: (work.judge_vectors,),
    claims.Strength: (strength.judge_strength,),
    claims.Trimmed: (spread.judge_trimmed,),
    claims.ConfidenceInterval: (spread.judge_interval,),
    claims.Statements: (arithmetic.judge_statements,),
    claims.Limit: (arithmetic.judge_limit,),
    claims.Rejection: (attempts.judge_rejection,),
}  # fmt: skip
"""The rules of each kind of claim."""


def audit(table: claims.ClaimTable) -> tuple[Judgement, ...]:
    """Judge every claim of a table by every rule that applies, in the order of the claims; at
    least one finding for each."""
    findings = []
    # Ratios need figures above 0.
    usable = {c.id: figures.without_zeros(c) if isinstance(c, claims.Cost) else c
              for c in table.claims}  # fmt: skip
    rest = structs.replace(table, claims=tuple(c for c in usable.values() if c is not None))
    for claim in table.claims:
        judged = list(figures.judge_zeros(claim, table)) if isinstance(claim, claims.Cost) else []
        if (whole := usable[claim.id]) is not None:
            judged += [f for judge in JUDGES[type(claim)] for f in judge(whole, rest)]
        findings += [
            replace(f, claim=claim.id, values=tuple(judged_labels(claim, f)))
            for f in judged or [_NOTHING]
        ]
    groups = repeated(table.claims)
    return tuple(
        replace(f, values=tuple(dict.fromkeys(n for v in f.values for n in groups.get(v, (v,)))))
        for f in findings
    )


_NOTHING = judgement(NONE, "", "Too few figures for any rule.", Verdict.UNDECIDABLE, predicted="")
