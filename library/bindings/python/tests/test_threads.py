"""Threads, forks and subinterpreters."""

import os
import signal
import subprocess
import sys
import threading
import traceback
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


def fork(work):
    """Run `work` in a forked child and return its status: 0 if it returns True.

    A child that hangs is killed.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(20)
            code = int(work() is not True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_during(call, work):
    """As `fork`, while another thread is in `call`, which releases the GIL."""
    for _ in range(100):
        started, ended = threading.Event(), []

        def other(started=started, ended=ended):
            started.set()
            call()
            ended.append(None)

        thread = threading.Thread(target=other)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # the GIL moves only when it is released
        try:
            thread.start()
            started.wait()
            # With the GIL: where `call` has not ended here, it has not in the child.
            status = None if ended else fork(lambda ended=ended: bool(ended) or work())
        finally:
            sys.setswitchinterval(interval)
            thread.join()
        if status is not None:
            return status
    raise AssertionError("the call ended before every fork")


def sign_in_threads(key):
    """Return whether a batch in two threads has valid signatures."""
    jobs = [(key, bytes([n])) for n in range(20)]
    signatures = sign_batch(jobs, threads=2)
    public = key.public_key()
    verified = [(public, s, m) for s, (_, m) in zip(signatures, jobs, strict=True)]
    return verify_batch(verified, threads=2) == [True] * 20


pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_forked_child_signs_in_threads_of_its_own():
    key = MLDSA65PrivateKey.generate()
    jobs = [(key, bytes([n])) for n in range(20)]
    sign_batch(jobs, threads=2)  # the parent's threads, which the child does not have
    read, write = os.pipe()

    def work():
        os.write(write, sign_batch(jobs, threads=2)[0][:32])
        # A child of the child, by whose time the child's threads exist.
        return sign_in_threads(key) and fork(lambda: sign_in_threads(key)) == 0

    assert fork(work) == 0
    # Parent and child draw their own randomness.
    assert os.read(read, 32) != sign_batch(jobs, threads=2)[0][:32]


def test_a_child_that_is_forked_during_a_batch_signs_in_threads():
    key = MLDSA65PrivateKey.generate()
    large = [(key, LARGE)] * 2
    assert fork_during(lambda: sign_batch(large, threads=2), lambda: sign_in_threads(key)) == 0
    assert fork_during(lambda: sign_batch(large), lambda: sign_in_threads(key)) == 0
    generate = MLDSA65PrivateKey.generate_batch
    assert (
        fork_during(lambda: generate(9000, threads=2), lambda: len(generate(9, threads=2)) == 9)
        == 0
    )


def test_a_child_that_is_forked_during_an_update_uses_the_hasher():
    public = MLDSA65PrivateKey.from_seed_bytes(bytes(32)).public_key()

    def mu(*pieces):
        alone = MLDSAMuHasher(public)
        for piece in pieces:
            alone.update(piece)
        return alone.finalize()

    def work(call):
        hasher = MLDSAMuHasher(public)
        hasher.update(b"before")
        assert fork_during(lambda: hasher.update(LARGE), lambda: call(hasher)) == 0
        return hasher

    # The child's hasher has the state before the update.
    hasher = work(lambda hasher: hasher.copy().finalize() == mu(b"before"))
    work(lambda hasher: hasher.finalize() == mu(b"before"))
    work(lambda hasher: hasher.update(b"x") is None and hasher.finalize() == mu(b"beforex"))
    piece = bytes(10_000)  # hashed without the GIL, as LARGE is
    work(lambda hasher: hasher.update(piece) is None and hasher.finalize() == mu(b"before", piece))
    work(lambda hasher: fork(lambda: hasher.copy().finalize() == mu(b"before")) == 0)
    # In the parent the update goes on.
    assert mu(b"before") != hasher.finalize()


def test_a_child_that_is_forked_while_threads_wait_for_an_update():
    hasher = MLDSAMuHasher(MLDSA65PrivateKey.from_seed_bytes(bytes(32)).public_key())
    with ThreadPoolExecutor(3) as pool:
        updates = [pool.submit(hasher.update, LARGE) for _ in range(3)]
        statuses = [fork(lambda: len(hasher.copy().finalize()) == 64) for _ in range(3)]
        for update in updates:
            update.result()
    assert statuses == [0] * 3


# A process and its child with the same number, 1, in two namespaces.
SAME_NUMBER = """
import ctypes, os
from mldsa_lanes import MLDSA65PrivateKey, sign_batch
key = MLDSA65PrivateKey.generate()
sign_batch([(key, b"m")] * 20, threads=2)
CLONE_NEWPID = 0x20000000
assert ctypes.CDLL(None).unshare(CLONE_NEWPID) == 0
number = os.getpid()
child = os.fork()
if not child:
    os._exit(int(os.getpid() != number or len(sign_batch([(key, b"m")] * 20, threads=2)) != 20))
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


def test_a_child_with_the_number_of_its_parent():
    try:
        subprocess.run([*UNSHARE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no namespaces of processes for this user")
    # A process with the number 1 ignores SIGALRM: a hang ends by the timeout and --kill-child.
    command = [*UNSHARE, sys.executable, "-W", "ignore", "-c", SAME_NUMBER]
    done = subprocess.run(command, timeout=60)
    assert done.returncode == 0


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
