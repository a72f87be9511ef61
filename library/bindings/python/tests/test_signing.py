"""Signing and verifying: contexts, HashML-DSA, mu, errors."""

import hashlib

import pytest
from mldsa_lanes import (
    AlreadyFinalized,
    InvalidSignature,
    MLDSA44PrivateKey,
    MLDSA65PrivateKey,
    MLDSAMuHasher,
)

HASHES = {
    "SHA2-224": "sha224",
    "SHA2-256": "sha256",
    "SHA2-384": "sha384",
    "SHA2-512": "sha512",
    "SHA2-512/224": "sha512_224",
    "SHA2-512/256": "sha512_256",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
    "SHAKE128": "shake_128",
    "SHAKE-128": "shake_128",
    "SHAKE256": "shake_256",
    "SHAKE-256": "shake_256",
}


def digest(name, data):
    state = hashlib.new(HASHES[name], data)
    lengths = {"shake_128": 32, "shake_256": 64}
    return state.digest(lengths[state.name]) if state.name in lengths else state.digest()


def test_hedged_signatures_differ_and_are_valid(key):
    first, second = key.sign(b"m"), key.sign(b"m")
    assert first != second
    for signature in (first, second):
        assert key.public_key().verify(signature, b"m") is None


def test_deterministic_signatures_are_equal(key):
    assert key.sign_deterministic(b"m") == key.sign_deterministic(b"m", None)
    assert key.sign_deterministic(b"m") == key.sign_deterministic(b"m", b"")
    assert key.sign_deterministic(b"m") != key.sign_deterministic(b"m", b"c")


@pytest.mark.parametrize("length", [0, 1, 255])
def test_contexts(key, length):
    context, public = bytes(length), key.public_key()
    signature = key.sign(b"m", context=context)
    public.verify(signature, b"m", context)
    with pytest.raises(InvalidSignature):
        public.verify(signature, b"m", b"another")


def test_a_context_that_is_too_long(key):
    text = "context of 256 bytes; at most 255"
    for call in (key.sign, key.sign_deterministic):
        with pytest.raises(ValueError, match=text):
            call(b"m", bytes(256))
    with pytest.raises(ValueError, match=text):
        key.public_key().verify(key.sign(b"m"), b"m", bytes(256))
    with pytest.raises(ValueError, match=text):
        MLDSAMuHasher(key.public_key(), bytes(256))


def test_invalid_signatures(key):
    public, signature = key.public_key(), key.sign(b"m")
    changed = bytes([signature[0] ^ 1]) + signature[1:]
    for bad in (changed, b"", signature[:-1], signature + b"\0", bytes(len(signature))):
        for of in (public, public.expand()):
            with pytest.raises(InvalidSignature):
                of.verify(bad, b"m")
    with pytest.raises(InvalidSignature):
        public.verify(signature, b"other")
    with pytest.raises(InvalidSignature):
        type(key).generate().public_key().verify(signature, b"m")
    assert issubclass(InvalidSignature, Exception)
    assert InvalidSignature.__module__ == "mldsa_lanes"


@pytest.mark.parametrize("name", HASHES)
def test_hash_ml_dsa(key, name):
    bits = {"ML-DSA-44": 128, "ML-DSA-65": 192, "ML-DSA-87": 256}[key.parameter_set]
    hashed, public = digest(name, b"m"), key.public_key()
    if 4 * len(hashed) < bits:
        for call in (key.sign, lambda m, prehash: public.verify(key.sign(m), m, prehash=prehash)):
            with pytest.raises(ValueError, match="collision strength"):
                call(b"m", prehash=name)
        return
    signature = key.sign_deterministic(b"m", b"c", prehash=name)
    assert signature == key.sign_deterministic(hashed, b"c", prehash=name, is_digest=True)
    public.verify(signature, b"m", b"c", prehash=name)
    public.verify(signature, hashed, b"c", prehash=name, is_digest=True)
    with pytest.raises(InvalidSignature):
        public.verify(signature, b"m", b"c")
    hasher = MLDSAMuHasher(public, b"c", prehash=name)
    hasher.update(b"m")
    assert key.sign_mu(hasher.finalize(), deterministic=True) == signature


def test_wrong_hashes_and_digests(key):
    with pytest.raises(
        ValueError, match=r"prehash \"MD5\": unknown hash function; there are SHA2-224"
    ):
        key.sign(b"m", prehash="MD5")
    with pytest.raises(ValueError, match="digest of 1 bytes; the hash function gives 64"):
        key.sign(b"m", prehash="SHA2-512", is_digest=True)
    with pytest.raises(ValueError, match="needs prehash"):
        key.sign(b"m", is_digest=True)
    with pytest.raises(TypeError):
        key.sign(b"m", b"c", "SHA2-512")


def test_mu_in_pieces(key):
    public = key.public_key()
    hasher = MLDSAMuHasher(public, b"c")
    hasher.update(b"a mess")
    other = hasher.copy()
    hasher.update(bytearray(b"age"))
    mu = hasher.finalize()
    assert len(mu) == 64
    assert key.sign_mu(mu, deterministic=True) == key.sign_deterministic(b"a message", b"c")
    public.verify(key.sign_mu(mu), b"a message", b"c")
    public.verify_mu(key.sign(b"a message", b"c"), mu)
    assert other.finalize() != mu
    for call in (hasher.finalize, hasher.copy, lambda: hasher.update(b"")):
        with pytest.raises(AlreadyFinalized):
            call()


def test_mu_of_a_wrong_length(key):
    with pytest.raises(ValueError, match="mu of 63 bytes; it must have 64"):
        key.sign_mu(bytes(63))
    with pytest.raises(ValueError, match="mu of 65 bytes; it must have 64"):
        key.public_key().verify_mu(key.sign(b"m"), bytes(65))
    with pytest.raises(InvalidSignature):
        key.public_key().verify_mu(b"", bytes(64))


def test_mu_needs_a_public_key(key):
    with pytest.raises(TypeError):
        MLDSAMuHasher(key)
    with pytest.raises(TypeError):
        MLDSAMuHasher()


def test_a_signature_of_another_set_is_invalid():
    signature = MLDSA44PrivateKey.generate().sign(b"m")
    with pytest.raises(InvalidSignature, match="signature of 2420 bytes; this set has 3309"):
        MLDSA65PrivateKey.generate().public_key().verify(signature, b"m")
