"""Rules about throughput, threads and batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from mldsa_lab.audit.arithmetic import FormulaNames, check
from mldsa_lab.audit.claims import Batch, BatchPoint, ClaimTable, Cost, Scaling, ScalingPoint
from mldsa_lab.audit.figures import label, mean_limits
from mldsa_lab.audit.judgement import ANOTHER_RUN, MEASURED, Judgement, Verdict, judgement, limits
from mldsa_lab.audit.law import ASSUMED_SAMPLES, band, share_of_key
from mldsa_lab.audit.values import StatedFigure, number, percent, seconds, unit_text
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.signers import max_setup_cost

SMT_GAIN = 1.33
"""The largest gain of a physical core by a second thread (see the rule's source)."""

_BY_LAW = "the law's least mean for this median"


def judge_scaling(claim: Scaling, table: ClaimTable) -> Iterator[Judgement]:
    """`throughput.latency` of the fewest threads, for each cost that the claim names;
    `scaling.arithmetic` of its own figures; `scaling.cores` for points within the cores,
    `scaling.smt` beyond them."""
    fewest = claim.points[0]
    if fewest.per_second is not None:
        for cost in table.named(claim.cost_of):
            finding = judge_throughput(cost, fewest.per_second, fewest.threads)
            yield replace(finding, values=(f"{fewest.threads} per_second",))
    for point in claim.points:
        yield from _arithmetic(point, fewest)
        rate = point.per_second
        speedup: StatedFigure | None = point.speedup
        if rate is not None and (len(claim.points) == 1 or point.threads == 1):
            continue
        if rate is not None and fewest.per_second is not None and fewest.threads == 1:
            speedup = rate / fewest.per_second
        if speedup is not None:
            names = (f"{point.threads} {name}" for name in ("per_second", "speedup"))
            yield replace(_speedup(claim, point.threads, speedup), values=tuple(names))


def _arithmetic(point: ScalingPoint, fewest: ScalingPoint) -> Iterator[Judgement]:
    """`scaling.arithmetic`: a speedup is a throughput over that of one thread, and an efficiency is
    the speedup over the threads."""
    follows = partial(check, "scaling.arithmetic", may_be_cut=True)
    rate, first, speedup = point.per_second, fewest.per_second, point.speedup
    if speedup is not None and fewest.threads == 1 and rate is not None and first is not None:
        rates = {"rate": rate.rounded(), "first": first.rounded()}
        text, name = f"{speedup} × with {point.threads}", f"{point.threads} speedup"
        yield follows(speedup, "rate / first", rates, text, values=(name,))
    if point.efficiency is not None and speedup is not None:
        names: FormulaNames = {"speedup": speedup, "threads": point.threads}
        text, name = (
            f"{point.efficiency} % of {point.threads} threads",
            f"{point.threads} efficiency",
        )
        yield follows(point.efficiency, "100 * speedup / threads", names, text, values=(name,))


def judge_throughput(cost: Cost | Batch, per_second: StatedFigure, workers: int) -> Judgement:
    """Little's law: throughput times mean cost, over the workers, is at most 1.

    Where no mean is given, its lower limit stands in: by the percentiles, and for signing by the
    law of varied inputs. Of batches it is the cheapest.
    """
    scale = cost.seconds
    assert scale is not None
    mean, how = _least_mean(cost)
    unit, each = unit_text(cost.unit), workers / per_second / scale
    is_doubtful = how == _BY_LAW and isinstance(cost, Cost) and cost.inputs != "varied"
    near = 1.0 if is_doubtful else 1 - 1 / (1 + ANOTHER_RUN)
    return judgement(
        "throughput.latency",
        f"{number(per_second.value)}/s: {number(each.value)} {unit} each",
        stated=each, low=mean, allowed=MEASURED, near=near,
        fault=f"The throughput leaves {number(each.value)} {unit} for each, and {how} is "
        f"{number(mean)} {unit}: one of the two is of something else.",
        predicted=f"{cost.id}: {limits(mean, None, unit)}",
    )  # fmt: skip


def _least_mean(cost: Cost | Batch) -> tuple[float, str]:
    """The least mean that a claim's figures allow, and how it is known."""
    if isinstance(cost, Batch):
        return min(point.cost.low for point in cost.points), "the cost in the cheapest batch"
    mean, median = cost.figures.get("mean"), cost.figures.get("median")
    if mean is not None:
        return mean.low, "the mean"
    low, _ = mean_limits(cost)
    least = [(low or 0.0, "the least mean that the percentiles allow")]
    if median is not None and cost.operation != "sign":
        least.append((median.low * (1 - ANOTHER_RUN), "the median"))
    if median is not None and cost.varied_set and cost.per_sample == 1:
        overhead = cost.overhead.value
        ratio = _mean_over_median(cost)[0] * (1 - ANOTHER_RUN)
        least.append((ratio * (median.low - overhead) + overhead, _BY_LAW))
    return max(least)


def _mean_over_median(cost: Cost) -> tuple[float, float]:
    """Between which values the law has the ratio, for signing."""
    assert cost.set is not None
    samples, highest = cost.samples or ASSUMED_SAMPLES, max_setup_cost(cost.set, cost.message_bytes)
    return band(cost.set, "mean", "median", samples, highest)


def _speedup(claim: Scaling, threads: int, speedup: StatedFigure) -> Judgement:
    """One point of a scaling."""
    text, cores = f"{speedup}× with {threads}", claim.cores
    if cores is None or threads <= cores:
        reading = f"{percent(speedup.value / threads)} of each core"
        reading += "." if cores else ", if each thread has a core of its own; it is not stated."
        return judgement(
            "scaling.cores", text, reading, stated=speedup, high=float(threads),
            fault="More than proportional to the cores: the throughput of one is too low.",
            allowed=MEASURED, near=ANOTHER_RUN,
        )  # fmt: skip
    limit = min(cores * SMT_GAIN, float(threads))
    hard = min(threads, cores * claim.threads_per_core) * (1 + MEASURED)
    reading = f"{number(speedup.value / cores)} times one thread for each of {cores} cores."
    return judgement(
        "scaling.smt", text, reading, stated=speedup, high=limit, allowed=MEASURED,
        near=hard / limit - 1,
    )  # fmt: skip


def judge_batch(claim: Batch, table: ClaimTable) -> Iterator[Judgement]:
    """`batch.shape`, `batch.total`, and `batch.cost` against the single costs that it names."""
    yield _shape(claim)
    for point in claim.points:
        yield from _totals(point, claim.unit)
    if claim.seconds is not None:
        for cost in table.named(claim.cost_of):
            assert isinstance(cost, Cost)
            yield from _gain(claim, cost)


def _totals(point: BatchPoint, unit: str) -> Iterator[Judgement]:
    """`batch.total`: a batch costs its size times the cost of one; a throughput is the inverse of
    this cost."""
    follows, where = partial(check, "batch.total", may_be_cut=True), f"in a batch of {point.size:,}"
    if point.total is not None:
        total = point.total.rounded()
        names: FormulaNames = {"size": point.size, "cost": point.cost}
        text, name = f"{total} {unit_text(unit)} {where}", f"{point.size} total"
        yield follows(total, "size * cost", names, text, values=(name,))
    if point.per_second is not None and (scale := seconds(unit)):
        rate = point.per_second.rounded()
        costs: FormulaNames = {"cost": point.cost, "scale": scale}
        text, name = f"{rate} /s {where}", f"{point.size} per_second"
        yield follows(rate, "1 / (cost * scale)", costs, text, values=(name,))


def _shape(claim: Batch) -> Judgement:
    points = claim.points
    text = ", ".join(f"{number(point.cost.value)} ({point.size:,})" for point in points)
    first, last = points[0], points[-1]
    fixed = (first.cost.value - last.cost.value) / (1 / first.size - 1 / last.size)
    floor = last.cost.value - fixed / last.size
    off = max(abs(point.cost.value / (floor + fixed / point.size) - 1) for point in points)
    verdict = Verdict.CONSISTENT if off <= ANOTHER_RUN else Verdict.UNDECIDABLE
    reading = (
        f"With {number(floor)} + {number(fixed)}/size {unit_text(claim.unit)} the others are off "
        f"by up to {percent(off)}."
    )
    rising = [b for a, b in pairwise(points) if b.cost.low > a.cost.high * (1 + ANOTHER_RUN)]
    if rising:
        verdict = Verdict.IMPLAUSIBLE
        reading = f"A batch of {rising[0].size:,} costs more for each than a smaller one."
    names = tuple(f"{point.size} cost" for point in points)
    return judgement("batch.shape", text, reading, verdict, predicted="c + a/size", values=names)


def _gain(claim: Batch, cost: Cost) -> Iterator[Judgement]:
    """`batch.cost`: the largest batch against the single cost, if this has a mean or median."""
    centre = "mean" if "mean" in cost.figures else "median"
    if centre not in cost.figures or cost.set not in PARAMETER_SETS:
        return
    unit, last = unit_text(cost.unit), claim.points[-1]
    value = last.cost.value * (claim.seconds or 0.0) / (cost.seconds or 1.0)
    text = f"{number(value)} {unit} in {last.size:,}"
    single = cost.figures[centre]
    least = single.low
    reading = f"The single {label(centre)} is {number(single.value)} {unit}."
    if centre == "median" and cost.varied_set:
        # A batch's cost for one is an average, to be compared with a mean.
        least *= _mean_over_median(cost)[0]
        reading += f" Varied inputs with this median have a mean of {number(least)} {unit} or more."
    floor = least * (1 - share_of_key(cost.set, cost.operation)) * (1 - ANOTHER_RUN)
    fault = f"{reading} More than expanding A costs: lanes across messages, or another input."
    yield judgement(
        "batch.cost", text, reading, stated=value, low=floor, otherwise=Verdict.IMPLAUSIBLE,
        fault=fault, unit=unit, values=(f"{last.size} cost",),
    )  # fmt: skip
