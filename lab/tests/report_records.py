"""Synthetic records for the report's tests: plausible costs, traces and noise from a fixed seed."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
from msgspec import structs
from rich.console import Console

from mldsa_lab.bench import fleet
from mldsa_lab.choice.choice import SelectionRequest, choose
from mldsa_lab.kinds.operations import KIND, MeasuredOperations
from mldsa_lab.records import (
    MANY_KEYS,
    ONE_KEY,
    SCHEMA,
    Check,
    End,
    Fault,
    Gate,
    InputRow,
    Load,
    Record,
    RecordWriter,
    Run,
    Samples,
    Skipped,
    Variant,
    WorkerRow,
    read_record,
)
from mldsa_lab.records.rows import Row
from mldsa_lab.show.page import render
from mldsa_lab.show.report import Look, Report, print_report
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable, parse_trace

ML_DSA = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
OPERATIONS = ("keygen", "sign", "verify")


@dataclass(frozen=True)
class Signer:
    """A made-up implementation: mean cost in ns per set of (keygen, sign, verify)."""

    implementation: str
    backend: str
    key: str
    worker: str
    cost: dict[str, tuple[float, float, float]]
    rnd: str = "given"
    noise: float = 0.004
    note: str = ""
    family: str = "ml-dsa"
    tuned: bool = False
    extra: float = 0.0
    """Attempts' worth of work that each signature adds to usual signing."""

    @property
    def id(self) -> str:
        mark = ":tuned" if self.tuned else ""
        return f"{self.implementation}:{self.backend}:{self.key}{mark}"

    def variant(self, hostile: str = "") -> Variant:
        return Variant(
            self.id, self.implementation, "0.1.0", self.backend, self.key, self.family,
            tuple(self.cost), OPERATIONS, self.rnd, True, note=self.note + hostile,
        )  # fmt: skip

    def scaled(self, factor: float, **changed: object) -> Signer:
        """Return it with other fields, at this multiple of its cost."""
        cost = {name: tuple(factor * c for c in costs) for name, costs in self.cost.items()}
        return replace(self, cost=cost, **changed)  # type: ignore[arg-type]


def _three(*costs: tuple[float, float, float]) -> dict[str, tuple[float, float, float]]:
    return {s: tuple(1e3 * c for c in cost) for s, cost in zip(ML_DSA, costs, strict=True)}  # type: ignore[misc]


SIGNERS = (
    Signer("mldsa-lanes", "portable", "compact", "rust",
           _three((61, 205, 66), (104, 322, 108), (160, 398, 170))),
    Signer("mldsa-lanes", "portable", "expanded", "rust",
           _three((61, 150, 24), (104, 228, 29), (160, 250, 37)),
           note="A-hat, tr and NTT forms are cached in the key"),
    Signer("mldsa-lanes", "avx2", "compact", "rust",
           _three((25, 84, 27), (44, 131, 45), (70, 165, 76))),
    Signer("mldsa-native", "native", "compact", "rust",
           _three((29, 87, 31), (49, 132, 47), (77, 167, 80))),
    Signer("aws-lc", "native", "compact", "rust",
           _three((37, 119, 33), (61, 167, 50), (94, 219, 86))),
    Signer("libcrux", "simd256", "compact", "rust",
           _three((27, 111, 32), (43, 169, 45), (66, 224, 75))),
    Signer("rustcrypto", "portable", "compact", "rust",
           _three((219, 675, 92), (354, 1083, 117), (507, 1252, 176))),
    Signer("fips204", "portable", "compact", "rust",
           _three((155, 336, 117), (283, 534, 197), (439, 715, 357))),
    Signer("filippo", "go", "compact", "go",
           _three((96, 290, 101), (158, 455, 164), (246, 560, 262)), noise=0.01),
    Signer("circl", "go", "compact", "go",
           _three((88, 265, 80), (150, 430, 128), (231, 520, 205)), noise=0.01),
    Signer("pqcrypto", "clean", "compact", "rust",
           _three((120, 470, 122), (200, 760, 199), (310, 900, 315)), rnd="none"),
)  # fmt: skip
"""Eleven variants of nine implementations in two languages; pqcrypto signs hedged alone."""

CLASSICAL = (
    Signer("ed25519-dalek", "native", "compact", "rust",
           {"Ed25519": (11e3, 20e3, 20e3)}, family="classical"),
    Signer("aws-lc", "classical", "compact", "rust",
           {"Ed25519": (11e3, 11e3, 49e3), "ECDSA-P256": (12e3, 21e3, 70e3)}, family="classical"),
    Signer("aws-lc-rsa", "native", "compact", "rust",
           {"RSA-2048-PSS": (9e7, 420e3, 20e3)}, family="classical"),
)  # fmt: skip


TUNED = 0.8
"""Cost of a signer in its tuned build, over that in the default one."""


def in_both_builds(signers: tuple[Signer, ...] = SIGNERS + CLASSICAL) -> tuple[Signer, ...]:
    """The signers, and those of the Rust worker in its tuned build too, where AVX2 is not kept."""
    tuned = (
        s.scaled(TUNED, tuned=True, backend="avx2+native" if s.backend == "avx2" else s.backend)
        for s in signers
        if s.worker == "rust"
    )
    return (*signers, *tuned)


@dataclass(frozen=True)
class Shape:
    """The contents of a synthetic record."""

    sets: tuple[str, ...] = ML_DSA
    operations: tuple[str, ...] = OPERATIONS
    signers: tuple[Signer, ...] = SIGNERS + CLASSICAL
    rounds: int = 8
    designed: int = 12
    random: int = 24
    refused: tuple[str, ...] = ()
    crashed: str | None = None
    end: str | None = "complete"
    seed: int = 1
    hostile: str = ""
    drift: float = 1.0
    batch_sizes: tuple[int, ...] = ()
    thread_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class InRuns:
    """A signer measured in runs of a form and a size, on threads."""

    signer: Signer
    form: str
    size: int
    threads: int = 1

    @property
    def variant(self) -> Variant:
        return fleet.in_runs(self.signer.variant(), self.form, self.size, self.threads)

    def factor(self) -> float:
        """Cost of an operation of all threads together, over that of a single call: batches
        fill their lanes from some tens on, and threads share a little."""
        filled = 0.55 + 0.5 / self.size**0.7 if self.form == "batch" else 1.02
        return filled / (self.threads * (1 - 0.012 * (self.threads - 1)))


def in_runs(signer: Signer, shape: Shape) -> list[InRuns]:
    """The runs in which a bench measures a signer: only mldsa-lanes has batches."""
    if signer.worker != "rust":
        return []
    batch = signer.implementation == "mldsa-lanes"
    runs = [InRuns(signer, "batch", size) for size in shape.batch_sizes if batch]
    runs += [InRuns(signer, "loop", 100)] * bool(shape.batch_sizes)
    for threads in shape.thread_counts:
        runs.append(InRuns(signer, "loop", 100, threads))
        runs += [InRuns(signer, "batch", 1000, threads)] * batch
    return [r for place, r in enumerate(runs) if r not in runs[:place]]


def record_of(shape: Shape | None = None, **changed: object) -> Record:
    """A synthetic record; ``changed``: fields of the shape."""
    run, *others = rows(replace(shape or Shape(), **changed))  # type: ignore[arg-type]
    assert isinstance(run, Run)
    record = Record(run)
    for row in others:
        record.add(row)
    return record


def write(path: Path, rows: Iterable[Row]) -> Path:
    """Write rows as the file of a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with RecordWriter(path) as writer:
        for row in rows:
            writer.write(row)
    return path


def build(path: Path, shape: Shape | None = None) -> Record:
    """Write a synthetic record to `path` and read it back."""
    return read_record(write(path, rows(shape or Shape())))


def rows(shape: Shape) -> list[Row]:
    """All rows of a synthetic record, in the order a run writes them."""
    rng = np.random.default_rng(shape.seed)
    hostile = shape.hostile
    machine = {
        "cpu": "AMD EPYC 9B14" + hostile, "architecture": "x86_64",
        "features": ["aes", "avx", "avx2", "avx512f", "avx512vl", "bmi2", "sha_ni"], "cores": 2,
        "governor": None, "memory_bytes": 25_276_514_304, "os": "Linux 6.1.0" + hostile,
        "load1": 0.42, "python": "3.11.7",
        "compilers": {"rustc": "rustc 1.95.0", "cc": "gcc 12.2.0", "go": "go1.26.1"},
    }  # fmt: skip
    out: list[Row] = [
        Run(SCHEMA, "mldsa-lab 0.1.0", "2026-11-21T21:40:00Z", "quick", f"{shape.seed:064x}",
            {"sets": list(shape.sets), "operations": list(shape.operations), "quick": True,
             "rounds": shape.rounds, "note": hostile}, machine)
    ]  # fmt: skip
    out += _workers(shape)
    out.append(Skipped("java", "java is not installed: install a JDK of version 25" + hostile))
    inputs = {name: _inputs(name, shape, rng) for name in shape.sets}
    out += [row for of_set in inputs.values() for row in of_set]
    out += [g for s in shape.signers for g in _gates(s, shape)]
    turns = count()
    for number in range(shape.rounds):
        out.append(Load(number, round(0.8 + 0.4 * float(rng.random()), 2)))
        for set_name in shape.sets:
            for signer in shape.signers:
                if set_name not in signer.cost or signer.id in shape.refused:
                    continue
                if signer.id == shape.crashed and number >= 2:
                    if number == 2 and set_name == shape.sets[0]:
                        reason = "the worker ended with signal 11 in `measure`" + hostile
                        out.append(Fault(signer.id, None, "sign", 2, reason))
                    continue
                for operation in shape.operations:
                    cell = signer, set_name, operation, inputs[set_name]
                    single = _samples(*cell, number, next(turns), shape, rng)
                    out.append(single)
                    for runs in in_runs(signer, shape):
                        turned = structs.replace(single, turn=next(turns))
                        out.append(_run_samples(runs, turned, inputs[set_name], rng))
    if shape.end:
        out.append(End("2026-11-21T21:41:10Z", shape.end, shape.rounds))
    return out


BUILDS = {
    ("rust", False): ("Rust", "rustc 1.95.0", "profile release; RUSTFLAGS none", "default"),
    ("rust", True): (
        "Rust", "rustc 1.95.0", "profile tuned; RUSTFLAGS -C target-cpu=native", "tuned"
    ),
    ("go", False): ("Go", "go1.26.1", "GOAMD64=v3", None),
}  # fmt: skip
"""Language, compiler, flags and build of each worker."""


def _workers(shape: Shape) -> Iterator[WorkerRow]:
    for (name, tuned), (language, compiler, flags, build) in BUILDS.items():
        signers = [s for s in shape.signers if (s.worker, s.tuned) == (name, tuned)]
        single = [s.variant(shape.hostile) for s in signers]
        variants = (*single, *(runs.variant for s in signers for runs in in_runs(s, shape)))
        if signers:
            yield WorkerRow(
                f"{name}:tuned" if tuned else name, language, compiler, flags + shape.hostile,
                "ns", "CLOCK_MONOTONIC", "CLOCK_THREAD_CPUTIME_ID" if name == "rust" else None,
                variants, build,
            )  # fmt: skip


def _inputs(set_name: str, shape: Shape, rng: np.random.Generator) -> list[InputRow]:
    created = []
    for number in range(shape.designed + shape.random):
        digest = hashlib.sha256(f"{set_name} {number}".encode()).digest()
        trace = None
        designed = number < shape.designed
        if set_name in ML_DSA:
            trace = _designed_trace(number, shape.designed) if designed else _trace(set_name, rng)
        role = "design" if designed else "random"
        created.append(InputRow(set_name, number, role, digest, digest * 2, b"", trace))
    if (shape.batch_sizes or shape.thread_counts) and set_name in ML_DSA:
        pool = [_trace(set_name, rng) for _ in range(400)]
        for role in (MANY_KEYS, ONE_KEY):
            table = TraceTable.from_traces(set_name, [parse_trace(t) for t in pool])
            for i in choose(table, "all", SelectionRequest("mean", 100)).positions:
                digest = hashlib.sha256(f"{set_name} {role} {i}".encode()).digest()
                created.append(InputRow(set_name, len(created), role, digest, digest, b"", pool[i]))
    return created


def _designed_trace(number: int, count: int) -> tuple[str, ...]:
    """Traces spread over the numbers of z- and r0-rejected attempts, 0 to 9 in all."""
    rejected = round(9 * number / max(count - 1, 1))
    z = (0, rejected, rejected // 2, rejected - rejected // 4)[number % 4]
    return ("z0r2",) * z + ("r3",) * (rejected - z) + ("ok",)


def _trace(set_name: str, rng: np.random.Generator) -> tuple[str, ...]:
    upto = _attempt_law(set_name)
    attempts: list[str] = []
    while not attempts or attempts[-1] != "ok":
        attempts.append(("z1", "r0", "h2", "ok")[bisect(upto, rng.random())])
    return tuple(attempts)


@cache
def _attempt_law(set_name: str) -> list[float]:
    """Cumulated probabilities of an attempt's ends but the last."""
    law: list[float] = np.cumsum(RejectionModel.for_set(set_name).iteration)[:-1].tolist()
    return law


def _gates(signer: Signer, shape: Shape) -> list[Gate]:
    broken = signer.id in shape.refused
    failure = "signature 3 differs at byte 17" + shape.hostile if broken else None
    checks = (
        Check("acvp-keygen", 25, 0, None),
        Check("acvp-sigver", 15, int(broken), failure),
        Check("refuses-hint", 64, 2 * broken, failure),
    )
    sets = [s for s in shape.sets if s in signer.cost and signer.family != "classical"]
    return [Gate(signer.id, set_name, not broken, checks) for set_name in sets]


def _samples(
    signer: Signer, set_name: str, operation: str, inputs: list[InputRow], round_number: int,
    turn: int, shape: Shape, rng: np.random.Generator,
) -> Samples:  # fmt: skip
    cost = dict(zip(OPERATIONS, signer.cost[set_name], strict=True))[operation]
    role = "random" if signer.rnd == "none" else "design"
    mine, costs = inputs[: shape.designed], [cost] * shape.designed
    if operation == "sign":
        mine = [row for row in inputs if row.role == role]
        costs = [_sign_cost(set_name, cost, row.trace, signer, rng) for row in mine]
    # A slow state of the machine touches the whole round; an interrupt touches one sample.
    slow = 1 + 0.01 * float(rng.standard_normal())
    ticks = [
        int(c * slow * shape.drift * (1 + signer.noise * abs(float(rng.standard_normal())))
            * (1.4 if rng.random() < 0.02 else 1.0))
        for c in costs
    ]  # fmt: skip
    cpu = tuple(int(t * 0.995) for t in ticks) if signer.worker == "rust" else None
    return Samples(round_number, turn, signer.id, set_name, operation, 1,
                   tuple(row.id for row in mine),
                   {"wall": tuple(ticks)} | ({} if cpu is None else {"cpu": cpu}))  # fmt: skip


def _run_samples(
    runs: InRuns, single: Samples, inputs: list[InputRow], rng: np.random.Generator
) -> Samples:
    """Runs whose cost follows that of the single calls of the same round."""
    ml_dsa = single.set in ML_DSA
    key = ONE_KEY if runs.signer.key == "expanded" else MANY_KEYS
    group = [row for row in inputs if row.role == (key if ml_dsa else "random")]
    costs = dict(zip(OPERATIONS, runs.signer.cost[single.set], strict=True))
    cost, signing = costs[single.operation], single.operation == "sign"
    chosen = fleet.runs_of(runs.variant, len(group))
    level = 1 + 0.01 * float(rng.standard_normal())
    part: list[float] = []
    firsts, wall = [], []
    for number in range(chosen.count):
        places = [p for t in range(runs.threads) for p in chosen.positions(number, len(group), t)]
        if signing and (not part or runs.signer.rnd == "none"):
            part = [_sign_cost(single.set, cost, row.trace, runs.signer, rng) for row in group]
        total = sum(part[p] for p in places) if signing else cost * len(places)
        firsts.append(group[places[0]].id)
        wall.append(int(total * runs.factor() * level))
    return Samples(
        single.round, single.turn, runs.variant.id, single.set,
        single.operation, 1, tuple(firsts),
        {"wall": tuple(wall), "cpu": tuple(w * runs.threads for w in wall)},
    )  # fmt: skip


def _sign_cost(
    set_name: str, mean: float, trace: tuple[str, ...] | None, signer: Signer,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    if set_name not in ML_DSA:
        return mean
    expand = (0.2 if signer.key == "expanded" else 1.6) + signer.extra
    if signer.rnd == "none":
        # It draws its own rnd: the attempts are none of the record's traces.
        trace = _trace(set_name, rng)
    assert trace is not None
    return mean / (expand + _mean_weight(set_name)) * (expand + _weight(trace))


@cache
def _mean_weight(set_name: str) -> float:
    n_z, n_r, n_h = RejectionModel.for_set(set_name).expected_counts
    return float(1.1 + 0.86 * n_z + n_r + 1.05 * n_h)


@cache
def _weight(trace: tuple[str, ...]) -> float:
    """The cost of a signature's attempts, in attempts rejected at r0."""
    weights = {"z": 0.86, "r": 1.0, "c": 1.05, "h": 1.05, "o": 1.1}
    return sum(weights[attempt[0]] for attempt in trace)


def measured(record: Record, look: Look | None = None) -> MeasuredOperations:
    """The record with its figures, looked at as by default."""
    return MeasuredOperations.read_from(record, look or Look())


def report_of(record: Record, look: Look | None = None) -> Report:
    """The report of a record."""
    return KIND.report(measured(record, look), "run.jsonl")


def page_of(record: Record, look: Look | None = None) -> str:
    """The page of a record."""
    return render([report_of(record, look)])


def printed(record: Record, width: int) -> str:
    """The text of a record in the terminal, with all tables."""
    out = io.StringIO()
    report = replace(report_of(record), lacking="")
    print_report(report, Console(file=out, width=width), is_full=True)
    return out.getvalue()
