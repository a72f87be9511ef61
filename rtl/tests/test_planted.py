"""Planted bugs in the toy core, each of which `conform` finds, and right cores, which it accepts.

The toy reads its way from the environment's TOY_WAY, so two builds serve all. Each test makes the
whole conformance test without known answers, which the toy does not have.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LIMITS, TARGET, TOY, altered_toy, started

from mldsa_lab.checkout import find_root
from mldsa_lab.worker.conformance import Conformance, conform_entry
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import BuildDirs
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.build import make
from mldsa_lab_rtl.core_worker import own_counters
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import Manifest

ORDER = "its result depends on the operation before: another output"
RIGHT = (
    "",
    "takes a word every other cycle",
    "results with gaps",
    "garbage where nothing is valid",
    "refuses before the last operand",
    "late response",
)
RIGHT_LEVELS = (
    "",
    "level until the command",
    "level until the operands",
    "level until the work",
    "late response",
    "results with gaps",
)
"""Of a response without `ready`: a pulse, then levels that end at different times."""
PLANTED = {
    # A part of the failures: the harness's words, or the check's name.
    "first key generation": f"{ORDER} after a reset",
    "first load": f"{ORDER} after a reset",
    "first signing": ORDER,
    "first verification": f"{ORDER} after a reset",
    "key generation after load": f"{ORDER} after another key was loaded",
    "key generation after refusal": f"{ORDER} after a refused signature",
    "load after load": f"{ORDER} after another key was loaded",
    "load after refusal": f"{ORDER} after a refused signature",
    "load after zeroization": f"{ORDER} after zeroization",
    "verification after load": f"{ORDER} after another key was loaded",
    "verification after refusal": "accepted, must be refused",
    "no verification after reset": f"{ORDER} after a reset",
    "no verification after load": f"{ORDER} after another key was loaded",
    "no signing after load": "refused",
    "keeps the first key": "refused, must be accepted",
    "another key each time": "keygen-again",
    "ignores rnd": "signs-rnd",
    "ignores the message": "refuses-message",
    "ignores the context": "refuses-context",
    "ignores the end of the signature": "accepted, must be refused",
    "takes a key of any length": "refuses-key",
    "takes a signature of any length": "refuses-length",
    "takes a seed of any length": "refuses-seed",
    "withdraws a word": "a result word was withdrawn or changed before it was taken",
    "changes a waiting word": "a result word was withdrawn or changed before it was taken",
    "no last": "last is missing",
    "last on every word": "last is too early",
    "a wrong count of bytes": "a word of 8 bytes, not 4",
    "a word too many": "last is missing",
    "leaves a word": "a result word is there before the operation begins",
    "leaves the response": "a response is there before the operation begins",
    "no end of signing": "the manifest's limit",
    "no response": "the manifest's limit",
    "response before the results": "it ended without result 1",
    "takes words that are not offered": "bad operand",
    "zeroization keeps the key": "zeroization: it signs with a key that was zeroized",
    "no end of signing after zeroization": "zeroization: signing after it: no end after",
    "zeroization leaves a register": "registers and memories still depend on the key",
}


@pytest.fixture(scope="module")
def level(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of the toy with a response without `ready`."""
    return altered_toy(
        tmp_path_factory.mktemp("level"), (', ready = "rsp_ready"', ""),
        ("{ fault = 0 }", "{ fault = 0, rsp_ready = 1 }"), ('"packets"', '"level"'),
    )  # fmt: skip


def conform(path: Path, *options: str, notes: list[str] | None = None) -> Conformance:
    manifest = Manifest.read(path)
    make(manifest, TARGET / manifest.worker, lambda line: None)
    return conform_entry(
        core_entry(manifest, options),
        BuildDirs(find_root(), TARGET),
        limits=LIMITS,
        known=False,
        on_note=([] if notes is None else notes).append,
    )


def failures(result: Conformance) -> str:
    return "\n".join(
        line for f in result.findings if f.status == "failed" for line in (f.check, *f.reasons)
    )


@pytest.mark.parametrize(
    ("way", "is_level"), [*((w, False) for w in RIGHT), *((w, True) for w in RIGHT_LEVELS)]
)
def test_right_cores_pass(
    way: str, is_level: bool, level: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_WAY", way)
    notes: list[str] = []
    result = conform(level if is_level else TOY, notes=notes)
    assert result.passed and notes == [], failures(result)


@pytest.mark.parametrize("way", PLANTED)
def test_planted_bugs_fail(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_WAY", way)
    result = conform(TOY)
    assert not result.passed and PLANTED[way] in failures(result), "\n".join(result.lines())


def prepare_keys(worker: Worker, count: int) -> None:
    """Give the toy job 1, so many key generations."""
    jobs = [JobInput(n, seed=bytes([n] * 32)) for n in range(count)]
    worker.prepare(1, "toy:packets:compact", "ML-DSA-44", "keygen", jobs)


def test_a_hang_says_how_long_it_waits_and_is_waited_for_three_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOY_WAY", "no end of key generation")
    heard: list[str] = []
    with started(TOY, "--threads", "1") as worker:
        worker.channel.on_note = heard.append
        prepare_keys(worker, 5)
        said = [str(output.failure) for output in worker.answer(1).values()]
    end = "no end after 20256 cycles, the manifest's limit"
    assert said[:3] == [end] * 3
    assert said[3:] == [f"not performed, as key generation failed 3 times with: {end}"] * 2
    waits = "key generation: no end yet after 10128 cycles; waits for 20256 (the manifest's limit)"
    assert len(heard) == 3 and all(text.startswith(waits) for text in heard)


def test_wrong_counters_are_noted_once_and_have_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_WAY", "a wrong counter of cycles")
    heard: list[str] = []
    with started(TOY, "--threads", "1") as worker:
        worker.channel.on_note = heard.append
        prepare_keys(worker, 3)
        keys = worker.answer(1).values()
        assert not any(output.failure for output in keys)
        samples = worker.measure(1, 1, 1, 0)
        assert [s.phases and s.phases[0] for s in samples] == [5, 5, 5]
        assert own_counters(worker, 1, 3) == [{}] * 3
        sk = next(iter(keys)).private_key
        job = JobInput(0, sk=sk, message=b"", context=b"", rnd=bytes(32))
        worker.prepare(2, "toy:packets:compact", "ML-DSA-44", "sign", [job])
        worker.measure(2, 2, 1, 0)
    wrong = "key generation, ML-DSA-44: its counter of load says 104, and it took 5 cycles"
    assert heard[0].startswith(wrong)
    assert [text.partition(":")[0] for text in heard] == [
        "key generation, ML-DSA-44", "loading the key, ML-DSA-44", "signing, ML-DSA-44",
    ]  # fmt: skip


def test_a_level_that_never_ends_is_named(level: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_WAY", "level for ever")
    assert "the response's valid is high since the operation before" in failures(conform(level))


def test_resets_within_operations_find_what_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_WAY", "a reset leaves operands")
    assert conform(TOY).passed
    assert not conform(TOY, "--resets").passed
