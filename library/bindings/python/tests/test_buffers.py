"""Bytes-like arguments of every kind, and arguments of wrong types."""

import array
import ctypes
import mmap
import sys

import pytest
from mldsa_lanes import MLDSA44PrivateKey, MLDSAMuHasher, sign_batch, verify_batch

MESSAGE = bytes(range(200))


def mapped(data):
    view = mmap.mmap(-1, len(data))
    view[:] = data
    return view


BUFFERS = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "writable memoryview": lambda data: memoryview(bytearray(data)),
    "slice": lambda data: memoryview(b"x" + data + b"y")[1:-1],
    "strided": lambda data: memoryview(bytes(b for byte in data for b in (byte, 0)))[::2],
    "reversed": lambda data: memoryview(data[::-1])[::-1],
    "two dimensions": lambda data: memoryview(data).cast("B", (2, len(data) // 2)),
    "array": lambda data: array.array("B", data),
    "array of words": lambda data: array.array("H", data),
    "ctypes": lambda data: (ctypes.c_ubyte * len(data))(*data),
    "mmap": mapped,
}


class Subclass(bytes):
    """Another `bytes`."""


@pytest.mark.parametrize("make", [*BUFFERS.values(), Subclass], ids=[*BUFFERS, "subclass"])
def test_every_buffer_is_its_bytes(make):
    key = MLDSA44PrivateKey.from_seed_bytes(make(bytes(32)))
    signature = key.sign_deterministic(make(MESSAGE), make(MESSAGE))
    assert signature == key.sign_deterministic(MESSAGE, MESSAGE)
    public = key.public_key()
    public = type(public).from_public_bytes(make(public.public_bytes_raw()))
    public.verify(make(signature), make(MESSAGE), make(MESSAGE))
    assert verify_batch([(public, make(signature), make(MESSAGE), make(MESSAGE))]) == [True]
    assert sign_batch([(key, make(MESSAGE), make(MESSAGE))], deterministic=True) == [signature]
    hasher = MLDSAMuHasher(public, make(MESSAGE))
    hasher.update(make(MESSAGE))
    assert key.sign_mu(make(hasher.finalize()), deterministic=True) == signature


@pytest.mark.parametrize("wrong", ["text", 5, None, [1, 2], 1.5, object(), (b"m",)])
def test_other_types_are_refused(wrong):
    key = MLDSA44PrivateKey.generate()
    public, signature = key.public_key(), key.sign(b"m")
    calls = [
        lambda: key.sign(wrong),
        lambda: key.sign_deterministic(wrong),
        lambda: key.sign_mu(wrong),
        lambda: public.verify(wrong, b"m"),
        lambda: public.verify(signature, wrong),
        lambda: public.verify_mu(signature, wrong),
        lambda: MLDSA44PrivateKey.from_seed_bytes(wrong),
        lambda: MLDSA44PrivateKey.from_encoded_bytes(wrong),
        lambda: type(public).from_public_bytes(wrong),
        lambda: MLDSAMuHasher(public).update(wrong),
        lambda: MLDSAMuHasher(wrong),
        lambda: key.sign(b"m", prehash=wrong if not isinstance(wrong, (str, type(None))) else 5),
    ]
    if wrong is not None:
        calls += [lambda: key.sign(b"m", wrong), lambda: public.verify(signature, b"m", wrong)]
    for call in calls:
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("text", ["text", 5, None])
def test_an_error_names_the_argument(text):
    key = MLDSA44PrivateKey.generate()
    public, kind = key.public_key(), type(text).__name__
    calls = {
        "message": lambda: key.sign(text),
        "signature": lambda: public.verify(text, b"m"),
        "mu": lambda: key.sign_mu(text),
        "seed": lambda: MLDSA44PrivateKey.from_seed_bytes(text),
        "private key": lambda: MLDSA44PrivateKey.from_encoded_bytes(text),
        "public key": lambda: type(public).from_public_bytes(text),
    }
    if text is not None:
        calls["context"] = lambda: key.sign(b"m", text)
    for name, call in calls.items():
        with pytest.raises(TypeError) as raised:
            call()
        assert str(raised.value) == f"{name} must be bytes-like, not {kind}"


def test_a_released_memoryview():
    view = memoryview(b"m")
    view.release()
    with pytest.raises(ValueError, match="released"):
        MLDSA44PrivateKey.generate().sign(view)


def test_no_reference_is_kept():
    key, message = MLDSA44PrivateKey.generate(), bytearray(b"message")
    before = sys.getrefcount(message)
    signature = key.sign(message)
    assert sys.getrefcount(message) == before
    message.append(1)  # BufferError while a view is exported
    key.public_key().verify(signature, b"message")
