"""Rules about how a source treats its samples: which it removed, and how wide its intervals are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.stats import norm, t

from mldsa_lab.audit.arithmetic import statements_text
from mldsa_lab.audit.claims import ClaimTable, ConfidenceInterval, Trimmed, TrimmedShare
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement, limits, meets
from mldsa_lab.audit.values import StatedFigure, number


def judge_trimmed(claim: Trimmed, _: ClaimTable) -> Iterator[Judgement]:
    """`trimmed.agree` of several statements; `trimmed.chauvenet` of each that names it."""
    shares = [_whole(v) for v in claim.values]
    if len(shares) > 1:
        ends = {"each end": " at each end", "all": ""}
        stated = [(f"{v.percent} %{ends[v.of]}", v.where) for v in claim.values]
        low, high = max(s.low for s in shares), min(s.high for s in shares)
        reading = f"Of all samples it is {' and '.join(f'{number(s.value)} %' for s in shares)}."
        yield judgement(
            "trimmed.agree", statements_text(stated), reading, low <= high, predicted="one share"
        )
    for value, share in zip(claim.values, shares, strict=True):
        if value.criterion == "chauvenet" and claim.samples is not None:
            yield _chauvenet(share, claim.samples)


def _whole(stated: TrimmedShare) -> StatedFigure:
    """The share of all samples, in percent. Whole numbers are exact."""
    percent = stated.percent.exact(stated.percent.value.is_integer())
    return percent * (2 if stated.of == "each end" else 1)


def _chauvenet(share: StatedFigure, samples: int) -> Judgement:
    """Half a sample of a normal law lies beyond the criterion's limit of z standard deviations;
    at most 1/z² of any data lies there (Chebyshev)."""
    z = float(norm.isf(1 / (4 * samples)))
    normal, most = 50 / samples, 100 / z**2
    verdict, reading = Verdict.CONSISTENT, ""
    if share.low > most:
        verdict = Verdict.CONTRADICTION
        reading = f"No data have more than {number(most)} % beyond {number(z)} deviations."
    elif share.low > normal:
        verdict = Verdict.UNDECIDABLE
        reading = f"Heavier tails may have up to {number(most)} %; their law is not stated."
    return judgement(
        "trimmed.chauvenet", f"{number(share.value)} % by Chauvenet's criterion", reading, verdict,
        low=0.0, high=most,
        predicted=f"{number(normal)} % of {samples:,} samples of a normal law",
    )  # fmt: skip


def judge_interval(claim: ConfidenceInterval, _: ClaimTable) -> Iterator[Judgement]:
    """`interval.width`."""
    tail = (1 - claim.confidence.value / 100) / 2
    samples = claim.samples
    text = f"{claim.confidence} % as ± {claim.width} {claim.of}"
    if claim.of == "sd" and (samples is None or samples < 2):
        yield judgement(
            "interval.width", text, "How far a mean may be off depends on the number of samples.",
            Verdict.UNDECIDABLE, predicted="sd over the root of the samples",
        )  # fmt: skip
        return
    errors = float(norm.isf(tail) if samples is None else t.isf(tail, max(samples - 1, 1)))
    width = errors / math.sqrt(samples) if claim.of == "sd" and samples else errors
    fault = ""
    if claim.of == "sd" and meets(claim.width, errors, errors):
        fault = (
            f"{claim.confidence} % of the single samples of a normal law lie so far "
            "about their mean. The mean itself is known better."
        )
    counted = f" of {samples:,} samples" if samples else ""
    yield judgement(
        "interval.width", text, fault=fault, stated=claim.width, low=width, high=width,
        predicted=f"± {limits(width, width, claim.of, claim.width)} for a mean{counted}",
    )  # fmt: skip
