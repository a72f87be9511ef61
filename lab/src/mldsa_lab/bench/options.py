"""Options of a run, with the pipelines and blocks of its files, and the variants they select.

A pipeline sends records through stages: their hash, signatures of it, verification of these. A
block is a pool of signatures to verify.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from string import hexdigits
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from mldsa_lab import LabError, located, machine, suggest
from mldsa_lab.bench import UNTIL_LIMIT_S
from mldsa_lab.bench.fleet import BATCH_SIZE_MAX, BATCH_SIZES, Fleet, find_handle, find_variants
from mldsa_lab.checkout import file_or_shipped, find_root
from mldsa_lab.files import Count, Positive, Text, check_unique, decode_toml, read_text, to_builtins
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.records import Variant
from mldsa_lab.sets import (
    BUILDS,
    CLASSICAL_SETS,
    DEFAULT_BASELINE,
    DEFAULT_BUILD,
    KEY_FORMS,
    OPERATIONS,
    PARAMETER_SETS,
    SCHEMES,
    Implementation,
    KeyForm,
    SetName,
)

Seconds = Annotated[float, Meta(ge=0.001)]

ORACLE = "mldsa-oracle"
"""The implementation that decides about correctness: FIPS 204 transcribed literally."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much to measure: rounds go on until `seconds` have passed or there are `rounds_max`.

    At least `rounds_min` are measured, however long they take.
    """

    name: str
    seconds: float
    rounds_min: int
    rounds_max: int


class Jmh(Struct, frozen=True, forbid_unknown_fields=True):
    """How JMH measures a benchmark: so many iterations to warm up, then so many that count.

    ``profiler``: "gc" also counts allocated bytes and garbage collections.
    """

    warmup_iterations: Count
    warmup_seconds: Seconds
    iterations: Positive
    iteration_seconds: Seconds
    profiler: Literal["gc"] | None = None

    @property
    def seconds(self) -> float:
        """How long it measures."""
        return self.iterations * self.iteration_seconds


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many inputs of each kind, and how long their messages are in bytes.

    The defaults are for an ordinary run. `many_keys` and `one_key` are the inputs that runs take in
    turn.
    """

    design: int = 12
    random: int = 24
    pool: int = 1000
    message_bytes: int = 32
    many_keys: int = 0
    one_key: int = 0


GATE_SIZES = Sizes(design=0, random=8, pool=0)
"""The gate's own inputs in runs of blocks and pipelines, which bring the inputs to measure."""


@dataclass(frozen=True, slots=True)
class SelectionFile:
    """A selection whose inputs are measured, and its file."""

    path: Path
    selection: Selection

    def __str__(self) -> str:
        return str(self.path)

    def check(self, variants: Iterable[Variant]) -> None:
        """LabError if one of these variants cannot sign one of its inputs."""
        for v in variants:
            if self.selection.set not in v.sets or "sign" not in v.operations:
                continue
            for item in self.selection.inputs:
                check_signable(item, v, f"{self}, input {item.id}")


def read_selections(paths: Sequence[Path]) -> dict[str, SelectionFile]:
    """Read selections, by parameter set. LabError if two are of one set, or a run cannot measure
    an input."""
    files: dict[str, SelectionFile] = {}
    for path in paths:
        selection = Selection.read(path)
        if selection.set in files:
            raise LabError(f"{path}: is of {selection.set}, as {files[selection.set]} is")
        for item in selection.inputs:
            if item.seed is None:
                raise LabError(
                    f"{path}, input {item.id}: has no xi; workers are handed the key's seed too"
                )
        files[selection.set] = SelectionFile(path, selection)
    return files


def check_signable(item: Input, variant: Implementation, where: str) -> None:
    """LabError if this variant cannot sign the input with its rnd and context."""
    if item.rnd is not None and variant.rnd == "zero":
        raise LabError(f"{where}: its rnd is not zero, and {variant.id} takes no other")
    if item.context and not variant.context:
        raise LabError(f"{where}: it has a context, and {variant.id} takes none")


BOTH_BUILDS = "both"
"""The option for measuring the default and the tuned build in the same rounds."""
ALL = "all"
_EACH_THREAD_COUNT = 8
_NO_LIMIT = 1 << 30
DEFAULT_SETS = (*PARAMETER_SETS, *(s for s in CLASSICAL_SETS if s != "RSA-3072-PSS"))
"""The sets of a run that names none: RSA-3072 makes a key in every process, which takes long."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `mldsa-lab bench`; empty `implementations` and `workers` mean the default.

    ``until``: the precision to stop at, in percent; ``limit``: seconds to measure at most.
    """

    sets: tuple[str, ...]
    operations: tuple[str, ...]
    implementations: tuple[str, ...]
    workers: tuple[str, ...]
    profile: Profile
    sizes: Sizes
    seed: bytes
    timeout: float
    out: Path
    rounds: int | None = None
    baseline: str = DEFAULT_BASELINE
    clock: str = "cpu"
    confidence: float = 0.95
    registry: Path | None = None
    added: tuple[str, ...] = ()
    """Workers by path that a study adds: its measures name them, all of them by `ADDED`."""
    batch_sizes: tuple[int, ...] = ()
    thread_counts: tuple[int, ...] = ()
    build: str = DEFAULT_BUILD
    selections: Mapping[str, SelectionFile] = field(default_factory=dict)
    """By parameter set: the signing inputs to measure; other sets have chosen ones."""
    until: float | None = None
    limit: float | None = None
    jmh: Jmh | None = None
    """How JMH measures."""
    pipelines: tuple[Pipeline, ...] = ()
    block: BlockFile | None = None
    """The block to validate; its definition in the record has the rest."""
    traffic: bool = False
    """True to measure memory traffic too, not only stack and heap."""

    @property
    def seconds(self) -> float:
        """How long to measure, or with `until` at most."""
        if self.limit is not None:
            return self.limit
        return self.profile.seconds if self.until is None else UNTIL_LIMIT_S

    @property
    def rounds_min(self) -> int:
        """The rounds to measure however long they take."""
        return self.profile.rounds_min if self.limit is None else 2

    @property
    def rounds_max(self) -> int:
        """The rounds after which to stop."""
        own = self.until is None and self.limit is None
        return self.profile.rounds_max if own else _NO_LIMIT

    @property
    def builds(self) -> tuple[str, ...]:
        """The builds to measure of each worker that has several."""
        return BUILDS if self.build == BOTH_BUILDS else (self.build,)

    def as_record(self) -> dict[str, Any]:
        """Return the options for the record, without paths of this machine."""
        omitted = ("profile", "sizes", "seed", "out", "registry", "added", "selections", "block")
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in omitted}
        sizes = self.sizes
        plain: dict[str, Any] = to_builtins(own)
        return plain | {
            "reference": plain.pop("baseline"),
            "seconds": None if self.rounds is not None else self.seconds,
            "design_inputs": sizes.design,
            "random_inputs": sizes.random,
            "pool": sizes.pool,
            "message_bytes": sizes.message_bytes,
            "selections": {name: file.path.name for name, file in self.selections.items()},
        }


def parse_operations(words: Iterable[str]) -> tuple[str, ...]:
    """Operations in canonical order; LabError names an unknown one."""
    chosen = {word.lower() for word in split_words(words)}
    for name in sorted(chosen - set(OPERATIONS)):
        raise LabError(f"unknown operation {name!r}: known are {', '.join(OPERATIONS)}")
    return tuple(name for name in OPERATIONS if name in chosen)


def parse_batch_sizes(words: Iterable[str]) -> tuple[int, ...]:
    """Batch sizes in ascending order, `all` of them by that word; LabError names a bad one."""
    listed = split_words(words)
    if listed == [ALL]:
        return BATCH_SIZES
    return tuple(sorted({parse_count(w, "batch size", BATCH_SIZE_MAX) for w in listed}))


def parse_thread_counts(words: Iterable[str], cores: int) -> tuple[int, ...]:
    """Return numbers of threads in ascending order. 1 is always among them, for comparison. Without
    any word there are none; the word `all` means `all_thread_counts`.

    LabError names a bad number, or one above the `cores` that the lab may use. Threads that wait
    for each other's core would show the scheduler, not the code.
    """
    listed = split_words(words)
    if not listed or listed == [ALL]:
        return all_thread_counts(cores) if listed else ()
    chosen = {parse_count(w, "number of threads") for w in listed}
    for number in sorted(chosen):
        if number > cores:
            noun = "core" if cores == 1 else "cores"
            raise LabError(f"{number} threads: this machine has {cores} {noun} to run on")
    return tuple(sorted({1, *chosen}))


def all_thread_counts(cores: int) -> tuple[int, ...]:
    """1 to all cores; of many cores the powers of two, and all."""
    if cores <= _EACH_THREAD_COUNT:
        return tuple(range(1, cores + 1))
    powers = (1 << bit for bit in range(cores.bit_length()))
    return tuple(sorted({*powers, cores}))


def unknown_implementation(pattern: str, known: Iterable[str]) -> LabError:
    """The error for a pattern that fits nothing."""
    names = dict.fromkeys(known)
    rule = f": it fits no implementation or variant id; known are {', '.join(names)}"
    return LabError(f"unknown implementation {pattern!r}{suggest(pattern, names) or rule}")


def split_words(words: Iterable[str]) -> list[str]:
    """The parts between commas, several of which may be in one word."""
    return [part.strip() for text in words for part in text.split(",")]


def parse_count(text: str, what: str, most: int | None = None) -> int:
    """Return a whole number from 1 to ``most``. LabError names ``what`` it is."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if number < 1 or (most is not None and number > most):
        limit = "" if most is None else f" to {most}"
        raise LabError(f"{what} {text!r}: must be a whole number from 1{limit}")
    return number


def parse_seed(text: str | None) -> bytes:
    """The run's 32 bytes: 64 hexadecimal digits as they are, any other text by its SHA-256; drawn
    anew without a text."""
    if text is None:
        return secrets.token_bytes(32)
    if len(text) == 64 and set(text) <= set(hexdigits):
        return bytes.fromhex(text)
    return hashlib.sha256(text.encode()).digest()


def select(
    variants: Sequence[Variant],
    patterns: Sequence[str],
    sets: Sequence[str],
    excused: Collection[str] = (),
) -> list[Variant]:
    """Return the variants to measure, grouped by implementation.

    A pattern is an implementation, a variant id, or either with the wildcards * ? []. One that
    names no build means every measured build. Without patterns all are taken, and classical ones
    only if a set of theirs is asked for. The correctness reference is taken only by its name.
    LabError for a pattern that fits none, unless it is ``excused``.
    """
    chosen: list[Variant] = []
    for pattern in split_words(patterns) or ["*"]:
        matching = [
            v
            for v in variants
            if v.matches(pattern) and (v.implementation != ORACLE or pattern.startswith(ORACLE))
        ]
        if not matching and pattern not in excused:
            raise unknown_implementation(pattern, (v.implementation for v in variants))
        chosen += [v for v in matching if v not in chosen]
    usable = [v for v in chosen if set(v.sets) & set(sets)]
    if not usable:
        raise LabError(
            f"nothing to measure: none of the chosen implementations has {' or '.join(sets)}"
        )
    return usable


STAGE_OPERATIONS = ("hash", "keygen", "sign", "verify")
if TYPE_CHECKING:
    StageOperation = str
else:
    StageOperation = Literal[STAGE_OPERATIONS]
Batch = Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)]


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """A stage: by which ``implementation`` (or id of a variant, with wildcards), whose ``key`` form
    may be given. ``batch``: operations in each call of the batch interface, 1 for single calls.

    A hash is of the record. A key is generated from the seed of the record's key, which the other
    stages use as it was made ready before the clock starts. The stages sign and verify the digest
    of the last hash before them, or the record where there is none. ``signature``: the name of the
    stage whose signatures are verified, by default of the last one of the same set.
    """

    operation: StageOperation
    set: SetName
    implementation: Text
    key: KeyForm | None = None
    batch: Batch = 1
    name: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if self.operation not in SCHEMES[self.set].traits.operations:
            raise ValueError(f"{self.set} has no operation {self.operation}")
        if self.signature and self.operation != "verify":
            raise ValueError("signature: only verification takes one")

    @property
    def title(self) -> str:
        """Its name, or its operation."""
        return self.name or f"{self.operation} {self.set}"


class Pipeline(Struct, frozen=True, forbid_unknown_fields=True):
    """Stages for so many ``records`` of ``record_bytes``.

    Records go through one after another or, if a stage takes batches, in the largest batch.

    ``keys``: "shared" by all records or of "each". ``threads``: how many do it at the same time, 1
    among them; if not given 1 to all cores. ``against``: the pipeline to compare it with.
    """

    name: Text
    stage: Annotated[tuple[Stage, ...], Meta(min_length=1)]
    worker: Text = "rust"
    records: Annotated[int, Meta(ge=1, le=10_000)] = 128
    record_bytes: Annotated[int, Meta(ge=0, le=1 << 20)] = 1024
    keys: Literal["shared", "each"] = "shared"
    threads: tuple[Positive, ...] = ()
    against: str = ""

    def __post_init__(self) -> None:
        titles = [stage.title for stage in self.stage]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"two stages are called {title!r}: give each a name")
        for stage in self.stage:
            if self.group % stage.batch:
                raise ValueError(
                    f"stage {stage.title!r}: the largest batch, {self.group}, must be a multiple "
                    f"of {stage.batch}"
                )
        if self.threads and 1 not in self.threads:
            raise ValueError("threads: 1 must be among them, of which shares and latency are told")
        if self.records % self.group:
            raise ValueError(f"records: {self.records} are no whole batches of {self.group}")
        self.sources()

    @property
    def group(self) -> int:
        """How many records go through together."""
        return max(stage.batch for stage in self.stage)

    def sources(self) -> list[tuple[int, int]]:
        """Of each stage the stages, from 1, whose outputs are its message and its signature; 0
        where it has none. ValueError for a verification that nothing is signed for before."""
        pairs: list[tuple[int, int]] = []
        hashed = 0
        for number, stage in enumerate(self.stage, 1):
            message = signer = 0
            if stage.operation == "hash":
                hashed = number
            elif stage.operation == "sign":
                message = hashed
            elif stage.operation == "verify":
                signer = self._signer(number, stage)
                message, _ = pairs[signer - 1]
            pairs.append((message, signer))
        return pairs

    def _signer(self, number: int, stage: Stage) -> int:
        before = list(enumerate(self.stage[: number - 1], 1))
        signs = [(n, s) for n, s in before if s.operation == "sign" and s.set == stage.set]
        if stage.signature:
            signs = [(n, s) for n, s in signs if s.title == stage.signature]
        if not signs:
            named = f" called {stage.signature!r}" if stage.signature else ""
            raise ValueError(
                f"stage {stage.title!r}: no stage{named} before it signs with {stage.set}"
            )
        return signs[-1][0]


def check_pipelines(pipelines: Sequence[Pipeline]) -> None:
    """ValueError where two have one name, or one is compared with none."""
    names = [p.name for p in pipelines]
    check_unique(names, "pipeline")
    for p in pipelines:
        if p.against and (p.against not in names or p.against == p.name):
            raise ValueError(f"pipeline {p.name!r}: against: no other is called {p.against!r}")


def resolve(
    pipelines: Sequence[Pipeline], fleet: Fleet, variants: Sequence[Variant], cores: int
) -> list[Pipeline]:
    """Return the pipelines with the id of the variant that each stage means, and the threads to
    measure. LabError for one that cannot be measured here."""
    resolved = []
    for p in pipelines:
        where = f"pipeline {p.name!r}"
        with located(where):
            handle = find_handle(fleet, p.worker, "chains")
            threads = all_thread_counts(cores)
            if p.threads:
                threads = parse_thread_counts(map(str, p.threads), cores)
        stages = []
        for stage in p.stage:
            with located(f"{where}, stage {stage.title!r}"):
                named = stage.implementation, stage.set, stage.operation
                v = _suiting(stage, p.keys, find_variants(fleet, handle, variants, *named))
                if stage.batch > 1 and fleet.announced[v.id].mode != "batch":
                    raise LabError(f"{v.id} has no batch interface")
                stages.append(structs.replace(stage, implementation=v.id))
        resolved.append(structs.replace(p, stage=tuple(stages), threads=threads))
    return resolved


def _suiting(stage: Stage, keys: str, variants: Sequence[Variant]) -> Variant:
    """Return the variant for the stage: the last announced one with the suitable key form."""
    # A shared key is expanded once for all records, one of each record is not worth it.
    form = stage.key or ("expanded" if keys == "shared" else "compact")
    suitable = [v for v in variants if v.key == form]
    if stage.key and not suitable:
        raise LabError(f"{stage.implementation} has no {stage.key} keys")
    if keys == "each" and not suitable:
        raise LabError(
            f"{stage.implementation} has expanded keys alone, which are made before the clock "
            'starts: say key = "expanded" to leave out what a key of each record costs'
        )
    return (suitable or variants)[-1]


WARM, COLD = CACHES = ("warm", "cold")
_COLD_TIMES = 4
"""How many times the largest cache is read before a pass, so that it contains nothing else."""
Bytes = Annotated[int, Meta(ge=1 << 20, le=8 << 30)]


class BlockProfile(Struct, frozen=True, forbid_unknown_fields=True):
    """Rounds go on for so many ``seconds``, at least the first of ``rounds``, at most the second.
    ``verifications``: another number of them than the file has elsewhere."""

    seconds: Annotated[float, Meta(ge=1)]
    rounds: tuple[Positive, Positive]
    verifications: Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)] | None = None

    def __post_init__(self) -> None:
        if self.rounds[0] > self.rounds[1]:
            raise ValueError("rounds: the first number must not be above the second")


class Verify(Struct, frozen=True, forbid_unknown_fields=True):
    """A ``set`` to verify by these ``implementations`` (or ids of variants, with wildcards), each
    with the forms of ``keys`` that it has."""

    set: SetName
    implementations: Annotated[tuple[Text, ...], Meta(min_length=1)]
    keys: Annotated[tuple[KeyForm, ...], Meta(min_length=1)] = KEY_FORMS

    def __post_init__(self) -> None:
        scheme = SCHEMES[self.set]
        if "verify" not in scheme.traits.operations:
            raise ValueError(f"set: {self.set} has no operation verify")
        if not scheme.has_seed:
            raise ValueError(f"set: {self.set} has one key for each process, and a block has many")


class BlockFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A block: so many ``verifications`` of each set, whose keys are used ``uses`` times each.

    ``batches``: operations in each call, 1 for single calls. ``threads``: if not given 1 to all
    cores. ``cold_bytes``: of other memory that every thread reads before a pass over cold caches;
    if not given four times the largest cache.
    """

    format: Literal["mldsa-lab block"]
    version: Literal[1]
    title: Text
    verifications: Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)]
    verify: Annotated[tuple[Verify, ...], Meta(min_length=1)]
    slot_seconds: dict[Text, Annotated[float, Meta(gt=0)]]
    profiles: dict[Text, BlockProfile]
    worker: Text = "rust"
    uses: Positive = 1
    message_bytes: Annotated[int, Meta(ge=0, le=1 << 16)] = 32
    batches: Annotated[tuple[Batch, ...], Meta(min_length=1)] = (1,)
    threads: tuple[Positive, ...] = ()
    caches: Annotated[tuple[Literal[CACHES], ...], Meta(min_length=1)] = CACHES  # type: ignore[valid-type]
    cold_bytes: Bytes | None = None

    def __post_init__(self) -> None:
        for name in ("default", "quick"):
            if name not in self.profiles:
                raise ValueError(f"profiles: the profile {name} is missing")
        for name, profile in self.profiles.items():
            count = profile.verifications or self.verifications
            if count % self.uses:
                raise ValueError(
                    f"uses: {count} verifications of the profile {name} are not the uses of whole "
                    f"keys, {self.uses} each"
                )
            for number in self.threads:
                if number > count:
                    raise ValueError(f"threads: {number} are more than {count} verifications")
        if self.threads and 1 not in self.threads:
            raise ValueError("threads: 1 must be among them, which others are compared with")
        for name in ("threads", "batches", "caches"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"{name}: a value is given twice")
        check_unique((v.set for v in self.verify), "verify")


def shipped() -> dict[str, Path]:
    """The blocks of the source tree by name."""
    return {
        p.stem: p for p in sorted((find_root() / "lab" / "scenarios" / "blocks").glob("*.toml"))
    }


def read_block(name: str, profile: str) -> BlockFile:
    """Return a block of the tree by name, or of a path, with the verifications of the profile.

    LabError for an unknown one; for a bad file it names the file, the place and the rule.
    """
    path = file_or_shipped(name, shipped(), "scenario")
    block = decode_toml(read_text(path), BlockFile, str(path))
    own = block.profiles[profile].verifications
    return structs.replace(block, verifications=own or block.verifications)


def resolve_block(block: BlockFile, cores: int) -> BlockFile:
    """Return the block with the threads and the bytes of other memory of this machine. LabError if
    it cannot be measured here."""
    with located(f"block {block.title!r}"):
        if (most := max(block.threads, default=1)) > cores:
            raise LabError(
                f"threads: {most} are more than the {cores} cores that there are to run on"
            )
        threads = block.threads or all_thread_counts(min(cores, block.verifications))
        cold = _cold_bytes(block.cold_bytes) if COLD in block.caches else None
        return structs.replace(block, threads=tuple(sorted(threads)), cold_bytes=cold)


def find_verifiers(
    block: BlockFile, fleet: Fleet, variants: Sequence[Variant]
) -> list[tuple[str, Variant]]:
    """Return who verifies each set. LabError for an implementation that cannot."""
    verifiers: list[tuple[str, Variant]] = []
    with located(f"block {block.title!r}"):
        handle = find_handle(fleet, block.worker, "blocks")
        for asked in block.verify:
            for pattern in asked.implementations:
                able = find_variants(fleet, handle, variants, pattern, asked.set, "verify")
                # Of each implementation and form of key the last announced is the best one here.
                best = {(v.implementation, v.key): v for v in able if v.key in asked.keys}
                if not best:
                    raise LabError(f"{pattern} has no {' or '.join(asked.keys)} keys")
                verifiers += [(asked.set, v) for v in best.values()]
    return list(dict.fromkeys(verifiers))


def _cold_bytes(asked: int | None) -> int:
    """Return the bytes to read so that the largest cache contains nothing else."""
    cache = machine.cache_bytes()
    if cache is None and asked is None:
        raise LabError("caches: their size cannot be read here: set cold_bytes")
    cold = asked or _COLD_TIMES * (cache or 0)
    if cache is not None and cold < 2 * cache:
        raise LabError(f"cold_bytes: must be at least twice the largest cache, {cache:,} bytes")
    return cold


def stride(inputs: int) -> int:
    """A step that visits all of so many inputs, each far from the one before."""
    step = max(1, round(inputs * (math.sqrt(5) - 1) / 2))  # the golden ratio
    while math.gcd(step, inputs) > 1:
        step += 1
    return step
