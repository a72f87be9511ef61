"""Rules for the cost of signing: bands of varied inputs, implied costs, and detectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mldsa_lab.audit.claims import ClaimTable, Cost
from mldsa_lab.audit.figures import deviation, label, ordered
from mldsa_lab.audit.law import (
    ASSUMED_SAMPLES,
    Bound,
    Term,
    attempt_over_first,
    band,
    firsts,
    laws,
    share_of,
)
from mldsa_lab.audit.values import StatedFigure
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, number, unit_text
from mldsa_lab.theory.signers import most_first

NOISE = 0.10
"""Relative allowance for the machine: its noise may move a median or a low percentile so far.
It can lengthen tails and spread without limit, so those have no upper bound."""
NOISE_OF_MEAN = 0.20
"""The same for the mean where it stands in for a median."""

# A grid over the ratio of a further to a first attempt, up to where the first hardly counts.
_GRID = 33
_STEEP = 10.0

# Beyond this multiple of the spread of an operation whose work hardly varies, it is not noise
# alone that spreads signing.
_ALIKE = 3.0


@dataclass(frozen=True)
class Signing:
    """A claim about signing, made ready: the figures net of overhead, their centre, the samples."""

    claim: Cost
    name: str
    figures: dict[str, StatedFigure]
    centre: str
    samples: int
    highest: float
    note: str

    @property
    def outside(self) -> Verdict:
        """The verdict on figures that varied inputs cannot have: the source may not say that
        they were varied."""
        stated = self.claim.inputs == "varied"
        return Verdict.CONTRADICTION if stated else Verdict.IMPLAUSIBLE

    @property
    def noise(self) -> float:
        """The allowance for the machine in a ratio to the centre."""
        return NOISE if self.centre == "median" else NOISE_OF_MEAN

    @property
    def low_statistics(self) -> list[str]:
        """Minimum and percentiles below the median, ascending."""
        return self._statistics(0.0, 0.5)

    @property
    def high_statistics(self) -> list[str]:
        """Percentiles above the median and maximum, ascending."""
        return self._statistics(math.nextafter(0.5, 1), 2.0)

    def _statistics(self, first: float, end: float) -> list[str]:
        return [name for share, name, _ in ordered(self.claim) if first <= share < end]

    def ratio(self, over: str) -> StatedFigure:
        """A figure over the centre, with what rounding may hide."""
        a, b = self.figures[over], self.figures[self.centre]
        value = a.value / b.value
        return StatedFigure(value, max(a.high / max(b.low, 1e-300) - value, value - a.low / b.high))

    def band(self, over: str) -> tuple[float, float]:
        """What the law says of that ratio."""
        per_sample = self.claim.per_sample
        return band(
            self.name, over, self.centre, self.samples, highest=self.highest, per_sample=per_sample
        )

    def judgement(
        self, rule: str, verdict: Verdict, claimed: str, predicted: Band, reading: str,
        value: float | None = None,
    ) -> Judgement:  # fmt: skip
        """A judgement that says where the number of samples was assumed."""
        return Judgement(rule, verdict, claimed, predicted, self.note + reading, value)


def prepare(claim: Cost) -> Signing | None:
    """The claim made ready; None where it has no median and no mean."""
    centre = next((c for c in ("median", "mean") if c in claim.figures), None)
    if claim.per_sample > 1:
        centre = "mean" if "mean" in claim.figures else None
    if centre is None or claim.set is None:
        return None
    figures = {
        name: figure
        if name == "sd"
        else StatedFigure(figure.value - claim.overhead.value, figure.half)
        for name, figure in claim.figures.items()
    }
    if (spread := deviation(claim)) is not None:
        figures["sd"] = spread.figure
    return Signing(
        claim,
        claim.set,
        figures,
        centre,
        claim.samples or ASSUMED_SAMPLES,
        most_first(claim.set, claim.message_bytes),
        "" if claim.samples else f"n = {ASSUMED_SAMPLES} assumed. ",
    )


def judge_signing(claim: Cost, table: ClaimTable) -> Iterator[Judgement]:
    """All findings about a claim on signing; none about other operations."""
    if claim.operation != "sign":
        return
    if claim.inputs == "fixed":
        yield Judgement(
            "sign.one-input",
            Verdict.UNDECIDABLE,
            "one input, as the source says",
            Band.said("no law of one input's cost"),
            "These figures are those of one trace; the mean over all inputs may be several times "
            "as high or less than half.",
        )
        return
    single = claim.per_sample == 1
    if not single and any(share_of(s) is not None for s in claim.figures):
        yield Judgement(
            "sign.averaged",
            Verdict.UNDECIDABLE,
            f"averages of {claim.per_sample:,}",
            Band.said("percentiles of single signatures"),
            "The percentiles are those of averages, and say nothing of single signatures.",
        )
    ready = prepare(claim)
    if ready is None:
        return
    yield from judge_spread(ready)
    if single:
        yield from judge_percentiles(ready)
        yield from judge_inversion(ready)
    alike = list(judge_one_input(ready, table))
    yield from alike
    # A tail that one repeated input explains was not cut.
    if single and not any(found.verdict is ready.outside for found in alike):
        yield from judge_trimmed(ready)


# Bands ------------------------------------------------------------------------------------------


def judge_spread(ready: Signing) -> Iterator[Judgement]:
    """`sign.spread`: standard deviation over mean (or median, where no mean is given)."""
    claim = ready.claim
    if "sd" in ready.figures:
        view = replace(ready, centre="mean" if "mean" in ready.figures else ready.centre)
        found = deviation(claim)
        note = found.note if found is not None else ""
        yield _ratio(view, "sd", "sign.spread", f"Varied inputs spread more. {note}".strip())
    elif claim.error is not None:
        ratio = claim.error.value / ready.figures[ready.centre].value
        yield ready.judgement(
            "sign.spread",
            Verdict.UNDECIDABLE,
            f"±/{label(ready.centre)} {number(ratio)}",
            Band.between(*ready.band("sd")),
            "What the ± is, or of how many samples, is not stated.",
            ratio,
        )


def judge_percentiles(ready: Signing) -> Iterator[Judgement]:
    """`sign.min`: minimum and low percentiles over the centre, at most so much. `sign.mean` and
    `sign.tail`: the mean, high percentiles and maximum over it, at least so much."""
    for name in ready.low_statistics:
        reading = (
            f"A signature accepted at once costs nearly as much as the {label(ready.centre)} one: "
            "the inputs did not vary, or samples are averages."
        )
        yield _ratio(ready, name, "sign.min", reading, below=True)
    if ready.centre == "median" and "mean" in ready.figures:
        reading = (
            "The mean is below the median, which a tail to the right excludes: one of the two is "
            "something else, or the tail was cut."
            if ready.ratio("mean").high < 1
            else "The tail of varied inputs pulls the mean further up."
        )
        yield _ratio(ready, "mean", "sign.mean", reading)
    for name in ready.high_statistics:
        reading = (
            "Varied inputs have a longer tail: the inputs did not vary, samples are averages, or "
            "the tail was cut."
        )
        yield _ratio(ready, name, "sign.tail", reading)


def _ratio(ready: Signing, over: str, rule: str, reading: str, *, below: bool = False) -> Judgement:
    """A finding about a ratio to the centre that rejection bounds from below (or, for what lies
    ``below`` the centre, from above); the machine may add to it without limit. ``reading``: of a
    ratio beyond the bound."""
    low, high = ready.band(over)
    ratio = ready.ratio(over)
    short, long = ratio.high < low * (1 - ready.noise), ratio.low > high * (1 + ready.noise)
    if long if below else short:
        verdict = ready.outside
    elif short or long:
        verdict = Verdict.UNDECIDABLE
        reading = "More than rejection explains; the rest would be the machine's disturbances."
        if below:
            reading = "Lower than rejection explains; the machine may have been faster at times."
    else:
        verdict = Verdict.CONSISTENT
        inside = ratio.high >= low and ratio.low <= high
        reading = (
            "As the law has it." if inside else "Within the allowance for the machine's noise."
        )
    text = f"{'sd' if over == 'sd' else label(over)}/{label(ready.centre)} {number(ratio.value)}"
    return ready.judgement(rule, verdict, text, Band.between(low, high), reading, ratio.value)


# Implied costs ----------------------------------------------------------------------------------


def judge_inversion(ready: Signing) -> Iterator[Judgement]:
    """`sign.inversion`: which costs of a first (S) and of a further attempt (c) give the figures.

    Every figure bounds S + k c from one side or both (`law.Term`), with the noise allowance.
    """
    if len(ready.figures) < 2:
        return
    highest, unit = ready.highest, unit_text(ready.claim.unit)
    found = _implied(ready, list(ready.figures), 0.0, math.inf)
    admissible = _implied(ready, list(ready.figures), 1 / highest, 1.0)
    claimed, low = "no solution", None
    if found is None:
        reading = "No costs of a first and a further attempt give all these figures."
    elif admissible is not None:
        reading = (
            f"A first attempt costs {Band.between(*admissible.first).text} {unit}, a further one "
            f"{Band.between(*admissible.further).text}."
        )
    elif found.ratio[0] > highest:
        reading = (
            f"A further attempt would cost {number(found.further[1])} {unit} at most, "
            f"1/{number(found.ratio[0])} of a first one or less; hashing alone makes it at least "
            f"1/{number(highest)}."
        )
    else:
        reading = "A first attempt would cost less than a further one, all of which it contains."
    if found is not None:
        low, high = (admissible or found).ratio
        claimed = "first/further " + Band.between(low, None if math.isinf(high) else high).text
    verdict = ready.outside if admissible is None else Verdict.CONSISTENT
    predicted = Band.between(1.0, highest)
    yield ready.judgement("sign.inversion", verdict, claimed, predicted, reading, low)


class Implied(NamedTuple):
    """Costs that give figures: of a first attempt, of a further one, and their ratio, each from
    and to."""

    ratio: tuple[float, float]
    first: tuple[float, float]
    further: tuple[float, float]


def _implied(ready: Signing, names: list[str], low: float, high: float) -> Implied | None:
    """The costs that give the figures of those names, a further attempt between ``low`` and
    ``high`` of a first one; None if there are none. Over all laws of the set; the ends of the
    costs are taken on a grid."""
    ratios: list[float] = []
    costs: list[tuple[float, float]] = []
    for law in laws(ready.name):
        bounds = _bounds(ready, {name: law.term(name, ready.samples) for name in names})
        found = attempt_over_first(bounds)
        if found is None or found[1] < low or found[0] > high:
            continue
        least, most = max(found[0], low), min(found[1], high)
        ratios += [math.inf if x <= 0 else 1 / x for x in (least, most)]
        for x in np.linspace(least, min(most, max(least, _STEEP)), _GRID):
            costs += [(first, float(x) * first) for first in firsts(bounds, float(x))]
    if not ratios:
        return None
    first, further = zip(*costs, strict=True)
    ends = ((min(found), max(found)) for found in (ratios, first, further))
    return Implied(*ends)


def _bounds(ready: Signing, terms: dict[str, Term]) -> list[Bound]:
    """What figures say of the costs, given what they are made of."""
    bounds = []
    for name, term in terms.items():
        figure, share = ready.figures[name], share_of(name)
        if name == ready.centre or (share is not None and share < 0.5):
            bounds.append(Bound(term, figure.low / (1 + ready.noise), at_least=True))
        if name == ready.centre or share is None or share > 0.5:
            bounds.append(Bound(term, figure.high / (1 - ready.noise), at_least=False))
    return bounds


# Detectors --------------------------------------------------------------------------------------


def judge_one_input(ready: Signing, table: ClaimTable) -> Iterator[Judgement]:
    """`sign.one-input`: the spread of signing beside that of key generation and verification in
    the same table, by the measures that both have."""
    claim = ready.claim
    others = [
        c
        for c in table.claims
        if isinstance(c, Cost)
        and c.operation in ("keygen", "verify")
        and (c.set, c.unit, c.subject) == (claim.set, claim.unit, claim.subject)
    ]
    found = []
    for measure in _measures(ready):
        beside = {c.operation: v for c in others if (v := _relative(c, measure)) is not None}
        own = _relative(claim, measure)
        if beside and own is not None:
            found.append((measure, own, _spread_of_law(ready, measure), beside))
    if not found:
        return
    low = [entry for entry in found if entry[1] < entry[2]]
    alike = [entry for entry in low if entry[1] <= _ALIKE * max(entry[3].values())]
    measure, own, least, beside = (alike or low or found)[0]
    listed = ", ".join(f"{name} {number(s)}" for name, s in beside.items())
    verdict, reading = Verdict.CONSISTENT, "Signing varies as varied inputs do."
    if alike:
        verdict = ready.outside
        reading = (
            f"Signing spreads like operations whose work does not vary ({listed}): one input "
            "was signed again and again, or samples are averages."
        )
    elif low:
        verdict = Verdict.UNDECIDABLE
        reading = f"Less than varied inputs spread, but more than the machine does ({listed})."
    name = _MEASURES.get(measure, f"{label(measure)}/centre - 1:")
    predicted = Band.between(least, None)
    yield ready.judgement(
        "sign.one-input", verdict, f"{name} {number(own)}", predicted, reading, own
    )


_MEASURES = {"sd": "sd/centre", "error": "±/centre", "min": "1 - minimum/centre:"}


def _measures(ready: Signing) -> list[str]:
    """Measures of spread that the claim has, the best first."""
    found = list(reversed(ready.high_statistics))
    if "sd" in ready.claim.figures:
        found.append("sd")
    if ready.claim.error is not None and "sd" in ready.figures:
        found.append("error")
    return found + (["min"] if "min" in ready.figures else [])


def _relative(claim: Cost, measure: str) -> float | None:
    """The spread of a claim relative to its centre; None where it lacks the figures."""
    figure = claim.error if measure == "error" else claim.figures.get(measure)
    if claim.centre is None or figure is None:
        return None
    ratio = figure.value / claim.centre.value
    return ratio if measure in ("sd", "error") else abs(ratio - 1)


def _spread_of_law(ready: Signing, measure: str) -> float:
    """The least spread of varied inputs by that measure, less the noise allowance."""
    if measure in ("sd", "error"):
        return ready.band("sd")[0] * (1 - ready.noise)
    if measure == "min":
        return max(0.0, 1 - ready.band("min")[1] * (1 + ready.noise))
    return max(0.0, ready.band(measure)[0] * (1 - ready.noise) - 1)


def judge_trimmed(ready: Signing) -> Iterator[Judgement]:
    """`sign.trimmed`: whether the lower figures alone follow the law, and the upper ones not."""
    lower, upper = [*ready.low_statistics, ready.centre], ready.high_statistics
    ends = (1 / ready.highest, 1.0)
    if len(lower) == 1 or not upper or _implied(ready, lower, *ends) is None:
        return
    cut = _implied(ready, [*lower, *upper], *ends) is None
    yield ready.judgement(
        "sign.trimmed",
        ready.outside if cut else Verdict.CONSISTENT,
        f"{label(upper[-1])} {number(ready.figures[upper[-1]].value)} "
        + unit_text(ready.claim.unit),
        Band.said("a tail that goes with the lower figures"),
        "The lower figures are those of varied inputs, the upper ones are too low for them: "
        "long signatures were left out, or the inputs did not vary."
        if cut
        else "Lower and upper figures go together.",
    )
