"""Rules of work: counts of signatures, rates and times, and scaling over threads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from mldsa_lab.audit.arithmetic import FormulaNames, check
from mldsa_lab.audit.claims import (
    Batch,
    BatchPoint,
    ClaimTable,
    Cost,
    Scaling,
    ScalingPoint,
    ValueTable,
    Vectors,
)
from mldsa_lab.audit.judgement import (
    ANOTHER_RUN,
    MEASURED,
    ClaimedScheme,
    Judgement,
    StatedFigure,
    Verdict,
    judgement,
    limits,
    number,
    percent,
    seconds,
    unit_text,
)
from mldsa_lab.audit.law import ASSUMED_SAMPLES, band, label, laws, mean_limits, share_of_key
from mldsa_lab.audit.signing import NOISE_OF_MEAN
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import max_setup_cost, permutations

# Rules about work


STEP_SECONDS = 5e-9
"""The least time of a permutation, a hash or a Gaussian sample on one core. It is an eighth of the
time of eight Keccak states in AVX-512 (lab/notes/audit.md)."""
STEP_CYCLES = 15.0
"""The same in cycles, at 3 GHz."""

_APART = 4.0
"""Operations whose arithmetic, random numbers or self-tests differ may be so many times nearer to
each other, or farther apart, than their permutations."""
_UNIT_STEPS = {1e3: "10^3", 1e6: "10^6", 1e9: "10^9"}

VECTOR_BITS = {
    ("cortex-a72", "NEON"): 128, ("cortex-a76", "NEON"): 128,
    ("neoverse n1", "NEON"): 128, ("neoverse n2", "SVE2"): 128, ("neoverse n3", "SVE2"): 128,
    ("neoverse v1", "SVE"): 256, ("neoverse v2", "SVE2"): 128, ("neoverse v3", "SVE2"): 128,
    ("a64fx", "SVE"): 512, ("zen 3", "AVX2"): 256, ("zen 4", "AVX-512"): 512,
    ("zen 5", "AVX-512"): 512,
}  # fmt: skip
"""Bits of a vector register by core and extension, from the makers' reference manuals."""
_FIXED_BITS = {"NEON": 128, "SSE2": 128, "AVX2": 256, "AVX-512": 512}
"""Bits of a vector register of the extensions with one width, for an extension to compare with."""


_SLH_DSA = {
    "128s": (16, 7, 9, 12, 14), "128f": (16, 22, 3, 6, 33), "192s": (24, 7, 9, 14, 17),
    "192f": (24, 22, 3, 8, 33), "256s": (32, 8, 8, 14, 22), "256f": (32, 17, 4, 9, 35),
}  # fmt: skip
"""Parameters of SLH-DSA, FIPS 205 Table 2: n, d, h', a, k."""


def _slh_dsa_hashes(n: int, layers: int, height: int, a: int, k: int) -> dict[str, int]:
    """Return the hashes of a key and of a signature. A key is one XMSS tree, whose WOTS+ keys have
    2n + 3 chains of 15 steps with their secret and a compression each. A signature has k FORS
    trees, and a tree for each layer."""
    leaves = 1 << height
    tree = leaves * ((2 * n + 3) * 16 + 1) + leaves - 1
    return {"keygen": tree, "sign": k * (3 * (1 << a) - 1) + layers * tree}


def least_steps(scheme: str, operation: str) -> tuple[int, str] | None:
    """Return the least number of steps of an operation, and their kind; None where none are
    counted."""
    if scheme in PARAMETER_SETS:
        counts = permutations(scheme)
        # A signature of one attempt and a verification, each with an expanded key.
        least = {
            "keygen": counts.keygen, "sign": counts.before() - counts.matrix + counts.iteration,
            "verify": counts.kept,
        }  # fmt: skip
        return (least[operation], "Keccak permutations") if operation in least else None
    if scheme.startswith("SLH-DSA"):
        hashes = _slh_dsa_hashes(*_SLH_DSA[scheme[-4:]])
        return (hashes[operation], "hashes") if operation in hashes else None
    if scheme.startswith("FN-DSA") and operation == "sign":
        return 2 * int(scheme.rpartition("-")[2]), "Gaussian samples"
    return None


def judge_cost(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`work.floor` of a cost in a unit of time or in cycles."""
    figures = [figure for name, figure in claim.figures.items() if name != "sd"]
    if claim.set is not None and figures:
        figure = claim.centre or min(figures, key=lambda figure: figure.value)
        yield from _floor(claim.set, claim.operation, figure.high, claim.unit)


def judge_table(claim: ValueTable, _: ClaimTable) -> Iterator[Judgement]:
    """`work.floor` of the cell that is nearest to it."""
    floors = []
    for name, values in claim.rows.items():
        most = min(value.high.high for value in values)
        match = re.search(r"(SLH-DSA|FN-DSA|FALCON)[\w-]*", name)
        scheme = ClaimedScheme.read(match[0]) if match else ""
        if steps := least_steps(scheme, claim.operation):
            floors.append((most / steps[0], scheme, most))
    for _least, scheme, most in sorted(floors)[:1]:
        yield from _floor(scheme, claim.operation, most, claim.unit)


def _floor(scheme: str, operation: str, most: float, unit: str) -> Iterator[Judgement]:
    steps, scale = least_steps(scheme, operation), seconds(unit)
    if steps is None or (scale is None and unit != "cycles"):
        return
    low = steps[0] * (STEP_CYCLES if scale is None else STEP_SECONDS / scale)
    each = most / steps[0] if scale is None else most * scale * 1e9 / steps[0]
    in_unit, name = "cycles" if scale is None else "ns", unit_text(unit)
    yield judgement(
        "work.floor", f"{scheme} {operation}: {number(most)} {name}", f"{steps[0]:,} {steps[1]}.",
        stated=most, low=low, otherwise=Verdict.IMPLAUSIBLE,
        fault=f"{steps[0]:,} {steps[1]} in {number(each)} {in_unit} each: no core is so fast.",
        predicted=f"{limits(low, None)} {name} on one core",
    )  # fmt: skip


def judge_relations(claim: Cost, table: ClaimTable) -> Iterator[Judgement]:
    """`work.relations` of a cost and those of the same subject before it: the first that is broken,
    or one for all."""
    if not _is_comparable(claim, table):
        return
    others = [c for c in table.claims[: table.claims.index(claim)] if isinstance(c, Cost)]
    findings = [
        finding
        for other in others
        if other.subject == claim.subject and _is_comparable(other, table)
        if (finding := _relation(claim, other)) is not None
    ]
    broken = [f for f in findings if f.verdict is not Verdict.CONSISTENT]
    yield from (broken or findings)[:1]


def _is_comparable(claim: Cost, table: ClaimTable) -> bool:
    """Return whether a cost is the only one of an operation of ML-DSA with its subject and unit,
    on inputs that may vary."""
    costs = [c for c in table.claims if isinstance(c, Cost)]
    same = [(c.subject, c.set, c.operation, c.unit) for c in costs]
    known = claim.set in PARAMETER_SETS and claim.operation != "other" and claim.unit != "%"
    is_only = same.count((claim.subject, claim.set, claim.operation, claim.unit)) == 1
    return known and is_only and claim.inputs != "fixed"


def _relation(a: Cost, b: Cost) -> Judgement | None:
    """Return the ratio of two costs by mean or median, the larger set or costlier operation first.
    None if they have no figure or unit in common."""
    order = ("verify", "keygen", "sign")
    if (b.set or "", order.index(b.operation)) > (a.set or "", order.index(a.operation)):
        a, b = b, a
    if a.set != b.set and a.operation != b.operation:
        return None
    scale = 1.0
    if a.unit != b.unit:
        if a.seconds is None or b.seconds is None:
            return None
        scale = a.seconds / b.seconds
    names = ("mean",) if max(a.per_sample, b.per_sample) > 1 else ("mean", "median")
    statistic = next((s for s in names if s in a.figures and s in b.figures), None)
    if statistic is None:
        return None
    low, high = _proportion(a, b, statistic)
    net = [c.figures[statistic] - c.overhead.value for c in (a, b)]
    ratio = scale * net[0] / net[1]
    least, most = low * (1 - NOISE_OF_MEAN), high * (1 + NOISE_OF_MEAN)
    fault = "The two are of different keys, machines or inputs, or one is wrong."
    for step, sign in product(_UNIT_STEPS, (1, -1)):
        if least <= ratio.value * step**sign <= most:
            fault = f"A factor of {_UNIT_STEPS[step]} explains it: is one in another unit?"
            break
    text = f"{statistic} {a.set} {a.operation}/{b.set} {b.operation} {number(ratio.value)}"
    return judgement(
        "work.relations", text,
        stated=ratio, low=least, high=most, otherwise=Verdict.IMPLAUSIBLE, fault=fault,
    )  # fmt: skip


def _proportion(a: Cost, b: Cost, statistic: str) -> tuple[float, float]:
    """Between which values the ratio of two costs lies, by permutations with the expanded key kept
    and not."""
    kept, full = ([_counted(c, statistic, kept=k) for c in (a, b)] for k in (True, False))
    ends = [(one[0] / other[1], one[1] / other[0]) for one, other in (kept, full)]
    if (a.set, a.operation) == (b.set, b.operation):
        return ends[1]  # in two units
    if a.set != b.set:
        return min(1.0, ends[0][0], ends[1][0]), _APART * max(ends[0][1], ends[1][1])
    most = _APART * full[0][1] / kept[1][0]
    if (a.operation, b.operation) == ("sign", "verify"):
        return ends[1][0], most
    return kept[0][0] / full[1][1] / _APART, most


def _counted(claim: Cost, statistic: str, *, kept: bool) -> tuple[float, float]:
    """The least and the most permutations that a claim's samples show, with the expanded key kept
    or not."""
    assert claim.set is not None
    counts = permutations(claim.set)
    if claim.operation == "sign":
        samples = claim.samples or ASSUMED_SAMPLES
        terms = [law.term(statistic, samples, claim.per_sample) for law in laws(claim.set)]
        once = counts.before(claim.message_bytes) - kept * counts.matrix + counts.iteration
        ends = (min(t.low for t in terms), max(t.high for t in terms))
        return once + counts.iteration * ends[0], once + counts.iteration * ends[1]
    verify = counts.kept if kept else counts.verify
    return (float(verify if claim.operation == "verify" else counts.keygen),) * 2


def judge_vectors(claim: Vectors, _: ClaimTable) -> Iterator[Judgement]:
    """`machine.vectors`, and `machine.gain` where the source tells how slow another is."""
    bits = VECTOR_BITS.get((claim.core.lower(), claim.extension.upper()))
    rule, text = "machine.vectors", f"{claim.extension} of {claim.bits} bits on {claim.core}"
    if bits is None:
        yield judgement(rule, text, "No known core.", Verdict.UNDECIDABLE, predicted="")
        return
    yield judgement(rule, text, stated=claim.bits, low=float(bits), high=float(bits), unit="bits")
    over = (claim.over or "").upper()
    base = VECTOR_BITS.get((claim.core.lower(), over)) or _FIXED_BITS.get(over)
    if base is not None and claim.slower is not None:
        most = bits / base
        yield judgement(
            "machine.gain", f"{claim.slower.text} % slower with {claim.over} alone",
            stated=1 + claim.slower / 100, high=most, otherwise=Verdict.UNDECIDABLE,
            fault=f"{claim.over} has {base} bits{' too' * (base == bits)}. "
            "Width cannot explain it; other instructions may.",
            predicted=f"at most {number(most)} times by width",
        )  # fmt: skip


# Rules about throughput, threads and batches.


SMT_GAIN = 1.33
"""The largest gain of a physical core by a second thread (see the rule's source)."""

_BY_LAW = "the law's least mean for this median"


def judge_scaling(claim: Scaling, table: ClaimTable) -> Iterator[Judgement]:
    """Judge `throughput.latency` with the fewest threads, for each cost that the claim names. Then
    `scaling.arithmetic` of its own figures, `scaling.cores` for points within the cores, and
    `scaling.smt` for points beyond."""
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

    Without a mean its lower limit is used: by the percentiles, and for signing by the law of varied
    inputs. Of batches it is the cheapest.
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
    yield _fit_batches(claim)
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


def _fit_batches(claim: Batch) -> Judgement:
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
