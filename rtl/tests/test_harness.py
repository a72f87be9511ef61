"""The harness on toy cores: two shapes of interfaces, phases, stalls, resets, and broken rules."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from conftest import LIMITS, TARGET, TOY, WORDS, altered_toy, started

from mldsa_lab.checkout import find_root
from mldsa_lab.theory.trace import parse_trace
from mldsa_lab.worker.conformance import conform_entry
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import BuildDirs
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.build import make
from mldsa_lab_rtl.core_worker import own_counters, wrong_counters
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import Manifest

SEED = bytes(range(32))


@pytest.mark.parametrize("path", [TOY, WORDS], ids=lambda p: p.stem)
def test_it_keeps_to_the_protocol(path: Path) -> None:
    manifest = Manifest.read(path)
    make(manifest, TARGET / manifest.worker, lambda line: None)
    result = conform_entry(
        core_entry(manifest), BuildDirs(find_root(), TARGET), limits=LIMITS, known=False
    )
    assert result.passed, "\n".join(result.lines())


def keys(worker: Worker, variant: str, seed: bytes = SEED) -> tuple[bytes, bytes]:
    worker.prepare(1, variant, "ML-DSA-44", "keygen", [JobInput(0, seed=seed)])
    output = worker.answer(1)[0]
    assert output.value is not None and output.private_key is not None
    return output.value, output.private_key


def signing(sk: bytes, count: int) -> list[JobInput]:
    return [
        JobInput(n, sk=sk, message=bytes(11 * n), context=bytes(n), rnd=bytes(32))
        for n in range(count)
    ]


def test_both_shapes_and_any_stalls_give_the_same_bytes() -> None:
    """One is handed whole keys in words of 64 bits, the other their parts in words of 32."""
    built = []
    for path, variant in ((TOY, "toy:packets"), (WORDS, "toy:words")):
        for options in (
            [],
            ["--stalls", "none"],
            ["--resets"],
            ["--threads", "1", "--resets"],
        ):
            with started(path, *options) as worker:
                _, sk = keys(worker, f"{variant}:compact")
                worker.prepare(2, f"{variant}:compact", "ML-DSA-44", "sign", signing(sk, 12))
                outputs = [output.value for output in worker.answer(2).values()]
                digests = [sample.digest for sample in worker.measure(2, 1, 1, 0)]
            assert digests == [hashlib.sha256(value or b"").digest() for value in outputs]
            built.append((sk, outputs))
    assert all(one == built[0] for one in built) and len(set(built[0][1])) == 12


def test_what_has_no_ready_is_taken_under_stalls(tmp_path: Path) -> None:
    """Results and the response, each there for one cycle."""
    path = altered_toy(
        tmp_path, (', ready = "rsp_ready"', ""), (', ready = "out_ready"', ""),
        ("{ fault = 0 }", "{ fault = 0, rsp_ready = 1, out_ready = 1 }"),
    )  # fmt: skip
    with started(path, name="toy-pulse") as worker:
        inputs = [JobInput(n, seed=bytes([n] * 32)) for n in range(12)]
        worker.prepare(1, "toy:packets:compact", "ML-DSA-44", "keygen", inputs)
        assert not any(output.failure for output in worker.answer(1).values())


def test_phases_are_what_the_core_does() -> None:
    """Its operations take, in words: the command and its operands, the ten cycles that it works and
    the one after, its results, and the response."""
    delay = 9 + 1
    with started(TOY) as worker:
        variant = "toy:packets"
        _, sk = keys(worker, f"{variant}:compact")
        worker.prepare(1, f"{variant}:compact", "ML-DSA-44", "keygen", [JobInput(0, seed=SEED)])
        (sample,) = worker.measure(1, 1, 1, 0)
        assert sample.phases == (1 + 4, delay + 1, 164 + 320)
        job = JobInput(0, sk=sk, message=bytes(6), context=b"", rnd=bytes(32))
        for key, load, compute in (("compact", 1 + 320, delay + 1), ("expanded", 0, 0)):
            worker.prepare(2, f"{variant}:{key}", "ML-DSA-44", "sign", [job])
            first, repeated = worker.measure(2, 2, 1, 0)
            assert first.phases == repeated.phases == (load + 1 + 4 + 1, compute + delay + 1, 303)
        assert worker.measure(2, 1, 3, 0)[0].phases == tuple(3 * n for n in first.phases)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A core that withdraws its results in ML-DSA-65 and never ends in ML-DSA-87, whose keys are
    those of ML-DSA-44 besides."""
    faults = enumerate(("ML-DSA-44", "ML-DSA-65", "ML-DSA-87"))
    sets = [f"{name} = {{ ports = {{ fault = {fault} }} }}" for fault, name in faults]
    return altered_toy(
        tmp_path_factory.mktemp("broken"), ('"packets"', '"broken"'),
        ("[sets.ML-DSA-44]\n", "\n".join(["[sets]", *sets, ""])),
    )  # fmt: skip


def test_broken_rules_are_told_and_harm_nothing_after_them(broken: Path) -> None:
    with started(broken, "--threads", "1", name="toy-broken") as worker:
        variant = "toy:broken:compact"
        right = keys(worker, variant)
        said = {}
        for name in ("ML-DSA-65", "ML-DSA-87"):
            worker.prepare(2, variant, name, "keygen", [JobInput(0, seed=SEED)])
            said[name] = worker.answer(2)[0].failure
            assert keys(worker, variant) == right
        assert said["ML-DSA-65"] == "a result word was withdrawn or changed before it was taken"
        assert said["ML-DSA-87"] == "no end after 20256 cycles, the manifest's limit"
    with started(broken, "--stalls", "none", name="toy-broken") as worker:
        worker.prepare(2, variant, "ML-DSA-65", "keygen", [JobInput(0, seed=SEED)])
        assert worker.answer(2)[0].failure == "result 1, byte 1304: last is too early"
        _, sk = keys(worker, variant)
        job = JobInput(0, sk=sk[:-1], message=b"", context=b"", rnd=bytes(32))
        worker.prepare(2, variant, "ML-DSA-44", "sign", [job])
        assert worker.answer(2)[0].failure == "loading the key: bad key"


def test_the_core_s_own_counters_are_compared_with_the_trace(tmp_path: Path) -> None:
    path = altered_toy(tmp_path, ('"packets"', '"counting"'))
    path.write_text(path.read_text(encoding="utf-8") + 'attempts = "cnt_three"\n')
    with started(path, "--threads", "1", name="toy-counting") as worker:
        variant = "toy:counting:compact"
        worker.prepare(1, variant, "ML-DSA-44", "keygen", [JobInput(7, seed=SEED)])
        assert worker.raw(b"counters 1\n") == "counters"  # not performed yet
        assert worker.answer(1)[7].value is not None
        (counters,) = own_counters(worker, 1, 1)
        assert counters.pop("attempts") == 3 and list(counters) == ["load"]
        (sample,) = worker.measure(1, 1, 1, 0)
        assert sample.failure is None and sample.phases[2] == 484
        assert own_counters(worker, 1, 1) == [{"load": 4, "attempts": 3}]
    trace = parse_trace(["z0r1", "r3", "ok"])
    assert wrong_counters({"attempts": 3, "z": 1, "r0": 1, "hint": 0, "store": 9}, trace) == {}
    for reported in ({"attempts": 4}, {"z": 0}, {"r0": 2}, {"ct0": 1}):
        assert list(wrong_counters(reported, trace)) == list(reported)
