"""Records to tables: costs that are known, references, interruptions, and what has no estimate.

lab/tests/golden has the figures of all published records: ratios, percentiles, memory, phases.
"""

from __future__ import annotations

import statistics
from dataclasses import replace as replaced
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from report_records import SIGNERS, Shape, Signer, measured, record_of, rows, write

from mldsa_lab import LabError
from mldsa_lab.answers.sources import TOGETHER, with_derived
from mldsa_lab.estimate.summary import MeasuredCell, Summary, summarise
from mldsa_lab.records import Record, Samples, read_record
from mldsa_lab.theory.rejection import RejectionModel

SET = "ML-DSA-65"
COSTS = (4e4, 1.2e5, 4e4)
NATIVE = Signer("mldsa-native", "native", "compact", "rust", {SET: COSTS})
FACTOR = {"mldsa-native": 1.0, "slow": 3.0, "cached": 0.5, "hedged": 1.25}
SHAPE = Shape(
    sets=(SET, "Ed25519"),
    rounds=12,
    signers=(
        NATIVE,
        NATIVE.scaled(3.0, implementation="slow"),
        NATIVE.scaled(0.5, implementation="cached", key="expanded"),
        NATIVE.scaled(1.25, implementation="hedged", worker="go", rnd="none"),
        Signer("ed25519", "native", "compact", "rust", {"Ed25519": COSTS}, family="classical"),
    ),
)


@pytest.fixture
def record() -> Record:
    return record_of(SHAPE)


def row_of(summary: Summary, name: str, operation: str = "sign") -> MeasuredCell:
    (cell,) = (
        c for c in summary.cells if (c.variant.implementation, c.operation) == (name, operation)
    )
    return cell


def set_metrics(record: Record, place: int, **metrics: tuple[int, ...]) -> None:
    sample = record.samples[place]
    record.samples[place] = replace(sample, metrics=sample.metrics | metrics)


def test_costs_are_those_of_the_signers(record: Record) -> None:
    record.workers[1] = replace(record.workers[1], languages={"hedged": "C"})
    summary, narrow = summarise(record), summarise(record, confidence=0.5)
    for name, factor in FACTOR.items():
        for operation, cost in zip(("keygen", "sign", "verify"), COSTS, strict=True):
            row = row_of(summary, name, operation)
            assert row.cost == pytest.approx(cost * factor, rel=0.1)
            low, high = row.interval("mean").low, row.interval("mean").high
            inner = row_of(narrow, name, operation).interval("mean")
            assert low < inner.low < row.cost < inner.high < high
            assert row.samples.clock == ("wall" if name == "hedged" else "cpu")
            assert row.value("ratio") == pytest.approx(factor, rel=0.15)
        about = row.worker.about(row.variant)
        caller = {"hedged": "Go", "mldsa-native": "Rust"}.get(name)
        assert (about["language"], about["called_from"]) == ("C" if caller else "Rust", caller)
    assert row_of(summary, "ed25519").interval("ratio") is None
    by_wall = summarise(record, clock="wall")
    assert {cell.samples.clock for cell in by_wall.cells} == {"wall"}


def test_spread_and_phases_by_hand(record: Record) -> None:
    """A fifth of the cost, a constant part, one that is zero, and the rest."""
    for place, s in enumerate(record.samples):
        rest = tuple(t - t // 5 - 1000 for t in s.wall)
        phases = {"fifth": tuple(t // 5 for t in s.wall), "constant": (1000,) * len(rest)}
        phases |= {"none": (0,) * len(rest), "rest": rest}
        record.samples[place] = replace(s, phases=phases)
    summary = summarise(record, clock="wall")
    for operation in ("sign", "verify"):
        row = row_of(summary, "slow", operation)
        parts = [row.value("mean", phase=name) for name in phases]
        expected = [row.cost / 5, 1000, 0, 0.8 * row.cost - 1000]
        assert parts == pytest.approx(expected, rel=1e-3)
    assert sum(f.keys.get("phase") == "fifth" for f in summary.figures()) == len(summary.cells)
    ticks = [t for s in record.samples if (s.variant, s.set, s.operation) == row.id for t in s.wall]
    spread = min(ticks), max(ticks), statistics.stdev(ticks)
    assert [row.value(name) for name in ("min", "max", "sd")] == pytest.approx(spread)
    # Signing: a geometric number of rejected attempts, each of a random class.
    sign, (first, *costs) = row_of(summary, "slow"), summary.fits[row.id[:2]].iteration_costs
    *fails, accepted = RejectionModel.for_set(SET).iteration
    mean, square = (np.dot(fails, np.power(costs, n)) / accepted for n in (1, 2))
    assert sign.value("sd") == pytest.approx((square + mean**2) ** 0.5, rel=1e-3)
    assert sign.value("min") == pytest.approx(first) and sign.interval("max") is None


def test_what_answers_derive(record: Record) -> None:
    """The price of signing and verification together, and of a hardened mode."""
    hardened = replace(record.workers[0].variants[1], id="mldsa-native-hardened:native:compact")
    hardened = replace(hardened, implementation="mldsa-native-hardened")
    slow = record.workers[0].variants[1].id
    native, _, *others = record.workers[0].variants
    record.workers[0] = replace(record.workers[0], variants=(native, hardened, *others))
    record.samples[:] = [
        replace(s, variant=hardened.id) if s.variant == slow else s for s in record.samples
    ]
    figures = with_derived(measured(record).figures)
    overheads = [f for f in figures if f.keys.get("of") == "overhead"]
    assert [f.keys["operation"] for f in overheads] == ["keygen", "sign", "verify"]
    assert all(f.value == pytest.approx(2, abs=0.1) and f.low < f.value for f in overheads)
    means = {f.keys["operation"]: f.interval for f in figures.select("mean", variant=native.id)}
    sign, verify, both = (means[name] for name in ("sign", "verify", TOGETHER))
    assert both.value == pytest.approx(sign.value + verify.value)
    parts = ((part.high - part.value) ** 2 for part in (sign, verify))
    assert (both.high - both.value) ** 2 == pytest.approx(sum(parts))


def test_references(record: Record) -> None:
    for reference, name, factor in (
        ("cached:native:expanded", "slow", 6), ("slow", "mldsa-native", 1 / 3),
    ):  # fmt: skip
        ratio = row_of(summarise(record, baseline=reference), name).value("ratio")
        assert ratio == pytest.approx(factor, rel=0.1)
    none = summarise(record, baseline="nobody")
    assert not any(cell.interval("ratio") for cell in none.cells) and "nobody" in none.notes[0]
    # The compact key is the reference, though it is announced second.
    worker = record.workers[0]
    first = replace(worker.variants[0], id="mldsa-native:native:expanded", key="expanded")
    record.workers[0] = replace(worker, variants=(first, *worker.variants))
    copies = [replace(s, variant=first.id) for s in record.samples if s.variant.startswith("slow")]
    record.samples += copies
    assert summarise(record).by_id[NATIVE.id, SET, "sign"].value("ratio") == 1


@pytest.mark.e2e
def test_interrupted_records(tmp_path: Path) -> None:
    """Cut a record file at many places: every prefix with samples gives a table."""
    whole, cut = rows(replaced(SHAPE, rounds=5)), tmp_path / "cut.jsonl"
    lines = write(tmp_path / "whole.jsonl", whole).read_bytes().splitlines(keepends=True)
    first = next(n for n, row in enumerate(whole) if isinstance(row, Samples))
    for kept in range(first, len(lines), 9):
        cut.write_bytes(b"".join(lines[:kept]) + lines[kept][: len(lines[kept]) // 2])
        record = read_record(cut)
        cells = summarise(record).cells
        assert len(cells) == min(len(record.samples), 15)
        for row in cells:
            seen = [s for s in record.samples if (s.variant, s.set, s.operation) == row.id]
            assert row.cost > 0 and (row.interval("mean").low is None) == (len(seen) < 4)


def test_an_interruption_within_a_request_leaves_the_inputs_it_reached(record: Record) -> None:
    for position, s in enumerate(record.samples):
        if s.round == 11:
            metrics = {n: v[:5] for n, v in s.metrics.items()}
            record.samples[position] = replace(s, inputs=s.inputs[:5], metrics=metrics)
    row = row_of(summarise(record), "slow")
    assert row.value("samples", clock="cpu") == 11 * 12 + 5
    assert row.cost == pytest.approx(3 * COSTS[1], rel=0.1)


def test_samples_that_read_zero_stay(record: Record) -> None:
    before = row_of(summarise(record), "mldsa-native", "keygen")
    ticks = record.samples[0].cpu or ()
    set_metrics(record, 0, cpu=(0, *ticks[1:]))
    row = row_of(summarise(record), "mldsa-native", "keygen")
    assert row.notes == ("the CPU clock (CLOCK_THREAD_CPUTIME_ID) reads 0 in 1 of 144 samples",)
    assert row.value("min") == 0 and row.cost == pytest.approx(before.cost, rel=0.01)
    # Where many do, the wall clock has the cost.
    for place, s in enumerate(record.samples):
        if s.variant == NATIVE.id and s.operation == "keygen" and s.round < 3:
            set_metrics(record, place, cpu=(0,) * 12)
    row = row_of(summarise(record), "mldsa-native", "keygen")
    assert "reads 0 in 36 of 144 samples: the cost is by the wall clock" in row.notes[0]
    assert row.samples.clock == "wall"


def test_signing_without_traces_has_no_estimate(record: Record) -> None:
    record.inputs = [replace(i, trace=None) for i in record.inputs]
    row = row_of(summarise(record), "slow")
    known = [f.name for f in row.figures if f.value is not None]
    assert known == ["samples", "rounds"] and "trace" in row.notes[0]
    assert row_of(summarise(record), "slow", "verify").mean is not None


def test_bad_arguments_and_records(record: Record) -> None:
    record.inputs[3] = replace(record.inputs[3], trace=("z9", "ok"))
    for options, said in (
        ({"clock": "sun"}, "clock 'sun'"), ({"confidence": 0.0}, "confidence"),
        ({"confidence": 95.0}, "confidence"), ({}, "input 3 of ML-DSA-65: attempt 'z9'"),
    ):  # fmt: skip
        with pytest.raises(LabError, match=said):
            summarise(record, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "extra", "limit"),
    [
        ("mldsa-lanes", 18, "explains 5.64"),
        ("mldsa-lanes-hardened", 18, None),
        ("mldsa-lanes-hardened", 60, "explains 22.45"),
    ],
)
def test_hardened_signers_are_expected_to_check_their_signatures(
    name: str, extra: float, limit: str | None
) -> None:
    signer = SIGNERS[2].scaled(1.0, implementation=name, extra=extra)
    record = record_of(sets=(SET,), operations=("sign",), signers=(signer,))
    (row,) = summarise(record).cells
    assert len(row.notes) == (limit is not None)
    assert limit is None or ("more than signing" in row.notes[0] and limit in row.notes[0])
