"""The PEM files of verify/pem/cases.json, which all layers share, and what `cryptography` reads."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from mldsa_lanes import (
    Encoding,
    MLDSA65PrivateKey,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

KEY = MLDSA65PrivateKey.from_seed_bytes(bytes(range(32)))
CASES = json.loads((Path(__file__).parents[3] / "verify/pem/cases.json").read_text())
KINDS = {
    "PRIVATE KEY": KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    "PUBLIC KEY": KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
}


def fill(case, label, field="file", default="{block}\n"):
    """Fill a template of a case in, as verify/pem/cases.rs describes."""
    body = "".join(KINDS[label].decode().splitlines()[1:-1])
    columns, eol = case.get("columns", 64) or len(body), case.get("eol", "\n")
    body = eol.join(body[at : at + columns] for at in range(0, len(body), columns))
    block = eol.join(("-----BEGIN {label}-----", body, "-----END {label}-----"))
    (other,) = KINDS.keys() - {label}
    text = case.get(field, default).replace("{block}", block).replace("{body}", body)
    return text.replace("{label}", label).replace("{other}", other)


def load(label, data):
    """Read a key with the package under test. Returns the public key."""
    if label == "PUBLIC KEY":
        return load_pem_public_key(data)
    return load_pem_private_key(data).public_key()


@pytest.mark.parametrize("label", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_case_of_the_shared_table(case, label):
    data = fill(case, label).encode("latin-1")
    if "error" not in case:
        assert load(label, data) == KEY.public_key()
        return
    if case["name"] == "an encrypted key" and label == "PRIVATE KEY":
        with pytest.raises(TypeError, match="private key is encrypted; pass password"):
            load(label, data)
        return
    with pytest.raises(ValueError, match="; ") as caught:
        load(label, data)
    assert fill(case, label, "text") in str(caught.value)
    assert "not a key of ML-DSA in this encoding" not in str(caught.value)


def test_cryptography_reads_the_same_key():
    common = 0
    for case in CASES:
        if "error" in case:
            continue
        data = fill(case, "PRIVATE KEY").encode("latin-1")
        try:
            theirs = serialization.load_pem_private_key(data, None)
        except ValueError:
            continue
        assert theirs.public_key().public_bytes_raw() == KEY.public_key().public_bytes_raw()
        common += 1
    # cryptography 50 reads 56 of them.
    assert common >= 50
