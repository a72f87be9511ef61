"""From claims to findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mldsa_lab.audit import rules
from mldsa_lab.audit.attempts import judge_rejection
from mldsa_lab.audit.claims import (
    Batch,
    Claim,
    ClaimTable,
    Cost,
    Counted,
    Difference,
    Limit,
    Parts,
    Rate,
    Rejection,
    Scaling,
    Size,
    Statements,
)
from mldsa_lab.audit.figures import judge_figures
from mldsa_lab.audit.power import judge_difference
from mldsa_lab.audit.scaling import judge_batch, judge_scaling
from mldsa_lab.audit.signing import judge_signing
from mldsa_lab.audit.sizes import judge_size
from mldsa_lab.audit.sums import (
    judge_counted,
    judge_limit,
    judge_parts,
    judge_rate,
    judge_statements,
)
from mldsa_lab.audit.verdict import Judgement, Range, Verdict


@dataclass(frozen=True)
class Audited:
    """A table of claims and what the audit says of it, in the order of the claims."""

    table: ClaimTable
    findings: tuple[Judgement, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many findings of each verdict."""
        found = Counter(f.verdict for f in self.findings)
        return {verdict: found[verdict] for verdict in Verdict}


def audit(table: ClaimTable) -> Audited:
    """Judge every claim of a table by every rule that applies; at least one finding for each."""
    findings = [
        replace(finding, claim=claim.id)
        for claim in table.claims
        for finding in list(_judge(claim, table)) or [_NOTHING]
    ]
    return Audited(table, tuple(findings))


_NOTHING = Judgement(
    rules.NONE, Verdict.UNDECIDABLE, "", Range.said(""), "Too few figures for any rule."
)


def _judge(claim: Claim, table: ClaimTable) -> Iterator[Judgement]:
    match claim:
        case Cost():
            yield from judge_figures(claim)
            if claim.operation == "sign":
                yield from judge_signing(claim, table)
        case Size():
            yield from judge_size(claim)
        case Scaling():
            yield from judge_scaling(claim, table)
        case Batch():
            yield from judge_batch(claim, table)
        case Parts():
            yield from judge_parts(claim)
        case Rate():
            yield from judge_rate(claim, table)
        case Difference():
            yield from judge_difference(claim)
        case Counted():
            yield from judge_counted(claim)
        case Statements():
            yield from judge_statements(claim)
        case Limit():
            yield from judge_limit(claim)
        case Rejection():
            yield from judge_rejection(claim)
