"""The audit: all rules applied to a file of claims, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from mldsa_lab.audit import arithmetic, claims, law, signing, work
from mldsa_lab.audit.arithmetic import judge_interval, judge_size, judge_strength, judge_trimmed
from mldsa_lab.audit.claims import ClaimTable, judged_labels, repeated
from mldsa_lab.audit.judgement import NONE, RULES, Judgement, Verdict, judgement
from mldsa_lab.audit.signing import judge_difference, judge_rejection, judge_samples
from mldsa_lab.audit.work import judge_batch, judge_scaling
from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.show.grid import Grid, text_grid
from mldsa_lab.show.report import Report, Section

# From claims to findings


ClaimJudge = Callable[[Any, claims.ClaimTable], Iterator[Judgement]]

JUDGES: dict[type[claims.Claim], tuple[ClaimJudge, ...]] = {
    claims.Cost: (
        law.judge_order, law.judge_mean, law.judge_deviation, signing.judge_signing,
        work.judge_cost, work.judge_relations, judge_samples,
    ),
    claims.Size: (judge_size,),
    claims.Scaling: (judge_scaling,),
    claims.Batch: (judge_batch,),
    claims.Parts: (arithmetic.judge_parts,),
    claims.Rate: (arithmetic.judge_rate,),
    claims.Difference: (judge_difference,),
    claims.Counted: (arithmetic.judge_counted,),
    claims.ValueTable: (work.judge_table,),
    claims.Quotient: (arithmetic.judge_quotient,),
    claims.Product: (arithmetic.judge_product,),
    claims.Vectors: (work.judge_vectors,),
    claims.Strength: (judge_strength,),
    claims.Trimmed: (judge_trimmed,),
    claims.ConfidenceInterval: (judge_interval,),
    claims.Statements: (arithmetic.judge_statements,),
    claims.Limit: (arithmetic.judge_limit,),
    claims.Rejection: (judge_rejection,),
}  # fmt: skip
"""The rules of each kind of claim."""


def audit(table: claims.ClaimTable) -> tuple[Judgement, ...]:
    """ClaimJudge every claim of a table by every rule that applies, in the order of the claims; at
    least one finding for each."""
    findings = []
    # Ratios need figures above 0.
    usable = {c.id: law.without_zeros(c) if isinstance(c, claims.Cost) else c
              for c in table.claims}  # fmt: skip
    rest = structs.replace(table, claims=tuple(c for c in usable.values() if c is not None))
    for claim in table.claims:
        judged = list(law.judge_zeros(claim, table)) if isinstance(claim, claims.Cost) else []
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


# Findings as a report


_LISTED = 6  # claims that are named where many say the same
_GRAVITY = list(Verdict)
_PROBLEMS = (Verdict.CONTRADICTION, Verdict.IMPLAUSIBLE)

Audited = tuple[ClaimTable, Sequence[Judgement]]


def audit_report(audits: Sequence[Audited]) -> Report:
    """Return the report of some sources; its figures are described in lab/notes/audit.md."""
    used = {f.rule for _, findings in audits for f in findings} - {NONE}
    notes = [f"{t.source.title}: {t.source.note}" for t, _ in audits if t.source.note]
    notes += [
        f"{RULES[rule].id}: {RULES[rule].sentence} [{RULES[rule].source}]" for rule in sorted(used)
    ]
    return Report(
        kind="audit",
        headline=counts([f for _, findings in audits for f in findings]),
        figures=audit_figures(audits),
        sections=[s for table, findings in audits for s in _list_sections(table, findings)],
        notes=notes,
        has_brief_notes=False,
    )


def counts(findings: Sequence[Judgement]) -> str:
    """Return the number of findings of each verdict, the gravest first."""
    numbers = Counter(f.verdict for f in findings)
    return ", ".join(f"{numbers[v]} {v}" for v in reversed(_GRAVITY) if numbers[v])


def audit_figures(audits: Sequence[Audited]) -> Figures:
    """Return the claimed value of each finding with its verdict, and the limits that are predicted
    for it. Texts are attributes of the finding."""
    figures: list[Figure] = []
    about: dict[Key, dict[str, Key]] = {}
    listed = ((table, f) for table, findings in audits for f in findings)
    for number, (table, f) in enumerate(listed, 1):
        keys: dict[str, Key] = {"finding": number, "claim": f.claim, "rule": f.rule}
        about[number] = {
            "source": table.source.title,
            "about": str(table.claim(f.claim).__struct_config__.tag),
            "claimed_text": f.claimed,
            "predicted_text": f.predicted,
            "values": "; ".join(f.values),
            "reading": f.reading,
        }
        title, verdict = table.source.title, f.verdict.value
        figures.append(
            Figure(keys, "claimed", f.value, kind="published", source=title, verdict=verdict)
        )
        for statistic, limit in (("least", f.low), ("largest", f.high)):
            if limit is not None:
                figures.append(Figure({**keys, "statistic": statistic}, "predicted", limit))
    return Figures(figures, {"finding": about})


def _list_sections(table: ClaimTable, findings: Sequence[Judgement]) -> Iterator[Section]:
    """The problems; then the other findings, which the terminal shows with ``--all``."""
    problems = [f for f in findings if f.verdict in _PROBLEMS]
    others = [f for f in findings if f.verdict not in _PROBLEMS]
    source = table.source
    about = ", ".join(filter(None, (source.kind, source.date, source.url)))
    if problems:
        yield Section(_grid(source.title, about, problems))
    if others:
        title = f"{source.title}: other findings"
        yield Section(_grid(title, counts(findings), others), is_brief=False)


def _grid(title: str, note: str, findings: Sequence[Judgement]) -> Grid:
    """The gravest first; claims of which the same is said share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for f in sorted(findings, key=lambda f: -_GRAVITY.index(f.verdict)):
        predicted = f"; predicted {f.predicted}" if f.predicted else ""
        same = (f.verdict.value, f.claimed + predicted, f"{f.reading} [{f.rule}]".strip())
        rows.setdefault(same, []).append(f.claim)
    cells = [(_listed(claims), *texts) for texts, claims in rows.items()]
    return text_grid(title, note, ("claim", "verdict", "claimed", "reading [rule]"), cells)


def _listed(claims: Sequence[str]) -> str:
    """The first few claims, and how many more."""
    more = len(claims) - _LISTED
    return ", ".join(claims[:_LISTED]) + (f" and {more} more" if more > 0 else "")
