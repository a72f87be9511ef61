"""Rules for the cost of signing: bands of varied inputs, implied costs, and detectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from mldsa_lab.audit.claims import ClaimTable, Cost
from mldsa_lab.audit.figures import deviation, label, ordered
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement, limits
from mldsa_lab.audit.law import (
    ASSUMED_SAMPLES,
    Bound,
    attempt_over_first,
    band,
    firsts,
    laws,
    share_of,
)
from mldsa_lab.audit.values import StatedFigure, number, unit_text
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.signers import max_setup_cost

NOISE, NOISE_OF_MEAN = 0.10, 0.20
"""Relative allowance for the machine: its noise may move a median, or a mean where it stands in
for one, so far. It can lengthen tails and spread without limit, so those have no upper bound."""

# Up to this ratio of a further to a first attempt the implied costs are given.
_STEEP = 10.0

# Beyond this multiple of the spread of an operation whose work hardly varies, it is not noise
# alone that spreads signing.
_ALIKE = 3.0

_MEASURES = {"sd": "sd/centre", "error": "±/centre", "min": "1 - minimum/centre:"}

_FIXED = "The inputs did not vary, or samples are averages"
_LOW_RATIO = f"A signature accepted at once costs less. {_FIXED}."
_HIGH_RATIO = f"Varied inputs have a longer tail. {_FIXED}, or the tail was cut."
_MEAN_RATIO = "The tail of varied inputs pulls the mean further above the median."


class Signing:
    """A claim about signing: ``figures`` net of overhead, ``centre``: its median or
    mean, ``outside``: the verdict on figures that varied inputs cannot have (the source may not
    say that they were varied), ``noise``: the allowance for the machine in a ratio to the centre,
    ``low`` and ``high``: minimum and percentiles below the median; those above and maximum."""

    def __init__(self, claim: Cost, name: str, centre: str) -> None:
        self.claim, self.name, self.centre = claim, name, centre
        self.samples = claim.samples or ASSUMED_SAMPLES
        self.highest = max_setup_cost(name, claim.message_bytes)
        stated = claim.inputs == "varied"
        self.outside = Verdict.CONTRADICTION if stated else Verdict.IMPLAUSIBLE
        self.noise = NOISE if centre == "median" else NOISE_OF_MEAN
        self.figures = {
            name: f if name == "sd" else f - claim.overhead.value
            for name, f in claim.figures.items()
        }
        if (spread := deviation(claim)) is not None:
            self.figures["sd"] = spread[0]
        self.low = [name for share, name, _ in ordered(claim) if share < 0.5]
        self.high = [name for share, name, _ in ordered(claim) if share > 0.5]

    def ratio(self, over: str) -> StatedFigure:
        """A figure over the centre, with what rounding may hide."""
        return self.figures[over] / self.figures[self.centre]

    def band(self, over: str) -> tuple[float, float]:
        """Return the limits of that ratio by the law."""
        samples, per_sample = self.samples, self.claim.per_sample
        return band(self.name, over, self.centre, samples, self.highest, per_sample)

    def least_spread(self, measure: str) -> float:
        """The least spread of varied inputs by a measure, less the noise allowance."""
        if measure == "min":
            return max(0.0, 1 - self.band("min")[1] * (1 + self.noise))
        if measure in ("sd", "error"):
            return self.band("sd")[0] * (1 - self.noise)
        return max(0.0, self.band(measure)[0] * (1 - self.noise) - 1)

    def bounds(self, names: list[str], law: int) -> list[Bound]:
        """Return the bounds of the costs by the figures and one of the set's laws."""
        bounds = []
        for name in names:
            term = laws(self.name)[law].term(name, self.samples)
            figure, share = self.figures[name], share_of(name)
            if name == self.centre or (share is not None and share < 0.5):
                bounds.append(Bound(term, figure.low / (1 + self.noise), at_least=True))
            if name == self.centre or share is None or share > 0.5:
                bounds.append(Bound(term, figure.high / (1 - self.noise), at_least=False))
        return bounds

    def implied(self, names: list[str], low: float, high: float) -> dict[int, tuple[float, float]]:
        """By law, from where to where a further attempt may lie, in first ones and between ``low``
        and ``high``, if it is to give the figures of these names."""
        implied = {}
        for law in range(len(laws(self.name))):
            ends = attempt_over_first(self.bounds(names, law))
            if ends is not None and ends[1] >= low and ends[0] <= high:
                implied[law] = max(ends[0], low), min(ends[1], high)
        return implied


def judge_signing(claim: Cost, table: ClaimTable) -> Iterator[Judgement]:
    """All findings about a claim on signing; none about other operations."""
    if claim.operation != "sign" or claim.set not in PARAMETER_SETS:
        return
    if claim.inputs == "fixed":
        yield judgement(
            "sign.one-input", "one input, as the source says",
            "The mean over all inputs may be several times as high or less than half.",
            Verdict.UNDECIDABLE, predicted="no law of one input's cost",
        )  # fmt: skip
        return
    single = claim.per_sample == 1
    centres = [c for c in ("median", "mean") if c in claim.figures and (single or c == "mean")]
    if centres:
        signing = Signing(claim, claim.set, centres[0])
        note = "" if claim.samples else f"n = {ASSUMED_SAMPLES} assumed. "
        for finding in _findings(signing, table, single):
            yield replace(finding, reading=(note + finding.reading).strip())


def _findings(signing: Signing, table: ClaimTable, single: bool) -> Iterator[Judgement]:
    yield from _spread(signing)
    if single:
        for name in signing.low:
            yield _ratio(signing, name, "sign.min", _LOW_RATIO, below=True)
        if signing.centre == "median" and "mean" in signing.figures:
            yield _ratio(signing, "mean", "sign.mean", _MEAN_RATIO)
        for name in signing.high:
            yield _ratio(signing, name, "sign.tail", _HIGH_RATIO)
        yield from _inversion(signing)
    alike = list(_one_input(signing, table))
    yield from alike
    # A tail that one repeated input explains was not cut.
    if single and not any(f.verdict is signing.outside for f in alike):
        yield from _trimmed(signing)


def _spread(signing: Signing) -> Iterator[Judgement]:
    """`sign.spread`: standard deviation over mean (or median, where no mean is given)."""
    known = deviation(signing.claim)
    if known is not None:
        centre = "mean" if "mean" in signing.figures else signing.centre
        reading = f"Varied inputs spread more. {known[1]}".strip()
        yield _ratio(Signing(signing.claim, signing.name, centre), "sd", "sign.spread", reading)


def _ratio(
    signing: Signing, over: str, rule: str, reading: str, *, below: bool = False
) -> Judgement:
    """A finding about a ratio to the centre that rejection bounds from below (or, for what lies
    ``below`` the centre, from above); the machine may add to it without limit. ``reading``: of a
    ratio beyond the bound."""
    low, high = signing.band(over)
    ratio = signing.ratio(over)
    short, long = ratio.high < low * (1 - signing.noise), ratio.low > high * (1 + signing.noise)
    verdict = signing.outside
    if not (long if below else short):
        verdict, reading = Verdict.CONSISTENT, ""
        if short or long:
            verdict, reading = Verdict.UNDECIDABLE, "Beyond rejection: disturbances of the machine?"
    text = f"{label(over)}/{label(signing.centre)} {number(ratio.value)}"
    return judgement(
        rule, text, reading, verdict, stated=ratio, low=low, high=high, allowed=signing.noise,
    )  # fmt: skip


def _inversion(signing: Signing) -> Iterator[Judgement]:
    """`sign.inversion`: which costs of a first (S) and of a further attempt (c) give the figures.

    Every figure bounds S + k c from one side or both (`law.Term`), with the noise allowance.
    """
    if len(signing.figures) < 2:
        return
    names = list(signing.figures)
    admissible = signing.implied(names, 1 / signing.highest, 1.0)
    implied = admissible or signing.implied(names, 0.0, math.inf)
    claimed, value = "no solution", math.nan
    reading = "No costs of a first and a further attempt give all these figures."
    if implied:
        least, most = min(x for x, _ in implied.values()), max(x for _, x in implied.values())
        value = 1 / most if most > 0 else math.inf
        claimed = "first/further " + limits(value, 1 / least if least > 0 else None)
        costs = [
            (firsts(signing.bounds(names, law), x), min(x, _STEEP))
            for law, ends in implied.items()
            for x in ends
        ]
        # Both ends of S fall with x, those of c = x S rise.
        first = limits(min(s for (s, _), _ in costs), max(s for (_, s), _ in costs))
        further = limits(min(x * s for (s, _), x in costs), max(x * s for (_, s), x in costs))
        unit = unit_text(signing.claim.unit)
        reading = f"A first attempt would cost {first} {unit}, a further one {further}."
    verdict = Verdict.CONSISTENT if admissible else signing.outside
    yield judgement(
        "sign.inversion", claimed, reading, verdict, stated=value, low=1.0, high=signing.highest
    )


def _one_input(signing: Signing, table: ClaimTable) -> Iterator[Judgement]:
    """`sign.one-input`: the spread of signing beside that of key generation and verification in
    the same table, by the measures that both have, the best first."""
    claim = signing.claim
    others = [
        c
        for c in table.claims
        if isinstance(c, Cost)
        and c.operation in ("keygen", "verify")
        and (c.set, c.unit, c.subject) == (claim.set, claim.unit, claim.subject)
    ]
    measures = []
    for measure in (*reversed(signing.high), *_MEASURES):
        near = {c.operation: v for c in others if (v := _relative(c, measure)) is not None}
        own = _relative(claim, measure)
        if near and own is not None and (measure != "error" or "sd" in signing.figures):
            measures.append((measure, own, signing.least_spread(measure), near))
    low = [entry for entry in measures if entry[1] < entry[2]]
    alike = [entry for entry in low if entry[1] <= _ALIKE * max(entry[3].values())]
    for measure, own, least, near in (alike or low or measures)[:1]:
        listed = ", ".join(f"{name} {number(s)}" for name, s in near.items())
        verdict = Verdict.UNDECIDABLE if low else Verdict.CONSISTENT
        text = f"{_MEASURES.get(measure, f'{label(measure)}/centre - 1:')} {number(own)}"
        yield judgement(
            "sign.one-input", text, f"Operations whose work does not vary: {listed}.",
            signing.outside if alike else verdict, stated=own, low=least,
        )  # fmt: skip


def _relative(claim: Cost, measure: str) -> float | None:
    """The spread of a claim relative to its centre; None where it lacks the figures."""
    figure = claim.error if measure == "error" else claim.figures.get(measure)
    if claim.centre is None or figure is None:
        return None
    ratio = figure.value / claim.centre.value
    return ratio if measure in ("sd", "error") else abs(ratio - 1)


def _trimmed(signing: Signing) -> Iterator[Judgement]:
    """`sign.trimmed`: whether the lower figures alone follow the law, and the upper ones not."""
    lower, ends = [*signing.low, signing.centre], (1 / signing.highest, 1.0)
    if not signing.low or not signing.high or not signing.implied(lower, *ends):
        return
    cut = not signing.implied([*lower, *signing.high], *ends)
    highest, unit = signing.high[-1], unit_text(signing.claim.unit)
    yield judgement(
        "sign.trimmed", f"{label(highest)} {number(signing.figures[highest].value)} {unit}",
        "Long signatures were left out, or the inputs did not vary." if cut else "",
        signing.outside if cut else Verdict.CONSISTENT,
        predicted="a tail that goes with the lower figures",
    )  # fmt: skip
