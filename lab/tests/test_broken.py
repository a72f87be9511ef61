"""Every deliberately broken worker is caught, with the right reason, and the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import MODES, Ran, bench, broken_registry

from mldsa_lab.estimate.figure import REJECTED
from mldsa_lab.records import Gate

SOUND = "mldsa-lanes:portable:compact"


def identity(mode: str) -> str:
    return f"broken-{mode}:test:compact"


def run(folder: Path, modes: tuple[str, ...], *options: str) -> Ran:
    registry = broken_registry(folder / "registry.toml", modes)
    return bench(folder / "out", "--registry", str(registry), "--sets", "44", *options)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run with all modes and one sound variant; workers have 10 seconds for a request."""
    names = f"broken-*,{SOUND},mldsa-native"
    options = ("--implementations", names, "--rounds", "3", "--timeout", "10")
    return run(tmp_path_factory.mktemp("broken"), MODES, *options)


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The worker whose batches are as good as their worst operation, in batches."""
    options = ("--implementations", f"broken-*,{SOUND}", "--batch", "1,8", "--rounds", "1")
    return run(tmp_path_factory.mktemp("batched"), ("spoil-batch",), *options, "--to", "none")


def gate(ran: Ran, mode: str) -> Gate:
    (found,) = [g for g in ran.record.gates if g.variant == identity(mode)]
    return found


@pytest.mark.e2e
def test_the_rest_goes_on(ran: Ran) -> None:
    assert ran.status == 0, ran.err
    record = ran.record
    assert record.end is not None and record.end.status == "complete"
    for variant in (SOUND, "mldsa-native:"):
        for operation in ("keygen", "sign", "verify"):
            rounds = {
                s.round
                for s in record.samples
                if s.variant.startswith(variant) and s.operation == operation
            }
            assert rounds == {0, 1, 2}
    assert not any(f.variant.startswith(("mldsa-lanes", "mldsa-native")) for f in record.faults)


@pytest.mark.e2e
def test_no_broken_worker_is_in_the_table(ran: Ran) -> None:
    sound = {"mldsa-lanes", "mldsa-native", "broken-spoil-batch"}  # the last one by single calls
    verdicts = {r["implementation"]: r["mean_verdict"] for r in ran.rows if "mean" in r}
    assert {name for name, verdict in verdicts.items() if verdict != REJECTED} == sound
    for mode in MODES:
        assert f"broken-{mode}" in ran.out  # said to be left out


@pytest.mark.parametrize(
    ("mode", "must", "may"),
    [
        ("flip-byte",
         {"acvp-siggen", "acvp-siggen-hedged", "reference-sign", "verified-by-reference"},
         {"reference-sign-rnd"}),
        ("skip-z-check", {"refuses-z-norm"}, set()),
        ("wrong-key", {"acvp-keygen", "reference-keygen"}, set()),
        ("accept-all",
         {"acvp-sigver", "refuses-c-tilde", "refuses-z", "refuses-hint", "refuses-message",
          "refuses-key", "refuses-length", "refuses-context", "refuses-z-norm"}, set()),
    ],
)  # fmt: skip
@pytest.mark.e2e
def test_the_gate_catches_wrong_answers(ran: Ran, mode: str, must: set[str], may: set[str]) -> None:
    """By the checks that look at what is broken, and by no other."""
    assert not gate(ran, mode).passed
    found = {c.check for c in gate(ran, mode).checks if c.failed}
    assert must <= found <= must | may
    assert not any(s.variant == identity(mode) for s in ran.record.samples)
    first = next(c for c in gate(ran, mode).checks if c.failed)
    assert first.first_failure is not None


@pytest.mark.parametrize(
    ("mode", "said"),
    [("hang", "10"), ("crash", "ended"), ("garbage", "expected"), ("short", "in order")],
)
@pytest.mark.e2e
def test_a_breakdown_is_a_fault(ran: Ran, mode: str, said: str) -> None:
    """These answer rightly, so they pass the gate, and break down when they are measured."""
    assert gate(ran, mode).passed
    (fault,) = [f for f in ran.record.faults if f.variant == identity(mode)]
    assert fault.set is None
    assert said in fault.reason
    assert not any(s.variant == identity(mode) for s in ran.record.samples)


@pytest.mark.e2e
def test_a_bad_operation_that_spoils_its_batch_is_caught(batched: Ran) -> None:
    """At the size that has neighbours; by single calls, and in batches of one, it is right."""
    assert batched.status == 0, batched.err
    gates = {g.variant: g for g in batched.record.gates}
    name = identity("spoil-batch")
    assert gates[name].passed and gates[f"{name}:batch-1"].passed
    spoiled = gates[f"{name}:batch-8"]
    assert not spoiled.passed
    failed = {c.check for c in spoiled.checks if c.failed}
    assert {"batch-sign", "batch-verify", "acvp-sigver"} <= failed
    assert not any(c.failed for c in spoiled.checks if c.check in ("acvp-keygen", "acvp-siggen"))
    timed = {s.variant for s in batched.record.samples}
    assert f"{name}:batch-1" in timed and f"{name}:batch-8" not in timed
    assert f"{SOUND}:batch-8" in timed
    assert f"{name}:batch-8 ML-DSA-44" in batched.out


@pytest.mark.e2e
def test_broken_workers_alone_leave_nothing_to_measure(tmp_path: Path) -> None:
    done = run(tmp_path, ("flip-byte",), "--workers", "broken-flip-byte", "--rounds", "1")
    assert done.status == 2
    assert "nothing to measure" in done.err
    assert not done.record.gates[0].passed  # the record tells why
