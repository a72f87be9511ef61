"""Batches: the outcomes of single calls, in the order of the jobs."""

import pytest
from conftest import SETS
from mldsa_lanes import InvalidSignature, MLDSA65PrivateKey, sign_batch, verify_batch


def mixed_jobs():
    """Jobs of all sets, with compact and expanded keys, with and without contexts."""
    keys = [s.private.from_seed_bytes(bytes([s.number]) * 32) for s in SETS]
    keys += [key.expand() for key in keys]
    messages = [bytes([n]) * n for n in range(40)]
    contexts = [(), (None,), (b"c",)]
    return [
        (keys[n % len(keys)], message, *contexts[n % len(contexts)])
        for n, message in enumerate(messages)
    ]


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_signatures_are_those_of_single_calls(threads):
    jobs = mixed_jobs()
    signatures = sign_batch(iter(jobs), deterministic=True, threads=threads)
    assert signatures == [key.sign_deterministic(*rest) for key, *rest in jobs]


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_hedged_signatures_are_valid(threads):
    jobs = mixed_jobs()
    signatures = sign_batch(jobs, threads=threads)
    assert signatures != sign_batch(jobs, threads=threads)
    for (key, *rest), signature in zip(jobs, signatures, strict=True):
        key.public_key().verify(signature, *rest)


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_outcomes_of_verification_are_those_of_single_calls(threads):
    jobs = []
    for n, (key, message, *context) in enumerate(mixed_jobs()):
        signature = key.sign_deterministic(message, *context)
        changed = bytes([signature[0] ^ 1]) + signature[1:]
        signature = [signature, changed, signature[:-1], b"", signature][n % 5]
        public = key.public_key()
        jobs.append((public.expand() if key.is_expanded else public, signature, message, *context))

    def valid(key, *rest):
        try:
            key.verify(*rest)
        except InvalidSignature:
            return False
        return True

    expected = [valid(*job) for job in jobs]
    assert True in expected and False in expected
    assert verify_batch(iter(jobs), threads=threads) == expected


def test_no_jobs():
    assert sign_batch([]) == []
    assert verify_batch((), threads=2) == []
    assert MLDSA65PrivateKey.generate_batch(0) == []


def test_a_wrong_job_is_named():
    key = MLDSA65PrivateKey.generate()
    public, good = key.public_key(), (key, b"m")
    for job in (key, (key,), (public, b"m"), (key, "text"), (key, b"m", 5), (key, b"m", b"c", 1)):
        with pytest.raises(TypeError, match=r"job 1 must be \(private_key, data\)"):
            sign_batch([good, job])
    for job in ((key, b"", b"m"), (public, b"s"), (public, "s", b"m"), (public, b"", b"m", 5)):
        with pytest.raises(TypeError, match=r"job 0 must be \(public_key, signature, data\)"):
            verify_batch([job])
    with pytest.raises(ValueError, match=r"job 1: .*context of 256 bytes"):
        sign_batch([good, (key, b"m", bytes(256))])
    with pytest.raises(ValueError, match=r"job 0: .*context of 256 bytes"):
        verify_batch([(public, b"", b"m", bytes(256))])
    with pytest.raises(TypeError):
        sign_batch(5)


def test_wrong_numbers_of_threads():
    with pytest.raises(ValueError, match="threads must be at most 1024, is 1025"):
        sign_batch([], threads=1025)
    with pytest.raises(OverflowError):
        verify_batch([], threads=-1)
    with pytest.raises(TypeError):
        verify_batch([], threads="2")


def test_errors_of_an_iterable_pass():
    def jobs():
        yield (MLDSA65PrivateKey.generate(), b"m")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sign_batch(jobs())
