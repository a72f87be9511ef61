"""Threads, forks and subinterpreters."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from mldsa_lanes import MLDSA65PrivateKey, MLDSAMuHasher, sign_batch, verify_batch

LARGE = bytes(32 << 20)  # some 0.1 s of hashing


def works_beside(call):
    """Whether this thread goes on in Python while another is in `call`."""
    started, counted = threading.Event(), []

    def other():
        started.set()
        call()
        counted.append(None)

    thread = threading.Thread(target=other)
    # With this interval no thread is made to give the GIL up: it moves when it is released.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread.start()
        started.wait()
        steps = 0
        while not counted and steps < 1000:
            steps += 1
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    return steps == 1000


def test_the_gil_is_released():
    key = MLDSA65PrivateKey.generate()
    public, signature = key.public_key(), key.sign(LARGE)
    hasher = MLDSAMuHasher(public)
    calls = {
        "sign": lambda: key.sign(LARGE),
        "sign_deterministic": lambda: key.sign_deterministic(LARGE),
        "verify": lambda: public.verify(signature, LARGE),
        "update": lambda: hasher.update(LARGE),
        "sign_batch": lambda: sign_batch([(key, LARGE)]),
        "verify_batch": lambda: verify_batch([(public, signature, LARGE)], threads=2),
        "generate_batch": lambda: MLDSA65PrivateKey.generate_batch(2000),
    }
    held = [name for name, call in calls.items() if not works_beside(call)]
    assert not held
    # The test itself: with a call that holds the GIL it fails.
    assert not works_beside(lambda: bytes(LARGE).count(b"x"))


def test_many_threads_share_a_key():
    key = MLDSA65PrivateKey.generate().expand()
    public = key.public_key().expand()

    def sign(number):
        message = number.to_bytes(4, "big")
        signature = key.sign(message)
        public.verify(signature, message)
        return signature

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(sign, range(400)))) == 400


def test_many_threads_share_a_hasher():
    hasher = MLDSAMuHasher(MLDSA65PrivateKey.from_seed_bytes(bytes(32)).public_key())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hasher.update, [b"same"] * 1000))
    alone = MLDSAMuHasher(MLDSA65PrivateKey.from_seed_bytes(bytes(32)).public_key())
    alone.update(b"same" * 1000)
    assert hasher.finalize() == alone.finalize()


def test_many_threads_start_batches():
    key = MLDSA65PrivateKey.generate()

    def sign(threads):
        return len(sign_batch([(key, b"m")] * 20, threads=threads))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(sign, [1, 2, 3, 4] * 10)) == {20}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_signs_in_threads_of_its_own():
    key = MLDSA65PrivateKey.generate()
    jobs = [(key, bytes([n])) for n in range(20)]
    sign_batch(jobs, threads=2)  # the parent's threads, which the child does not have
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            signatures = sign_batch(jobs, threads=2)
            os.write(write, signatures[0][:32])
            public = key.public_key()
            verified = [(public, of, m) for of, (_, m) in zip(signatures, jobs, strict=True)]
            code = int(not all(verify_batch(verified, threads=2)))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    # Parent and child draw their own randomness.
    assert os.read(read, 32) != sign_batch(jobs, threads=2)[0][:32]


SUBINTERPRETER = """
import sys
import mldsa_lanes
program = '''
try:
    import mldsa_lanes
except ImportError as error:
    print("refused:", error, flush=True)
'''
if sys.version_info >= (3, 14):
    from concurrent import interpreters
    interpreters.create().exec(program)
else:
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    (getattr(interpreters, "run_string"))(interpreters.create(), program)
sys.stdout.flush()
mldsa_lanes.MLDSA65PrivateKey.generate().sign(b"m")
"""


def test_subinterpreters_are_refused():
    command = [sys.executable, "-c", SUBINTERPRETER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "refused: " in done.stdout and "subinterpreters" in done.stdout
