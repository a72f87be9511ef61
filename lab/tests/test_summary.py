"""Records to tables: keys, means, ratios, interruptions, exclusions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import lab_runs
import numpy as np
import pytest
from msgspec.structs import replace
from report_records import SIGNERS, Shape, build, measured

from mldsa_lab.answers.sources import TOGETHER, with_derived
from mldsa_lab.choice.design import design
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figures
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.records import (
    SCHEMA,
    Check,
    End,
    Gate,
    InputRow,
    Record,
    RecordWriter,
    Run,
    Samples,
    Variant,
    WorkerRow,
    read_record,
)
from mldsa_lab.records.rows import Row
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import parse_trace
from mldsa_studies.signers import Signer, draw_traces
from mldsa_studies.simulate import NoisyMachine

SET = "ML-DSA-65"
MODEL = RejectionModel.for_set(SET)
CALM = NoisyMachine(drift=0.02, fast=0)


def variant(name: str, key: str = "compact", **more: Any) -> Variant:
    return lab_runs.variant(f"{name}:native:{key}", **{"sets": (SET,), **more})


FACTOR = {"mldsa-native": 1.0, "slow": 3.0, "cached": 0.5, "hedged": 1.25}


def make_record(
    rounds: int = 12,
    seed: int = 1,
    machine: NoisyMachine = CALM,
    calls: int = 1,
    wall_only: bool = False,
) -> Record:
    """Four ML-DSA variants and Ed25519 in two workers, the second without a CPU clock."""
    rng = np.random.default_rng(seed)
    pool = draw_traces(MODEL, 400, np.random.default_rng(0))
    chosen = [pool[i] for i in design(pool, MODEL, 12, restarts=1)]
    first = WorkerRow(
        "rust", "Rust", "rustc 1.95", "-C target-cpu=native", "ns", "CLOCK_MONOTONIC",
        None if wall_only else "CLOCK_THREAD_CPUTIME_ID",
        (
            variant("mldsa-native"), variant("slow"), variant("cached", "expanded"),
            variant("ed25519", family="classical", sets=("Ed25519",)),
        ),
    )  # fmt: skip
    second = WorkerRow(
        "go", "Go", "go 1.26", "", "ns", "monotonic", None, (variant("hedged", rnd="none"),),
        languages={"hedged": "C"},
    )  # fmt: skip
    run = Run(SCHEMA, "mldsa-lab 0.1.0", "2026-11-21T20:00:00Z", "quick", "00" * 32, {}, {})
    record = Record(run, workers=[first, second])
    rows: list[Row] = [
        InputRow(SET, i, "design", bytes(32), b"m", b"", tuple(str(a) for a in trace))
        for i, trace in enumerate(chosen)
    ]
    rows += [InputRow(SET, 100 + i, "random", bytes(32), b"m", b"", None) for i in range(12)]
    rows += [InputRow("Ed25519", i, "random", bytes(32), b"m", b"", None) for i in range(12)]
    levels = machine.levels(rounds, rng)
    for number in range(rounds):
        turn = 0
        for worker in record.workers:
            for v in worker.variants:
                for operation in v.operations:
                    ids = np.arange(12)
                    if v.family == "classical":
                        cost = np.full(12, 2e4)
                    elif operation != "sign":
                        cost = np.full(12, 4e4) * FACTOR[v.implementation]
                    elif v.rnd == "none":
                        ids = ids + 100
                        cost = Signer().cost_of(draw_traces(MODEL, 12, rng)) * 1.25
                    else:
                        cost = Signer().cost_of(chosen) * FACTOR[v.implementation]
                    cell = machine.measure(cost * calls, 1, rng, levels=levels[number : number + 1])
                    ticks = tuple(int(t) for t in cell.ticks)
                    rows.append(
                        Samples(
                            number, turn, v.id, v.sets[0], operation, calls,
                            tuple(int(i) for i in ids),
                            {"wall": tuple(2 * t for t in ticks)}
                            | ({} if worker.cpu_clock is None else {"cpu": ticks}),
                        )
                    )  # fmt: skip
                    turn += 1
    for row in rows:
        record.add(row)
    record.add(End("2026-11-21T20:01:00Z", "complete", rounds))
    return record


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(make_record())


def row_of(summary: Summary, name: str, operation: str):  # type: ignore[no-untyped-def]
    (cell,) = [
        c for c in summary.cells
        if c.variant.implementation == name and c.operation == operation
    ]  # fmt: skip
    return cell


def answer_figures(record: Record) -> Figures:
    return with_derived(measured(record).figures)


def test_values(summary: Summary) -> None:
    exact = Signer().mean(MODEL)
    for name, factor in FACTOR.items():
        clock = 2 if name == "hedged" else 1  # wall ticks are twice the CPU's in this record
        for operation, cost in (("keygen", 4e4), ("sign", exact), ("verify", 4e4)):
            row = row_of(summary, name, operation)
            assert row.cost == pytest.approx(cost * factor * clock, rel=0.1)
            assert row.mean.low < row.cost < row.mean.high
            assert row.value("samples", clock=row.samples.clock) == 144 and row.unit == "ns"
            assert row.variant.deterministic is (name != "hedged")
            assert row.samples.clock == ("wall" if name == "hedged" else "cpu")
            caller = {"hedged": "Go", "mldsa-native": "Rust"}.get(name)
            about = row.worker.about(row.variant)
            assert about["language"] == ("C" if caller else "Rust")
            assert about["called_from"] == caller
    sign = row_of(summary, "slow", "sign")
    costs = [sign.value("quantile", percentile=share) for share in (50, 95, 99, 99.9)]
    costs.insert(1, sign.cost)
    assert costs == sorted(costs)
    verify = row_of(summary, "slow", "verify")
    shares = [f.keys["percentile"] for f in verify.figures if f.name == "quantile"]
    assert shares == [50, 95]


def test_phases_are_estimated_as_the_whole() -> None:
    """A fifth of the cost, a constant part, one that is zero, and the rest."""
    record = make_record(wall_only=True)
    for number, row in enumerate(record.samples):
        parts = [[w // 5 for w in row.wall], [1000 for _ in row.wall], [0 for _ in row.wall]]
        rest = [w - w // 5 - 1000 for w in row.wall]
        names = zip(("fifth", "constant", "none", "rest"), (*parts, rest), strict=True)
        phases = {name: tuple(ticks) for name, ticks in names}
        record.samples[number] = replace(row, phases=phases)
    summary = summarise(record)
    for operation in ("sign", "verify"):
        row = row_of(summary, "slow", operation)
        parts = {phase: row.value("mean", phase=phase) for phase in phases}
        assert parts["constant"] == 1000 and parts["none"] == 0
        assert parts["fifth"] == pytest.approx(row.cost / 5, rel=1e-3)
        assert parts["rest"] == pytest.approx(0.8 * row.cost - 1000, rel=1e-2)
    figures = summary.figures()
    assert sum(f.keys.get("phase") == "fifth" for f in figures) == len(summary.cells)


def test_memory_is_of_one_operation_and_collections_of_a_million() -> None:
    """Metrics beside ticks, one for all inputs of a visit."""
    record = make_record()
    for number, s in enumerate(record.samples):
        if s.operation == "keygen":
            operations = s.calls * len(s.inputs)
            memory = {"allocated": (operations * (1000 + number % 2),), "collections": (1,)}
            record.samples[number] = replace(s, metrics=s.metrics | memory)
    summary = summarise(record)
    of_keygen = [
        s for s in record.samples if (s.variant, s.operation) == ("slow:native:compact", "keygen")
    ]
    operations = sum(s.calls * len(s.inputs) for s in of_keygen)
    row = row_of(summary, "slow", "keygen")
    assert row.value("allocated") == pytest.approx(
        sum(s.metrics["allocated"][0] for s in of_keygen) / operations, rel=1e-12
    )
    assert row.value("collections") == pytest.approx(1e6 * len(of_keygen) / operations, rel=1e-12)
    assert row_of(summary, "slow", "verify").interval("allocated") is None
    units = {f.name: f.unit for f in summary.figures() if f.name in ("allocated", "collections")}
    assert units == {"allocated": "B", "collections": "per million"}


def test_memory_of_each_signature_gives_the_mean_over_all() -> None:
    """Bytes that follow the attempts of the designed inputs: the mean is that of the law."""
    record = make_record()
    traces = {(i.set, i.id): parse_trace(i.trace, i.set) for i in record.inputs if i.trace}
    for number, s in enumerate(record.samples):
        if s.operation == "sign" and all((s.set, i) in traces for i in s.inputs):
            of_inputs = (98_256 + 6_344 * len(traces[s.set, i]) for i in s.inputs)
            memory = {"allocated": tuple(s.calls * each for each in of_inputs)}
            record.samples[number] = replace(s, metrics=s.metrics | memory)
    row = row_of(summarise(record), "slow", "sign")
    exact = 98_256 + 6_344 * MODEL.expected_attempts
    assert row.value("allocated") == pytest.approx(exact, rel=0.002)


def test_least_largest_and_deviation(summary: Summary) -> None:
    """Of single calls from the samples; of signing by the law, here summed attempt by attempt."""
    verify, record = row_of(summary, "slow", "verify"), make_record()
    samples = [s for s in record.samples if (s.variant, s.set, s.operation) == verify.id]
    ticks = [t for s in samples for t in s.cpu or ()]
    mean = sum(ticks) / len(ticks)
    assert tuple(verify.interval("min")) == (min(ticks), None, None)
    assert verify.value("max") == max(ticks)
    variance = sum((t - mean) ** 2 for t in ticks) / (len(ticks) - 1)
    assert verify.value("sd") == pytest.approx(variance**0.5, rel=1e-9)
    sign = row_of(summary, "mldsa-native", "sign")
    fit = summary.fits["mldsa-native:native:compact", SET]
    first, *further = fit.attempt_costs
    fails = (1 - MODEL.p_z, MODEL.p_z * (1 - MODEL.p_r), MODEL.p_z * MODEL.p_r * MODEL.fail_h)
    again = sum(fails)
    # A geometric number of rejected attempts, each of a random class.
    count = again / (1 - again)
    of_one = sum(p * c for p, c in zip(fails, further, strict=True)) / again
    squares = sum(p * c * c for p, c in zip(fails, further, strict=True)) / again
    spread = count * (squares - of_one**2) + count / (1 - again) * of_one**2
    assert sign.value("sd") == pytest.approx(spread**0.5, rel=1e-3) and sign.interval("max") is None
    least = sign.interval("min")
    assert least.value == pytest.approx(first) and least.low < least.value < least.high
    cells = summarise(make_record(calls=3)).cells
    assert not any(cell.interval("max") for cell in cells)  # averages of three calls


def test_signing_and_verification_together() -> None:
    found = {
        (f.keys["operation"], f.name): f for f in answer_figures(make_record())
        if f.keys["variant"] == "mldsa-native:native:compact"
        and f.name in ("mean", "quantile", "min", "sd")
        and f.keys.get("percentile", 99) == 99
    }  # fmt: skip
    for name in ("mean", "quantile", "min"):
        sign, verify = found["sign", name], found["verify", "mean"]
        both = found[TOGETHER, name]
        assert both.value == pytest.approx((sign.value or 0) + (verify.value or 0))
        width = ((both.high or 0) - (both.value or 0)) ** 2
        parts = (((f.high or 0) - (f.value or 0)) ** 2 for f in (sign, verify))
        assert width == pytest.approx(sum(parts))
    assert found[TOGETHER, "sd"].value == found["sign", "sd"].value


def test_the_hardened_mode_over_the_ordinary_one() -> None:
    """The record of two variants, of which one is called the other's hardened mode."""
    record = make_record()
    (worker, other) = record.workers
    hardened = variant("mldsa-native-hardened")
    plain, slow, *rest = worker.variants
    record.workers[:] = [replace(worker, variants=(plain, hardened, *rest)), other]
    record.samples[:] = [
        replace(s, variant=hardened.id) if s.variant == slow.id else s for s in record.samples
    ]
    found = [f for f in answer_figures(record) if f.keys.get("of") == "overhead"]
    assert [f.keys["operation"] for f in found] == ["keygen", "sign", "verify"]
    for f in found:
        assert f.unit == "" and f.low and f.value and f.high and f.low < f.value < f.high
        if f.keys["operation"] != "sign":
            assert f.value == pytest.approx(FACTOR["slow"] - 1, abs=0.05)


def test_ratios(summary: Summary) -> None:
    for operation in ("keygen", "sign", "verify"):
        reference = row_of(summary, "mldsa-native", operation)
        assert tuple(reference.interval("ratio")) == (1, 1, 1)
        for name in ("slow", "cached"):
            ratio = row_of(summary, name, operation).interval("ratio")
            assert ratio.value == pytest.approx(FACTOR[name], rel=0.02)
            assert ratio.low < ratio.value < ratio.high < 1.1 * ratio.low
        hedged = row_of(summary, "hedged", operation).interval("ratio")
        assert hedged.low < 2.5 < hedged.high
    assert row_of(summary, "ed25519", "sign").interval("ratio") is None


def test_clock_and_calls() -> None:
    record = make_record(rounds=9, calls=4)
    cpu, wall = summarise(record), summarise(record, clock="wall")
    for a, b in zip(cpu.cells, wall.cells, strict=True):
        if a.variant.implementation == "slow":
            assert a.cost == pytest.approx(b.cost / 2, rel=0.01)
    verify = row_of(cpu, "slow", "verify")
    assert verify.cost == pytest.approx(12e4, rel=0.1)
    assert verify.interval("quantile", percentile=50)
    assert not verify.interval("quantile", percentile=95)  # averages have no tail
    only = summarise(make_record(rounds=3, wall_only=True))
    assert {cell.samples.clock for cell in only.cells} == {"wall"}


def test_references() -> None:
    record = make_record(rounds=4)
    by_id = summarise(record, reference="cached:native:expanded")
    assert row_of(by_id, "slow", "sign").value("ratio") == pytest.approx(6, rel=0.1)
    by_name = summarise(record, reference="slow")
    assert row_of(by_name, "mldsa-native", "sign").value("ratio") == pytest.approx(1 / 3, rel=0.1)
    none = summarise(record, reference="nobody")
    assert not any(cell.interval("ratio") for cell in none.cells)
    assert "nobody" in none.notes[0]
    both = variant("mldsa-native", "expanded")
    worker = record.workers[0]
    record.workers[0] = replace(worker, variants=(both, *worker.variants))
    record.samples += [
        replace(s, variant=both.id) for s in record.samples if s.variant.startswith("slow")
    ]
    compact = summarise(record).by_id["mldsa-native:native:compact", SET, "sign"]
    assert compact.value("ratio") == 1  # the compact key is the reference, though announced second


def test_units_are_not_mixed() -> None:
    record = make_record(rounds=3)
    record.workers[1] = replace(record.workers[1], unit="cycles")
    row = row_of(summarise(record), "hedged", "sign")
    assert row.unit == "cycles" and row.mean is not None and row.interval("ratio") is None


@pytest.mark.e2e
def test_interrupted_records(tmp_path: Path) -> None:
    """Cut a record file at many places: every prefix with samples gives a table."""
    path = tmp_path / "whole.jsonl"
    record = make_record(rounds=5)
    with RecordWriter(path) as writer:
        rows: list[Row] = [record.run, *record.workers, *record.inputs, *record.samples]
        for row in rows:
            writer.write(row)
    lines = path.read_bytes().splitlines(keepends=True)
    first = len(lines) - len(record.samples)
    full = summarise(read_record(path))
    assert len(full.cells) == 15
    for kept in range(first, len(lines), 6):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(b"".join(lines[:kept]) + lines[kept][: len(lines[kept]) // 2])
        table = summarise(read_record(cut))
        assert len(table.cells) == min(kept - first, 15)
        for row in table.cells:
            assert row.mean is not None and row.cost > 0
            rounds = {
                s.round
                for s in read_record(cut).samples
                if (s.variant, s.set, s.operation) == row.id
            }
            assert (row.mean.low is None) == (len(rounds) < 4)
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"".join(lines[:first]))
    assert summarise(read_record(empty)).cells == []


def test_an_interruption_within_a_request_leaves_the_inputs_it_reached() -> None:
    record = make_record(rounds=5)
    for position, s in enumerate(record.samples):
        if s.round == 4:
            record.samples[position] = replace(
                s, inputs=s.inputs[:5], metrics={n: v[:5] for n, v in s.metrics.items()}
            )
    row = row_of(summarise(record), "slow", "sign")
    assert row.value("samples", clock="cpu") == 53
    assert row.cost == pytest.approx(3 * Signer().mean(MODEL), rel=0.1)


def test_refused_variants_are_left_out() -> None:
    record = make_record(rounds=3)
    bad = Check("acvp-sigver", 10, 1, "case 3")
    record.add(Gate("slow:native:compact", SET, False, (bad,)))
    record.add(Gate("cached:native:expanded", SET, True, ()))
    names = {r.variant.implementation for r in summarise(record).cells}
    assert names == {"mldsa-native", "cached", "hedged", "ed25519"}
    assert ("slow:native:compact", SET) not in summarise(record).fits


def test_what_cannot_be_estimated_is_said() -> None:
    record = make_record(rounds=3)
    record.inputs = [replace(i, trace=None) for i in record.inputs]
    row = row_of(summarise(record), "slow", "sign")
    known = [f.name for f in row.figures if f.value is not None]
    assert known == ["samples", "rounds"] and "trace" in row.notes[0]
    assert row_of(summarise(record), "slow", "verify").mean is not None


def test_samples_that_read_zero_stay() -> None:
    record = make_record(rounds=4)
    before = row_of(summarise(record), "mldsa-native", "keygen")
    s = record.samples[0]
    record.samples[0] = replace(s, metrics=s.metrics | {"cpu": (0, *(s.cpu or ())[1:])})
    row = row_of(summarise(record), "mldsa-native", "keygen")
    assert row.notes == ("the CPU clock (CLOCK_THREAD_CPUTIME_ID) reads 0 in 1 of 48 samples",)
    assert row.value("samples", clock="cpu") == 48 and row.value("min") == 0
    assert row.cost == pytest.approx(before.cost, rel=0.01)
    # Where many do, the wall clock has the cost: twice the CPU's in this record.
    record.samples[0] = replace(s, metrics=s.metrics | {"cpu": (0,) * 12})
    row = row_of(summarise(record), "mldsa-native", "keygen")
    (note,) = row.notes
    assert "reads 0 in 12 of 48 samples: the cost is by the wall clock" in note
    assert row.samples.clock == "wall" and row.cost == pytest.approx(2 * before.cost, rel=0.01)


def test_bad_arguments_and_records() -> None:
    record = make_record(rounds=2)
    with pytest.raises(LabError, match="clock 'sun'"):
        summarise(record, clock="sun")
    for confidence in (0.0, 1.0, 95.0):
        with pytest.raises(LabError, match="confidence"):
            summarise(record, confidence=confidence)
    record.inputs[3] = replace(record.inputs[3], trace=("z9", "ok"))
    with pytest.raises(LabError, match="input 3 of ML-DSA-65: attempt 'z9'"):
        summarise(record)


def test_confidence_widens() -> None:
    record = make_record(rounds=8)
    narrow = row_of(summarise(record, confidence=0.5), "slow", "sign")
    wide = row_of(summarise(record, confidence=0.99), "slow", "sign")
    assert wide.mean.low < narrow.mean.low < narrow.cost == wide.cost
    assert wide.mean.high > narrow.mean.high


@pytest.mark.parametrize(
    ("name", "extra", "limit"),
    [
        ("mldsa-lanes", 18, "explains 5.64"),
        ("mldsa-lanes-hardened", 18, None),
        ("mldsa-lanes-hardened", 60, "explains 22.45"),
    ],
)
def test_hardened_signers_are_expected_to_check_their_signatures(
    tmp_path: Path, name: str, extra: float, limit: str | None
) -> None:
    signer = dataclasses.replace(SIGNERS[2], implementation=name, extra=extra)
    shape = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(signer,))
    (row,) = summarise(build(tmp_path / "run.jsonl", shape)).cells
    if limit is None:
        assert row.notes == ()
    else:
        assert "more than signing" in row.notes[0] and limit in row.notes[0]
