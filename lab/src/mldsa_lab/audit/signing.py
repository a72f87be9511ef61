"""Rules for the cost of signing: bands of varied inputs, implied costs, and detectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Cost, Figure, Table
from mldsa_lab.audit.figures import deviation, label
from mldsa_lab.audit.law import (
    ASSUMED_SAMPLES,
    Bound,
    Term,
    attempt_over_setup,
    band,
    laws,
    setup_max,
    setups,
    share_of,
)
from mldsa_lab.audit.verdict import Finding, Range, Rule, Verdict, number, unit_text

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
    figures: dict[str, Figure]
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

    def noise(self) -> float:
        """The allowance for the machine in a ratio to the centre."""
        return NOISE if self.centre == "median" else NOISE_OF_MEAN

    def ratio(self, over: str) -> Figure:
        """A figure over the centre, with what rounding may hide."""
        a, b = self.figures[over], self.figures[self.centre]
        value = a.value / b.value
        return Figure(value, max(a.high / max(b.low, 1e-300) - value, value - a.low / b.high))

    def band(self, over: str) -> tuple[float, float]:
        """What the law says of that ratio."""
        return band(
            self.name,
            over,
            self.centre,
            self.samples,
            highest=self.highest,
            per_sample=self.claim.per_sample,
        )


def prepare(claim: Cost) -> Signing | None:
    """The claim made ready; None where it has no median and no mean."""
    centre = next((c for c in ("median", "mean") if c in claim.figures), None)
    if claim.per_sample > 1:
        centre = "mean" if "mean" in claim.figures else None
    if centre is None or claim.set is None:
        return None
    figures = {
        name: figure if name == "sd" else Figure(figure.value - claim.overhead, figure.half)
        for name, figure in claim.figures.items()
    }
    spread = deviation(claim)
    if spread is not None:
        figures["sd"] = spread.figure
    note = "" if claim.samples else f"n = {ASSUMED_SAMPLES} assumed. "
    return Signing(
        claim,
        claim.set,
        figures,
        centre,
        claim.samples or ASSUMED_SAMPLES,
        setup_max(claim.set, claim.message_bytes),
        note,
    )


def judge_signing(claim: Cost, table: Table) -> Iterator[Finding]:
    """All findings about a claim on signing."""
    if claim.inputs == "fixed":
        yield _one_input_stated(claim)
        return
    if claim.per_sample > 1 and any(share_of(s) is not None for s in claim.figures):
        yield _averaged(claim)
    ready = prepare(claim)
    if ready is None:
        return
    yield from judge_spread(ready)
    yield from judge_minimum(ready)
    yield from judge_mean_over_median(ready)
    yield from judge_tail(ready)
    yield from judge_inversion(ready)
    alike = list(judge_one_input(ready, table))
    yield from alike
    # A tail that one repeated input explains was not cut.
    if not any(finding.verdict is ready.outside for finding in alike):
        yield from judge_trimmed(ready)


# Bands ------------------------------------------------------------------------------------------


def judge_spread(ready: Signing) -> Iterator[Finding]:
    """`sign.spread`: standard deviation over mean (or median, where no mean is given)."""
    claim = ready.claim
    if "sd" not in ready.figures:
        if claim.error is not None:
            ratio = claim.error.value / ready.figures[ready.centre].value
            low, high = ready.band("sd")
            yield Finding(
                claim.id,
                rules.SPREAD,
                Verdict.UNDECIDABLE,
                f"±/{label(ready.centre)} {number(ratio)}",
                Range.between(low, high),
                f"{ready.note}What the ± is, or of how many samples, is not stated.",
                ratio,
            )
        return
    centre = "mean" if "mean" in ready.figures else ready.centre
    view = ready if centre == ready.centre else replace(ready, centre=centre)
    found = deviation(claim)
    note = found.note if found is not None else ""
    yield _lower(
        view,
        "sd",
        rules.SPREAD,
        f"Varied inputs spread more. {note}".strip(),
    )


def judge_minimum(ready: Signing) -> Iterator[Finding]:
    """`sign.min`: minimum and low percentiles over the centre, at most so much."""
    if ready.claim.per_sample > 1:
        return
    for name in _low_statistics(ready):
        low, high = ready.band(name)
        ratio = ready.ratio(name)
        text = f"{label(name)}/{label(ready.centre)} {number(ratio.value)}"
        if ratio.low > high * (1 + ready.noise()):
            verdict = ready.outside
            reading = (
                f"A signature accepted at once is nearly as dear as the {label(ready.centre)} one: "
                "the inputs did not vary, or samples are averages."
            )
        elif ratio.high < low * (1 - ready.noise()):
            verdict = Verdict.UNDECIDABLE
            reading = "Lower than rejection explains; the machine may have been faster at times."
        else:
            verdict, reading = Verdict.CONSISTENT, _fits(ratio, low, high)
        yield Finding(
            ready.claim.id,
            rules.MINIMUM,
            verdict,
            text,
            Range.between(low, high),
            ready.note + reading,
            ratio.value,
        )


def judge_mean_over_median(ready: Signing) -> Iterator[Finding]:
    """`sign.mean`."""
    if ready.centre != "median" or "mean" not in ready.figures:
        return
    ratio = ready.ratio("mean")
    reading = (
        "The mean is below the median, which a tail to the right excludes: one of the two is "
        "something else, or the tail was cut."
        if ratio.high < 1
        else "The tail of varied inputs pulls the mean further up."
    )
    yield _lower(ready, "mean", rules.MEAN, reading)


def judge_tail(ready: Signing) -> Iterator[Finding]:
    """`sign.tail`: percentiles above the median, and the maximum, over the centre."""
    if ready.claim.per_sample > 1:
        return
    for name in _high_statistics(ready):
        yield _lower(
            ready,
            name,
            rules.TAIL,
            "Varied inputs have a longer tail: the inputs did not vary, samples are averages, or "
            "the tail was cut.",
        )


def _lower(ready: Signing, over: str, rule: Rule, reading: str) -> Finding:
    """A finding about a ratio to the centre that rejection bounds from below."""
    low, high = ready.band(over)
    ratio = ready.ratio(over)
    if ratio.high < low * (1 - ready.noise()):
        verdict = ready.outside
    elif ratio.low > high * (1 + ready.noise()):
        verdict = Verdict.UNDECIDABLE
        reading = "More than rejection explains; the rest would be the machine's disturbances."
    else:
        verdict, reading = Verdict.CONSISTENT, _fits(ratio, low, high)
    return Finding(
        ready.claim.id,
        rule,
        verdict,
        f"{'sd' if over == 'sd' else label(over)}/{label(ready.centre)} {number(ratio.value)}",
        Range.between(low, high),
        ready.note + reading,
        ratio.value,
    )


def _fits(ratio: Figure, low: float, high: float) -> str:
    inside = ratio.high >= low and ratio.low <= high
    return "As the law has it." if inside else "Within the allowance for the machine's noise."


def _low_statistics(ready: Signing) -> list[str]:
    return _statistics(ready, lambda share: share < 0.5)


def _high_statistics(ready: Signing) -> list[str]:
    return _statistics(ready, lambda share: share > 0.5)


def _statistics(ready: Signing, wanted: Callable[[float], bool]) -> list[str]:
    named = [(share_of(name), name) for name in ready.figures]
    return [n for share, n in sorted((s, n) for s, n in named if s is not None) if wanted(share)]


# Implied costs ----------------------------------------------------------------------------------


def judge_inversion(ready: Signing) -> Iterator[Finding]:
    """`sign.inversion`: which costs of a first (S) and of a further attempt (c) give the figures.

    Every figure bounds S + k c from one side or both (`law.Term`), with the noise allowance.
    """
    if len(ready.figures) < 2 or ready.claim.per_sample > 1:
        return
    predicted = Range.between(1.0, ready.highest)
    unit = unit_text(ready.claim.unit)
    found = _implied(ready, 0.0, math.inf)
    if found is None:
        yield Finding(
            ready.claim.id,
            rules.INVERSION,
            ready.outside,
            "no solution",
            predicted,
            f"{ready.note}No costs of a first and a further attempt give all these figures.",
        )
        return
    admissible = _implied(ready, 1 / ready.highest, 1.0)
    if admissible is not None:
        verdict = Verdict.CONSISTENT
        first, further = admissible.first, admissible.further
        reading = (
            f"A first attempt costs {Range.between(*first).text} {unit}, a further one "
            f"{Range.between(*further).text}."
        )
    elif found.ratio[0] > ready.highest:
        verdict = ready.outside
        reading = (
            f"A further attempt would cost {number(found.further[1])} {unit} at most, "
            f"1/{number(found.ratio[0])} of a first one or less; hashing alone makes it at least "
            f"1/{number(ready.highest)}."
        )
    else:
        verdict = ready.outside
        reading = "A first attempt would cost less than a further one, all of which it contains."
    low, high = (admissible or found).ratio
    claimed = "first/further " + Range.between(low, None if math.isinf(high) else high).text
    yield Finding(
        ready.claim.id, rules.INVERSION, verdict, claimed, predicted, ready.note + reading, low
    )


@dataclass(frozen=True, slots=True)
class Implied:
    """Costs that give a claim's figures: of a first attempt, of a further one, and their ratio,
    each from and to."""

    ratio: tuple[float, float]
    first: tuple[float, float]
    further: tuple[float, float]


def _implied(ready: Signing, low: float, high: float) -> Implied | None:
    """The costs with a further attempt between ``low`` and ``high`` of a first one; None if there
    are none. Over all laws of the set; the ends of the costs are taken on a grid."""
    ratios: list[float] = []
    costs: list[tuple[float, float]] = []
    for law in laws(ready.name):
        bounds = _bounds(ready, {n: law.term(n, ready.samples) for n in ready.figures})
        found = attempt_over_setup(bounds)
        if found is None or found[1] < low or found[0] > high:
            continue
        first, last = max(found[0], low), min(found[1], high)
        ratios += [math.inf if x <= 0 else 1 / x for x in (first, last)]
        for x in np.linspace(first, min(last, max(first, _STEEP)), _GRID):
            costs += [(s, float(x) * s) for s in setups(bounds, float(x))]
    if not ratios:
        return None
    firsts, further = ([c[i] for c in costs] for i in (0, 1))
    return Implied(
        (min(ratios), max(ratios)), (min(firsts), max(firsts)), (min(further), max(further))
    )


def _bounds(ready: Signing, terms: dict[str, Term]) -> list[Bound]:
    bounds = []
    noise = ready.noise()
    for name, term in terms.items():
        figure = ready.figures[name]
        share = share_of(name)
        if name == ready.centre or (share is not None and share < 0.5):
            bounds.append(Bound(term, figure.low / (1 + noise), at_least=True))
        if name == ready.centre or share is None or share > 0.5:
            bounds.append(Bound(term, figure.high / (1 - noise), at_least=False))
    return bounds


# Detectors --------------------------------------------------------------------------------------


def judge_one_input(ready: Signing, table: Table) -> Iterator[Finding]:
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
    name = _MEASURES.get(measure, f"{label(measure)}/centre - 1:")
    if alike:
        verdict = ready.outside
        reading = (
            f"Signing spreads like operations whose work does not vary ({listed}): one input "
            "was signed again and again, or samples are averages."
        )
    elif low:
        verdict = Verdict.UNDECIDABLE
        reading = f"Less than varied inputs spread, but more than the machine does ({listed})."
    else:
        verdict, reading = Verdict.CONSISTENT, "Signing varies as varied inputs do."
    yield Finding(
        claim.id,
        rules.ONE_INPUT,
        verdict,
        f"{name} {number(own)}",
        Range.between(least, None),
        ready.note + reading,
        own,
    )


_MEASURES = {"sd": "sd/centre", "error": "±/centre", "min": "1 - minimum/centre:"}


def _measures(ready: Signing) -> list[str]:
    """Measures of spread that the claim has, the best first."""
    found = list(reversed(_high_statistics(ready)))
    if "sd" in ready.claim.figures:
        found.append("sd")
    if ready.claim.error is not None and "sd" in ready.figures:
        found.append("error")
    return found + (["min"] if "min" in ready.figures else [])


def _relative(claim: Cost, measure: str) -> float | None:
    """The spread of a claim relative to its centre; None where it lacks the figures."""
    centre = claim.figures.get("median") or claim.figures.get("mean")
    if centre is None:
        return None
    if measure == "error":
        return None if claim.error is None else claim.error.value / centre.value
    figure = claim.figures.get(measure)
    if figure is None:
        return None
    return figure.value / centre.value if measure == "sd" else abs(figure.value / centre.value - 1)


def _spread_of_law(ready: Signing, measure: str) -> float:
    """The least spread of varied inputs by that measure, less the noise allowance."""
    if measure in ("sd", "error"):
        return ready.band("sd")[0] * (1 - ready.noise())
    if measure == "min":
        return max(0.0, 1 - ready.band("min")[1] * (1 + ready.noise()))
    return max(0.0, ready.band(measure)[0] * (1 - ready.noise()) - 1)


def judge_trimmed(ready: Signing) -> Iterator[Finding]:
    """`sign.trimmed`: whether the lower figures alone follow the law, and the upper ones not."""
    lower = _low_statistics(ready)
    upper = _high_statistics(ready)
    if not lower or not upper or ready.claim.per_sample > 1:
        return
    if not _follows(ready, [*lower, ready.centre]):
        return
    cut = not _follows(ready, [*lower, ready.centre, *upper])
    top = upper[-1]
    yield Finding(
        ready.claim.id,
        rules.TRIMMED,
        ready.outside if cut else Verdict.CONSISTENT,
        f"{label(top)} {number(ready.figures[top].value)} {unit_text(ready.claim.unit)}",
        Range(None, None, "a tail that goes with the lower figures"),
        ready.note
        + (
            "The lower figures are those of varied inputs, the upper ones are too low for them: "
            "long signatures were left out, or the inputs did not vary."
            if cut
            else "Lower and upper figures go together."
        ),
    )


def _follows(ready: Signing, names: list[str]) -> bool:
    """Whether some admissible costs give these figures."""
    for law in laws(ready.name):
        bounds = _bounds(ready, {n: law.term(n, ready.samples) for n in names})
        found = attempt_over_setup(bounds)
        if found is not None and found[1] >= 1 / ready.highest and found[0] <= 1:
            return True
    return False


def _one_input_stated(claim: Cost) -> Finding:
    return Finding(
        claim.id,
        rules.ONE_INPUT,
        Verdict.UNDECIDABLE,
        "one input, as the source says",
        Range(None, None, "no law of one input's cost"),
        "These figures are those of one trace; the mean over all inputs may be several times as "
        "high or less than half.",
    )


def _averaged(claim: Cost) -> Finding:
    return Finding(
        claim.id,
        rules.AVERAGED,
        Verdict.UNDECIDABLE,
        f"averages of {claim.per_sample:,}",
        Range(None, None, "percentiles of single signatures"),
        "The percentiles are those of averages, and say nothing of single signatures.",
    )
