"""A whole run: build, inputs, gate, rounds; everything found goes to the record as it is found."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape

from mldsa_lab import __version__, machine
from mldsa_lab.bench import gate
from mldsa_lab.bench.blocks import MeasuredBlock, resolve_block
from mldsa_lab.bench.engine import C, Case, Engine, Workload
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.gate_material import Material, make_material
from mldsa_lab.bench.launch import launch, time_limits
from mldsa_lab.bench.material import (
    PlainInput,
    Reference,
    choose_inputs,
    input_row,
    plain_inputs,
)
from mldsa_lab.bench.options import Jmh, Options, select
from mldsa_lab.bench.pace import Judge, Pace
from mldsa_lab.bench.pipeline_inputs import Drawn
from mldsa_lab.bench.pipelines import Line, resolve, taking_part
from mldsa_lab.bench.shapes import GROUP, Shape, role_of, shaped
from mldsa_lab.bench.workloads.block import Blocks
from mldsa_lab.bench.workloads.cold import ColdStarts
from mldsa_lab.bench.workloads.jmh import JmhRuns, row_of
from mldsa_lab.bench.workloads.memory import Memory, check_tools
from mldsa_lab.bench.workloads.operations import Cell, Operations, make_cell, role_in
from mldsa_lab.bench.workloads.pipeline import Pipelines
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.library import load
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
    WorkerRow,
)
from mldsa_lab.records.reference import DEFAULT_REFERENCE, known_reference
from mldsa_lab.screen import Screen
from mldsa_lab.sets import LOOKUP, PARAMETER_SETS, SCHEMES
from mldsa_lab.worker.build import Place

RECORD_NAME = "record.jsonl"
_PEERS = (DEFAULT_REFERENCE, "aws-lc", "mldsa-lanes", "filippo")


@dataclass(slots=True)
class Outcome:
    """Where the record is, whether the run was ended early, and whether anything was measured."""

    record: Path
    interrupted: bool
    samples: bool


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_bench(options: Options, screen: Screen, judge: Judge) -> Outcome:
    """Carry out a run. LabError if nothing can be measured; an interrupt ends it early.

    ``judge`` tells the precision of what was measured so far.
    """
    place = Place.of(find_root())
    if options.memory:
        check_tools(place, traffic=options.memory == "traffic")
    with Fleet() as fleet:
        announced, skipped = launch(options, place, fleet, screen)
        variants = select(announced, options.implementations, options.sets)
        for given in options.selections.values():
            given.check(variants)
        if options.reference != DEFAULT_REFERENCE:
            known_reference(options.reference, variants)
        by_jmh = _rows_of_jmh(variants, fleet, place) if options.jmh is not None else {}
        reference = Reference(fleet) if set(options.sets) & set(PARAMETER_SETS) else None
        variants += _shaped(options, variants, fleet)
        lines = resolve(options.pipelines, fleet, variants, cores_to_use())
        if lines:
            variants = taking_part(lines, variants)
        block = None
        if options.block is not None:
            block = resolve_block(options.block, fleet, variants, cores_to_use())
            variants = list(dict.fromkeys(v for _, v in block.verifiers))
        folder = _new_folder(options.out)
        with RecordWriter(folder / RECORD_NAME) as writer:
            session = _Session(options, place, screen, fleet, writer, judge)
            session.begin(skipped, by_jmh)
            try:
                session.work(variants, reference, lines, block)
                status = "complete"
            except KeyboardInterrupt:
                status = "interrupted"
                screen.line("stopped", "what was measured is kept")
            session.write(End(now(), status, session.rounds))
            session.tell_precision()
    return Outcome(folder / RECORD_NAME, status == "interrupted", session.samples)


def _rows_of_jmh(variants: Sequence[Variant], fleet: Fleet, place: Place) -> dict[str, WorkerRow]:
    """By name, the lines of the workers that JMH measures. LabError for one that has no JMH."""
    stations = {station.name: station for v in variants for station in [fleet.station(v.id)]}
    return {name: row_of(station, place) for name, station in stations.items()}


def _shaped(options: Options, variants: Sequence[Variant], fleet: Fleet) -> list[Variant]:
    """The variants measured in runs, where the options ask for any. LabError if none can be."""
    if not options.batch_sizes and not options.thread_counts:
        return []
    found = shaped(variants, fleet.announced, options.batch_sizes, options.thread_counts)
    return [
        fleet.shape(v, shape)
        for v in variants
        for shape in found.get(v.id, ())
        if _wanted(shape, v, options.memory)
    ]


def _wanted(shape: Shape, variant: Variant, memory: str) -> bool:
    """Whether a variant is measured in this shape. Classical references are for comparison: one
    loop, and threads. A loop takes the memory of single calls, and room for results."""
    if memory:
        return shape.form == "batch"
    return variant.family == "ml-dsa" or shape.form == "loop"


def _new_folder(out: Path) -> Path:
    """A new folder named by the time, inside `out`."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for attempt in range(1, 100):
        folder = out / (stamp if attempt == 1 else f"{stamp}-{attempt}")
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


class _Session:
    """One run with its record open."""

    def __init__(
        self,
        options: Options,
        place: Place,
        screen: Screen,
        fleet: Fleet,
        writer: RecordWriter,
        judge: Judge,
    ) -> None:
        self.options = options
        self.screen = screen
        self.fleet = fleet
        self.rounds = 0
        self.spent = 0.0
        self._place = place
        self._writer = writer
        self._record: Record | None = None
        self._judge = judge
        self._pace: Pace | None = None
        self._phase = "gate"

    @property
    def samples(self) -> bool:
        """Whether anything was measured."""
        found = self._record
        return found is not None and bool(
            found.samples or any(d.lacking for d in found.definitions)
        )

    def write(self, row: Row) -> None:
        """Put a row into the record."""
        self._writer.write(row)
        if isinstance(row, Run):
            self._record = Record(row)
        elif self._record is not None:
            self._record.add(row)

    def tell_precision(self) -> None:
        """What the measurements reach, and what would take longer."""
        text = self._pace.words(self.rounds, self.spent) if self._pace and self.rounds else None
        if text is not None:
            self.screen.line("precision", escape(text))

    def begin(self, skipped: Sequence[Skipped], by_jmh: Mapping[str, WorkerRow]) -> None:
        """The record's first lines; ``by_jmh``: those of workers that JMH measures."""
        o = self.options
        described = machine.describe()
        profile = o.profile.name if o.rounds is None else "custom"
        self.write(
            Run(
                SCHEMA,
                f"mldsa-lab {__version__}",
                now(),
                profile,
                o.seed.hex(),
                o.as_record(),
                described,
                *machine.source_state(find_root()),
            )
        )
        for station in self.fleet.stations:
            self.write(by_jmh.get(station.name) or station.row())
        for row in skipped:
            self.write(row)
        features = [f for f in ("avx2", "avx512f", "asimd", "sha3") if f in described["features"]]
        cpu = described["cpu"] or described["architecture"]
        load = "" if described["load1"] is None else f", load {described['load1']:.2f}"
        shown = f" ({' '.join(features)})" if features else ""
        self.screen.line("machine", f"{cpu}{shown}, {described['cores']} cores{load}")

    def work(
        self,
        variants: Sequence[Variant],
        reference: Reference | None,
        lines: Sequence[Line],
        block: MeasuredBlock | None,
    ) -> None:
        """Inputs, gate, rounds."""
        o = self._with_groups(variants)
        inputs: dict[str, list[Input]] = {}
        plain: dict[str, list[PlainInput]] = {}
        materials: dict[str, Material] = {}
        used = [name for name in o.sets if any(name in v.sets for v in variants)]
        drawn = Drawn(lines, o.seed, load(built=reference.library) if reference else None)
        with self.screen.phase("inputs", total=3 * len(used)) as phase:
            for name in used:
                if name not in PARAMETER_SETS:
                    plain[name] = plain_inputs(name, o.seed, o.sizes)
                    plain[name] += drawn.plain(name, len(plain[name]))
                    phase.show(name, step=3)
                    continue
                assert reference is not None
                phase.show(f"{name}: the reference and NIST's known answers")
                gate.examine_reference(reference, self.fleet, name)
                phase.show(f"{name}: tracing {o.sizes.pool} candidates", step=1)
                library = load()
                given = o.selections.get(name)
                inputs[name] = choose_inputs(library, name, o.seed, o.sizes, given, cores_to_use())
                inputs[name] += drawn.signed(name, max(item.id for item in inputs[name]) + 1)
                phase.show(f"{name}: the reference confirms them; altered signatures", step=1)
                materials[name] = make_material(library, reference, name, inputs[name], o.seed)
                phase.show(name, step=1)
            if inputs:
                phase.summary = self._of_inputs(o, inputs)
        if o.sizes.many_keys or o.sizes.one_key:
            phase.summary += f"; {GROUP} more for runs, of many keys and of one"
        for name in inputs:
            for item in inputs[name]:
                self.write(input_row(item, name))
        passed, made = self._gate(variants, reference, materials, plain)
        for name in made:  # whose keys the gate may have replaced
            for made_of in made[name]:
                self.write(made_of.row)
        every: dict[str, Sequence[Input | PlainInput]] = {**inputs, **made}
        if block is not None:
            self._measure(Blocks(self.fleet, block, o.seed, passed))
        elif lines:
            self._measure(Pipelines(self.fleet, lines, drawn, every, passed))
        else:
            cells = self._cells(variants, passed, every)
            _require(cells)
            if o.memory:
                self._measure_memory(cells)
            elif o.jmh is not None:
                self._measure_by_jmh(o.jmh, cells)
            elif o.cold:
                self._measure(ColdStarts(self.fleet, cells, self._iterations()))
            else:
                self._measure(Operations(self.fleet, cells))

    @staticmethod
    def _of_inputs(o: Options, inputs: Mapping[str, Sequence[Input]]) -> str:
        """What the run's signing inputs are, for the reader."""
        texts = []
        if given := [str(o.selections[name]) for name in inputs if name in o.selections]:
            texts.append(f"the signing inputs of {', '.join(given)}")
        if o.block is not None:
            texts.append(f"a block of {o.block.verifications:,} signatures, made after the gate")
        elif o.pipelines:
            texts.append("records of pipelines, chosen by the traces of signing them")
        elif len(given) < len(inputs):
            texts.append(
                f"{o.sizes.design} signing inputs per set, chosen by their traces among "
                f"{o.sizes.pool:,}"
            )
        return f"{'; '.join(texts)}; {o.sizes.random} others"

    def _with_groups(self, variants: Sequence[Variant]) -> Options:
        """The options with as many inputs of runs as these variants need."""
        roles = {role_of(v, s) for v in variants if v.runs for s in v.sets}
        sizes = replace(
            self.options.sizes,
            many_keys=GROUP if MANY_KEYS in roles else 0,
            one_key=GROUP if ONE_KEY in roles else 0,
        )
        return replace(self.options, sizes=sizes)

    def _gate(
        self,
        every: Sequence[Variant],
        reference: Reference | None,
        materials: dict[str, Material],
        plain: dict[str, list[PlainInput]],
    ) -> tuple[set[tuple[str, str]], Mapping[str, Sequence[PlainInput]]]:
        """The pairs of variant and set that may be measured, and by set what was made of inputs
        without traces.

        Batch interfaces go through the gate at every size. Loops are the single calls that have
        passed, and threads do what one does.
        """
        variants = [v for v in every if not v.runs or (v.mode == "batch" and v.threads == 1)]
        sets = {*materials, *plain}
        pairs = sum(len(sets & set(v.sets)) for v in variants)
        with self.screen.phase("gate", total=2 * pairs) as phase:
            verdicts = gate.examine(
                self.fleet,
                reference,
                variants,
                materials,
                plain,
                _PEERS,
                lambda v, name: phase.show(f"{v.id} {name}", step=1),
            )
            passed = {(g.variant, g.set) for g in verdicts.gates if g.passed}
            passed = {pair for pair in passed if pair[0] not in verdicts.faults}
            cases = sum(c.cases for g in verdicts.gates for c in g.checks)
            phase.summary = (
                f"{len(passed)} of {pairs} pairs of variant and set passed {cases:,} cases"
            )
        for row in verdicts.gates:
            self.write(row)
        for variant_id, (name, reason) in verdicts.faults.items():
            self._fault(Fault(variant_id, None, None, None, f"gate, {name}: {reason}"))
        for (variant_id, name), reason in verdicts.reasons.items():
            if variant_id not in verdicts.faults:
                self._leave(f"{variant_id} {name}: {reason}")
        for v in every:
            if v not in variants:
                like = v.base if v.mode == "single" else f"{v.base}:batch-{v.batch_size}"
                passed |= {(v.id, name) for name in v.sets if (like, name) in passed}
        return passed, verdicts.made

    def _cells(
        self,
        variants: Sequence[Variant],
        passed: set[tuple[str, str]],
        inputs: Mapping[str, Sequence[Input | PlainInput]],
    ) -> list[Cell]:
        """All cells, those of the same set and operation next to each other."""
        cells: list[Cell] = []
        for name in self.options.sets:
            for operation in self.options.operations:
                for v in variants:
                    if (v.id, name) not in passed or operation not in v.operations:
                        continue
                    role = role_in(v, name, operation)
                    taken = [i for i in inputs[name] if i.role == role]
                    if operation == LOOKUP:
                        taken = taken[:1]  # which it ignores
                    shape = self.fleet.station(v.id).shape_of(v.id)
                    if shape is not None and SCHEMES[name].slow and operation != "verify":
                        continue  # a hundred of them take minutes
                    runs = None if shape is None else shape.runs(len(taken))
                    cells.append(make_cell(v, name, operation, taken, runs))
        return cells

    def _measure(self, workload: Workload[C]) -> None:
        """Calibrate, then measure rounds until the pace says enough."""
        engine = Engine(self.fleet, workload, self._row)
        _require(engine.cases)
        # Fresh processes: none carries the gate's jobs, and all have the same age.
        self.fleet.stop()
        self._phase = "measure"
        with self.screen.phase("calibrate", total=len(engine.cases), still=True) as phase:
            engine.calibrate(lambda case: phase.show(str(case), step=1))
        _require(engine.cases)
        assert self._record is not None
        pace = self._pace = Pace(self.options, self._record, self._judge)
        began = time.monotonic()
        with self.screen.phase("measure", total=1.0, still=True) as phase:

            def show(case: Case, part: float) -> None:
                whole = self.rounds + part
                spent = time.monotonic() - began
                done = pace.part(whole, spent)
                left = f", {spent / done - spent:.0f} s left" if whole > 0.5 and done > 0 else ""
                rounds = self.options.rounds
                of = f" of {rounds}" if rounds is not None else ""
                phase.reach(min(done, 1.0), f"round {self.rounds + 1}{of}{left}  {case}")

            while engine.cases and not pace.enough(self.rounds, self.spent):
                engine.round(self.rounds, show)
                self.rounds += 1
                self.spent = time.monotonic() - began
            phase.summary = f"{self.rounds} rounds over {len(engine.cases)} {workload.noun}"
        _require(engine.cases)

    def _visit_once(self, workload: Workload[C], first: int = 0) -> None:
        """Visit each case once; ``first``: the rotation of the order."""
        self.fleet.stop()
        engine = Engine(self.fleet, workload, self._row, first=first)
        total = len(engine.cases)
        for row in workload.definitions():
            self.write(row)
        with self.screen.phase(self._phase, total=1.0, still=True) as phase:
            engine.round(0, lambda case, part: phase.reach(part, str(case)))
            phase.summary = f"{total} {workload.noun}"

    def _iterations(self) -> dict[tuple[str, int], int]:
        """Return, by set and input, the iterations of the signatures whose traces are known."""
        assert self._record is not None
        return {(i.set, i.id): len(i.trace) for i in self._record.inputs if i.trace is not None}

    def _measure_by_jmh(self, settings: Jmh, cells: Sequence[Cell]) -> None:
        self._phase = "measure"
        folder = self._writer.path.parent / "jmh"
        o = self.options
        # Which cell comes first follows from the seed, so that it is another in each process.
        workload = JmhRuns(settings, o.timeout, self.fleet, self._place, folder, cells)
        self._visit_once(workload, o.seed[0])
        if not self.samples:
            raise LabError("nothing was measured: JMH failed for every cell")
        self.rounds = settings.iterations

    def _measure_memory(self, cells: Sequence[Cell]) -> None:
        self._phase = "memory"
        o = self.options
        traces = self._iterations()
        limits, traffic = time_limits(o.timeout), o.memory == "traffic"
        with Memory(self.fleet, self._place, limits, traces, cells, traffic=traffic) as workload:
            self._visit_once(workload)

    def _row(self, row: Row) -> None:
        if isinstance(row, Fault):
            self._fault(row)
            return
        self.write(row)

    def _fault(self, row: Fault) -> None:
        self.write(row)
        of = f" {row.set}" if row.set else ""
        self._leave(f"{row.variant}{of}: {row.reason}")

    def _leave(self, text: str) -> None:
        self.screen.trouble(self._phase, text)


def _require(left: Sequence[object]) -> None:
    """LabError if there is nothing to measure."""
    if not left:
        raise LabError("nothing to measure: no variant passed the gate for the chosen operations")
