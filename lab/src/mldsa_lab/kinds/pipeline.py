"""The kind `pipeline`: records go through stages that take the outputs of earlier ones.

Processes are the replicates. Of each record, the pass with its median time counts, with the stages
of that pass. So the stages of a record, with the time between them, add up to the whole. The means
over records and processes do too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.material import PipelineInputs, PreparedPipeline
from mldsa_lab.bench.options import Pipeline, resolve
from mldsa_lab.bench.workload import RunContext, WorkloadPlan, other_message, times_of
from mldsa_lab.estimate.cells import SPREAD, Readings, percentiles_of, share_of
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import mean_interval
from mldsa_lab.files import to_builtins
from mldsa_lab.inputs.input import Input
from mldsa_lab.kinds.kind import TableKind
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import (
    Check,
    Definition,
    Fault,
    PipelineContent,
    PipelineStage,
    Record,
    Row,
    Samples,
    Variant,
    busy_notes,
)
from mldsa_lab.show import report
from mldsa_lab.show.figure_tables import Lines, SpreadColumns, TableLayout, display_unit
from mldsa_lab.show.grid import Dot, format_plain
from mldsa_lab.show.report import PlotSpec, Report
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array
from mldsa_lab.worker.protocol import (
    ACCEPTED,
    REFUSED,
    JobInput,
    Pass,
    expected_output,
    make_job,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


# Figures.


BETWEEN = "between stages"
"""The phase of no stage: handing outputs on, and reading the clock."""


@dataclass(frozen=True)
class PipelineCosts:
    """A pipeline in one process, by wall time of one thread.

    ``whole``: (links,) ticks of each link's median pass; ``parts``: by phase (links,) ticks of the
    same pass. ``level``: (rounds,) ticks per record. ``rates``: by number of threads the records in
    a second, all threads together, in the median round.
    """

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
        """Yield name, keys and (processes,) values of the spread of the records' times in a stage.

        Without a stage ("") times are from the first to the last. No percentile of too few times.
        """
        times = [p.parts[stage] if stage else p.whole for p in self.processes]
        fewest = min(map(len, times))
        for name, reduce in SPREAD.items() if fewest > 1 else ():
            yield name, {}, np.array([*map(reduce, times)])
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


def find_pipelines(records: Sequence[Record]) -> dict[str, MeasuredPipeline]:
    """Return the pipelines of a study's processes by name. LabError for one that a process
    excluded, or if there are none."""
    first = records[0]
    asked = {p["name"]: p for p in first.run.options.get("pipelines", ())}
    pipelines = {}
    for d in first.definitions:
        if d.kind == "pipeline":
            content = d.read(PipelineContent)
            together = max(1, *(s.batch for s in content.stages))
            costs = tuple(_read_costs(record, d.name, together) for record in records)
            unit = first.variants[content.stages[0].variant][1].unit
            against = str(asked.get(d.name, {}).get("against", ""))
            pipelines[d.name] = MeasuredPipeline(d.name, d, content, together, against, unit, costs)
    if not pipelines:
        raise LabError("the record has no pipelines: `mldsa-lab study pipeline` measures them")
    return pipelines


def _read_costs(record: Record, name: str, together: int) -> PipelineCosts:
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
        {threads: float(np.median(in_round)) for threads, in_round in sorted(rates.items())},
    )


def pipeline_figures(records: Sequence[Record], confidence: float) -> list[Figure]:
    """Return the figures of pipelines over these processes, all with the key ``pipeline``.

    ``time`` and ``share`` are of a record in each ``stage``, between them and as a whole. A share
    is also of all stages of a ``set``. ``min``, ``quantile``, ``max`` and ``sd`` are of the
    ``latency``, also of the stages' calls where records go through one by one. ``per_second`` and
    ``scaling`` are by ``threads``. ``ratio`` is of the cost to another pipeline's.

    Counts: the ``samples`` of a latency, the ``records`` that go through together and the ``cases``
    of each check. Also the mean ``attempts`` of a stage's signatures and of all signatures.
    """
    named = find_pipelines(records)
    return [f for p in named.values() for f in _list_figures(p, named, records[0], confidence)]


def _list_figures(
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
        yield Figure.from_interval(own, "time", mean_interval(cost, confidence), p.unit)
        yield Figure.from_interval(own, "share", mean_interval(cost / whole, confidence))
        iterations = count_iterations(record, p, name) if stage else None
        for basis, mean in zip(("seen", "expected"), iterations or (), strict=False):
            yield Figure({**at, "of": "attempts", "basis": basis}, "count", mean)
        if not name or (stage and p.together == 1):
            for figure, more, times in p.spread(name):
                latency = {**at, "of": "latency", **more}
                yield Figure.from_interval(
                    latency, figure, mean_interval(times, confidence), p.unit
                )
            samples = sum(len(one.whole) for one in p.processes)
            yield Figure({**at, "of": "samples"}, "count", samples)
    for set_name in dict.fromkeys(s.set for s in p.content.stages):
        together = np.sum([parts[n] for n, s in stages.items() if s.set == set_name], axis=0)
        share = mean_interval(together / whole, confidence)
        yield Figure.from_interval({**keys, "of": "pipeline", "set": set_name}, "share", share)
    yield Figure({**keys, "of": "records"}, "count", p.together)
    for check in p.definition.checks:
        yield Figure({**keys, "of": "cases", "test": check.check}, "count", check.cases)
    for threads in p.content.threads:
        at = {**keys, "threads": threads}
        yield Figure.from_interval(
            at, "per_second", mean_interval(p.rate(threads), confidence), "1/s"
        )
        yield Figure.from_interval(
            at, "scaling", mean_interval(p.rate(threads) / p.rate(1), confidence)
        )
    if p.against in every:
        gain = mean_interval(p.gain(every[p.against]), confidence)
        yield Figure.from_interval({**keys, "against": p.against}, "ratio", gain)


def count_iterations(record: Record, p: MeasuredPipeline, name: str) -> tuple[float, float] | None:
    """Return the mean iterations of a stage's signatures and of all signatures.

    None where no traces tell them.
    """
    stage = next(s for s in p.content.stages if s.name == name)
    variant = record.variant(stage.variant)
    if stage.operation != "sign" or not variant.deterministic or variant.family != "ml-dsa":
        return None
    traces = [record.input(stage.set, i).trace or () for i in stage.inputs]
    mean = sum(map(len, traces)) / len(traces)
    return mean, RejectionModel.for_set(stage.set).expected_iterations


# Workload.


WARMUP_NS = 20_000_000
"""Time each pipeline runs before a pass, in the fresh process of each round."""


@dataclass(eq=False)
class PipelineCase(Case):
    """One pipeline on so many threads."""

    pipeline: PreparedPipeline
    threads: int

    def __post_init__(self) -> None:
        first = self.pipeline.content.stages[0]
        self.variant = self.pipeline.variants[0]
        self.set_name, self.operation = first.set, first.operation

    def __str__(self) -> str:
        return str(self.pipeline)

    @property
    def group(self) -> Hashable:
        return None

    def excludes(self, other: Case, *, whole: bool) -> bool:
        return isinstance(other, PipelineCase) and other.pipeline is self.pipeline

    def fault(self, number: int | None, reason: str, *, whole: bool) -> Fault:
        return Fault(self.variant.id, None, None, number, f"{self}: {reason}")


class Pipelines(Workload[PipelineCase]):
    """Measures pipelines, each with every number of threads."""

    noun = "pipelines by threads"

    def __init__(
        self,
        fleet: Fleet,
        pipelines: Sequence[Pipeline],
        drawn: PipelineInputs,
        items: Mapping[str, Sequence[Input]],
        passed: set[tuple[str, str]],
    ) -> None:
        """LabError where a stage's variant did not pass the gate."""
        self._checked: set[str] = set()
        by_id = {name: {item.id: item for item in listed} for name, listed in items.items()}
        self.cases: list[PipelineCase] = []
        for asked in pipelines:
            content = make_content(asked, drawn)
            variants = [fleet.variants[stage.variant] for stage in content.stages]
            handle = fleet.handle(variants[0].id)
            about = asked.name, content, asked.group, handle, variants
            pipeline = PreparedPipeline(*about, [], [])
            for stage, v in zip(content.stages, variants, strict=True):
                if (v.id, stage.set) not in passed:
                    raise LabError(f"{pipeline}: {v.id} did not pass the gate for {stage.set}")
                chosen = [by_id[stage.set][i] for i in stage.inputs]
                jobs = [
                    replace(make_job(item, stage.operation, v), id=i)
                    for i, item in enumerate(chosen)
                ]
                if stage.operation == "verify":
                    # Where keys never leave a worker only the chain brings a signature.
                    jobs = [replace(job, signature=job.signature or b"") for job in jobs]
                pipeline.inputs.append(jobs)
                pipeline.outputs.append(
                    [expected_output(item, stage.operation, v) for item in chosen]
                )
            self.cases += [PipelineCase(pipeline, n) for n in asked.threads]

    def prepare(self, case: PipelineCase) -> Iterable[Row]:
        """Check the output of each stage, and that every verification rejects the signatures of
        an altered record."""
        pipeline = case.pipeline
        if pipeline.name in self._checked:
            return
        self._checked.add(pipeline.name)
        altered = [
            [other_message(job) for job in inputs] if s.operation == "verify" else inputs
            for s, inputs in zip(pipeline.content.stages, pipeline.inputs, strict=True)
        ]
        rejected = [
            [REFUSED if o == ACCEPTED else o for o in outputs] for outputs in pipeline.outputs
        ]
        checks: list[Check] = []
        try:
            checks.append(_run_check(pipeline, "outputs", pipeline.inputs, pipeline.outputs, False))
            checks.append(_run_check(pipeline, "refuses-altered", altered, rejected, True))
        except LabError as error:
            checks.append(Check("runs", 1, 1, str(error)))
        yield Definition(
            "pipeline", pipeline.name, to_builtins(pipeline.content), checks=tuple(checks)
        )
        bad = next((c for c in checks if c.failed), None)
        if bad is not None:
            raise Excluded(f"{bad.check}: {bad.first_failure}")

    def sample(self, case: PipelineCase, number: int, turn: int) -> Iterable[Row]:
        pipeline = case.pipeline
        worker = pipeline.handle.worker()
        if pipeline.started != pipeline.handle.starts:
            pipeline.jobs = pipeline.prepare(pipeline.inputs)
            pipeline.started = pipeline.handle.starts
        (done,) = worker.chain(pipeline.stages(pipeline.jobs), 1, WARMUP_NS, case.threads)
        for link in done.links:
            if wrong := pipeline.wrong(link, pipeline.outputs):
                raise Excluded(wrong)
        yield _make_samples(case, number, turn, done)


def _make_samples(case: PipelineCase, number: int, turn: int, done: Pass) -> Samples:
    """One entry for what goes through together; the phases are the stages and the rest."""
    name, stages, links = case.pipeline.name, case.pipeline.content.stages, done.links
    metrics = times_of(links) | {"elapsed": (done.wall,)}
    phases = {
        stage.name: tuple(link.stages[place][0] for link in links)
        for place, stage in enumerate(stages)
    }
    parts = zip(*phases.values(), strict=True)
    phases[BETWEEN] = tuple(w - sum(p) for w, p in zip(metrics["wall"], parts, strict=True))
    inputs = (stages[0].inputs[link.input] for link in links)
    way: dict[str, str | int] = {"pipeline": name, "threads": case.threads}
    return case.samples(number, turn, inputs, metrics, phases=phases, shape=way)


def make_content(asked: Pipeline, drawn: PipelineInputs) -> PipelineContent:
    """Return a pipeline as the record has it."""
    stages = tuple(
        PipelineStage(
            stage.title, stage.implementation, stage.set, stage.operation,
            stage.batch if stage.batch > 1 else 0,
            message, signature, tuple(drawn.ids(asked, number)),
        )
        for number, (stage, (message, signature)) in enumerate(
            zip(asked.stage, asked.sources(), strict=True)
        )
    )  # fmt: skip
    return PipelineContent(asked.keys, asked.threads, stages)


def _run_check(
    pipeline: PreparedPipeline,
    name: str,
    inputs: Sequence[Sequence[JobInput]],
    outputs: Sequence[Sequence[bytes | None]],
    has_own_message: bool,
) -> Check:
    """One pass over these inputs, from which these outputs must come."""
    jobs = pipeline.prepare(inputs)
    stages = pipeline.stages(jobs, own_message=has_own_message)
    (done,) = pipeline.handle.worker().chain(stages, 1, 0)
    for job in jobs:
        pipeline.handle.worker().forget(job)
    wrong = [w for link in done.links if (w := pipeline.wrong(link, outputs)) is not None]
    return Check.from_failures(name, len(done.links), wrong)


class PipelinePlan(WorkloadPlan):
    """The pipelines of a study: records are chosen by the traces of signing them."""

    name = "pipeline"

    about_inputs = "records of pipelines, chosen by the traces of signing them"

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        self.variants = fleet.variants
        self.pipelines = resolve(self.options.pipelines, fleet, variants, cores_to_use())
        chosen = {stage.implementation for p in self.pipelines for stage in p.stage}
        return [v for v in variants if v.id in chosen]

    @cached_property
    def drawn(self) -> PipelineInputs:
        """Their records and inputs."""
        return PipelineInputs(self.pipelines, self.variants, self.options.seed)

    def more_inputs(self, set_name: str, first: int) -> list[Any]:
        return self.drawn.items(set_name, first)

    def workload(self, context: RunContext) -> Pipelines:
        return Pipelines(context.fleet, self.pipelines, self.drawn, context.inputs, context.passed)


# The kind.


_WIDTH = 380.0
_WHOLE_KEYS: Mapping[str, Key] = {"of": "pipeline"}
_LATENCY: Mapping[str, Key] = {"of": "latency"}
_FEW = 20
"""Links of a pipeline below which a plot shows no distribution of its latency."""


def _layouts(record: Record) -> tuple[TableLayout, ...]:
    cost = SpreadColumns("time", "a record", keys=_WHOLE_KEYS)
    share = SpreadColumns("share", "share", keys=_WHOLE_KEYS)
    rate = SpreadColumns("per_second", "{value} threads", "threads")
    percentiles = SpreadColumns("quantile", "p{value}", "percentile", keys=_LATENCY)
    least, most, deviation = (SpreadColumns(n, n, keys=_LATENCY) for n in ("min", "max", "sd"))
    scaling = SpreadColumns("scaling", "{value} threads over one", "threads", "last")
    together = SpreadColumns("count", "together", keys={"of": "records"})
    has_batches = any(p.together > 1 for p in find_pipelines([record]).values())
    return (
        TableLayout(
            "{pipeline}", ("pipeline",), ("stage", "variant", "batch"), (cost, share),
        ),
        TableLayout(
            "Latency of single calls, and from the first stage to the last", (),
            ("pipeline", "stage"), (least, percentiles, most, deviation),
        ),
        TableLayout(
            "Records per second, all threads together", (), ("pipeline",),
            (*([together] if has_batches else []), rate, scaling),
            (Lines("per_second", "threads", ("pipeline",)),),
        ),
        TableLayout(
            "Cost of a record over that of another pipeline", (), ("pipeline", "against"),
            (SpreadColumns("ratio", "ratio"),),
        ),
    )  # fmt: skip


def _notes(record: Record) -> list[str]:
    notes = []
    for p in find_pipelines([record]).values():
        checks = "; ".join(f"{c.check}: {c.cases} cases" for c in p.definition.checks)
        keys = "one key of each scheme" if p.content.keys == "shared" else "keys of each record"
        go = f"; {p.together} records go through together" if p.together > 1 else ""
        notes.append(f"{p.name}: {keys}{go}; checked before: {checks}.")
    return notes


def _headline(record: Record, figures: Sequence[Figure]) -> str:
    """The largest share of the first pipeline."""
    shares = [f for f in figures if f.name == "share" and "stage" in f.keys]
    shares = [f for f in shares if f.keys["pipeline"] == shares[0].keys["pipeline"]]
    most = max(shares, key=lambda f: f.value or 0.0)
    percent = 100 * (most.value or 0.0)
    return f"{most.keys['pipeline']}: {most.keys['stage']} takes {percent:.0f} % of a record"


_METHOD = (
    "Of each record the pass counts in whose round it took its median time, so that its stages "
    "and what lies between them add up to the whole; between stages outputs are handed on and "
    "the clock is read. Each process counts once, by its mean; intervals are Student's over "
    "processes, from four processes on. Records were chosen by the traces of signing them, so "
    "that ML-DSA's rejections have their law: a share of the records stands for that share of "
    "all, to within one record. Records that go together wait for each other. A ratio to "
    "another pipeline is the median over rounds, all passes counted, so it differs from the "
    "quotient of the wholes."
)
KIND = TableKind(
    "pipeline",
    PipelinePlan,
    _METHOD,
    _headline,
    lambda record, confidence: pipeline_figures([record], confidence),
    _layouts,
    notes=_notes,
)


def pipeline_report(records: Sequence[Record], title: str, confidence: float) -> Report:
    """Return the report of a study of pipelines. LabError for a pipeline that was excluded."""
    figures = pipeline_figures(records, confidence)
    sections = report.sections_of(figures, _layouts(records[0]), confidence)
    stages = list(dict.fromkeys(str(f.keys["stage"]) for f in figures if "stage" in f.keys))
    legend = tuple((name, Dot(i)) for i, name in enumerate(stages))
    latency = next(i for i, s in enumerate(sections) if "Latency" in s.grid.title)
    plots = (
        PlotSpec("Stages of the mean record", lambda: _draw_shares(figures, stages), legend),
        PlotSpec("Latency of records", lambda: _draw_distribution(records)),
    )
    sections[latency] = replace(sections[latency], plots=plots)
    where = ", ".join(part for part in (records[0].machine, records[0].date) if part)
    about = f"{title}; processes: {len(records)}. {where}"
    headline = _headline(records[0], figures)
    notes = _notes(records[0])
    warnings = busy_notes([record.busy for record in records])
    return Report(
        KIND.name, headline, figures, sections, about, KIND.method, notes, warnings=warnings
    )  # fmt: skip


def _draw_shares(figures: Sequence[Figure], stages: Sequence[str]) -> Drawing:
    from mldsa_lab.show import plots, svg

    costs = [f for f in figures if f.name == "time"]
    wholes = [f for f in costs if "stage" not in f.keys]
    unit = display_unit(wholes)
    bars = []
    for whole in wholes:
        parts = tuple(
            (svg.series(stages.index(str(f.keys["stage"]))), svg.ON_DARK, unit.shown(f.value or 0))
            for f in costs
            if f.keys["pipeline"] == whole.keys["pipeline"] and "stage" in f.keys
        )
        text = f"{format_plain(whole.value, unit)} {unit.name}"
        bars.append(plots.PartedBar(str(whole.keys["pipeline"]), text, parts))
    return plots.shares(bars, unit.name, _WIDTH)


def _draw_distribution(records: Sequence[Record]) -> Drawing:
    from mldsa_lab.show import plots
    from mldsa_lab.show.grid import choose_unit

    shown = list(find_pipelines(records).values())
    shown = [p for p in shown if len(p.processes[0].whole) >= _FEW] or shown
    unit = choose_unit([float(p.processes[0].whole.min()) for p in shown], shown[0].unit)
    curves = []
    for place, p in enumerate(shown):
        costs = np.sort(np.concatenate([one.whole for one in p.processes])) / unit.divisor
        share = np.arange(1, len(costs) + 1) / len(costs)
        curves.append(plots.Curve(p.name, place, p.together > 1, costs, share))
    tail = math.log10(max(2, min(len(c.cost) for c in curves)))
    return plots.distribution(curves, unit.name, _WIDTH, tail)
