"""Rules about how a source treats its samples: which it removed, and how wide its intervals are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.stats import norm, t

from mldsa_lab.audit.claims import ClaimTable, ConfidenceInterval, Trimmed, TrimmedShare
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement, limits, number, stated_text
from mldsa_lab.audit.values import StatedFigure


def judge_trimmed(claim: Trimmed, _: ClaimTable) -> Iterator[Judgement]:
    """`trimmed.agree` of several statements; `trimmed.chauvenet` of each that names it."""
    shares = [_whole(v) for v in claim.values]
    if len(shares) > 1:
        texts = [
            f"{stated_text(v.percent)} %{' at each end' * (v.of == 'each end')}"
            f"{f' ({v.where})' if v.where else ''}"
            for v in claim.values
        ]
        low, high = max(s.low for s in shares), min(s.high for s in shares)
        reading = f"Of all samples it is {' and '.join(f'{number(s.value)} %' for s in shares)}."
        yield judgement(
            "trimmed.agree", low <= high, " and ".join(texts), reading, predicted="one share"
        )
    for value, share in zip(claim.values, shares, strict=True):
        if value.criterion == "chauvenet" and claim.samples is not None:
            yield _chauvenet(share, claim.samples)


def _whole(stated: TrimmedShare) -> StatedFigure:
    """The share of all samples, in percent. Whole numbers are exact."""
    ends = 2 if stated.of == "each end" else 1
    percent = stated.percent
    half = 0.0 if percent.value == int(percent.value) else percent.half
    return StatedFigure(percent.value * ends, half * ends)


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
        "trimmed.chauvenet", verdict, f"{number(share.value)} % by Chauvenet's criterion",
        reading, low=0.0, high=most,
        predicted=f"{number(normal)} % of {samples:,} samples of a normal law",
    )  # fmt: skip


def judge_interval(claim: ConfidenceInterval, _: ClaimTable) -> Iterator[Judgement]:
    """`interval.width`."""
    tail = (1 - claim.confidence.value / 100) / 2
    samples = claim.samples
    text = f"{stated_text(claim.confidence)} % as ± {stated_text(claim.width)} {claim.of}"
    if claim.of == "sd" and (samples is None or samples < 2):
        yield judgement(
            "interval.width", Verdict.UNDECIDABLE, text,
            "How far a mean may be off depends on the number of samples.",
            predicted="sd over the root of the samples",
        )  # fmt: skip
        return
    errors = float(norm.isf(tail) if samples is None else t.isf(tail, max(samples - 1, 1)))
    width = errors / math.sqrt(samples) if claim.of == "sd" and samples else errors
    holds = claim.width.low <= width <= claim.width.high
    reading = ""
    if not holds and claim.of == "sd" and claim.width.low <= errors <= claim.width.high:
        reading = (
            f"{stated_text(claim.confidence)} % of the single samples of a normal law lie so far "
            "about their mean. The mean itself is known better."
        )
    counted = f" of {samples:,} samples" if samples else ""
    yield judgement(
        "interval.width", holds, text, reading, stated=claim.width, low=width, high=width,
        predicted=f"± {limits(width, width, claim.of, claim.width)} for a mean{counted}",
    )  # fmt: skip
