"""Keys and signatures go to and from the package `cryptography`, another implementation."""

import inspect
import operator
import subprocess
import sys

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
    with pytest.raises(InvalidSignature) as raised:
        key.public_key().verify(theirs.sign(b"m", context), b"m", b"another")
    assert type(raised.value) is mldsa_lanes.InvalidSignature


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


@pytest.mark.parametrize("encoding", ["PEM", "DER"])
def test_encrypted_files_go_both_ways(key, theirs, encoding):
    password, kind = b"password", serialization.PrivateFormat.PKCS8
    arguments = (getattr(serialization.Encoding, encoding), kind)
    # Theirs has PBKDF2, ours scrypt.
    own = mldsa_lanes.BestAvailableEncryption(password)
    files = [
        other.private_bytes(*arguments, serialization.BestAvailableEncryption(password))
        for other in (key, theirs)
    ]
    files.append(key.private_bytes(*arguments, own))
    for file in files:
        for module in (serialization, mldsa_lanes):
            load = getattr(module, f"load_{encoding.lower()}_private_key")
            assert load(file, password).private_bytes_raw() == key.private_bytes_raw()
            # A wrong password, none, and one for a key that is not encrypted.
            with pytest.raises(ValueError):
                load(file, b"Password")
            with pytest.raises(TypeError, match=r"^Password was not given but private key is enc"):
                load(file, None)
            plain = theirs.private_bytes(*arguments, serialization.NoEncryption())
            with pytest.raises(TypeError, match=r"^Password was given but private key is not enc"):
                load(plain, password)


def test_other_encryption_of_theirs(key):
    builder = serialization.PrivateFormat.OpenSSH.encryption_builder()
    arguments = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    with pytest.raises(TypeError, match=r"NoEncryption\(\) or BestAvailableEncryption"):
        key.private_bytes(*arguments, builder.build(b"password"))


def test_all_methods_of_theirs_are_here():
    for number in (44, 65, 87):
        for kind in ("PrivateKey", "PublicKey"):
            name = f"MLDSA{number}{kind}"
            theirs = {m for m in vars(getattr(mldsa, name)) if not m.startswith("_")}
            assert theirs <= set(dir(getattr(mldsa_lanes, name))), name
    theirs = {m for m in vars(mldsa.MLDSAMuHasher) if not m.startswith("_")}
    assert theirs <= set(dir(mldsa_lanes.MLDSAMuHasher))


CALLABLES = [
    *(f"MLDSA{n}PrivateKey.{m}" for n in (44, 65, 87) for m in vars(mldsa.MLDSA44PrivateKey)),
    *(f"MLDSA{n}PublicKey.{m}" for n in (44, 65, 87) for m in vars(mldsa.MLDSA44PublicKey)),
    *(f"MLDSAMuHasher.{m}" for m in ("update", "copy", "finalize")),
    *(f"load_{e}_{k}_key" for e in ("pem", "der") for k in ("private", "public")),
]


@pytest.mark.parametrize("name", [name for name in CALLABLES if "._" not in name])
def test_every_call_of_theirs_is_one_of_ours(name):
    """Our parameters begin with theirs: same names, kinds and order, optional where theirs are."""
    namespace = serialization if name.startswith("load_") else mldsa
    theirs, ours = (
        [p for p in inspect.signature(call).parameters.values() if p.name != "self"]
        for call in (operator.attrgetter(name)(module) for module in (namespace, mldsa_lanes))
    )
    for parameter, own in zip(theirs, ours, strict=False):
        assert (own.name, own.kind) == (parameter.name, parameter.kind)
    names = {p.name for p in theirs if p.default is p.empty}
    assert len(ours) >= len(theirs)
    assert {p.name for p in ours if p.default is p.empty} <= names


def test_arguments_without_effect(key):
    arguments = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    pem = key.private_bytes(*arguments, serialization.NoEncryption())
    read = load_pem_private_key(pem, None, object(), unsafe_skip_rsa_key_validation=True)
    assert read.encoded_bytes() == key.encoded_bytes()
    der = key.private_bytes(serialization.Encoding.DER, arguments[1], serialization.NoEncryption())
    assert type(load_der_private_key(der, password=None, backend=None)) is type(key)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, spki)
    assert load_pem_public_key(pem, backend=None) == key.public_key()


@pytest.mark.parametrize(
    "imports", ["mldsa_lanes, cryptography.exceptions", "cryptography.exceptions, mldsa_lanes"]
)
def test_our_exceptions_are_theirs(imports):
    program = f"""
import {imports}
c = cryptography.exceptions
for name in ("InvalidSignature", "AlreadyFinalized"):
    assert issubclass(getattr(mldsa_lanes, name), getattr(c, name)), name
public = mldsa_lanes.MLDSA44PrivateKey.generate().public_key()
hasher = mldsa_lanes.MLDSAMuHasher(public)
hasher.finalize()
try:
    public.verify(b"", b"m")
except c.InvalidSignature:
    print("invalid")
try:
    hasher.finalize()
except c.AlreadyFinalized:
    print("finalized")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["invalid", "finalized"]


def test_exceptions_without_theirs():
    program = """
import sys
sys.modules["cryptography"] = None  # an import raises ModuleNotFoundError
import mldsa_lanes
assert mldsa_lanes.InvalidSignature.__bases__ == (Exception,)
try:
    mldsa_lanes.MLDSA44PrivateKey.generate().public_key().verify(b"", b"m")
except mldsa_lanes.InvalidSignature as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("signature of 0 bytes")


def test_another_algorithm_is_no_key_of_ours():
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    other = Ed25519PrivateKey.generate()
    nothing = serialization.NoEncryption()
    for encoding, load in (
        (serialization.Encoding.PEM, load_pem_private_key),
        (serialization.Encoding.DER, load_der_private_key),
    ):
        data = other.private_bytes(encoding, serialization.PrivateFormat.PKCS8, nothing)
        with pytest.raises(ValueError, match=r"not an? (ML-DSA key|key of ML-DSA)"):
            load(data)
    encoding, kind = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    with pytest.raises(ValueError, match=r"not an? (ML-DSA key|key of ML-DSA)"):
        load_pem_public_key(other.public_key().public_bytes(encoding, kind))
