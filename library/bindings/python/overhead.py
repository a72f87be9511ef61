"""Measure what a call from Python costs beyond the Rust call (ML-DSA-65, microseconds).

Python and Rust take turns in one process, with the same messages and so the same rejection traces.
Prints the median of the paired differences and its 95 % confidence interval. `make figures
PART=overhead` builds the module with the feature `timing`, which this needs.
"""

import sys
import time

from mldsa_lanes import MLDSA65PrivateKey, _native

PAIRS = int(sys.argv[1]) if sys.argv[1:] else 2000
CALLS = 10


def time_python(call):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return time.perf_counter_ns() - start


def report(name, python, rust):
    """Time pairs of CALLS operations, every other pair in reverse order."""
    times = []
    for pair in range(PAIRS):
        message = pair.to_bytes(32, "big")
        if pair % 2:
            alone = rust(message)
            times.append((python(message), alone))
        else:
            times.append((python(message), rust(message)))
    differences = sorted((ours - alone) / CALLS / 1000 for ours, alone in times)
    mean = sum(alone for _, alone in times) / PAIRS / CALLS / 1000
    half = 0.98 * PAIRS**0.5  # ranks of the sign test
    low, high = (differences[int(PAIRS / 2 + side * half)] for side in (-1, 1))
    print(
        f"{name}: Rust {mean:.1f} us, Python adds {differences[PAIRS // 2]:.2f} us "
        f"({low:.2f} to {high:.2f})"
    )


def main():
    if not hasattr(_native, "time_sign"):
        sys.exit(
            "overhead: this module lacks the feature `timing`; run `make figures PART=overhead`"
        )
    key = MLDSA65PrivateKey.from_seed_bytes(bytes(32))
    public = key.public_key()
    signatures = {}

    def signed(message):
        if message not in signatures:
            signatures[message] = key.sign_deterministic(message)
        return signatures[message]

    def time_verify(message):
        signature = signed(message)
        return time_python(lambda: public.verify(signature, message))

    report(
        "sign",
        lambda m: time_python(lambda: key.sign_deterministic(m)),
        lambda m: _native.time_sign(key, m, CALLS),
    )
    report(
        "verify",
        time_verify,
        lambda m: _native.time_verify(public, signed(m), m, CALLS),
    )


main()
