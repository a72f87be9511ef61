"""Figures of pipelines: shares of their stages, latency, throughput; processes are the replicates.

Of each record the pass counts in whose round it took its median time, with the stages of that
pass. So the stages of a record, with what lies between them, are its whole to the last tick, and
so are the means over records and processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import SPREAD, percentiles_of, share_of
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import over
from mldsa_lab.estimate.samples import Readings
from mldsa_lab.records import Definition, PipelineContent, Record
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel

BETWEEN = "between stages"


@dataclass(frozen=True)
class PipelineCosts:
    """A pipeline in one process, by wall time of one thread: ``whole``: (links,) ticks of each
    link's median pass; ``parts``: by phase (links,) those of the same pass. ``level``: (rounds,)
    ticks per record; ``rates``: by number of threads the records in a second, all threads
    together, in the median round."""

    whole: Array
    parts: dict[str, Array]
    level: Array
    rates: dict[int, float]


@dataclass(frozen=True)
class MeasuredPipeline:
    """A pipeline over all processes. ``together``: the records of a link, which wait for each
    other; ``against``: the pipeline that it is compared with, if any."""

    name: str
    definition: Definition
    content: PipelineContent
    together: int
    against: str
    unit: str
    processes: tuple[PipelineCosts, ...]

    def whole(self) -> Array:
        """Return (processes,) mean ticks of a record."""
        return np.array([p.whole.mean() / self.together for p in self.processes])

    def parts(self) -> dict[str, Array]:
        """Return by phase (processes,) mean ticks of a record; their sum is the whole."""
        return {
            name: np.array([p.parts[name].mean() / self.together for p in self.processes])
            for name in self.processes[0].parts
        }

    def spread(self, stage: str) -> Iterator[tuple[str, dict[str, Key], Array]]:
        """Yield the name, the keys and (processes,) how far the records' times in a stage, or from
        the first to the last (""), lie apart; no percentile where there are too few."""
        times = [p.parts[stage] if stage else p.whole for p in self.processes]
        fewest = min(map(len, times))
        for name, of in SPREAD.items() if fewest > 1 else ():
            yield name, {}, np.array([*map(of, times)])
        for percentile in percentiles_of(fewest):
            quantiles = [np.quantile(t, share_of(percentile), method="hazen") for t in times]
            yield "quantile", {"percentile": percentile}, np.array(quantiles)

    def rate(self, threads: int) -> Array:
        """Return (processes,) records in a second."""
        return np.array([p.rates[threads] for p in self.processes])

    def gain(self, other: MeasuredPipeline) -> Array:
        """Return (processes,) the cost of a record over the other's: of each process the median of
        its rounds' ratios."""
        pairs = zip(self.processes, other.processes, strict=True)
        return np.array([np.median(a.level / b.level) for a, b in pairs])


def pipelines_of(records: Sequence[Record]) -> dict[str, MeasuredPipeline]:
    """Return the pipelines of a study's processes by name. LabError for one that a process
    excluded, or if there are none."""
    first = records[0]
    asked = {p["name"]: p for p in first.run.options.get("pipelines", ())}
    found = {}
    for d in first.definitions:
        if d.kind == "pipeline":
            content = d.read(PipelineContent)
            together = max(1, *(s.batch for s in content.stages))
            costs = tuple(_costs(record, d.name, together) for record in records)
            unit = first.variants[content.stages[0].variant][1].unit
            against = str(asked.get(d.name, {}).get("against", ""))
            found[d.name] = MeasuredPipeline(d.name, d, content, together, against, unit, costs)
    if not found:
        raise LabError("the record has no pipelines: `mldsa-lab study pipeline` measures them")
    return found


def _costs(record: Record, name: str, together: int) -> PipelineCosts:
    rows = [s for s in record.samples if s.shape.get("pipeline") == name]
    lost = [f.reason for f in record.faults if f.reason.startswith(f"pipeline {name}: ")]
    if lost or not rows:
        raise LabError(lost[0] if lost else f"pipeline {name}: not measured")
    single = [r for r in rows if r.shape["threads"] == 1]
    whole = np.array([r.wall for r in single], dtype=np.float64)
    _, worker = record.variants[rows[0].variant]
    elapsed = np.array([r.metrics["elapsed"][0] for r in rows], dtype=np.float64)
    for readings in (whole.ravel(), elapsed):
        if flaw := Readings.by_wall(worker, readings).flaw:
            raise LabError(f"pipeline {name}: no clock resolves a sample: {flaw}")
    links = np.arange(whole.shape[1])
    typical = np.argsort(whole, axis=0, kind="stable")[(len(single) - 1) // 2]
    parts = {
        phase: np.array([r.phases[phase] for r in single], dtype=np.float64)[typical, links]
        for phase in single[0].phases
    }
    rates: dict[int, list[float]] = {}
    for r in rows:
        per_second = len(r.inputs) * together / r.metrics["elapsed"][0] * 1e9
        rates.setdefault(int(r.shape["threads"]), []).append(per_second)
    return PipelineCosts(
        whole[typical, links],
        parts,
        whole.mean(axis=1) / together,
        {threads: float(np.median(of_round)) for threads, of_round in sorted(rates.items())},
    )


def pipeline_figures(records: Sequence[Record], confidence: float) -> list[Figure]:
    """Return the figures of pipelines over these processes, all with the key ``pipeline``.

    ``time`` of a record in each ``stage``, between them and as a whole, and its ``share``, also of
    all stages of a ``set`` together; ``min``, ``quantile``, ``max`` and ``sd`` of the ``latency``,
    and of the stages' calls where records go through one by one; ``per_second`` and ``scaling`` by
    ``threads``; the ``ratio`` of the cost to another pipeline's. A ``count`` is of the ``samples``
    of a latency, of the ``records`` that go through together, of the ``cases`` of each check, and
    of the mean ``attempts`` of a stage that signs, of its records and of all signatures.
    """
    found = pipelines_of(records)
    return [f for p in found.values() for f in _figures(p, found, records[0], confidence)]


def _figures(
    p: MeasuredPipeline, every: dict[str, MeasuredPipeline], record: Record, confidence: float
) -> Iterator[Figure]:
    keys: dict[str, Key] = {"pipeline": p.name}
    stages = {s.name: s for s in p.content.stages}
    parts, whole = p.parts(), p.whole()
    for name, cost in {**parts, "": whole}.items():
        at = {**keys, "stage": name} if name else keys
        own = {**at, "of": "pipeline"}
        if stage := stages.get(name):
            own |= {"variant": stage.variant} | ({"batch": stage.batch} if stage.batch else {})
        yield Figure.of(own, "time", over(cost, confidence), p.unit)
        yield Figure.of(own, "share", over(cost / whole, confidence))
        attempts = attempts_of(record, p, name) if stage else None
        for basis, mean in zip(("seen", "expected"), attempts or (), strict=False):
            yield Figure({**at, "of": "attempts", "basis": basis}, "count", mean)
        if not name or (stage and p.together == 1):
            for figure, more, times in p.spread(name):
                latency = {**at, "of": "latency", **more}
                yield Figure.of(latency, figure, over(times, confidence), p.unit)
            samples = sum(len(one.whole) for one in p.processes)
            yield Figure({**at, "of": "samples"}, "count", samples)
    for set_name in dict.fromkeys(s.set for s in p.content.stages):
        together = np.sum([parts[n] for n, s in stages.items() if s.set == set_name], axis=0)
        share = over(together / whole, confidence)
        yield Figure.of({**keys, "of": "pipeline", "set": set_name}, "share", share)
    yield Figure({**keys, "of": "records"}, "count", p.together)
    for check in p.definition.checks:
        yield Figure({**keys, "of": "cases", "test": check.check}, "count", check.cases)
    for threads in p.content.threads:
        at = {**keys, "threads": threads}
        yield Figure.of(at, "per_second", over(p.rate(threads), confidence), "1/s")
        yield Figure.of(at, "scaling", over(p.rate(threads) / p.rate(1), confidence))
    if p.against in every:
        gain = over(p.gain(every[p.against]), confidence)
        yield Figure.of({**keys, "against": p.against}, "ratio", gain)


def attempts_of(record: Record, p: MeasuredPipeline, stage_name: str) -> tuple[float, float] | None:
    """Return the mean attempts of a stage's signatures and of all; None where they are not known
    from traces."""
    stage = next(s for s in p.content.stages if s.name == stage_name)
    variant = record.variant(stage.variant)
    if stage.operation != "sign" or not variant.deterministic or variant.family != "ml-dsa":
        return None
    traces = [record.input(stage.set, i).trace or () for i in stage.inputs]
    mean = sum(map(len, traces)) / len(traces)
    return mean, RejectionModel.for_set(stage.set).expected_attempts
