"""From claims to findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mldsa_lab.audit import attempts, claims, figures, power, scaling, signing, sizes, sums
from mldsa_lab.audit.verdict import Band, Judgement, Verdict

NONE = "none"
"""The id of the rule that there is none."""

_OF_ITSELF: dict[type[claims.Claim], Callable[[Any], Iterator[Judgement]]] = {
    claims.Cost: figures.judge_figures,
    claims.Size: sizes.judge_size,
    claims.Parts: sums.judge_parts,
    claims.Difference: power.judge_difference,
    claims.Counted: sums.judge_counted,
    claims.Statements: sums.judge_statements,
    claims.Limit: sums.judge_limit,
    claims.Rejection: attempts.judge_rejection,
}
_BESIDE_OTHERS: dict[
    type[claims.Claim], Callable[[Any, claims.ClaimTable], Iterator[Judgement]]
] = {
    claims.Cost: signing.judge_signing,
    claims.Scaling: scaling.judge_scaling,
    claims.Batch: scaling.judge_batch,
    claims.Rate: sums.judge_rate,
}


@dataclass(frozen=True)
class Audited:
    """A table of claims and what the audit says of it, in the order of the claims."""

    table: claims.ClaimTable
    findings: tuple[Judgement, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many findings of each verdict."""
        found = Counter(f.verdict for f in self.findings)
        return {verdict: found[verdict] for verdict in Verdict}


def audit(table: claims.ClaimTable) -> Audited:
    """Judge every claim of a table by every rule that applies; at least one finding for each."""
    findings = []
    for claim in table.claims:
        found: list[Judgement] = []
        if judge := _OF_ITSELF.get(type(claim)):
            found += judge(claim)
        if judge_beside := _BESIDE_OTHERS.get(type(claim)):
            found += judge_beside(claim, table)
        findings += [replace(finding, claim=claim.id) for finding in found or [_NOTHING]]
    return Audited(table, tuple(findings))


_NOTHING = Judgement(NONE, Verdict.UNDECIDABLE, "", Band.said(""), "Too few figures for any rule.")
