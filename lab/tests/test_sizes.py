"""Sizes of keys, signatures and ciphertexts, against what libraries write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mldsa_lab.sets import ALL_SETS, PRIVATE, PUBLIC, SCHEMES, SIGNATURE, sizes
from mldsa_lab.worker.build import unmet
from mldsa_lab.worker.registry import BuildDirs, read_registry

ROOT = Path(__file__).parents[2]
PLACE = BuildDirs.for_tree(ROOT)
ENTRIES = {e.name: e for e in read_registry(ROOT / "lab" / "workers" / "registry.toml")}
CURVES = {"ECDSA-P256": "prime256v1", "ECDSA-secp256k1": "secp256k1"}

# Each set's keys as OpenSSL encodes them, what signing gives, and Falcon's signatures of noble.
NODE = """
const { generateKeyPairSync, sign } = await import("node:crypto");
const falcon = await import("./node_modules/@noble/post-quantum/falcon.js");
const found = {};
for (const [name, [type, options]] of Object.entries(JSON.parse(process.argv[1]))) {
  const { publicKey, privateKey } = generateKeyPairSync(type, options);
  const der = (key, type) => key.export({ format: "der", type }).length;
  found[name] = { spki: der(publicKey, "spki"), pkcs8: der(privateKey, "pkcs8"), signed: [] };
  const times = type == "ec" ? 2000 : type.startsWith("ml-kem") || type.endsWith("s") ? 0 : 2;
  for (let i = 0; i < times; i++)
    found[name].signed.push(sign(type == "ec" ? "sha256" : undefined, `${i}`, privateKey).length);
}
for (const name of ["falcon512", "falcon1024", "falcon512padded", "falcon1024padded"]) {
  const { publicKey, secretKey } = falcon[name].keygen();
  const one = (_, i) => falcon[name].sign(Buffer.from(`${i}`), secretKey).length;
  found[name] = { raw: publicKey.length, signed: Array.from({ length: 60 }, one) };
}
console.log(JSON.stringify(found));
"""
PYTHON = """
import json
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import mldsa, mlkem
makers = {f"ML-DSA-{n}": getattr(mldsa, f"MLDSA{n}PrivateKey") for n in (44, 65, 87)}
makers |= {f"ML-KEM-{n}": getattr(mlkem, f"MLKEM{n}PrivateKey") for n in (768, 1024)}
how = (s.Encoding.DER, s.PrivateFormat.PKCS8, s.NoEncryption())
print(json.dumps({n: len(m.generate().private_bytes(*how)) for n, m in makers.items()}))
"""


def table(name: str) -> dict[tuple[str, str], Any]:
    return {(s.object, s.encoding): s for s in sizes(name)}


def ran(worker: str, program: str, *arguments: str) -> Any:
    """Return the JSON that a program prints on a worker's runtime; skip where it is not set up."""
    if lacking := unmet(ENTRIES[worker], PLACE):
        pytest.skip("; ".join(lacking))
    home = ENTRIES[worker].home(PLACE.target)
    done = subprocess.run(
        [program, *arguments], cwd=home, capture_output=True, text=True, timeout=300, check=True
    )
    return json.loads(done.stdout)


def openssl_key(name: str) -> tuple[str, dict[str, Any]]:
    """Return the type and options of a set's key in node:crypto."""
    if name in CURVES:
        return "ec", {"namedCurve": CURVES[name]}
    if name.startswith("RSA"):
        return "rsa", {"modulusLength": int(name.split("-")[1])}
    return name.lower(), {}


@pytest.mark.toolchain
def test_encodings_are_those_that_openssl_writes() -> None:
    # OpenSSL has no Schnorr signatures.
    lacking = ("fn-dsa", "hash", "tls")
    names = [n for n in ALL_SETS if SCHEMES[n].family not in lacking and "Schnorr" not in n]
    program = str(ENTRIES["node"].fill(ENTRIES["node"].run, PLACE)[0])
    asked = json.dumps({name: openssl_key(name) for name in names})
    result = ran("node", program, "--input-type=module", "-e", NODE, asked)
    for name in names:
        known, got = table(name), result[name]
        assert got["spki"] == known[PUBLIC, "SPKI"].bytes, name
        # With a seed OpenSSL writes both; RSA's primes make a key a few bytes shorter.
        private = known.get((PRIVATE, "PKCS #8, both"), known[PRIVATE, "PKCS #8"]).bytes
        assert private - got["pkcs8"] in (range(9) if name.startswith("RSA") else [0]), name
        if name in CURVES:
            der = known[SIGNATURE, "DER"]
            assert max(got["signed"]) == der.bytes == 72
            assert abs(sum(got["signed"]) / len(got["signed"]) - der.mean) < 0.1
        elif got["signed"]:
            assert set(got["signed"]) == {known[SIGNATURE, "raw"].bytes}, name
    for size in (512, 1024):
        known, got = table(f"FN-DSA-{size}"), result[f"falcon{size}"]
        assert got["raw"] == known[PUBLIC, "raw"].bytes
        varied = known[SIGNATURE, "not padded"]
        assert max(got["signed"]) <= varied.bytes
        assert abs(sum(got["signed"]) / 60 - varied.mean) < 2
        assert set(result[f"falcon{size}padded"]["signed"]) == {known[SIGNATURE, "raw"].bytes}


@pytest.mark.toolchain
def test_seeds_are_as_cryptography_writes_them() -> None:
    result = ran("python", "venv/bin/python", "-c", PYTHON)
    assert len(result) == 5
    for name, size in result.items():
        assert size == table(name)[PRIVATE, "PKCS #8, seed"].bytes
