"""Rules about throughput, threads and batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mldsa_lab.audit.claims import Batch, ClaimTable, Cost, Scaling, seconds
from mldsa_lab.audit.figures import label, mean_limits
from mldsa_lab.audit.law import ASSUMED_SAMPLES, band, share_of_key
from mldsa_lab.audit.values import StatedFigure
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, number, percent, unit_text
from mldsa_lab.theory.signers import most_first

MEASURED = 0.02
"""Two measurements of one quantity agree so far."""
ANOTHER_RUN = 0.10
"""Measurements of one quantity in different runs agree so far; beyond, no machine explains it."""
SMT_GAIN = 1.33
"""What a physical core gains by a second thread at most (see the rule's source)."""

_BY_LAW = "the law's least mean for this median"


def judge_scaling(claim: Scaling, table: ClaimTable) -> Iterator[Judgement]:
    """`throughput.latency` of the fewest threads, for each cost that the claim names;
    `scaling.cores` for points within the cores, `scaling.smt` beyond them."""
    base = next((point.per_second for point in claim.points if point.threads == 1), None)
    for point in claim.points:
        rate = point.per_second
        speedup: StatedFigure | None = point.speedup
        if rate is not None:
            if point is claim.points[0]:
                for cost in table.named(claim.cost_of):
                    yield judge_throughput(cost, rate, point.threads)
            if len(claim.points) == 1 or point.threads == 1:
                continue
            if base is None:
                yield Judgement(
                    "scaling.cores",
                    Verdict.UNDECIDABLE,
                    f"{number(rate.value)}/s with {point.threads}",
                    Band.said("throughput of one thread × threads"),
                    "The throughput of one thread is not given.",
                    rate.value,
                )
                continue
            value = rate.value / base.value
            speedup = StatedFigure(value, rate.high / base.low - value)
        assert speedup is not None
        yield _speedup(claim, point.threads, speedup)


def judge_throughput(cost: Cost | Batch, per_second: StatedFigure, workers: int) -> Judgement:
    """Little's law: throughput times mean cost, over the workers, is at most 1.

    Where no mean is given, its lower limit stands in: by the percentiles, and for signing by the
    law of varied inputs. Of batches it is the cheapest.
    """
    scale = seconds(cost.unit)
    assert scale is not None
    if isinstance(cost, Batch):
        mean, how = min(point.cost.low for point in cost.points), "the cost in the cheapest batch"
    else:
        mean, how = _least_mean(cost)
    unit = unit_text(cost.unit)
    busy = per_second.low * max(mean, 0) * scale / workers
    implied = workers / per_second.value / scale
    if busy <= 1 + MEASURED:
        verdict, reading = Verdict.CONSISTENT, "The workers have time enough for that."
    else:
        verdict = Verdict.IMPLAUSIBLE if busy <= 1 + ANOTHER_RUN else Verdict.CONTRADICTION
        if how == _BY_LAW and isinstance(cost, Cost) and cost.inputs != "varied":
            verdict = Verdict.IMPLAUSIBLE
        reading = (
            f"The throughput leaves {number(implied)} {unit} for each, and {how} is "
            f"{number(mean)} {unit}: one of the two is of something else."
        )
    predicted = Band(mean, None, f"{cost.id}: at least {number(mean)} {unit}")
    claimed = f"{number(per_second.value)}/s: {number(implied)} {unit} each"
    return Judgement("throughput.latency", verdict, claimed, predicted, reading, implied)


def _least_mean(cost: Cost) -> tuple[float, str]:
    """The least mean that a claim's figures allow, and how it is known."""
    if (mean := cost.figures.get("mean")) is not None:
        return mean.low, "the mean"
    found = [(0.0, "the least mean")]
    low, _ = mean_limits(cost)
    if low is not None:
        found.append((low, "the least mean that the percentiles allow"))
    median = cost.figures.get("median")
    if median is not None and cost.operation != "sign":
        found.append((median.low * (1 - ANOTHER_RUN), "the median"))
    if median is not None and _varied(cost) and cost.per_sample == 1:
        overhead = cost.overhead.value
        least = _mean_over_median(cost)[0] * (1 - ANOTHER_RUN)
        found.append((least * (median.low - overhead) + overhead, _BY_LAW))
    return max(found)


def _varied(cost: Cost) -> bool:
    """Whether the law of varied inputs may hold of it."""
    return cost.operation == "sign" and cost.inputs != "fixed"


def _mean_over_median(cost: Cost) -> tuple[float, float]:
    """Between which values the law has the ratio, for signing."""
    assert cost.set is not None
    samples, highest = cost.samples or ASSUMED_SAMPLES, most_first(cost.set, cost.message_bytes)
    return band(cost.set, "mean", "median", samples, highest=highest)


def _speedup(claim: Scaling, threads: int, speedup: StatedFigure) -> Judgement:
    """One point of a scaling."""
    text, cores = f"{number(speedup.value)}× with {threads}", claim.cores
    verdict = Verdict.CONSISTENT
    if cores is None or threads <= cores:
        limit = float(threads)
        reading = f"{percent(speedup.value / threads)} of each core"
        alone = ", if each thread has a core of its own; the cores are not stated."
        reading += "." if cores is not None else alone
        if speedup.low > threads * (1 + MEASURED):
            far = speedup.low > threads * (1 + ANOTHER_RUN)
            verdict = Verdict.CONTRADICTION if far else Verdict.IMPLAUSIBLE
            reading = "More than proportional to the cores: the throughput of one is too low."
        rule = "scaling.cores"
    else:
        limit = min(cores * SMT_GAIN, float(threads))
        each = number(speedup.value / cores)
        reading = f"{each} of one thread for each physical core."
        if speedup.low > limit * (1 + MEASURED):
            hard = min(threads, cores * claim.threads_per_core) * (1 + MEASURED)
            verdict = Verdict.IMPLAUSIBLE if speedup.low <= hard else Verdict.CONTRADICTION
            reading = (
                f"{each} times one thread for each of {cores} physical cores; threads that share "
                "a core share its units."
            )
        rule = "scaling.smt"
    return Judgement(rule, verdict, text, Band.between(None, limit), reading, speedup.value)


def judge_batch(claim: Batch, table: ClaimTable) -> Iterator[Judgement]:
    """`batch.shape`, and `batch.cost` against each single cost that the claim names."""
    yield _shape(claim)
    if seconds(claim.unit) is not None:
        for cost in table.named(claim.cost_of):
            assert isinstance(cost, Cost)
            yield _gain(claim, cost)


def _shape(claim: Batch) -> Judgement:
    points = claim.points
    text = ", ".join(f"{number(point.cost.value)} ({point.size:,})" for point in points)
    first, last = points[0], points[-1]
    fixed = (first.cost.value - last.cost.value) / (1 / first.size - 1 / last.size)
    floor = last.cost.value - fixed / last.size
    off = max(abs(point.cost.value / (floor + fixed / point.size) - 1) for point in points)
    verdict = Verdict.CONSISTENT
    reading = (
        f"With {number(floor)} + {number(fixed)}/size {unit_text(claim.unit)} the others are off "
        f"by up to {percent(off)}."
    )
    if off > ANOTHER_RUN:
        verdict = Verdict.UNDECIDABLE
        reading += " Something else than a fixed cost is saved, lanes for example."
    for a, b in pairwise(points):
        if b.cost.low > a.cost.high * (1 + ANOTHER_RUN):
            verdict = Verdict.IMPLAUSIBLE
            reading = f"A batch of {b.size:,} costs more for each than one of {a.size:,}."
            break
    return Judgement("batch.shape", verdict, text, Band.said("c + a/size"), reading)


def _gain(claim: Batch, cost: Cost) -> Judgement:
    """The largest batch against the single cost."""
    unit, last = unit_text(cost.unit), claim.points[-1]
    value = last.cost.value * (seconds(claim.unit) or 0.0) / (seconds(cost.unit) or 1.0)
    text = f"{number(value)} {unit} in {last.size:,}"
    centre = "mean" if "mean" in cost.figures else "median"
    if centre not in cost.figures or cost.set is None:
        reading = f"{cost.id!r} has no mean or median, or no set."
        predicted = Band.said("single cost less A")
        return Judgement("batch.cost", Verdict.UNDECIDABLE, text, predicted, reading, value)
    single = cost.figures[centre]
    least = single.low
    reading = (
        f"{percent(1 - value / single.value)} less than the single {label(centre)} of "
        f"{number(single.value)} {unit}."
    )
    if centre == "median" and _varied(cost):
        # A batch's cost for one is an average, to be compared with a mean.
        low, high = _mean_over_median(cost)
        least *= low
        reading += (
            f" But a cost in a batch is an average, and varied inputs with this median have a "
            f"mean of {number(least)} to {number(single.high * high)} {unit}."
        )
    floor = least * (1 - share_of_key(cost.set, cost.operation)) * (1 - ANOTHER_RUN)
    verdict = Verdict.CONSISTENT
    if value < floor:
        verdict = Verdict.IMPLAUSIBLE
        reading += " More than expanding A costs: lanes across messages, or another input."
    return Judgement("batch.cost", verdict, text, Band.between(floor, None, unit), reading, value)
