"""From claims to findings: the table of rules by kind of claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mldsa_lab.audit import attempts, claims, figures, power, scaling, signing, sizes, sums
from mldsa_lab.audit.judgement import NONE, Judgement, Verdict, judgement

Judge = Callable[[Any], Iterator[Judgement]]
JudgeInTable = Callable[[Any, claims.ClaimTable], Iterator[Judgement]]

_ALONE: dict[type[claims.Claim], Judge] = {
    claims.Cost: figures.judge_figures,
    claims.Size: sizes.judge_size,
    claims.Parts: sums.judge_parts,
    claims.Difference: power.judge_difference,
    claims.Counted: sums.judge_counted,
    claims.Statements: sums.judge_statements,
    claims.Limit: sums.judge_limit,
    claims.Rejection: attempts.judge_rejection,
}
_IN_TABLE: dict[type[claims.Claim], JudgeInTable] = {
    claims.Cost: signing.judge_signing,
    claims.Scaling: scaling.judge_scaling,
    claims.Batch: scaling.judge_batch,
    claims.Rate: sums.judge_rate,
}


def audit(table: claims.ClaimTable) -> tuple[Judgement, ...]:
    """Judge every claim of a table by every rule that applies, in the order of the claims; at
    least one finding for each."""
    findings = []
    for claim in table.claims:
        found: list[Judgement] = []
        if judge := _ALONE.get(type(claim)):
            found += judge(claim)
        if judge_in_table := _IN_TABLE.get(type(claim)):
            found += judge_in_table(claim, table)
        findings += [replace(f, claim=claim.id) for f in found or [_NOTHING]]
    return tuple(findings)


_NOTHING = judgement(NONE, Verdict.UNDECIDABLE, "", "Too few figures for any rule.", predicted="")
