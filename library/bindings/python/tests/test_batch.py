"""Batches: the outcomes of single calls, in the order of the jobs."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def test_errors_of_a_job_pass():
    key = MLDSA65PrivateKey.generate()
    released = memoryview(b"m")
    released.release()
    jobs = [(key, b"m"), (key, released)]
    for call in (lambda: sign_batch(jobs), lambda: sign_batch([jobs[0], (key, b"m", released)])):
        with pytest.raises(ValueError, match="released") as raised:
            call()
        if sys.version_info >= (3, 11):  # PEP 678
            assert raised.value.__notes__ == ["in job 1"]
    with pytest.raises(TypeError, match=r"job 0 must be .*: message must be bytes-like") as raised:
        sign_batch([(key, "text")])
    assert isinstance(raised.value.__cause__, TypeError)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688")
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt, ZeroDivisionError])
def test_an_error_of_a_buffer_passes(error):
    class Buffer:
        def __buffer__(self, flags):
            raise error("mine")

    key = MLDSA65PrivateKey.generate()
    with pytest.raises(error, match="mine"):
        sign_batch([(key, Buffer())])
    with pytest.raises(error, match="mine"):
        verify_batch([(key.public_key(), b"", Buffer())])


LIMITED = """
import itertools, mmap, resource
from pathlib import Path
from mldsa_lanes import MLDSA65PrivateKey, sign_batch
key, data = MLDSA65PrivateKey.generate(), mmap.mmap(-1, 1 << 30)
used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
try:
    CALL
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("sign_batch([(key, data)])", "MemoryError"),
        ("sign_batch(itertools.repeat((key, b'm')))", "MemoryError"),
        ("MLDSA65PrivateKey.generate_batch(10**6)", "MemoryError"),
        ("MLDSA65PrivateKey.generate_batch(2**42)", "MemoryError"),
        ("MLDSA65PrivateKey.generate_batch(2**60)", "MemoryError"),
        ("MLDSA65PrivateKey.generate_batch(2**64 - 1)", "MemoryError"),
        ("MLDSA65PrivateKey.generate_batch(2**64)", "OverflowError"),
        ("MLDSA65PrivateKey.generate_batch(-1)", "OverflowError"),
    ],
)
def test_too_little_memory(call, error):
    command = [sys.executable, "-c", LIMITED.replace("CALL", call)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, error), done.stderr


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_threads_of_former_batches_end():
    key = MLDSA65PrivateKey.generate()
    before = set(Path("/proc/self/task").iterdir())
    for threads in range(2, 41):
        sign_batch([(key, b"m")], threads=threads)
    # Threads end after the call that does without them.
    for _ in range(1000):
        kept = set(Path("/proc/self/task").iterdir()) - before
        if len(kept) <= 40:
            break
        time.sleep(0.01)
    assert len(kept) <= 40


KEY = MLDSA65PrivateKey.from_seed_bytes(bytes(32)).expand()
PUBLIC = KEY.public_key().expand()
SIGNATURE = KEY.sign(b"m")
BATCHES = {
    "sign_batch": lambda threads: sign_batch([(KEY, b"m")] * 200_000, threads=threads),
    "verify_batch": lambda threads: verify_batch(
        [(PUBLIC, SIGNATURE, b"m")] * 400_000, threads=threads
    ),
    "generate_batch": lambda threads: MLDSA65PrivateKey.generate_batch(100_000, threads=threads),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", BATCHES)
def test_signals_are_handled_during_a_batch(batch, threads):
    """A handler that raises ends the batch. Signals that arrive before it runs count as one."""
    assert threading.current_thread() is threading.main_thread()
    signals = []

    def handle(*_):
        signals.append(None)
        if len(signals) == 3:
            raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            BATCHES[batch](threads)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
