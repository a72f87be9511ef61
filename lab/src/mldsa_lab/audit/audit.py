"""From claims to findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mldsa_lab.audit import rules
from mldsa_lab.audit.attempts import judge_rejection
from mldsa_lab.audit.claims import (
    Batch,
    Claim,
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
    Table,
    Throughput,
)
from mldsa_lab.audit.figures import judge_deviation, judge_mean, judge_order
from mldsa_lab.audit.power import judge_difference
from mldsa_lab.audit.scaling import judge_batch, judge_scaling, judge_throughput
from mldsa_lab.audit.signing import judge_signing
from mldsa_lab.audit.sizes import judge_size
from mldsa_lab.audit.sums import (
    judge_counted,
    judge_limit,
    judge_parts,
    judge_rate,
    judge_statements,
)
from mldsa_lab.audit.verdict import Finding, Range, Verdict


@dataclass(frozen=True)
class Audited:
    """A table of claims and what the audit says of it, in the order of the claims."""

    table: Table
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many findings of each verdict."""
        found = Counter(f.verdict for f in self.findings)
        return {verdict: found[verdict] for verdict in Verdict}


def audit(table: Table) -> Audited:
    """Judge every claim of a table by every rule that applies; at least one finding for each."""
    findings: list[Finding] = []
    for claim in table.claims:
        found = list(_judge(claim, table))
        findings.extend(found or [_nothing(claim)])
    return Audited(table, tuple(findings))


def _judge(claim: Claim, table: Table) -> Iterator[Finding]:
    match claim:
        case Cost():
            yield from judge_order(claim)
            yield from judge_mean(claim)
            yield from judge_deviation(claim)
            if claim.operation == "sign":
                yield from judge_signing(claim, table)
        case Size():
            yield from judge_size(claim)
        case Throughput():
            yield from judge_throughput(claim, table)
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


def _nothing(claim: Claim) -> Finding:
    return Finding(
        claim.id,
        rules.NONE,
        Verdict.UNDECIDABLE,
        "",
        Range(None, None, ""),
        "Too few figures for any rule.",
    )
