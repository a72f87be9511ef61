"""The inputs of a run, and the correctness reference that confirms them.

Inputs are drawn, traced, chosen and signed as `select` does it, by the library in this process.
Before anything is measured, the correctness reference makes keys, signature and trace of every
input again. The run ends at the first difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from mldsa_lab import LabError, located
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.options import ORACLE, Pipeline, SelectionFile, Sizes
from mldsa_lab.checkout import find_root
from mldsa_lab.choice.choice import SelectionRequest, build, choose, complete
from mldsa_lab.inputs.input import STREAM, Input, Spec, candidates
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.tracing import Library, load, trace_pool
from mldsa_lab.records import (
    DESIGN,
    MANY_KEYS,
    ONE_KEY,
    PIPELINE,
    RANDOM,
    InputRow,
    PipelineContent,
    Recipe,
    Record,
    Variant,
)
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, TraceTable
from mldsa_lab.worker.cases import RND, suits
from mldsa_lab.worker.examination import Examination, Items, Subject, make_items, siblings_of
from mldsa_lab.worker.protocol import ChainStage, JobInput, Link
from mldsa_lab.worker.registry import BuildDirs, read_registry
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Limits, WorkerFault

_RUNS_POOL = 4  # candidates for each input of a run
_LONG = 1024  # bytes of a message that a record does not write out
_FEW = 4  # random inputs where an operation takes seconds
# Bytes of message and context of the gate's own inputs.
_GATE_LENGTHS = ((200, 255), (48, 16), (33, 0), (1, 1), (0, 0), (100, 3))


def choose_inputs(
    library: Library,
    set_name: str,
    run_seed: bytes,
    sizes: Sizes,
    file: SelectionFile | None = None,
    threads: int = 1,
) -> list[Input]:
    """Return the inputs of an ML-DSA set. First come the inputs to sign in the order to measure,
    from a selection's ``file`` or else chosen by their traces. Random inputs follow, then the
    inputs of runs.

    Everything follows from the run's seed. Inputs that are not the selection's are numbered on from
    its highest id.
    """

    def spec(stream: str, per_key: int = 1) -> Spec:
        return Spec(set_name, _seed_of(stream, run_seed), sizes.message_bytes, per_key=per_key)

    def chosen(drawn: Spec, size: int, request: SelectionRequest) -> tuple[Input, ...]:
        pool = trace_pool(drawn, size, threads=threads)
        return build(pool, request, choose(pool.table, pool.checks, request), library).inputs

    listed: list[Input] = []

    def add(role: str, inputs: Sequence[Input]) -> None:
        first = max((item.id for item in listed), default=0) + 1
        listed.extend(replace(item, id=i, role=role) for i, item in enumerate(inputs, first))

    if file is not None:
        with located(file):
            listed += complete(file.selection, library).inputs
    elif sizes.design:
        add(DESIGN, chosen(spec(DESIGN), sizes.pool, SelectionRequest("regression", sizes.design)))
    add(RANDOM, library.make(set_name, spec(RANDOM).inputs(0, sizes.random)))
    for role, count, per_key in ((MANY_KEYS, sizes.many_keys, 1), (ONE_KEY, sizes.one_key, 0)):
        if count:
            add(
                role,
                chosen(spec(role, per_key), _RUNS_POOL * count, SelectionRequest("mean", count)),
            )
    return listed


def plain_inputs(set_name: str, run_seed: bytes, sizes: Sizes) -> list[Input]:
    """Draw the inputs of a scheme without traces."""
    scheme = SCHEMES[set_name]
    kem = "encaps" in scheme.traits.operations  # its m, which FIPS 203 calls randomness, is rnd
    drawn = candidates(
        run_seed,
        set_name,
        min(sizes.random, _FEW) if scheme.is_slow else sizes.random,
        message_bytes=scheme.rnd_bytes if kem else sizes.message_bytes,
        stream=RANDOM,
    )
    return [
        replace(c, message=b"", rnd=c.message, role=RANDOM) if kem else replace(c, role=RANDOM)
        for c in drawn
    ]


def _seed_of(role: str, run_seed: bytes) -> bytes:
    """Return the seed of a role's pool."""
    return hashlib.sha256(b"mldsa-lab bench " + role.encode() + b" " + run_seed).digest()


def subject_of(fleet: Fleet, variant: Variant, set_name: str) -> Subject:
    """Return a variant of a run as a subject of the suite."""
    forms = fleet.announced[variant.base].private_keys
    return Subject(fleet.handle(variant.id).answer, variant, set_name, forms)


def find_oracle(fleet: Fleet) -> Variant:
    """Return the correctness reference. LabError if no worker has it."""
    for variant in fleet.variants.values():
        if variant.implementation == ORACLE:
            return variant
    raise LabError(f"no worker has the correctness reference {ORACLE}")


def confirm(reference: Subject, items: Items) -> None:
    """LabError for the first input whose keys, signature or trace the correctness reference makes
    otherwise. Also if it does not give a known answer."""
    names = {"{source}-keygen", "reference-sign", "{source}-trace"}
    rows = [row for row in SUITE if row.name in names or row.needs == ("known",)]
    assert names <= {row.name for row in rows}
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
    """Return the gate's items of an ML-DSA set. They are the run's ``inputs``, and others with
    contexts of 0 to 255 bytes and messages of 0 to 200 bytes.

    LabError if the reference does not confirm one of them, or cannot make the altered ones.
    """
    set_name = inputs[0].set

    def drawn(count: int, message: int, context: int, stream: str) -> Iterator[Input]:
        sizes = {"message_bytes": message, "context_bytes": context}
        return candidates(run_seed, set_name, count, stream=stream, **sizes)

    first = max(item.id for item in inputs) + 1
    lengths = enumerate(_GATE_LENGTHS, first)
    chosen = [replace(next(drawn(1, *sizes, "gate")), id=i, role=RANDOM) for i, sizes in lengths]
    others = library.make(set_name, chosen)
    hedged = library.make(set_name, [replace(item, rnd=RND) for item in chosen])
    bases = []
    for context in (16, 0):
        signed = library.make(set_name, list(drawn(64, 48, context, "altered")))
        alterable = (i for i in signed if suits(PARAMETER_SETS[set_name], i.output or b""))
        bases += [replace(i, id=context) for i in alterable][:1]
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


def make_plain(fleet: Fleet, drawn: Sequence[Input], sound: Sequence[Subject]) -> list[Input]:
    """Complete the inputs of a scheme without traces with keys and outputs, by the first of the
    ``sound`` subjects that can make them."""
    every = subjects_of(fleet, drawn[0].set)
    return make_items(drawn, sound, [s for one in sound for s in siblings_of(one, every)])


def subjects_of(fleet: Fleet, set_name: str) -> list[Subject]:
    """Return all variants with the set as subjects of the suite."""
    variants = fleet.variants.values()
    return [subject_of(fleet, v, set_name) for v in variants if set_name in v.sets]


def input_row(item: Input, run_seed: bytes, sizes: Sizes) -> InputRow:
    """Return an input's line in the record."""
    words = tuple(map(str, item.trace)) or None
    seed, drawn = item.seed or b"", _drawn(item, run_seed, sizes)
    message = b"" if drawn else item.message
    return InputRow(
        item.set, item.id, item.role, seed, message, item.context, words, item.rnd, drawn
    )


def _drawn(item: Input, run_seed: bytes, sizes: Sizes) -> Recipe | None:
    """Return the recipe of a long message; None for a message that is written out."""
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
    """Return the candidates' numbers by key's seed and message."""
    drawn = candidates(seed, set_name, count, message_bytes=size, stream=stream)
    return {(c.key, c.message): number for number, c in enumerate(drawn)}


def selection_of(record: Record, set_name: str, library: Library) -> Selection:
    """Return the designed inputs of a run as a selection, under the record's ids. LabError if the
    record has none of this set, or a trace that signing does not give."""
    rows = [r for r in record.inputs if r.set == set_name and r.role == DESIGN]
    if not rows:
        raise LabError(f"the record has no inputs of {set_name} that were chosen by their traces")
    inputs = [Input(set_name, r.id, r.seed, r.message, r.context, r.rnd) for r in rows]
    signed = library.make(set_name, inputs)
    for item, r in zip(signed, rows, strict=True):
        if tuple(map(str, item.trace)) != r.trace:
            raise LabError(f"input {r.id} of {set_name}: its trace differs from its signature's")
    run = {"started": record.run.started, "seed": record.run.seed}
    return Selection(
        set_name, "regression", signed, provenance={"tool": record.run.tool, "run": run}
    )


class SampleSignature(NamedTuple):
    """A signature and the public key that verifies it."""

    public_key: bytes
    signature: bytes


def draw_signatures(set_name: str, seed: bytes, count: int) -> list[SampleSignature]:
    """Sign ``count`` inputs drawn from ``seed``. The library signs ML-DSA and is built if need be;
    a Rust worker signs other schemes and is not built. LabError if neither can sign."""
    if set_name in PARAMETER_SETS:
        signatures = load().sign(set_name, Spec(set_name, seed).inputs(0, count))
        return [SampleSignature(one.pk, one.signature) for one in signatures]
    root = find_root()
    entries = read_registry(root / "lab" / "workers" / "registry.toml")
    entry = next(e for e in entries if SCHEMES[set_name].family in e.families)
    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry, BuildDirs.for_tree(root), Limits()))
        able = subjects_of(fleet, set_name)
        if not able:
            raise LabError(f"worker {entry.name} has no {set_name}")
        drawn = plain_inputs(set_name, seed, Sizes(design=0, random=count, pool=0))
        signed = make_plain(fleet, drawn, able)
        if not all(item.pk for item in signed):  # keys that stay in a worker have public ones
            keys = able[0].outputs("keygen", signed)
            signed = [replace(item, pk=keys[item.id].value) for item in signed] if keys else signed
    if not all(item.pk and item.output for item in signed):
        raise LabError(f"worker {entry.name} gives no keys and signatures of {set_name}")
    return [SampleSignature(item.pk or b"", item.output or b"") for item in signed]


# The records of pipelines, and what their stages are handed.


_CANDIDATES = 128  # for each record that is chosen by its trace
_CANDIDATES_MAX = 20_000
_STREAM = "pipeline"


class InputGroup(NamedTuple):
    """Pipelines with the same of these share their records and keys.

    ``designed``: the ML-DSA sets that sign deterministically, each with whether it signs a digest.
    Their costs are known by their traces before anything is measured.
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
        listed: list[Input] = []
        for p in self.pipelines:
            for stage, (message, _) in zip(p.stage, p.sources(), strict=True):
                key = (self._group[p.name], set_name, bool(message))
                if stage.set == set_name and key not in self._ids:
                    start = first + len(listed)
                    items = self._items(*key, start)
                    self._ids[key] = range(start, start + len(items))
                    listed += items
        return listed

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


@dataclass(slots=True, eq=False)
class PreparedPipeline:
    """A pipeline with the variant of each stage, its inputs by record, and the expected outputs:
    None where they differ from call to call. All variants are of one worker. ``together``: the
    records of a link."""

    name: str
    content: PipelineContent
    together: int
    handle: WorkerHandle
    variants: Sequence[Variant]
    inputs: list[list[JobInput]]
    outputs: list[list[bytes | None]]
    jobs: list[int] = field(default_factory=list)
    started: int = -1

    def __str__(self) -> str:
        return f"pipeline {self.name}"

    def prepare(self, inputs: Sequence[Sequence[JobInput]]) -> list[int]:
        """Hand over the jobs of all stages."""
        stages = zip(self.variants, self.content.stages, inputs, strict=True)
        return [self.handle.prepare(v, s.set, s.operation, i) for v, s, i in stages]

    def stages(self, jobs: Sequence[int], *, own_message: bool = False) -> list[ChainStage]:
        """Return the chain of these jobs.

        With ``own_message`` a verification takes the message it is handed.
        """
        return [
            ChainStage(
                job, s.batch, 0 if own_message and s.operation == "verify" else s.message,
                s.signature,
            )
            for job, s in zip(jobs, self.content.stages, strict=True)
        ]  # fmt: skip

    def wrong(self, link: Link, outputs: Sequence[Sequence[bytes | None]]) -> str | None:
        """Return the fault of a link's outputs, or None."""
        if link.failure is not None:
            return f"record {link.input}: {link.failure}"
        size = len(self.inputs[0])
        places = [(link.input + i) % size for i in range(self.together)]
        stages = zip(self.content.stages, link.stages, outputs, strict=True)
        for stage, (_, digest), known in stages:
            whole = [output for place in places if (output := known[place]) is not None]
            expected = hashlib.sha256(b"".join(whole)).digest()
            if len(whole) == len(places) and digest != expected:
                return f"record {link.input}: stage {stage.name} gave a wrong output"
        return None


def _group(p: Pipeline, variants: Mapping[str, Variant]) -> InputGroup:
    designed = {
        (s.set, bool(message))
        for s, (message, _) in zip(p.stage, p.sources(), strict=True)
        if s.operation == "sign" and s.set in PARAMETER_SETS
        if variants[s.implementation].deterministic
    }
    return InputGroup(p.records, p.record_bytes, p.keys, tuple(sorted(designed)))


def spread(tables: Sequence[TraceTable], count: int) -> list[int]:
    """Return the numbers of ``count`` signatures that represent all.

    Each table has the same signatures by another key or set. In the order of their iterations they
    are divided into ``count`` equal parts, and each part gives one. The sums of the iterations that
    fail z, and of the others that fail, are near those expected of so many signatures.
    """
    counts = np.hstack([_failed(table.counts()) for table in tables])
    exact = np.hstack([_failed(RejectionModel.for_set(t.set).expected_counts) for t in tables])
    iterations = np.sum([table.iterations() for table in tables], axis=0)
    # Of equally many iterations those with fewer of z: the others got further before they failed.
    order = np.lexsort((-counts[:, ::2].sum(axis=1), iterations))
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
