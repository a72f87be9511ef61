"""Making, reading and writing keys."""

import copy
import operator
import os
import pickle
import subprocess
import sys
import unittest.mock

import mldsa_lanes
import pytest
from mldsa_lanes import (
    BestAvailableEncryption,
    Encoding,
    MLDSA44PrivateKey,
    MLDSA65PrivateKey,
    NoEncryption,
    PrivateFormat,
    PrivateKey,
    PublicFormat,
    PublicKey,
    load_der_private_key,
    load_der_public_key,
    load_pem_private_key,
    load_pem_public_key,
)


def test_generated_keys_differ_and_have_the_classes_of_their_set(parameter_set):
    first, second = parameter_set.private.generate(), parameter_set.private.generate()
    assert type(first) is parameter_set.private
    assert isinstance(first, PrivateKey)
    assert type(first.public_key()) is parameter_set.public
    assert isinstance(first.public_key(), PublicKey)
    assert first.parameter_set == first.public_key().parameter_set == parameter_set.name
    assert first.public_key() != second.public_key()


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_batch_of_keys(parameter_set, threads):
    keys = parameter_set.private.generate_batch(9, threads=threads)
    assert {type(key) for key in keys} == {parameter_set.private}
    assert len({key.private_bytes_raw() for key in keys}) == 9
    keys[8].public_key().verify(keys[8].sign(b"m"), b"m")


def test_sizes(parameter_set, key):
    assert len(key.private_bytes_raw()) == 32
    assert len(key.encoded_bytes()) == parameter_set.private_key_bytes
    assert len(key.public_key().public_bytes_raw()) == parameter_set.public_key_bytes
    assert len(key.sign(b"m")) == parameter_set.signature_bytes


def test_raw_encodings_are_read_back(parameter_set, key):
    again = parameter_set.private.from_seed_bytes(key.private_bytes_raw())
    assert again.encoded_bytes() == key.encoded_bytes()
    read = parameter_set.private.from_encoded_bytes(key.encoded_bytes())
    assert read.sign_deterministic(b"m") == key.sign_deterministic(b"m")
    public = parameter_set.public.from_public_bytes(key.public_key().public_bytes_raw())
    assert public == key.public_key()


def test_a_key_read_from_its_encoding_has_no_seed(parameter_set, key):
    read = parameter_set.private.from_encoded_bytes(key.encoded_bytes())
    with pytest.raises(ValueError, match="encoded_bytes"):
        read.private_bytes_raw()
    with pytest.raises(ValueError, match="seed"):
        read.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    with pytest.raises(ValueError, match="seed"):
        read.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption(), form="both")
    der = read.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    assert load_der_private_key(der).encoded_bytes() == key.encoded_bytes()


@pytest.mark.parametrize("form", [None, "seed", "expandedKey", "both"])
def test_private_keys_in_pem_and_der(parameter_set, key, form):
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption(), form=form)
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption(), form=form)
    for read in (load_pem_private_key(pem), load_der_private_key(der, None)):
        assert type(read) is parameter_set.private
        assert read.encoded_bytes() == key.encoded_bytes()
    assert pem.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()) == bytes(range(32))


def test_public_keys_in_pem_and_der(parameter_set, key):
    public = key.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for read in (load_pem_public_key(pem), load_der_public_key(der)):
        assert type(read) is parameter_set.public
        assert read == public
    raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert raw == public.public_bytes_raw()


def test_encodings_that_do_not_fit_together(key):
    public = key.public_key()
    with pytest.raises(ValueError, match=r"Encoding\.PEM or Encoding\.DER"):
        key.private_bytes(Encoding.Raw, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="does not go with"):
        public.public_bytes(Encoding.PEM, PublicFormat.Raw)
    with pytest.raises(TypeError, match="PublicFormat"):
        public.public_bytes(Encoding.PEM, PrivateFormat.PKCS8)
    with pytest.raises(TypeError, match="Encoding"):
        public.public_bytes("PEM", PublicFormat.Raw)
    with pytest.raises(TypeError, match="NoEncryption"):
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, b"password")
    with pytest.raises(ValueError, match="unknown form"):
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption(), form="other")
    with pytest.raises(ValueError, match="form"):
        key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption(), form="seed")


def test_files_that_are_no_keys(key):
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    loads = (load_pem_private_key, "PRIVATE KEY"), (load_der_private_key, "not a key")
    for load, text in loads:
        for bad in (b"", b"junk", b"\xff" * 40, der, pem[:-40]):
            with pytest.raises(ValueError, match=text):
                load(bad)
    loads = (load_pem_public_key, "PUBLIC KEY"), (load_der_public_key, "not a key")
    for load, text in loads:
        for bad in (b"", b"junk", b"\xff" * 40, pem, der[:-1], der + b"\0"):
            with pytest.raises(ValueError, match=text):
                load(bad)


@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER], ids=str)
@pytest.mark.parametrize("form", [None, "seed", "expandedKey", "both"])
def test_encrypted_keys(key, encoding, form):
    password = "pässwörd".encode()
    arguments = (encoding, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    data = key.private_bytes(*arguments, form=form)
    assert data != key.private_bytes(*arguments, form=form)
    load = load_pem_private_key if encoding is Encoding.PEM else load_der_private_key
    for given in (password, bytearray(password), memoryview(password)):
        read = load(data, given)
    assert type(read) is type(key)
    assert read.encoded_bytes() == key.encoded_bytes()
    plain = (encoding, PrivateFormat.PKCS8, NoEncryption())
    assert read.private_bytes(*plain, form=form) == key.private_bytes(*plain, form=form)


def test_wrong_passwords():
    key = MLDSA44PrivateKey.generate()
    for encoding, load in (
        (Encoding.PEM, load_pem_private_key),
        (Encoding.DER, load_der_private_key),
    ):
        arguments = (encoding, PrivateFormat.PKCS8)
        data = key.private_bytes(*arguments, BestAvailableEncryption(b"password"))
        for wrong in (b"Password", b"password ", b""):
            with pytest.raises(ValueError, match="wrong password, or damaged"):
                load(data, wrong)
        with pytest.raises(TypeError, match="Password was not given but private key is encrypted"):
            load(data)
        with pytest.raises(TypeError, match="password must be bytes-like, not str"):
            load(data, "password")
        with pytest.raises(ValueError, match=r"PEM|damaged"):
            load(data[:-20], b"password")
        plain = key.private_bytes(*arguments, NoEncryption())
        with pytest.raises(TypeError, match="Password was given but private key is not encrypted"):
            load(plain, b"password")
    # After another block.
    other = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    pem = (Encoding.PEM, PrivateFormat.PKCS8)
    with pytest.raises(TypeError, match="Password was not given"):
        load_pem_private_key(other + key.private_bytes(*pem, BestAvailableEncryption(b"password")))
    with pytest.raises(TypeError, match="Password was given"):
        load_pem_private_key(other + key.private_bytes(*pem, NoEncryption()), b"password")
    with pytest.raises(ValueError, match=r"Raw needs NoEncryption\(\)"):
        key.private_bytes(Encoding.Raw, PrivateFormat.Raw, BestAvailableEncryption(b"password"))
    for empty in (b"", "password", None):
        with pytest.raises(ValueError, match="password must be bytes"):
            BestAvailableEncryption(empty)


def test_the_cost_of_decryption_has_a_limit():
    key = MLDSA44PrivateKey.generate()
    encryption = BestAvailableEncryption(b"password")
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, encryption)
    # scrypt's N, r and p.
    costs = bytes.fromhex("02024000 020108 020105")
    assert costs in der
    with pytest.raises(ValueError, match=r"cost .* is above the limit"):
        load_der_private_key(der.replace(costs, costs[:-1] + b"\x7f"), b"password")


def test_wrong_lengths(parameter_set, key):
    with pytest.raises(ValueError, match="seed of 31 bytes; it must have 32"):
        parameter_set.private.from_seed_bytes(bytes(31))
    with pytest.raises(ValueError, match="private key of 5 bytes"):
        parameter_set.private.from_encoded_bytes(bytes(5))
    with pytest.raises(ValueError, match="invalid private key"):
        parameter_set.private.from_encoded_bytes(b"\xff" * parameter_set.private_key_bytes)
    with pytest.raises(ValueError, match="public key of 5 bytes"):
        parameter_set.public.from_public_bytes(bytes(5))


def test_keys_are_not_constructed_subclassed_or_changed(parameter_set, key):
    for kind in (PrivateKey, PublicKey, parameter_set.private, parameter_set.public):
        with pytest.raises(TypeError):
            kind()
    for kind in (parameter_set.private, parameter_set.public):
        with pytest.raises(TypeError):
            type("Other", (kind,), {})
    with pytest.raises(AttributeError):
        key.backend = "other"


def test_equality_and_hash(key):
    public = key.public_key()
    assert public == public.expand()
    assert hash(public) == hash(key.public_key())
    assert public != MLDSA44PrivateKey.generate().public_key()
    assert public != public.public_bytes_raw()
    for same in (
        type(key).from_seed_bytes(key.private_bytes_raw()),
        type(key).from_encoded_bytes(key.encoded_bytes()),
        key.expand(),
    ):
        assert same == key
        assert hash(same) == hash(key)
    assert len({key, same, type(key).generate(), MLDSA44PrivateKey.generate()}) == 3
    assert key != type(key).generate()
    assert key != public
    assert key != key.encoded_bytes()
    assert key.__eq__(public) is NotImplemented


def test_other_types_decide_on_equality(key):
    public = key.public_key()
    assert public.__eq__(5) is NotImplemented
    assert public == unittest.mock.ANY
    assert not operator.ne(public, unittest.mock.ANY)
    assert public != 5


@pytest.mark.parametrize("name", ["Encoding", "PrivateFormat", "NoEncryption"])
def test_foreign_classes_with_our_names_are_refused(key, name):
    arguments = {
        "Encoding": Encoding.PEM,
        "PrivateFormat": PrivateFormat.PKCS8,
        "NoEncryption": NoEncryption(),
    }
    shown = str(arguments[name])
    foreign = type(name, (), {"__str__": lambda self: shown})()
    for other in (foreign, unittest.mock.Mock(spec=arguments[name])):
        with pytest.raises(TypeError):
            key.private_bytes(*(arguments | {name: other}).values())


def test_copies_are_the_same_key(key):
    for of in (key, key.public_key()):
        assert copy.copy(of) is of
        assert copy.deepcopy(of) is of


def test_keys_are_not_pickled(key):
    for of in (key, key.expand(), key.public_key()):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="cannot be pickled"):
                pickle.dumps(of, protocol)


def test_repr_shows_no_bytes_of_the_key(parameter_set, key):
    number = parameter_set.number
    assert repr(key) == str(key) == f"<MLDSA{number}PrivateKey>"
    assert repr(key.expand()) == f"<MLDSA{number}PrivateKey, expanded>"
    assert repr(key.public_key()) == f"<MLDSA{number}PublicKey>"
    assert not hasattr(key, "__dict__")


def test_expanded_keys_are_the_same_keys(parameter_set, key):
    expanded, public = key.expand(), key.public_key().expand()
    assert (type(expanded), type(public)) == (parameter_set.private, parameter_set.public)
    assert expanded.is_expanded and public.is_expanded and not key.is_expanded
    assert expanded.sign_deterministic(b"m") == key.sign_deterministic(b"m")
    assert expanded.private_bytes_raw() == key.private_bytes_raw()
    public.verify(expanded.sign(b"m"), b"m")


def test_the_environment_chooses_the_backend():
    program = "import mldsa_lanes as m; print(m.backend(), m.MLDSA44PrivateKey.generate().backend)"

    def run(backend):
        environment = os.environ | {"MLDSA_LANES_BACKEND": backend}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    assert run("portable").stdout.split() == ["portable", "portable"]
    assert "ImportError: MLDSA_LANES_BACKEND: no backend `other`" in run("other").stderr
    assert MLDSA65PrivateKey.generate().backend == mldsa_lanes.backend()


def test_docstrings_of_everything():
    for name in mldsa_lanes.__all__:
        of = getattr(mldsa_lanes, name)
        if name == "__version__":
            continue
        assert of.__doc__, name
        if isinstance(of, type) and of.__module__ == "mldsa_lanes":
            for member, value in vars(of).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"
