"""Keys and signatures go to and from the package `cryptography`, another implementation."""

import mldsa_lanes
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa
from mldsa_lanes import load_der_private_key, load_pem_private_key, load_pem_public_key

CONTEXTS = (None, b"", b"context", bytes(255))


@pytest.fixture
def theirs(parameter_set):
    kind = getattr(mldsa, f"MLDSA{parameter_set.number}PrivateKey")
    return kind.from_seed_bytes(bytes(range(32)))


def test_the_same_seed_gives_the_same_keys(key, theirs):
    assert key.public_key().public_bytes_raw() == theirs.public_key().public_bytes_raw()
    assert key.private_bytes_raw() == theirs.private_bytes_raw()


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda c: str(c and len(c)))
def test_signatures_go_both_ways(key, theirs, context):
    theirs.public_key().verify(key.sign(b"m", context), b"m", context)
    theirs.public_key().verify(key.sign_deterministic(b"m", context), b"m", context)
    key.public_key().verify(theirs.sign(b"m", context), b"m", context)
    with pytest.raises(InvalidSignature):
        theirs.public_key().verify(key.sign(b"m", context), b"m", b"another")
    with pytest.raises(mldsa_lanes.InvalidSignature):
        key.public_key().verify(theirs.sign(b"m", context), b"m", b"another")


def test_mu_goes_both_ways(key, theirs):
    ours = mldsa_lanes.MLDSAMuHasher(key.public_key(), b"context")
    other = mldsa.MLDSAMuHasher(theirs.public_key(), b"context")
    for hasher in (ours, other):
        hasher.update(b"a message ")
        hasher.update(b"in pieces")
    mu = ours.finalize()
    assert other.finalize() == mu
    theirs.public_key().verify_mu(key.sign_mu(mu), mu)
    key.public_key().verify_mu(theirs.sign_mu(mu), mu)


@pytest.mark.parametrize("encoding", ["PEM", "DER"])
def test_files_go_both_ways_and_are_equal(key, theirs, encoding):
    # Their enumerations serve here, and ours must give the same.
    arguments = (
        getattr(serialization.Encoding, encoding),
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    private = theirs.private_bytes(*arguments)
    assert key.private_bytes(*arguments) == private
    own = (mldsa_lanes.PrivateFormat.PKCS8, mldsa_lanes.NoEncryption())
    assert key.private_bytes(getattr(mldsa_lanes.Encoding, encoding), *own) == private
    spki = (arguments[0], serialization.PublicFormat.SubjectPublicKeyInfo)
    public = theirs.public_key().public_bytes(*spki)
    assert key.public_key().public_bytes(*spki) == public

    load = getattr(mldsa_lanes, f"load_{encoding.lower()}_private_key")
    assert load(private, None).encoded_bytes() == key.encoded_bytes()
    load = getattr(mldsa_lanes, f"load_{encoding.lower()}_public_key")
    assert load(public) == key.public_key()
    load = getattr(serialization, f"load_{encoding.lower()}_private_key")
    assert load(private, None).private_bytes_raw() == key.private_bytes_raw()


def test_raw_keys_by_their_enumerations(key, theirs):
    raw = (serialization.Encoding.Raw, serialization.PrivateFormat.Raw)
    nothing = serialization.NoEncryption()
    assert key.private_bytes(*raw, nothing) == theirs.private_bytes(*raw, nothing)
    raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    assert key.public_key().public_bytes(*raw) == theirs.public_key().public_bytes(*raw)
    with pytest.raises(TypeError, match="encrypted"):
        encryption = serialization.BestAvailableEncryption(b"password")
        encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        key.private_bytes(encoding, kind, encryption)


def test_all_methods_of_theirs_are_here():
    for number in (44, 65, 87):
        for kind in ("PrivateKey", "PublicKey"):
            name = f"MLDSA{number}{kind}"
            theirs = {m for m in vars(getattr(mldsa, name)) if not m.startswith("_")}
            assert theirs <= set(dir(getattr(mldsa_lanes, name))), name
    theirs = {m for m in vars(mldsa.MLDSAMuHasher) if not m.startswith("_")}
    assert theirs <= set(dir(mldsa_lanes.MLDSAMuHasher))


def test_another_algorithm_is_no_key_of_ours():
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    other = Ed25519PrivateKey.generate()
    nothing = serialization.NoEncryption()
    for encoding, load in (
        (serialization.Encoding.PEM, load_pem_private_key),
        (serialization.Encoding.DER, load_der_private_key),
    ):
        data = other.private_bytes(encoding, serialization.PrivateFormat.PKCS8, nothing)
        with pytest.raises(ValueError, match="not a key of ML-DSA"):
            load(data)
    encoding, kind = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    with pytest.raises(ValueError, match="not a key of ML-DSA"):
        load_pem_public_key(other.public_key().public_bytes(encoding, kind))
