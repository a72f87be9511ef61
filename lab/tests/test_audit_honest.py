"""Honest tables pass: simulated signers on noisy machines, and this project's own records.

And the detectors find what they are for in tables simulated in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from audit_tables import GRAVE
from numpy.typing import NDArray

from mldsa_lab.audit import audit
from mldsa_lab.audit.claims import Claim, ClaimSource, ClaimTable, Cost
from mldsa_lab.audit.judgement import ClaimedScheme, StatedFigure
from mldsa_lab.estimate.summary import MeasuredCell, summarise
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel, max_setup_cost
from mldsa_studies.signers import Signer, random_table
from mldsa_studies.simulate import QUIET, NoisyMachine

RECORDS = Path(__file__).parents[2] / "records"
PQM4 = Path(__file__).with_name("pqm4.csv")
SETS = tuple(PARAMETER_SETS)
MACHINES = (
    QUIET,
    NoisyMachine(drift=0.02, fast=0),
    NoisyMachine(),
    NoisyMachine(drift=0.05, fast=0.1),
)
SAMPLES = (3, 5, 10, 30, 100, 1000, 10_000)
PERCENTILES = (5, 25, 75, 90, 95, 99, 99.9)
Array = NDArray[np.float64]


def noisy(machine: NoisyMachine, cost: Array, rng: np.random.Generator) -> Array:
    """Single samples of costs, spread over twelve rounds of the machine."""
    level = machine.levels(12, rng)[rng.integers(12, size=len(cost))]
    noise = machine.jitter * rng.standard_normal(len(cost))
    spiked = rng.random(len(cost)) < machine.spikes
    noise += spiked * rng.exponential(max(machine.spike, 1e-9), len(cost))
    return np.asarray(cost * np.exp(level + noise))


def claim(name: str, operation: str, samples: Array, keep: set[str], stated: bool) -> Cost:
    """What a table would say of samples: some statistics, rounded."""
    digits = 0 if np.median(samples) > 1000 else 2
    values = {
        "min": samples.min(),
        "median": np.median(samples),
        "mean": samples.mean(),
        "max": samples.max(),
        **{f"p{p:g}": np.percentile(samples, p) for p in PERCENTILES},
    }
    if len(samples) > 1:
        values["sd"] = samples.std(ddof=1)
    figures = {
        s: StatedFigure(round(float(v), digits), 0.5 * 10.0**-digits)
        for s, v in values.items()
        if s in keep or s == "median"
    }
    return Cost(
        id=operation,
        operation=operation,
        set=name,
        unit="us",
        figures=figures,
        samples=len(samples) if stated else None,
    )


def table(*claims: Claim) -> ClaimTable:
    return ClaimTable("t", ClaimSource(title="t", kind="other"), claims)


def signer(name: str, rng: np.random.Generator) -> Signer:
    """Any implementation: its setup up to the bound, z cheaper or not, stopping early or not."""
    attempt = 100 * float(np.exp(rng.uniform(-3, 6)))
    step = float(rng.choice([0, 0.02]))
    middle = RejectionModel.for_set(name).l / 2
    z = attempt * rng.uniform(0.75, 1.1)
    return Signer(
        setup=attempt * rng.uniform(1, max_setup_cost(name)),
        z=z * (1 - step * middle),
        r=attempt,
        h=1.25 * attempt,
        z_step=z * step,
    )


@pytest.mark.simulation
def test_honest_tables_raise_no_alarm() -> None:
    rng = np.random.default_rng(2026)
    statistics = ["min", "mean", "max", "sd", *(f"p{p:g}" for p in PERCENTILES)]
    findings: Counter[str] = Counter()
    for case in range(160):
        name = SETS[case % 3]
        n = SAMPLES[case % len(SAMPLES)]
        machine = MACHINES[case % len(MACHINES)]
        drawn = random_table(RejectionModel.for_set(name), n, rng)
        target = signer(name, rng)
        cost = target.cost(drawn)
        keep = {s for s in statistics if rng.random() < 0.6}
        # Without a number of samples a hundred are assumed.
        stated = n < 100 or bool(rng.random() < 0.7)
        # Key generation and verification cost less than a signature accepted at once.
        flat = np.full(n, 0.85 * target.setup)
        claims = [
            claim(name, operation, noisy(machine, what, rng), keep, stated)
            for operation, what in (("keygen", flat), ("sign", cost), ("verify", flat))
        ]
        for finding in audit(table(*claims)):
            findings[finding.rule] += 1
            assert finding.verdict not in GRAVE, (case, finding)
    # The rules were asked, each often.
    signing = ("spread", "min", "mean", "tail", "inversion", "one-input")
    figures = ("order", "mean-range", "sd-range")
    asked = {f"sign.{r}" for r in signing} | {f"figures.{r}" for r in figures}
    assert {rule for rule in asked if findings[rule] < 60} == set()


@pytest.mark.parametrize("samples", [30, 1000])
def test_one_input_signed_again_is_found(samples: int) -> None:
    rng = np.random.default_rng(5)
    keep = {"min", "mean", "sd", "p99", "max"}
    machine = NoisyMachine(drift=0.02, fast=0, spikes=0)
    for case in range(30):
        name = SETS[case % 3]
        (one,) = signer(name, rng).draw(RejectionModel.for_set(name), 1, rng)
        claims = [
            claim(name, operation, noisy(machine, np.full(samples, cost), rng), keep, True)
            for operation, cost in (("sign", one), ("verify", one / 3))
        ]
        found = {f.rule for f in audit(table(*claims)) if f.verdict in GRAVE}
        assert {"sign.one-input", "sign.spread", "sign.inversion"} <= found, (case, found)


def test_a_tail_cut_by_a_fifth_is_found() -> None:
    rng = np.random.default_rng(6)
    keep = {"min", "mean", "sd", "p99", "max"}
    found = 0
    for case in range(30):
        name = SETS[case % 3]
        costs = signer(name, rng)
        costs = Signer(setup=2.5 * costs.r, z=costs.r, r=costs.r, h=costs.r)
        cost = costs.draw(RejectionModel.for_set(name), 10_000, rng)
        cut = np.sort(noisy(NoisyMachine(drift=0.02, fast=0, spikes=0), cost, rng))[:8000]
        findings = audit(table(claim(name, "sign", cut, keep, True)))
        graves = {f.rule for f in findings if f.verdict in GRAVE}
        assert "sign.tail" in graves
        found += "sign.trimmed" in graves
    assert found >= 25


def of_row(row: MeasuredCell, number: int) -> Cost:
    """The claim that a row of this project's own table makes."""
    shares = {"median": 50, "p95": 95, "p99": 99, "p99.9": 99.9}
    named = {said: row.value("quantile", percentile=share) for said, share in shares.items()}
    named = {"mean": row.value("mean"), **named}
    return Cost(
        id=str(number),
        operation=row.operation,
        set=row.set,
        unit=row.unit,
        figures={s: StatedFigure(float(v), 0.5) for s, v in named.items() if v is not None},
        samples=len(row.samples.ticks),
        subject=row.variant.id,
    )


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("2026-11-21-epyc-zen3/first", 100),
        ("2026-11-23-epyc-zen5/goals", 200),
        ("2026-11-25-xeon-emr/bindings", 90),
        ("2026-11-23-rtl/cores", 20),
    ],
)
def test_the_tables_of_this_project_pass(name: str, least: int) -> None:
    summary = summarise(read_record(RECORDS / f"{name}.jsonl.xz"))
    rows = [row for row in summary.cells if row.set in PARAMETER_SETS]
    assert len(rows) >= least
    audited = audit(table(*(of_row(row, number) for number, row in enumerate(rows))))
    for finding in audited:
        assert finding.verdict not in GRAVE, (rows[int(finding.claim)].id, finding)
    asked = Counter(f.rule for f in audited)
    assert asked["work.floor"] == len(rows)
    assert asked["work.relations"] > len(rows) / 2
    if name.endswith("first"):
        assert asked["sign.mean"] > 30
        assert asked["sign.tail"] > 90


def test_the_table_of_pqm4_passes() -> None:
    claims: list[Claim] = []
    for line in PQM4.read_text(encoding="utf-8").splitlines()[2:]:
        scheme, subject, samples, *cycles = line.split(",")
        operations = ("other",) * 3 if scheme.startswith("ml-kem") else ("keygen", "sign", "verify")
        for place, operation in enumerate(operations):
            values = dict(zip(("mean", "min", "max"), cycles[3 * place :][:3], strict=True))
            raw = {s: StatedFigure.read(int(value)) for s, value in values.items()}
            named = ClaimedScheme.read(re.sub("sphincs-(.*)-simple", r"slh-dsa-\1", scheme))
            claims.append(
                Cost(
                    id=f"{scheme} {subject} {place}",
                    operation=operation,
                    set=named,
                    unit="cycles",
                    figures=raw,
                    samples=int(samples),
                    subject=subject,
                )
            )
    assert len(claims) == 90
    found = audit(table(*claims))
    assert [f for f in found if f.verdict in GRAVE] == []
    assert {"work.floor", "work.relations", "sign.min"} <= {f.rule for f in found}
