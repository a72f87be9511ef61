"""Cores of round 3: a toy that plays back dilithium-py's answers to the very operands that a core
of that round is handed, compared and measured; and one whose answers are of FIPS 204's lengths."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import altered_toy
from dilithium_py.dilithium import Dilithium2, Dilithium5
from dilithium_py.dilithium.dilithium import Dilithium
from typer.testing import CliRunner

from mldsa_lab import LabError
from mldsa_lab.cli.main import app
from mldsa_lab.inputs.input import candidates
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab_rtl.core_worker import INPUTS
from mldsa_lab_rtl.round3 import Round3

SCHEMES = {"ML-DSA-44": Dilithium2, "ML-DSA-87": Dilithium5}
KEYS = {"ML-DSA-44": 1312 + 2528, "ML-DSA-87": 2592 + 4864}
RUN_SEED = bytes(range(32))
KEY_NAMES = {
    "core", "configuration", "set", "operation", "key", "percentile", "attempt", "phase",
}  # fmt: skip
BEST, EACH = 5000, 1000  # cycles of a signature, and of each rejected attempt


@dataclass
class Answers:
    """Of a set, by dilithium-py alone: lines for the toy, and the attempts of each signature."""

    lines: list[str]
    attempts: list[int]


def counted(
    scheme: Dilithium, sk: bytes, message: bytes, monkeypatch: pytest.MonkeyPatch
) -> tuple[bytes, int]:
    """The signature, and how often a mask was sampled for it."""
    calls = []
    usual = scheme._expand_mask_vector
    with monkeypatch.context() as patch:
        patch.setattr(scheme, "_expand_mask_vector", lambda *a: calls.append(a) or usual(*a))
        return scheme.sign(sk, message), len(calls)


def answers(set_name: str, monkeypatch: pytest.MonkeyPatch) -> Answers:
    scheme, result = SCHEMES[set_name], Answers([], [])
    for one in candidates(RUN_SEED, set_name, INPUTS, stream="round 3"):
        monkeypatch.setattr(scheme, "random_bytes", lambda size, seed=one.seed: seed)
        pk, sk = scheme.keygen()
        signature, attempts = counted(scheme, sk, one.message, monkeypatch)
        tr = hashlib.shake_256(pk).digest(32)
        mu = hashlib.shake_256(tr + one.message).digest(64)
        other = hashlib.shake_256(tr + one.message + b"x").digest(64)
        cycles = BEST + EACH * (attempts - 1)
        result.attempts.append(attempts)
        result.lines += [
            f"0{one.seed.hex()} 300 0 {pk.hex()},{sk.hex()}",
            f"2{sk.hex()},{mu.hex()},{one.message.hex()} {cycles} 0 {signature.hex()}",
            f"3{pk.hex()},{mu.hex()},{signature.hex()} 700 0 -",
            f"3{pk.hex()},{other.hex()},{signature.hex()} 700 1 -",
        ]
    return result


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy as a core of round 3 that is handed the message, and mu besides."""
    return altered_toy(
        tmp_path_factory.mktemp("replay"),
        ('"packets"', '"replay"'), ("FIPS 204", "round 3"), ("toy.cpp", "replay.cpp"),
        ('["rnd", "m_prime"]', '["mu", "message"]'), ('"pk", "m_prime"', '"pk", "mu"'),
        ("[sets.ML-DSA-44]", "[sets.ML-DSA-44]\n[sets.ML-DSA-87]"),
    )  # fmt: skip


def rows(core: Path, to: Path) -> list[dict[str, Any]]:
    """The rows that the command writes."""
    words = ["rtl", "study", str(core), "--seed", RUN_SEED.hex(), "--to", str(to)]
    done = CliRunner().invoke(app, words)
    if done.exception is not None:
        raise done.exception
    assert "replay, round 3" in done.output
    (result,) = json.loads(to.read_text(encoding="utf-8"))["lists"]
    return [
        group["keys"] | {name: f["value"] for name, f in group["figures"].items()}
        for group in result["groups"]
    ]


def test_a_core_of_round_3_is_compared_and_measured(
    core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: answers(name, monkeypatch) for name in SCHEMES}
    lines = [line for answer in known.values() for line in answer.lines]
    path = tmp_path / "answers.txt"
    monkeypatch.setenv("TOY_ANSWERS", str(path))

    def played(change: Callable[[str], str] = lambda line: line) -> list[dict[str, Any]]:
        path.write_text("".join(f"{line[0]} {change(line)[1:]}\n" for line in lines))
        return rows(core, tmp_path / "rows.json")

    result = played()
    for name, answer in known.items():
        assert len(set(answer.attempts)) > 3

        def cycles(figure: str, phase: str = "total", name: str = name, **keys: str) -> float:
            place = {"core": "toy", "configuration": "replay, round 3", "set": name}
            requested = {**place, "phase": phase, **keys}
            rows_with = (row for row in result if figure in row)
            (row,) = (r for r in rows_with if {k: r[k] for k in KEY_NAMES & r.keys()} == requested)
            return float(row[figure])

        # Bytes of a word.
        assert cycles("mean", "store", operation="keygen") == KEYS[name] / 8
        assert 700 < cycles("mean", "compute", operation="verify") < 720
        # Each attempt takes the same, whatever it fails, so the mean follows from the attempts.
        mean = BEST + EACH * (RejectionModel.for_set(name).expected_iterations - 1)
        signed = cycles("mean", "compute", operation="sign", key="expanded")
        assert signed == pytest.approx(mean + 11, rel=0.01)
        for check in ("z", "r"):
            cost = cycles("attempt_cost", operation="sign", attempt=check)
            assert cost == pytest.approx(EACH, rel=0.05)

    def wrong(number: str) -> Callable[[str], str]:
        flipped = {"0": "1", "1": "0"}
        return lambda line: line[:-1] + flipped.get(line[-1], "0") if line[0] == number else line

    for number, operation in (("0", "keygen"), ("2", "sign")):
        with pytest.raises(LabError, match=rf"toy-replay ML-DSA-44, {operation}: the answer to"):
            played(wrong(number))
    with pytest.raises(LabError, match="verify: the answer to input 0: "):
        played(lambda line: line.replace(" 700 0 ", " 700 1 "))
    with pytest.raises(LabError, match="verify: a signature of another message is accepted"):
        played(lambda line: line.replace(" 700 1 ", " 700 0 "))


def test_the_traces_are_those_of_dilithium_py(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, scheme in SCHEMES.items():
        ours = Round3(name)
        _, sk = ours.keys(RUN_SEED)
        counts = []
        for number in range(6):
            message = bytes([number])
            signature, attempts = counted(scheme, sk, message, monkeypatch)
            trace = ours.trace(sk, message)
            assert len(trace) == attempts and ours.sign(sk, message) == signature
            counts.append([a.rejection for a in trace])
        kinds = {kind for words in counts for kind in words}
        assert {"z", "r", "ok"} <= kinds and np.all([words.count("ok") == 1 for words in counts])
