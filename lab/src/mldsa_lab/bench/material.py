"""The inputs of a run, and the correctness reference that confirms them.

Inputs are drawn, traced, chosen and signed as `select` does it, by the library in this process.
Nothing of that is believed: the reference makes keys, signature and trace of every input again
before anything is measured, and where it finds something else the run ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from mldsa_lab import LabError, located
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.options import REFERENCE, Pipeline
from mldsa_lab.checkout import find_root
from mldsa_lab.choice.choice import SelectionRequest, build, choose, complete
from mldsa_lab.inputs.input import STREAM, Input, Spec, candidates
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.tracing import Library, load, trace_pool
from mldsa_lab.records import MANY_KEYS, ONE_KEY, PIPELINE, InputRow, Record, Variant
from mldsa_lab.records.rows import DESIGN, RANDOM, Recipe
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, TraceTable
from mldsa_lab.worker.cases import RND, suits
from mldsa_lab.worker.examination import Examination, Items, Subject, make_items, siblings_of
from mldsa_lab.worker.protocol import Announced
from mldsa_lab.worker.registry import Place, read_registry
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Limits, WorkerFault

# The inputs of a run, and the correctness reference that confirms them.


_RUNS_POOL = 4  # candidates for each input of a run
_LONG = 1024  # bytes of a message that a record does not write out
_FEW = 4  # random inputs where an operation takes seconds
# Bytes of message and context of the gate's own inputs.
_GATE_SHAPES = ((200, 255), (48, 16), (33, 0), (1, 1), (0, 0), (100, 3))


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many inputs of each kind, and how long their messages are in bytes.

    The defaults are those of an ordinary run. `many_keys` and `one_key` are the inputs that runs
    take in turn.
    """

    design: int = 12
    random: int = 24
    pool: int = 1000
    message_bytes: int = 32
    many_keys: int = 0
    one_key: int = 0


GATE_SIZES = Sizes(design=0, random=8, pool=0)
"""Of runs that have inputs of their own: those that the gate takes beside these."""


def check_taken(item: Input, variant: Variant | Announced, where: str) -> None:
    """LabError if this variant cannot sign an input as it is given."""
    if item.rnd is not None and variant.rnd == "zero":
        raise LabError(f"{where}: its rnd is not zero, and {variant.id} takes no other")
    if item.context and not variant.context:
        raise LabError(f"{where}: it has a context, and {variant.id} takes none")


def input_row(item: Input, run_seed: bytes, sizes: Sizes) -> InputRow:
    """An input's line in a record of a run."""
    words = tuple(map(str, item.trace)) or None
    seed, drawn = item.seed or b"", _drawn(item, run_seed, sizes)
    message = b"" if drawn else item.message
    return InputRow(
        item.set, item.id, item.role, seed, message, item.context, words, item.rnd, drawn
    )


def _drawn(item: Input, run_seed: bytes, sizes: Sizes) -> Recipe | None:
    """Where a long message follows from the run's seed."""
    size = len(item.message)
    if size <= _LONG or item.context or item.role not in (DESIGN, RANDOM):
        return None
    count = sizes.pool if item.role == DESIGN else sizes.random
    seed, stream = run_seed, RANDOM  # as `plain_inputs` has them
    if item.set in PARAMETER_SETS:
        seed, stream = _seed_of(item.role, run_seed), STREAM
    number = _numbers(seed, item.set, count, size, stream).get((item.seed or b"", item.message))
    return None if number is None else Recipe(seed, stream, number, size)


@lru_cache(maxsize=1)  # as large as the messages
def _numbers(
    seed: bytes, set_name: str, count: int, size: int, stream: str
) -> dict[tuple[bytes, bytes], int]:
    """The candidates' numbers by key's seed and message."""
    drawn = candidates(seed, set_name, count, message_bytes=size, stream=stream)
    return {(c.key, c.message): number for number, c in enumerate(drawn)}


def _seed_of(role: str, run_seed: bytes) -> bytes:
    """The seed of the pool of a role."""
    return hashlib.sha256(b"mldsa-lab bench " + role.encode() + b" " + run_seed).digest()


def selection_of(record: Record, set_name: str, library: Library) -> Selection:
    """The designed inputs of a run as a selection, under the record's ids. LabError if the record
    has none of this set, or a trace that is not that of signing."""
    rows = [r for r in record.inputs if r.set == set_name and r.role == DESIGN]
    if not rows:
        raise LabError(f"the record has no inputs of {set_name} that were chosen by their traces")
    inputs = [Input(set_name, r.id, r.seed, r.message, r.context, r.rnd) for r in rows]
    made = library.make(set_name, inputs)
    for item, r in zip(made, rows, strict=True):
        if tuple(map(str, item.trace)) != r.trace:
            raise LabError(f"input {r.id} of {set_name}: its trace is not that of signing it")
    run = {"started": record.run.started, "seed": record.run.seed}
    return Selection(set_name, "regression", made, provenance={"tool": record.run.tool, "run": run})


def subject_of(fleet: Fleet, variant: Variant, set_name: str) -> Subject:
    """A variant of a run as what the suite judges."""
    forms = fleet.announced[variant.base].private_keys
    return Subject(fleet.station(variant.id).answer, variant, set_name, forms)


def find_reference(fleet: Fleet) -> Variant:
    """The correctness reference among the fleet's variants; LabError if no worker has it."""
    found = next((v for v in fleet.variants.values() if v.implementation == REFERENCE), None)
    if found is None:
        raise LabError(f"no worker has the correctness reference {REFERENCE}")
    return found


def confirm(reference: Subject, items: Items) -> None:
    """LabError that names the first input whose keys, signature or trace are not what the
    correctness reference makes of it, or the known answer that it does not give."""
    names = ("{source}-keygen", "reference-sign", "{source}-trace")
    rows = [row for row in SUITE if row.name in names or row.needs == ("known",)]
    exam = Examination(reference, items, rows)
    try:
        skipped = [c for c in exam.run() if not c.cases]
    except WorkerFault as fault:
        raise LabError(f"the correctness reference broke down: {fault}") from None
    if not exam.passed or skipped:
        reason = exam.reason or f"{skipped[0].check}: {skipped[0].first_failure}"
        raise LabError(
            f"{reference.set}: the correctness reference {reference.variant.id} makes something "
            f"else: {reason}"
        )


def make_items_of_gate(
    library: Library, reference: Subject, inputs: Sequence[Input], run_seed: bytes
) -> Items:
    """What the gate puts to every variant of an ML-DSA set, ``inputs`` being those of the run.

    Beside these it takes some with contexts of 0 to 255 bytes and messages of 0 to 200 bytes.
    LabError if one of them is not what the reference makes of it, or the reference cannot make what
    is needed.
    """
    set_name = inputs[0].set

    def drawn(count: int, message: int, context: int, stream: str) -> Iterator[Input]:
        sizes = {"message_bytes": message, "context_bytes": context}
        return candidates(run_seed, set_name, count, stream=stream, **sizes)

    first = max(item.id for item in inputs) + 1
    shapes = enumerate(_GATE_SHAPES, first)
    chosen = [replace(next(drawn(1, *shape, "gate")), id=i, role=RANDOM) for i, shape in shapes]
    others = library.make(set_name, chosen)
    hedged = library.make(set_name, [replace(item, rnd=RND) for item in chosen])
    bases = []
    for context in (16, 0):
        signed = library.make(set_name, list(drawn(64, 48, context, "altered")))
        found = (i for i in signed if suits(PARAMETER_SETS[set_name], i.output or b""))
        bases += [replace(i, id=context) for i in found][:1]
    if len(bases) < 2:
        raise LabError(f"no {set_name} signature of this seed has two hints in a row to alter")
    for several in ([*inputs, *others], hedged, bases):
        confirm(reference, Items("reference", several))
    plain = [item for item in others if not item.context]
    violations = reference.outputs("z_violation", plain)
    if not violations:
        raise LabError(f"{set_name}: the correctness reference makes no z_violation")
    return Items(
        "reference",
        [*others, *(i for i in inputs if i.role not in (MANY_KEYS, ONE_KEY))],
        hedged,
        bases,
        others[0].pk,
        [item.with_output(violations[item.id].value) for item in plain],
        [i for i in inputs if i.role in (MANY_KEYS, ONE_KEY)],
        known=True,
        reference=reference,
    )


def make_plain(fleet: Fleet, drawn: Sequence[Input], sound: Iterable[Variant]) -> list[Input]:
    """The inputs of a scheme without traces with keys and outputs, by the first of the
    implementations that have passed known answers and can make them."""
    set_name = drawn[0].set
    able = [subject_of(fleet, v, set_name) for v in sound]
    every = [subject_of(fleet, v, set_name) for v in fleet.variants.values() if set_name in v.sets]
    return make_items(drawn, able, [s for one in able for s in siblings_of(one, every)])


class SampleSignature(NamedTuple):
    """A signature and the public key that verifies it."""

    public_key: bytes
    signature: bytes


def draw_signatures(set_name: str, seed: bytes, count: int) -> list[SampleSignature]:
    """Sign ``count`` inputs drawn from ``seed``: with ML-DSA by the library, which is built if need
    be, with the others by a Rust worker, which is not. LabError if neither can sign."""
    if set_name in PARAMETER_SETS:
        signed = load().sign(set_name, Spec(set_name, seed).inputs(0, count))
        return [SampleSignature(one.pk, one.signature) for one in signed]
    root = find_root()
    entries = read_registry(root / "workers" / "registry.toml")
    entry = next(e for e in entries if SCHEMES[set_name].family in e.families)
    with Fleet() as fleet:
        fleet.add(Station(entry, Place.of(root), Limits()))
        able = [v for v in fleet.variants.values() if set_name in v.sets]
        if not able:
            raise LabError(f"worker {entry.name} has no {set_name}")
        drawn = plain_inputs(set_name, seed, Sizes(design=0, random=count, pool=0))
        made = make_plain(fleet, drawn, able)
        if not all(m.pk for m in made):  # keys that stay in a worker have public ones all the same
            keys = subject_of(fleet, able[0], set_name).outputs("keygen", made)
            made = [replace(m, pk=keys[m.id].value) for m in made] if keys else made
    if not all(m.pk and m.output for m in made):
        raise LabError(f"worker {entry.name} gives no keys and signatures of {set_name}")
    return [SampleSignature(m.pk or b"", m.output or b"") for m in made]


def choose_inputs(
    library: Library,
    set_name: str,
    run_seed: bytes,
    sizes: Sizes,
    given: GivenSelection | None = None,
    threads: int = 1,
) -> list[Input]:
    """The inputs of an ML-DSA set: those to sign, of a selection if one is ``given``, else chosen
    by their traces, in the order to measure; those drawn at random; then those of runs.

    Everything follows from the run's seed. Inputs that are not the selection's are numbered on from
    its highest id.
    """

    def spec(stream: str, per_key: int = 1) -> Spec:
        return Spec(set_name, _seed_of(stream, run_seed), sizes.message_bytes, per_key=per_key)

    def chosen(drawn: Spec, size: int, request: SelectionRequest) -> tuple[Input, ...]:
        pool = trace_pool(drawn, size, threads=threads)
        return build(pool, request, choose(pool.table, pool.checks, request), library).inputs

    found: list[Input] = []

    def add(role: str, inputs: Sequence[Input]) -> None:
        first = max((item.id for item in found), default=0) + 1
        found.extend(replace(item, id=i, role=role) for i, item in enumerate(inputs, first))

    if given is not None:
        with located(given):
            found += complete(given.selection, library).inputs
    elif sizes.design:
        add(DESIGN, chosen(spec(DESIGN), sizes.pool, SelectionRequest("regression", sizes.design)))
    add(RANDOM, library.make(set_name, spec(RANDOM).inputs(0, sizes.random)))
    for role, count, per_key in ((MANY_KEYS, sizes.many_keys, 1), (ONE_KEY, sizes.one_key, 0)):
        if count:
            add(
                role,
                chosen(spec(role, per_key), _RUNS_POOL * count, SelectionRequest("mean", count)),
            )
    return found


@dataclass(frozen=True, slots=True)
class GivenSelection:
    """A selection whose inputs are to be measured, and the file that it is from."""

    path: Path
    selection: Selection

    def __str__(self) -> str:
        return str(self.path)

    def check(self, variants: Iterable[Variant]) -> None:
        """LabError if one of these variants cannot sign an input as it is given."""
        for v in variants:
            if self.selection.set not in v.sets or "sign" not in v.operations:
                continue
            for item in self.selection.inputs:
                check_taken(item, v, f"{self}, input {item.id}")


def read_selections(paths: Sequence[Path]) -> dict[str, GivenSelection]:
    """The selections in these files by their parameter set. LabError if two are of one set, or a
    run cannot measure an input."""
    found: dict[str, GivenSelection] = {}
    for path in paths:
        selection = Selection.read(path)
        if selection.set in found:
            raise LabError(f"{path}: is of {selection.set}, as {found[selection.set]} is")
        for item in selection.inputs:
            if item.seed is None:
                raise LabError(
                    f"{path}, input {item.id}: has no xi; workers are handed the key's seed too"
                )
        found[selection.set] = GivenSelection(path, selection)
    return found


def plain_inputs(set_name: str, run_seed: bytes, sizes: Sizes) -> list[Input]:
    """The inputs of a scheme without traces, drawn at random."""
    scheme = SCHEMES[set_name]
    kem = "encaps" in scheme.traits.operations  # its m, which FIPS 203 calls randomness, is rnd
    drawn = candidates(
        run_seed,
        set_name,
        min(sizes.random, _FEW) if scheme.slow else sizes.random,
        message_bytes=scheme.rnd_bytes if kem else sizes.message_bytes,
        stream=RANDOM,
    )
    return [
        replace(c, message=b"", rnd=c.message, role=RANDOM) if kem else replace(c, role=RANDOM)
        for c in drawn
    ]


# The records of pipelines, and what their stages are handed.


_CANDIDATES = 128  # for each record that is chosen by its trace
_CANDIDATES_MAX = 20_000
_STREAM = "pipeline"


class InputGroup(NamedTuple):
    """Pipelines with the same of these share their records and keys.

    ``designed``: the ML-DSA sets that are signed with deterministically, each with whether it is a
    digest that is signed: these costs are known by their traces before anything is measured.
    """

    records: int
    record_bytes: int
    keys: str
    designed: tuple[tuple[str, bool], ...]


class PipelineInputs:
    """The records of every group, and the inputs made of them by set."""

    def __init__(
        self, pipelines: Sequence[Pipeline], variants: Mapping[str, Variant], seed: bytes
    ) -> None:
        """``pipelines``: as `resolve` returns them; ``variants``: by id."""
        self.pipelines = pipelines
        self.seed = seed
        self._group = {p.name: _group(p, variants) for p in pipelines}
        self._records_of = {g: self._draw(g) for g in dict.fromkeys(self._group.values())}
        self._ids: dict[tuple[InputGroup, str, bool], range] = {}

    def items(self, set_name: str, first: int) -> list[Input]:
        """The inputs of a set for every pipeline that has it, numbered from ``first``."""
        made: list[Input] = []
        for p in self.pipelines:
            for stage, (message, _) in zip(p.stage, p.sources(), strict=True):
                key = (self._group[p.name], set_name, bool(message))
                if stage.set == set_name and key not in self._ids:
                    items = self._items(*key, first + len(made))
                    self._ids[key] = range(first + len(made), first + len(made) + len(items))
                    made += items
        return made

    def ids(self, pipeline: Pipeline, number: int) -> range:
        """The inputs of a pipeline's stage, by number from 0."""
        hashed = pipeline.sources()[number][0] > 0
        return self._ids[self._group[pipeline.name], pipeline.stage[number].set, hashed]

    def _items(self, group: InputGroup, set_name: str, hashed: bool, first: int) -> list[Input]:
        """Key and message of each record."""
        chosen = self._signed(group, set_name, hashed, self._records_of[group])
        chosen = [replace(item, id=i) for i, item in enumerate(chosen, first)]
        return list(load().make(set_name, chosen)) if set_name in PARAMETER_SETS else chosen

    def _records(self, group: InputGroup) -> list[bytes]:
        """All candidates of a group."""
        size = group.records
        if group.designed:
            size = max(size, min(_CANDIDATES * size, _CANDIDATES_MAX))
        return [
            c.message
            for c in candidates(
                self.seed, "SHA3-256", size, message_bytes=group.record_bytes, stream=_STREAM
            )
        ]

    def _keys(self, group: InputGroup, set_name: str) -> list[Input]:
        """An input for each candidate, with its key; a single one where all share a key."""
        size = 1 if group.keys == "shared" else len(self._records(group))
        stream = f"{_STREAM} keys"
        return list(candidates(self.seed, set_name, size, message_bytes=0, stream=stream))

    def _draw(self, group: InputGroup) -> list[int]:
        """The candidates that are a group's records, in an order that no drift resembles."""
        if not group.designed:
            return list(range(group.records))
        every = range(len(self._records(group)))
        tables = [
            load().trace(set_name, self._signed(group, set_name, hashed, every))
            for set_name, hashed in group.designed
        ]
        rng = np.random.default_rng(list(self.seed))
        return [int(i) for i in rng.permutation(spread(tables, group.records))]

    def _signed(
        self, group: InputGroup, set_name: str, hashed: bool, chosen: Iterable[int]
    ) -> list[Input]:
        """Inputs of the candidates with these numbers, which sign the record, or its hash."""
        records, keys = self._records(group), self._keys(group, set_name)
        signed = (
            (i, hashlib.sha3_256(records[i]).digest() if hashed else records[i]) for i in chosen
        )
        return [replace(keys[i % len(keys)], message=m, role=PIPELINE) for i, m in signed]


def _group(p: Pipeline, variants: Mapping[str, Variant]) -> InputGroup:
    designed = {
        (s.set, bool(message))
        for s, (message, _) in zip(p.stage, p.sources(), strict=True)
        if s.operation == "sign" and s.set in PARAMETER_SETS
        if variants[s.implementation].deterministic
    }
    return InputGroup(p.records, p.record_bytes, p.keys, tuple(sorted(designed)))


def spread(tables: Sequence[TraceTable], count: int) -> list[int]:
    """``count`` of the signatures that these tables are of, each table by another key or set, that
    stand for all: one of each of ``count`` equal parts in the order of their attempts, such that
    the sums of attempts that fail z, and of others that fail, are those expected of so many.
    """
    counts = np.hstack([_failed(table.counts()) for table in tables])
    exact = np.hstack([_failed(RejectionModel.for_set(t.set).expected_counts) for t in tables])
    attempts = np.sum([table.iterations() for table in tables], axis=0)
    # Of equally many attempts those with fewer of z: the others got further before they failed.
    order = np.lexsort((-counts[:, ::2].sum(axis=1), attempts))
    factor = exact / counts.mean(axis=0)
    chosen = []
    behind = np.zeros(len(exact))
    for part in np.array_split(order, count):
        behind += counts[part].mean(axis=0) * factor
        off = ((behind - counts[part]) / exact) ** 2
        best = part[int(np.argmin(off.sum(axis=1)))]
        behind -= counts[best]
        chosen.append(int(best))
    return chosen


def _failed(counts: Array) -> Array:
    """n_z and n_r + n_h, of counts (..., 3)."""
    return np.stack([counts[..., 0], counts[..., 1] + counts[..., 2]], axis=-1)
