"""Rules about throughput, threads and batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Batch, Claim, Cost, Figure, Scaling, Table, Throughput
from mldsa_lab.audit.figures import label, mean_limits
from mldsa_lab.audit.law import ASSUMED_SAMPLES, band, keccak_share_of_key, setup_max
from mldsa_lab.audit.reading import is_time, seconds
from mldsa_lab.audit.verdict import Finding, Range, Verdict, number, percent, unit_text

MEASURED = 0.02
"""Two measurements of one quantity agree so far."""
ANOTHER_RUN = 0.10
"""Measurements of one quantity in different runs agree so far; beyond, no machine explains it."""
SMT_GAIN = 1.33
"""What a physical core gains by a second thread at most (see the rule's source)."""

_BY_LAW = "the law's least mean for this median"


def judge_throughput(claim: Throughput, table: Table) -> Iterator[Finding]:
    """`throughput.latency` for each cost that the claim names."""
    for cost in _costs(table, claim.cost_of):
        yield little(claim, cost, claim.per_second, claim.workers)


def _costs(table: Table, names: tuple[str, ...]) -> list[Cost | Batch]:
    return [c for c in table.claims if isinstance(c, Cost | Batch) and c.id in names]


def little(claim: Claim, cost: Cost | Batch, per_second: Figure, workers: int) -> Finding:
    """Little's law: throughput times mean cost, over the workers, is at most 1.

    Where no mean is given, its lower limit stands in: by the percentiles, and for signing by the
    law of varied inputs. Of batches it is the cheapest.
    """
    scale = seconds(cost.unit)
    if isinstance(cost, Batch):
        mean, how = min(figure.low for _, figure in cost.points), "the cost in the cheapest batch"
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
    return Finding(
        claim.id,
        rules.LITTLE,
        verdict,
        f"{number(per_second.value)}/s: {number(implied)} {unit} each",
        Range(mean, None, f"{cost.id}: at least {number(mean)} {unit}"),
        reading,
        implied,
    )


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
    varied = cost.operation == "sign" and cost.inputs != "fixed" and cost.per_sample == 1
    if median is not None and cost.set is not None and varied:
        samples = cost.samples or ASSUMED_SAMPLES
        highest = setup_max(cost.set, cost.message_bytes)
        least, _ = band(cost.set, "mean", "median", samples, highest=highest)
        value = least * (1 - ANOTHER_RUN) * (median.low - cost.overhead) + cost.overhead
        found.append((value, _BY_LAW))
    return max(found)


def judge_scaling(claim: Scaling, table: Table) -> Iterator[Finding]:
    """`scaling.cores` for points within the cores, `scaling.smt` beyond them."""
    base = next((f for n, f in claim.points if n == 1), None)
    for threads, figure in claim.points:
        if threads == 1 and not claim.speedup:
            for cost in _costs(table, claim.cost_of):
                yield little(claim, cost, figure, 1)
            continue
        if claim.speedup:
            speedup = figure
        elif base is not None:
            value = figure.value / base.value
            speedup = Figure(value, figure.high / base.low - value)
        else:
            yield Finding(
                claim.id,
                rules.EFFICIENCY,
                Verdict.UNDECIDABLE,
                f"{number(figure.value)}/s with {threads}",
                Range(None, None, "throughput of one thread × threads"),
                "The throughput of one thread is not given.",
                figure.value,
            )
            continue
        yield judge_speedup(claim, threads, speedup)


def judge_speedup(claim: Scaling, threads: int, speedup: Figure) -> Finding:
    """One point of a scaling."""
    cores = claim.cores
    beyond = cores is not None and threads > cores
    text = f"{number(speedup.value)}× with {threads}"
    if not beyond:
        fits = speedup.low <= threads * (1 + MEASURED)
        known = cores is not None
        verdict = Verdict.CONSISTENT if fits else Verdict.IMPLAUSIBLE
        if speedup.low > threads * (1 + ANOTHER_RUN):
            verdict = Verdict.CONTRADICTION
        reading = (
            f"{percent(speedup.value / threads)} of each core"
            + (
                "."
                if known
                else ", if each thread has a core of its own; the cores are not stated."
            )
            if fits
            else "More than proportional to the cores: the throughput of one is too low."
        )
        return Finding(
            claim.id,
            rules.EFFICIENCY,
            verdict,
            text,
            Range.between(None, float(threads)),
            reading,
            speedup.value,
        )
    assert cores is not None
    usual = min(cores * SMT_GAIN, float(threads))
    hard = float(min(threads, cores * claim.threads_per_core))
    if speedup.low <= usual * (1 + MEASURED):
        verdict = Verdict.CONSISTENT
        reading = f"{number(speedup.value / cores)} of one thread for each physical core."
    else:
        verdict = (
            Verdict.IMPLAUSIBLE if speedup.low <= hard * (1 + MEASURED) else Verdict.CONTRADICTION
        )
        reading = (
            f"{number(speedup.value / cores)} times one thread for each of {cores} physical cores; "
            "threads that share a core share its units."
        )
    return Finding(
        claim.id, rules.SMT, verdict, text, Range.between(None, usual), reading, speedup.value
    )


def judge_batch(claim: Batch, table: Table) -> Iterator[Finding]:
    """`batch.shape`, and `batch.cost` against each single cost that the claim names."""
    yield _shape(claim)
    size, last = claim.points[-1]
    for cost in table.costs_of(claim.cost_of):
        if is_time(claim.unit):
            yield _gain(claim, cost, size, last)


def _shape(claim: Batch) -> Finding:
    pairs = list(pairwise(claim.points))
    rising = next(((a, b) for a, b in pairs if b[1].low > a[1].high * (1 + ANOTHER_RUN)), None)
    text = ", ".join(f"{number(cost.value)} ({size:,})" for size, cost in claim.points)
    (first, at_first), (last, at_last) = claim.points[0], claim.points[-1]
    fixed = (at_first.value - at_last.value) / (1 / first - 1 / last)
    floor = at_last.value - fixed / last
    off = max(abs(cost.value / (floor + fixed / size) - 1) for size, cost in claim.points)
    reading = (
        f"With {number(floor)} + {number(fixed)}/size {unit_text(claim.unit)} the others are off "
        f"by up to {percent(off)}."
    )
    if rising is not None:
        verdict = Verdict.IMPLAUSIBLE
        reading = f"A batch of {rising[1][0]:,} costs more for each than one of {rising[0][0]:,}."
    else:
        verdict = Verdict.CONSISTENT if off <= ANOTHER_RUN else Verdict.UNDECIDABLE
        if off > ANOTHER_RUN:
            reading += " Something else than a fixed cost is saved, lanes for example."
    return Finding(
        claim.id, rules.BATCH_SHAPE, verdict, text, Range(None, None, "c + a/size"), reading
    )


def _gain(claim: Batch, cost: Cost, size: int, at: Figure) -> Finding:
    """The largest batch against the single cost."""
    unit = unit_text(cost.unit)
    scale = seconds(claim.unit) / seconds(cost.unit)
    value = at.value * scale
    centre = "mean" if "mean" in cost.figures else "median"
    if centre not in cost.figures or cost.set is None:
        return Finding(
            claim.id,
            rules.BATCH,
            Verdict.UNDECIDABLE,
            f"{number(value)} {unit} in {size:,}",
            Range(None, None, "single cost less A"),
            f"{cost.id!r} has no mean or median, or no set.",
            value,
        )
    single = cost.figures[centre]
    least, most = single.low, single.high
    note = ""
    if centre == "median" and cost.operation == "sign" and cost.inputs != "fixed":
        # A batch's cost for one is an average, to be compared with a mean.
        low, high = band(
            cost.set,
            "mean",
            "median",
            cost.samples or ASSUMED_SAMPLES,
            highest=setup_max(cost.set, cost.message_bytes),
        )
        least, most = least * low, most * high
        note = (
            f" But a cost in a batch is an average, and varied inputs with this median have a "
            f"mean of {number(least)} to {number(most)} {unit}."
        )
    share = keccak_share_of_key(cost.set, cost.operation)
    floor = least * (1 - share) * (1 - ANOTHER_RUN)
    inside = value >= floor
    reading = (
        f"{percent(1 - value / single.value)} less than the single {label(centre)} of "
        f"{number(single.value)} {unit}.{note}"
    )
    return Finding(
        claim.id,
        rules.BATCH,
        Verdict.CONSISTENT if inside else Verdict.IMPLAUSIBLE,
        f"{number(value)} {unit} in {size:,}",
        Range.between(floor, None, unit),
        reading
        if inside
        else f"{reading} More than expanding A costs: lanes across messages, or another input.",
        value,
    )
