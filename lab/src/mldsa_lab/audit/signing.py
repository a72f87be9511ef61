"""Rules for the cost of signing: bands of varied inputs, implied costs, and detectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mldsa_lab.audit.claims import ClaimTable, Cost
from mldsa_lab.audit.figures import deviation, label, ordered
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement, limits, number, unit_text
from mldsa_lab.audit.law import (
    ASSUMED_SAMPLES,
    Bound,
    attempt_over_first,
    band,
    firsts,
    laws,
    share_of,
)
from mldsa_lab.audit.values import StatedFigure
from mldsa_lab.theory.signers import most_first

NOISE, NOISE_OF_MEAN = 0.10, 0.20
"""Relative allowance for the machine: its noise may move a median, or a mean where it stands in
for one, so far. It can lengthen tails and spread without limit, so those have no upper bound."""

# Up to this ratio of a further to a first attempt the implied costs are given.
_STEEP = 10.0

# Beyond this multiple of the spread of an operation whose work hardly varies, it is not noise
# alone that spreads signing.
_ALIKE = 3.0

_AVERAGES = "the inputs did not vary, or samples are averages"
_LOW_RATIO = f"A signature accepted at once costs nearly as much as a typical one: {_AVERAGES}."
_HIGH_RATIO = f"Varied inputs have a longer tail: {_AVERAGES}, or the tail was cut."
_BELOW = (
    "The mean is below the median, which a tail to the right excludes: one of the two is "
    "something else, or the tail was cut."
)


@dataclass(frozen=True)
class Signing:
    """A claim about signing, made ready: the figures net of overhead, their centre, the samples."""

    claim: Cost
    name: str
    figures: dict[str, StatedFigure]
    centre: str
    highest: float

    @classmethod
    def of(cls, claim: Cost) -> Signing | None:
        """The claim made ready; None where it has no median and no mean."""
        centres = ("median", "mean") if claim.per_sample == 1 else ("mean",)
        centre = next((c for c in centres if c in claim.figures), None)
        if centre is None or claim.set is None:
            return None
        figures = {
            name: f if name == "sd" else StatedFigure(f.value - claim.overhead.value, f.half)
            for name, f in claim.figures.items()
        }
        if (spread := deviation(claim)) is not None:
            figures["sd"] = spread[0]
        return cls(claim, claim.set, figures, centre, most_first(claim.set, claim.message_bytes))

    @property
    def samples(self) -> int:
        """How many samples there are, or are assumed."""
        return self.claim.samples or ASSUMED_SAMPLES

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

    def statistics(self, first: float, end: float) -> list[str]:
        """Minimum, percentiles and maximum with shares from ``first`` to below ``end``."""
        return [name for share, name, _ in ordered(self.claim) if first <= share < end]

    @property
    def low_statistics(self) -> list[str]:
        """Minimum and percentiles below the median, ascending."""
        return self.statistics(0.0, 0.5)

    @property
    def high_statistics(self) -> list[str]:
        """Percentiles above the median and maximum, ascending."""
        return self.statistics(math.nextafter(0.5, 1), 2.0)

    def ratio(self, over: str) -> StatedFigure:
        """A figure over the centre, with what rounding may hide."""
        a, b = self.figures[over], self.figures[self.centre]
        value = a.value / b.value
        return StatedFigure(value, max(a.high / max(b.low, 1e-300) - value, value - a.low / b.high))

    def band(self, over: str) -> tuple[float, float]:
        """What the law says of that ratio."""
        per = self.claim.per_sample
        return band(
            self.name, over, self.centre, self.samples, highest=self.highest, per_sample=per
        )

    def least_spread(self, measure: str) -> float:
        """The least spread of varied inputs by a measure, less the noise allowance."""
        if measure == "min":
            return max(0.0, 1 - self.band("min")[1] * (1 + self.noise))
        if measure in ("sd", "error"):
            return self.band("sd")[0] * (1 - self.noise)
        return max(0.0, self.band(measure)[0] * (1 - self.noise) - 1)

    def bounds(self, names: list[str], law: int) -> list[Bound]:
        """What figures say of the costs by one of the set's laws."""
        found = []
        for name in names:
            term = laws(self.name)[law].term(name, self.samples)
            figure, share = self.figures[name], share_of(name)
            if name == self.centre or (share is not None and share < 0.5):
                found.append(Bound(term, figure.low / (1 + self.noise), at_least=True))
            if name == self.centre or share is None or share > 0.5:
                found.append(Bound(term, figure.high / (1 - self.noise), at_least=False))
        return found

    def implied(self, names: list[str], low: float, high: float) -> dict[int, tuple[float, float]]:
        """By law, from where to where a further attempt may lie, in first ones and between ``low``
        and ``high``, if it is to give the figures of these names."""
        found = {}
        for law in range(len(laws(self.name))):
            ends = attempt_over_first(self.bounds(names, law))
            if ends is not None and ends[1] >= low and ends[0] <= high:
                found[law] = max(ends[0], low), min(ends[1], high)
        return found


def judge_signing(claim: Cost, table: ClaimTable) -> Iterator[Judgement]:
    """All findings about a claim on signing; none about other operations."""
    if claim.operation != "sign":
        return
    if claim.inputs == "fixed":
        reading = (
            "These figures are those of one trace; the mean over all inputs may be several times "
            "as high or less than half."
        )
        yield judgement(
            "sign.one-input", Verdict.UNDECIDABLE, "one input, as the source says", reading,
            predicted="no law of one input's cost",
        )  # fmt: skip
        return
    single = claim.per_sample == 1
    if not single and any(share_of(s) is not None for s in claim.figures):
        yield judgement(
            "sign.averaged", Verdict.UNDECIDABLE, f"averages of {claim.per_sample:,}",
            "The percentiles are those of averages, and say nothing of single signatures.",
            predicted="percentiles of single signatures",
        )  # fmt: skip
    ready = Signing.of(claim)
    if ready is None:
        return
    found = list(_findings(ready, table, single))
    note = "" if claim.samples else f"n = {ASSUMED_SAMPLES} assumed. "
    yield from (replace(f, reading=(note + f.reading).strip()) for f in found)


def _findings(ready: Signing, table: ClaimTable, single: bool) -> Iterator[Judgement]:
    yield from _spread(ready)
    if single:
        yield from _percentiles(ready)
        yield from _inversion(ready)
    alike = list(_one_input(ready, table))
    yield from alike
    # A tail that one repeated input explains was not cut.
    if single and not any(found.verdict is ready.outside for found in alike):
        yield from _trimmed(ready)


def _spread(ready: Signing) -> Iterator[Judgement]:
    """`sign.spread`: standard deviation over mean (or median, where no mean is given)."""
    claim = ready.claim
    if "sd" in ready.figures:
        view = replace(ready, centre="mean" if "mean" in ready.figures else ready.centre)
        found = deviation(claim)
        note = found[1] if found is not None else ""
        yield _ratio(view, "sd", "sign.spread", f"Varied inputs spread more. {note}".strip())
    elif claim.error is not None:
        ratio = claim.error.value / ready.figures[ready.centre].value
        low, high = ready.band("sd")
        reading = "What the ± is, or of how many samples, is not stated."
        text = f"±/{label(ready.centre)} {number(ratio)}"
        yield judgement(
            "sign.spread", Verdict.UNDECIDABLE, text, reading, value=ratio, low=low, high=high
        )


def _percentiles(ready: Signing) -> Iterator[Judgement]:
    """`sign.min`: minimum and low percentiles over the centre, at most so much. `sign.mean` and
    `sign.tail`: the mean, high percentiles and maximum over it, at least so much."""
    for name in ready.low_statistics:
        yield _ratio(ready, name, "sign.min", _LOW_RATIO, below=True)
    if ready.centre == "median" and "mean" in ready.figures:
        pulled = "The tail of varied inputs pulls the mean further up."
        yield _ratio(ready, "mean", "sign.mean", _BELOW if ready.ratio("mean").high < 1 else pulled)
    for name in ready.high_statistics:
        yield _ratio(ready, name, "sign.tail", _HIGH_RATIO)


def _ratio(ready: Signing, over: str, rule: str, reading: str, *, below: bool = False) -> Judgement:
    """A finding about a ratio to the centre that rejection bounds from below (or, for what lies
    ``below`` the centre, from above); the machine may add to it without limit. ``reading``: of a
    ratio beyond the bound."""
    low, high = ready.band(over)
    ratio = ready.ratio(over)
    short, long = ratio.high < low * (1 - ready.noise), ratio.low > high * (1 + ready.noise)
    verdict = ready.outside
    if not (long if below else short):
        verdict = Verdict.UNDECIDABLE if short or long else Verdict.CONSISTENT
        reading = "Not explained by rejection; the rest would be the machine's disturbances."
        if verdict is Verdict.CONSISTENT:
            inside = ratio.high >= low and ratio.low <= high
            reading = "" if inside else "Within the allowance for the machine's noise."
    text = f"{label(over)}/{label(ready.centre)} {number(ratio.value)}"
    return judgement(rule, verdict, text, reading, value=ratio.value, low=low, high=high)


def _inversion(ready: Signing) -> Iterator[Judgement]:
    """`sign.inversion`: which costs of a first (S) and of a further attempt (c) give the figures.

    Every figure bounds S + k c from one side or both (`law.Term`), with the noise allowance.
    """
    if len(ready.figures) < 2:
        return
    names, highest, unit = list(ready.figures), ready.highest, unit_text(ready.claim.unit)
    found = ready.implied(names, 0.0, math.inf)
    admissible = ready.implied(names, 1 / highest, 1.0)
    claimed, low = "no solution", None
    if found:
        least = min(x for x, _ in (admissible or found).values())
        most = max(x for _, x in (admissible or found).values())
        low = math.inf if most <= 0 else 1 / most
        claimed = "first/further " + limits(low, 1 / least if least > 0 else None)
        costs = [
            (firsts(ready.bounds(names, law), x), min(x, _STEEP))
            for law, ends in (admissible or found).items()
            for x in ends
        ]
        # Both ends of S fall with x, those of c = x S rise.
        first = (min(s for (s, _), _ in costs), max(s for (_, s), _ in costs))
        further = (min(x * s for (s, _), x in costs), max(x * s for (_, s), x in costs))
    if not found:
        reading = "No costs of a first and a further attempt give all these figures."
    elif admissible:
        reading = (
            f"A first attempt costs {limits(*first)} {unit}, a further one {limits(*further)}."
        )
    elif low is not None and low > highest:
        reading = (
            f"A further attempt would cost {number(further[1])} {unit} at most, 1/{number(low)} "
            f"of a first one or less; hashing alone makes it at least 1/{number(highest)}."
        )
    else:
        reading = "A first attempt would cost less than a further one, all of which it contains."
    verdict = Verdict.CONSISTENT if admissible else ready.outside
    yield judgement("sign.inversion", verdict, claimed, reading, value=low, low=1.0, high=highest)


_MEASURES = {"sd": "sd/centre", "error": "±/centre", "min": "1 - minimum/centre:"}


def _one_input(ready: Signing, table: ClaimTable) -> Iterator[Judgement]:
    """`sign.one-input`: the spread of signing beside that of key generation and verification in
    the same table, by the measures that both have, the best first."""
    claim = ready.claim
    others = [
        c
        for c in table.claims
        if isinstance(c, Cost)
        and c.operation in ("keygen", "verify")
        and (c.set, c.unit, c.subject) == (claim.set, claim.unit, claim.subject)
    ]
    found = []
    for measure in (*reversed(ready.high_statistics), *_MEASURES):
        if measure == "error" and "sd" not in ready.figures:
            continue
        near = {c.operation: v for c in others if (v := _relative(c, measure)) is not None}
        own = _relative(claim, measure)
        if near and own is not None:
            found.append((measure, own, ready.least_spread(measure), near))
    if not found:
        return
    low = [entry for entry in found if entry[1] < entry[2]]
    alike = [entry for entry in low if entry[1] <= _ALIKE * max(entry[3].values())]
    measure, own, least, near = (alike or low or found)[0]
    listed = ", ".join(f"{name} {number(s)}" for name, s in near.items())
    verdict, reading = Verdict.CONSISTENT, "Signing varies as varied inputs do."
    if alike:
        verdict = ready.outside
        reading = f"Spread as of operations whose work does not vary ({listed}): {_AVERAGES}."
    elif low:
        verdict = Verdict.UNDECIDABLE
        reading = f"Less than varied inputs spread, but more than the machine does ({listed})."
    text = f"{_MEASURES.get(measure, f'{label(measure)}/centre - 1:')} {number(own)}"
    yield judgement("sign.one-input", verdict, text, reading, value=own, low=least)


def _relative(claim: Cost, measure: str) -> float | None:
    """The spread of a claim relative to its centre; None where it lacks the figures."""
    figure = claim.error if measure == "error" else claim.figures.get(measure)
    if claim.centre is None or figure is None:
        return None
    ratio = figure.value / claim.centre.value
    return ratio if measure in ("sd", "error") else abs(ratio - 1)


def _trimmed(ready: Signing) -> Iterator[Judgement]:
    """`sign.trimmed`: whether the lower figures alone follow the law, and the upper ones not."""
    lower, upper = [*ready.low_statistics, ready.centre], ready.high_statistics
    ends = (1 / ready.highest, 1.0)
    if len(lower) == 1 or not upper or not ready.implied(lower, *ends):
        return
    cut = not ready.implied([*lower, *upper], *ends)
    text = f"{label(upper[-1])} {number(ready.figures[upper[-1]].value)} "
    reading = (
        "The lower figures are those of varied inputs, the upper ones are too low for them: "
        "long signatures were left out, or the inputs did not vary."
    )
    yield judgement(
        "sign.trimmed", ready.outside if cut else Verdict.CONSISTENT,
        text + unit_text(ready.claim.unit), reading if cut else "",
        predicted="a tail that goes with the lower figures",
    )  # fmt: skip
