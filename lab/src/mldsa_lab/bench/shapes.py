"""Runs of several operations as one sample: which shapes of them a bench measures of each variant.

A variant measured in another way than by single calls is a variant of its own in the record. Its
id is that of the announced one with the shape behind it: `mldsa-lanes:avx2:compact:batch-1000`,
`mldsa-native:avx2:compact:loop-100:threads-2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from mldsa_lab.errors import LabError
from mldsa_lab.records import MANY_KEYS, ONE_KEY, RANDOM, Variant
from mldsa_lab.sets import OPERATIONS, PARAMETER_SETS
from mldsa_lab.worker.protocol import Announced, Runs

if TYPE_CHECKING:
    from mldsa_lab.bench.fleet import Fleet

BATCH_SIZES = (1, 8, 32, 100, 1000, 10_000)
"""The batch sizes of `--batch all`."""
BATCH_SIZE_MAX = 100_000
GROUP = 100
"""Inputs that runs take in turn; of an ML-DSA set their mean trace is the expected one."""
LOOP = GROUP
"""Operations of a loop of single calls: its cost for one does not depend on their number."""
THREADS_BATCH = 1000
"""Size of each thread's batch where threads are measured."""
_PASS, _PASS_MOST = 1000, 10_000  # operations of the runs of one pass together


def runs_of(variant: Variant, inputs: int) -> Runs | None:
    """Return the runs of one pass over a group of inputs; None for single calls.

    There are as many different ones as a pass of about a thousand operations holds, and such that
    all inputs are used equally often if that takes no more than ten thousand.
    """
    if not variant.runs:
        return None
    size = variant.batch_size
    counts = [n for n in range(1, inputs + 1) if inputs % n == 0]
    equal = [n for n in counts if size % (inputs // n) == 0]
    few = [n for n in equal if n * size <= _PASS]
    many = [n for n in equal if n * size <= _PASS_MOST]
    uneven = [n for n in counts if n * size <= _PASS_MOST]
    count = (few[-1:] or many[:1] or uneven[-1:] or [1])[0]
    return Runs(variant.form, size, count, variant.threads)


def in_runs(variant: Variant, form: str, size: int, threads: int = 1) -> Variant:
    """Return the variant measured by runs of ``size`` operations, in single calls (`loop`) or in
    one call (`batch`), on each of so many ``threads``."""
    how = f"a loop of {size} single calls" if form == "loop" else f"calls of {size} operations"
    how += f", the inputs of {'many keys' if variant.key == 'compact' else 'one key'}"
    if threads > 1:
        how += f", on each of {threads} threads"
    shaped = structs.replace(
        variant,
        operations=tuple(o for o in variant.operations if o in OPERATIONS),
        mode="batch" if form == "batch" else "single",
        batch_size=size,
        threads=threads,
        note=f"{variant.note}; {how}" if variant.note else how,
    )
    return structs.replace(shaped, id=shaped.id_in(variant.build))


def role_of(variant: Variant, set_name: str) -> str:
    """Which inputs of a record runs of this variant take: an expanded key is one for all."""
    if set_name not in PARAMETER_SETS:
        return RANDOM
    return ONE_KEY if variant.key == "expanded" else MANY_KEYS


def shapes(
    announced: Announced, batch_sizes: Sequence[int], thread_counts: Sequence[int]
) -> list[tuple[str, int, int]]:
    """Return form, size and threads of each kind of runs to measure of an announced variant, in
    the order of the record.

    A batch interface is measured at all sizes; who has none, by a loop of single calls, once.
    """
    found: list[tuple[str, int, int]] = []
    batch = announced.mode == "batch"
    if batch_sizes and announced.batch_size >= max((LOOP, *batch_sizes) if batch else (LOOP,)):
        if batch:
            found += [("batch", size, 1) for size in batch_sizes]
        found.append(("loop", LOOP, 1))
    if thread_counts and announced.threads >= max(thread_counts):
        for threads in thread_counts:
            if announced.batch_size >= LOOP:
                found.append(("loop", LOOP, threads))
            if batch and announced.batch_size >= THREADS_BATCH:
                found.append(("batch", THREADS_BATCH, threads))
    return list(dict.fromkeys(found))


def shaped_variants(
    fleet: Fleet,
    variants: Sequence[Variant],
    batch_sizes: Sequence[int],
    thread_counts: Sequence[int],
    *,
    in_memory: bool = False,
) -> list[Variant]:
    """Take in the variants to measure in runs; LabError if none can be measured so.

    Of classical references, which are for comparison, only loops are measured. ``in_memory``: only
    batches, since a loop takes the memory of single calls.
    """
    found = [(v, shapes(fleet.announced[v.id], batch_sizes, thread_counts)) for v in variants]
    every = [s for _, several in found for s in several]
    names = ", ".join(dict.fromkeys(v.implementation for v in variants))
    if batch_sizes and not any(form == "batch" for form, _, _ in every):
        raise LabError(
            f"nothing to measure in batches: no chosen implementation has a batch interface that "
            f"takes {max(batch_sizes)} operations; chosen are {names}"
        )
    if thread_counts and not any(threads == max(thread_counts) for _, _, threads in every):
        raise LabError(
            f"nothing to measure on {max(thread_counts)} threads: no chosen implementation's "
            f"worker runs so many; chosen are {names}"
        )
    return [
        fleet.add_in_runs(in_runs(v, form, size, threads))
        for v, several in found
        for form, size, threads in several
        if form == "batch" or not in_memory
        if v.family == "ml-dsa" or form == "loop" or in_memory
    ]
