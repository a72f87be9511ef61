"""A whole run: build, inputs, gate, rounds. Each result goes to the record at once.

A run ends after a time, a number of rounds, or at a precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import structs
from rich.markup import escape

from mldsa_lab import LabError, __version__, machine
from mldsa_lab.bench.engine import Case, Engine, Workload
from mldsa_lab.bench.fleet import GROUP, Fleet, role_of, shaped_variants
from mldsa_lab.bench.gate import CorrectnessGate
from mldsa_lab.bench.launch import launch
from mldsa_lab.bench.material import (
    choose_inputs,
    confirm,
    find_oracle,
    input_row,
    make_items_of_gate,
    plain_inputs,
    subject_of,
)
from mldsa_lab.bench.options import Options, select
from mldsa_lab.bench.workload import RunContext, WorkloadPlan
from mldsa_lab.checkout import find_root
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.tracing import load
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import (
    MANY_KEYS,
    ONE_KEY,
    SCHEMA,
    End,
    Fault,
    Record,
    RecordWriter,
    Row,
    Run,
    Skipped,
    Variant,
    check_baseline,
)
from mldsa_lab.screen import Phase, Screen
from mldsa_lab.sets import DEFAULT_BASELINE, PARAMETER_SETS
from mldsa_lab.worker.examination import Items, Subject
from mldsa_lab.worker.registry import BuildDirs

# The end of a run.


@dataclass(frozen=True, slots=True)
class Precision:
    """The width of a record's widest interval.

    ``percent``: its longer half, in percent of the mean; infinite where a mean has no interval.
    ``widest``: its variant, set and operation; ``goal``: the means that count, in words.
    """

    percent: float
    widest: str
    goal: str


PrecisionOf = Callable[[Record], Precision | None]
"""The precision of a record so far; None where it has no means yet."""

_USELESS_PERCENT = 50.0  # a wider interval does not tell how long to go on
_CHECK_SHARE = 0.1  # of the time, at most, goes into judging
_USUAL_PERCENT = 1.0  # the goal to name at the end of a run that has none


@dataclass
class Pace:
    """The end of a run. It judges the precision between rounds, when no worker runs."""

    options: Options
    record: Record
    precision_of: PrecisionOf
    precision: Precision | None = None
    _judging_s: float = 0.0  # of the last judgement
    _judged_at: float = 0.0  # in seconds spent

    def part(self, rounds: float, spent: float) -> float:
        """Return the share of the run that is done after `rounds` rounds in `spent` seconds."""
        o = self.options
        if o.rounds is not None:
            return rounds / o.rounds
        if o.until is not None:
            near = (o.until / self.precision.percent) ** 2 if self.precision else 0.0
            return min(max(spent / o.seconds, near), rounds / o.rounds_min)
        return min(max(spent / o.seconds, rounds / o.rounds_max), rounds / o.rounds_min)

    def enough(self, rounds: int, spent: float) -> bool:
        """Return whether to stop, `spent` seconds after the first round began."""
        o = self.options
        if o.rounds is not None:
            return rounds >= o.rounds
        if rounds < o.rounds_min:
            return False
        if o.until is not None and self._judging_s <= _CHECK_SHARE * (spent - self._judged_at):
            precision = self.judge_now()
            self._judged_at = spent
            if precision is not None and precision.percent <= o.until:
                return True
        # Stop where another round would end further from the limit than this one did.
        return rounds >= o.rounds_max or spent + 0.5 * spent / rounds >= o.seconds

    def judge_now(self) -> Precision | None:
        """Measure and return the precision of the record so far."""
        began = time.monotonic()
        with suppress(LabError):  # a record that cannot be judged yet
            self.precision = self.precision_of(self.record)
        self._judging_s = time.monotonic() - began
        return self.precision

    def words(self, spent: float) -> str | None:
        """Describe the precision, and the time that the one asked for would take."""
        reached = self.judge_now()
        if reached is None:
            return None
        if reached.percent > _USELESS_PERCENT:
            return f"too few rounds for a useful interval of {reached.widest}"
        text = f"{reached.goal} within ±{reached.percent:.2g} % or better"
        text += f" (widest: {reached.widest})"
        target = self.options.until or _USUAL_PERCENT
        if reached.percent <= target:
            return text
        # Intervals shrink with the square root of the time, but for the part that is of the inputs.
        more = ((reached.percent / target) ** 2 - 1) * spent
        return f"{text}; ±{target:g} % would take at least {_duration(more)} more"


def _duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


# The run.


RECORD_NAME = "record.jsonl"


@dataclass(slots=True)
class Outcome:
    """Where the record is, whether the run was ended early, and whether anything was measured."""

    record: Path
    is_interrupted: bool
    has_results: bool


def now() -> str:
    """Return the time in the form of records."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_bench(
    options: Options,
    screen: Screen,
    precision_of: PrecisionOf,
    kind: type[WorkloadPlan] = WorkloadPlan,
) -> Outcome:
    """Carry out a run of a kind. LabError if nothing can be measured; an interrupt ends it early.

    ``precision_of`` returns the precision of the record so far.
    """
    dirs = BuildDirs.for_tree(find_root())
    plan = kind(options, dirs)
    plan.check_tools()
    with Fleet() as fleet:
        fleet.on_warning = partial(_warn, screen, "quit")
        fleet.on_note = partial(_warn, screen, "note")
        started = launch(options, dirs, fleet, screen)
        excused = started.excuses(options.implementations)
        variants = select(started.variants, options.implementations, options.sets, excused)
        for selection in options.selections.values():
            selection.check(variants)
        if options.baseline != DEFAULT_BASELINE and not started.excuses([options.baseline]):
            check_baseline(options.baseline, variants)
        reference = find_oracle(fleet) if set(options.sets) & set(PARAMETER_SETS) else None
        runs = options.batch_sizes, options.thread_counts
        variants += shaped_variants(fleet, variants, *runs, in_memory=plan.in_memory)
        variants = plan.choose(fleet, variants)
        folder = _new_folder(options.out)
        with RecordWriter(folder / RECORD_NAME) as writer:
            session = _Session(
                _with_groups(options, variants), screen, fleet, writer, plan, precision_of
            )
            try:
                session.begin(variants, started.skipped)
                status = session.run(variants, reference)
            except BaseException:
                screen.line("record", f"{escape(str(writer.path))} has everything up to the error")
                raise
    return Outcome(folder / RECORD_NAME, status == "interrupted", session.has_results)


def _warn(screen: Screen, title: str, text: str) -> None:
    screen.line(title, f"[yellow]{escape(text)}[/]")


def _with_groups(options: Options, variants: Sequence[Variant]) -> Options:
    """Return the options with the inputs for runs that these variants need."""
    roles = {role_of(v, s) for v in variants if v.runs for s in v.sets}
    sizes = replace(
        options.sizes,
        many_keys=GROUP if MANY_KEYS in roles else 0,
        one_key=GROUP if ONE_KEY in roles else 0,
    )
    return replace(options, sizes=sizes)


def _new_folder(out: Path) -> Path:
    """Make a new folder in `out`, named by the time."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for number in range(1, 100):
        folder = out / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not folder.is_dir():
                raise LabError(f"output folder {out}: is not a folder") from None
            continue
        except OSError as error:
            raise LabError(f"output folder {out}: cannot be made: {error.strerror}") from None
        return folder
    raise LabError(f"output folder {out}: too many runs in this second")


@dataclass
class _Session:
    """One run with its record open."""

    options: Options
    screen: Screen
    fleet: Fleet
    writer: RecordWriter
    plan: WorkloadPlan
    precision_of: PrecisionOf
    rounds: int = 0
    spent: float = 0.0
    phase: str = "gate"

    def __post_init__(self) -> None:
        o = self.options
        run = Run(
            SCHEMA,
            f"mldsa-lab {__version__}",
            now(),
            o.profile.name if o.rounds is None else "custom",
            o.seed.hex(),
            o.as_record() | {"workload": self.plan.name},
            machine.describe(),
            *machine.source_state(find_root()),
        )
        self._record = Record(run)
        self.writer.write(run)
        self._pace = Pace(o, self._record, self.precision_of)

    @property
    def has_results(self) -> bool:
        """Return whether there are samples, or reasons why there are none."""
        return bool(self._record.samples or any(d.lacking for d in self._record.definitions))

    def write(self, row: Row) -> None:
        """Add a row to the record; show a fault."""
        self.writer.write(row)
        self._record.add(row)
        if isinstance(row, Fault):
            where = f" {row.set}" if row.set else ""
            self.screen.warn(self.phase, f"{row.variant}{where}: {row.reason}")

    def begin(self, variants: Sequence[Variant], skipped: Sequence[Skipped]) -> None:
        """Write the lines of workers. A worker that only has the reference need not fulfil the
        plan."""
        measuring = {self.fleet.handle(v.id).name for v in variants}
        for handle in self.fleet.handles:
            is_measured = handle.name in measuring
            self.write(self.plan.worker_row(handle) if is_measured else handle.row())
        for row in skipped:
            self.write(row)
        described = self._record.run.machine
        features = [f for f in ("avx2", "avx512f", "asimd", "sha3") if f in described["features"]]
        cpu = described["cpu"] or described["architecture"]
        load = "" if described["load1"] is None else f", load {described['load1']:.2f}"
        shown = f" ({' '.join(features)})" if features else ""
        text = escape(f"{cpu}{shown}, {described['cores']} cores{load}")
        self.screen.line("machine", text)

    def run(self, variants: Sequence[Variant], reference: Variant | None) -> str:
        """Prepare and measure until the end or an interrupt; return the status of the record."""
        status = "complete"
        try:
            with closing(self.prepare(variants, reference)) as workload:
                self.measure(workload)
        except KeyboardInterrupt:
            status = "interrupted"
            self.screen.line("stopped", "what was measured is kept")
        self.write(End(now(), status, self.rounds))
        if self.rounds and (text := self._pace.words(self.spent)) is not None:
            self.screen.line("precision", escape(text))
        return status

    def prepare(self, variants: Sequence[Variant], reference: Variant | None) -> Workload[Any]:
        """Make the inputs, run the gate; return the workload of everything that passed."""
        o = self.options
        inputs: dict[str, list[Input]] = {}
        plain: dict[str, list[Input]] = {}
        items: dict[str, Items] = {}
        if reference is not None:
            load(built=self.fleet.handle(reference.id).library)
        used = [name for name in o.sets if any(name in v.sets for v in variants)]
        with self.screen.phase("inputs", total=3 * len(used)) as phase:
            for name in used:
                if name in PARAMETER_SETS:
                    assert reference is not None
                    oracle = subject_of(self.fleet, reference, name)
                    inputs[name], items[name] = self._make_inputs(phase, oracle)
                else:
                    plain[name] = plain_inputs(name, o.seed, o.sizes)
                    plain[name] += self.plan.more_inputs(name, len(plain[name]))
                    phase.show(name, step=3)
            phase.summary = self._describe_inputs(inputs)
        self._write_inputs(inputs)
        passed, completed = self._gate(variants, items, plain)
        self._write_inputs(completed)  # their keys may be the gate's
        folder = self.writer.path.parent
        context = RunContext(self.fleet, folder, variants, passed, {**inputs, **completed})
        return self.plan.workload(context)

    def _make_inputs(self, phase: Phase, oracle: Subject) -> tuple[list[Input], Items]:
        """Make the inputs of an ML-DSA set, and the gate's items, confirmed by the reference."""
        o, name, library = self.options, oracle.set, load()
        phase.show(f"{name}: the reference and NIST's known answers")
        confirm(oracle, Items(known=True))
        phase.show(f"{name}: tracing {o.sizes.pool} candidates", step=1)
        selection = o.selections.get(name)
        inputs = choose_inputs(library, name, o.seed, o.sizes, selection, cores_to_use())
        inputs += self.plan.more_inputs(name, max(item.id for item in inputs) + 1)
        phase.show(f"{name}: the reference confirms them; altered signatures", step=1)
        items = make_items_of_gate(library, oracle, inputs, o.seed)
        phase.show(name, step=1)
        return inputs, items

    def _write_inputs(self, inputs: Mapping[str, Sequence[Input]]) -> None:
        for item in chain.from_iterable(inputs.values()):
            self.write(input_row(item, self.options.seed, self.options.sizes))

    def _describe_inputs(self, inputs: Mapping[str, Sequence[Input]]) -> str:
        o = self.options
        texts = [self.plan.about_inputs] if self.plan.about_inputs else []
        if files := [str(o.selections[name]) for name in inputs if name in o.selections]:
            texts.append(f"the signing inputs of {', '.join(files)}")
        if not self.plan.about_inputs and len(files) < len(inputs):
            texts.append(
                f"{o.sizes.design} signing inputs per set, chosen by their traces among "
                f"{o.sizes.pool:,}"
            )
        texts.append(f"{o.sizes.random} others")
        if o.sizes.many_keys or o.sizes.one_key:
            texts.append(f"{GROUP} more for runs, of many keys and of one")
        return "; ".join(texts)

    def _gate(
        self, every: Sequence[Variant], items: dict[str, Items], plain: dict[str, list[Input]]
    ) -> tuple[set[tuple[str, str]], Mapping[str, Sequence[Input]]]:
        """Return the pairs of variant and set that passed, and by set the completed inputs of
        schemes without traces.

        Batch interfaces go through the gate at every size. Loops are the single calls that have
        passed, and threads make the same calls as one.
        """
        variants = [v for v in every if not v.runs or (v.mode == "batch" and v.threads == 1)]
        sets = {*items, *plain}
        pairs = sum(len(sets & set(v.sets)) for v in variants)
        with self.screen.phase("gate", total=2 * pairs) as phase:
            gate = CorrectnessGate(self.fleet, variants, items, plain)
            verdicts = gate.examine(lambda v, name: phase.show(f"{v.id} {name}", step=1))
            sound = [g for g in verdicts if g.passed and g.variant not in gate.faults]
            passed = {(g.variant, g.set) for g in sound}
            cases = sum(c.cases for g in verdicts for c in g.checks)
            phase.summary = (
                f"{len(passed)} of {pairs} pairs of variant and set passed {cases:,} cases"
            )
        for verdict in verdicts:
            self.write(verdict)
        for variant_id, (name, reason) in gate.faults.items():
            self.write(Fault(variant_id, None, None, None, f"gate, {name}: {reason}"))
        for verdict in verdicts:
            if not verdict.passed and verdict.variant not in gate.faults:
                text = f"{verdict.variant} {verdict.set}: {gate.reason(verdict)}"
                self.screen.warn("gate", text)
        for v in every:
            if v not in variants:
                like = v.base
                if v.mode == "batch":
                    like = structs.replace(v, threads=1).id_in(v.build)
                passed |= {(v.id, name) for name in v.sets if (like, name) in passed}
        return passed, gate.inputs

    def measure(self, workload: Workload[Any]) -> None:
        """Calibrate, then measure rounds until the pace says enough."""
        self.phase = "measure"
        engine = Engine(self.fleet, workload, self.write)
        _require(engine.cases)
        # Fresh processes: none carries the gate's jobs, and all have the same age.
        self.fleet.stop()
        with self.screen.phase("calibrate", total=len(engine.cases), still=True) as phase:
            engine.calibrate(lambda case: phase.show(str(case), step=1))
        _require(engine.cases)
        pace, visits = self._pace, workload.visits
        began = time.monotonic()
        with self.screen.phase("measure", total=1.0, still=True) as phase:

            def show(case: Case) -> None:
                whole = self.rounds + engine.part
                spent = time.monotonic() - began
                done = whole / visits if visits else pace.part(whole, spent)
                left = f", {spent / done - spent:.0f} s left" if whole > 0.5 and done > 0 else ""
                rounds = visits or self.options.rounds
                total = f" of {rounds}" if rounds is not None else ""
                phase.reach(min(done, 1.0), f"round {self.rounds + 1}{total}{left}  {case}")

            def is_done() -> bool:
                return self.rounds >= visits if visits else pace.enough(self.rounds, self.spent)

            while engine.cases and not is_done():
                engine.round(self.rounds, show)
                self.rounds += 1
                self.spent = time.monotonic() - began
            phase.summary = f"{self.rounds} rounds over {len(engine.cases)} {workload.noun}"
        self.rounds *= workload.rounds_of_visit
        _require(engine.cases)
        if not self.has_results:
            raise LabError("nothing was measured: every case failed")


def _require(left: Sequence[object]) -> None:
    """LabError if no case is left."""
    if not left:
        raise LabError("nothing to measure: no variant passed the gate for the chosen operations")
