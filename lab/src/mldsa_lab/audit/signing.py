"""Rules of signing costs: means, percentiles and iterations, and the power of a sample."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from scipy.optimize import brentq
from scipy.stats import nct, t

from mldsa_lab.audit.claims import ClaimTable, Cost, Difference, Rejection
from mldsa_lab.audit.judgement import (
    ANOTHER_RUN,
    Judgement,
    Span,
    StatedFigure,
    Verdict,
    judgement,
    limits,
    number,
    percent,
    unit_text,
)
from mldsa_lab.audit.law import (
    ASSUMED_SAMPLES,
    Bound,
    band,
    deviation,
    firsts,
    iteration_over_first,
    label,
    laws,
    ordered,
    share_of,
)
from mldsa_lab.sets import PARAMETER_SETS, N
from mldsa_lab.theory.rejection import LEAST_FIRST, RejectionModel, max_setup_cost

# Rules for the cost of signing


NOISE, NOISE_OF_MEAN = 0.10, 0.20
"""Relative allowance for the machine: its noise may move a median, or a mean in place of one, so
far. It can lengthen tails and spread without limit, so those have no upper bound."""

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
    """A claim about signing, with ``figures`` net of overhead. ``centre``: its median or mean.
    ``outside``: the verdict on figures that varied inputs cannot have; the source may not say that
    inputs varied. ``noise``: the allowance for the machine in a ratio to the centre. ``low`` and
    ``high``: minimum and percentiles below the median; percentiles above it and maximum."""

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
        """Return a figure over the centre, with the error of rounding."""
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
        """Return, by law, the range of a further iteration's cost that fits the figures of these
        names. Costs are in first iterations, between ``low`` and ``high``."""
        implied = {}
        for law in range(len(laws(self.name))):
            ends = iteration_over_first(self.bounds(names, law))
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
    """Return a finding about a ratio to the centre that rejection bounds from below, or from above
    if it is ``below`` the centre. The machine may add to it without limit. ``reading``: for a ratio
    beyond the bound."""
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
    """`sign.one-input`: the spread of signing against that of key generation and verification in
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
    """`sign.trimmed`: whether only the lower figures follow the distribution, not the upper
    ones."""
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


# Rules about the rejection loop itself


REPETITIONS = {"ML-DSA-44": 4.25, "ML-DSA-65": 5.1, "ML-DSA-87": 3.85}
"""FIPS 204 Table 1, from approximations without the hint check."""

MAXIMUM = 821
"""The attempt limit of FIPS 204's errata: kappa must not wrap its 16 bits."""

_MEASURED = 0.005
"""The deviation of a measured rate that is implausible but no contradiction. Also the deviation of
rates whose limits are round numbers."""
_SAME = 5e-4  # relative; so far forms of the exact rate and of its approximation differ
_ERRORS = 4.0  # standard errors of the measured hint rate
_NEAR = 0.02  # relative; beyond, another hint rate does not explain a number of attempts


def approximate_rates(name: str) -> tuple[float, float]:
    """exp(-256 β l/γ1) and exp(-256 β k/γ2), the usual approximations of the rates of z and r0
    (Dilithium specification, round 3, section 3.4)."""
    c = PARAMETER_SETS[name]
    return math.exp(-N * c.beta * c.l / c.gamma1), math.exp(-N * c.beta * c.k / c.gamma2)


def judge_rejection(claim: Rejection, _: ClaimTable) -> Iterator[Judgement]:
    """All findings about rates and attempts."""
    model = RejectionModel.for_set(claim.set)
    z, r = approximate_rates(claim.set)
    hint, error = 1 - model.fail_h, _ERRORS * model.fail_h_error
    accept = (model.p_accept, z * r, 1 / REPETITIONS[claim.set])
    # Rule, what the rate may be, its usual approximation.
    known: dict[str, tuple[str, tuple[float, ...], float | None]] = {
        "pass_z": ("rejection.z", (model.p_z,), z),
        "pass_r0": ("rejection.r0", (model.p_r,), r),
        "pass_hint": ("rejection.hint", (hint - error, hint + error), None),
        "accept": ("rejection.accept", accept, None),
        "reject": ("rejection.accept", tuple(1 - rate for rate in accept), None),
    }
    for name, stated in claim.rates.items():
        rule, rates, rough = known[name]
        yield _judge_rate(rule, name, stated, min(rates), max(rates), rough)
    yield from _judge_iterations(claim, model)


def _judge_rate(
    rule: str, name: str, stated: Span, least: float, most: float, rough: float | None
) -> Judgement:
    """A rate against the lowest and highest that it may be; ``rough``: its approximation."""
    low, high = stated.low, stated.high
    slack = _MEASURED if not stated.one and name != "pass_hint" else 0.0
    # YAML drops the zero of 0.80: both limits have the digits of the finer one.
    half = min(low.half, high.half)
    outside = max(least - high.value, low.value - most, 0.0)
    off = max(outside - half - slack, 0.0)
    verdict, reading = Verdict.CONTRADICTION, "Not the rate of this parameter set."
    if off <= _SAME * least:
        verdict = Verdict.CONSISTENT
        reading = "Only within rounding." if outside > 0 and not stated.one else ""
    elif name == "pass_hint":
        verdict, more = Verdict.IMPLAUSIBLE, 100 * ((least + most) / 2 / max(low.value, 1e-9) - 1)
        reading = f"With the rate stated, the expected attempts come out {more:+.1f} % off."
    elif off <= _MEASURED:
        verdict, reading = Verdict.IMPLAUSIBLE, f"The exact rate is {least:.4f}."
        if rough is not None and abs(low.value - rough) <= _SAME * rough:
            reading += f" {rough:.4f} is the usual approximation."
    text = f"{least:.4f}" if least == most else f"{least:.4f} to {most:.4f}"
    return judgement(
        rule, f"{name} {stated.text}", reading, verdict, stated=low if stated.one else math.nan,
        low=least, high=most, predicted=None if stated.one else text, allowed=_SAME,
    )  # fmt: skip


def _judge_iterations(claim: Rejection, model: RejectionModel) -> Iterator[Judgement]:
    """`rejection.attempts`: near the mean another hint rate may have been assumed."""
    for name, figure in claim.attempts.items():
        share, near = share_of(name), 0.0
        if share is None:
            least, most = sorted((model.expected_iterations, REPETITIONS[claim.set]))
            near = _NEAR
        elif name in ("min", "max"):
            least, most = 1.0, 1.0 if name == "min" else float(MAXIMUM)
        else:
            least = most = float(model.iterations_quantile(min(share, 1 - 1e-9)))
        text = f"{label(name)} {figure} attempts"
        yield judgement(
            "rejection.attempts", text, stated=figure, low=least, high=most, near=near,
            unit="attempts",
        )  # fmt: skip


# Rules about numbers of samples


def detectable(variation: float, per_group: int, level: float, power: float) -> float:
    """The relative difference of two means that a two-sided t test finds with this power.

    ``variation`` is the standard deviation of a sample over the mean, the same in both groups. The
    power is the tail of a non-central t beyond the critical value, which is inverted here. The
    other tail is negligible at any useful power.
    """
    freedom = 2 * per_group - 2
    critical = float(t.ppf(1 - level / 2, freedom))

    def missing(shift: float) -> float:
        reached = float(nct.sf(critical, freedom, shift))
        return (1.0 if math.isnan(reached) else reached) - power

    most = 1.0
    while missing(most) < 0:
        most *= 2
    shift = 0.0 if missing(0.0) >= 0 else float(brentq(missing, 0.0, most))
    return shift * variation * math.sqrt(2 / per_group)


def significant_from(variation: float, per_group: int, level: float) -> float:
    """The least observed relative difference that a two-sided t test calls significant."""
    critical = float(t.ppf(1 - level / 2, 2 * per_group - 2))
    return critical * variation * math.sqrt(2 / per_group)


def variations(name: str, per_sample: int = 1) -> tuple[float, float]:
    """The least and the largest standard deviation over mean of varied signatures."""
    ends = (LEAST_FIRST, max_setup_cost(name))
    each = [law.moments[0] / (first + law.mean) for law in laws(name) for first in ends]
    return min(each) / math.sqrt(per_sample), max(each) / math.sqrt(per_sample)


def judge_samples(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`sign.error`: the error of a mean of varied signatures by its number of samples."""
    name, mean = claim.varied_set, claim.figures.get("mean")
    if name is None or mean is None or claim.samples is None:
        return
    low, high = (v / math.sqrt(claim.samples) for v in variations(name, claim.per_sample))
    verdict = Verdict.CONSISTENT if high <= ANOTHER_RUN else Verdict.UNDECIDABLE
    text = f"mean {mean} {unit_text(claim.unit)} of {claim.samples:,} samples"
    yield judgement(
        "sign.error", text,
        f"Rejection by itself gives it a standard error of {percent(low)} to {percent(high)}.",
        verdict, low=100 * low, high=100 * high, unit="%",
    )  # fmt: skip


def judge_difference(claim: Difference, _: ClaimTable) -> Iterator[Judgement]:
    """`difference.power`."""
    relative, n = claim.relative, claim.samples_per_group
    stated = math.nan if relative is None else relative.value
    words = {True: "significant", False: "not significant", None: "significance not stated"}
    change = "" if relative is None else f"{percent(stated)}, "
    text = f"{change}{words[claim.significant]}, n = {n:,}"
    if claim.operation != "sign" or claim.paired:
        reading = "Rejection is the same in both groups, or has no part in this operation."
        yield judgement(
            "difference.power", text, reading, Verdict.UNDECIDABLE, stated=stated,
            predicted="noise alone decides",
        )  # fmt: skip
        return
    spreads = variations(claim.set, claim.per_sample)
    low, high = (detectable(v, n, claim.level, claim.power) for v in spreads)
    span = f"{percent(low)} to {percent(high)}"
    averaged = "" if claim.per_sample == 1 else f" of {claim.per_sample:,} signatures each"
    reading = (
        f"With inputs drawn for each group, {n:,} samples{averaged} find a difference of {span} "
        f"in {100 * claim.power:g} % of such studies."
    )
    verdict, more = Verdict.UNDECIDABLE, " A smaller one would not show."
    if relative is not None and claim.significant:
        # The sample's own spread may be less than the law's by chance.
        chance = math.exp(-2 * math.sqrt((laws(claim.set)[0].moments[1] - 1) / (8 * n)))
        more = " A smaller one may be chance."
        if relative.high < significant_from(spreads[0], n, claim.level) * chance:
            verdict = Verdict.IMPLAUSIBLE
            more = (
                " So small a difference is not significant unless the inputs did not vary or "
                "were the same in both groups."
            )
        elif relative.high >= low:
            verdict, more = Verdict.CONSISTENT, ""
    elif relative is not None and relative.low > high:
        verdict, more = Verdict.CONSISTENT, " The difference is larger."
    yield judgement(
        "difference.power", text, reading + more, verdict, stated=stated, low=low, high=high,
        predicted=f"{span} detectable",
    )  # fmt: skip
