"""Making a pool, in memory or in a file: blocks are traced side by side and kept in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, tee
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import workforce
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.pool import ROWS, Checks, Pool, join_pools
from mldsa_lab.inputs.source import Block, Generated, Source
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED
from mldsa_lab.workforce import Workforce, WorkItem

BLOCK = 1 << 13
"""Inputs traced in one call: half a second's work."""
_SMALL_BLOCK = 1000
"""The same of a pool that is kept in memory."""
assert ROWS % BLOCK == 0


@dataclass
class Tally:
    """Counts of traces that are not kept in memory. ``own_keys``: each signature has a key of its
    own. ``passed``: attempts that pass z, r0, and both. ``histogram``: signatures by their number
    of attempts."""

    set: str
    own_keys: bool = True
    passed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def signatures(self) -> int:
        return int(self.histogram.sum())

    @property
    def attempts(self) -> int:
        return int(self.histogram @ np.arange(len(self.histogram)))

    @property
    def longest(self) -> int:
        return len(self.histogram) - 1

    def add(self, table: TraceTable) -> None:
        """Count these traces too."""
        z, r = (table.first_failing(check) == PASSED for check in "zr")
        self.passed += [z.sum(), r.sum(), (z & r).sum()]
        counts = np.bincount(table.attempts())
        both = np.zeros(max(len(counts), len(self.histogram)), dtype=np.int64)
        for part in (counts, self.histogram):
            both[: len(part)] += part
        self.histogram = both

    def rows(self) -> list[tuple[str, float, float, float | None]]:
        """Name, share or mean, its expectation, and their distance in standard errors:
        None of hint failures under few keys, whose share depends on the key (its t0)."""
        model = RejectionModel.for_set(self.set)
        mean, expected = self.attempts / self.signatures, model.expected_attempts
        deviation = (expected * (expected - 1) / self.signatures) ** 0.5
        rows: list[tuple[str, float, float, float | None]] = [
            ("attempts", mean, expected, (mean - expected) / deviation)
        ]
        z, r, reached = self.passed.tolist()
        for name, hits, trials, p, error in (
            ("z passes", z, self.attempts, model.p_z, 0.0),
            ("r0 passes", r, self.attempts, model.p_r, 0.0),
            ("hint fails", reached - self.signatures, reached, model.fail_h, model.fail_h_error),
        ):
            spread = (p * (1 - p) / trials + error**2) ** 0.5
            known = self.own_keys or name != "hint fails"
            rows.append((name, hits / trials, p, (hits / trials - p) / spread if known else None))
        return rows


def trace_pool(
    spec: Spec, size: int, *, threads: int = 1, progress: Callable[[int], None] = lambda done: None
) -> Pool:
    """The first ``size`` inputs of ``spec``, traced with every check by threads of this process;
    the same for any number of them. ``progress`` gets the number done."""
    blocks = Generated(spec, size).blocks(_SMALL_BLOCK)
    with workforce.threads(threads) as force:
        return join_pools(list(_trace_blocks(blocks, force, "all", progress)))


def make_pool(
    source: Source,
    path: Path,
    force: Workforce,
    checks: Checks = "reached",
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Tally:
    """Trace all inputs of ``source`` and write the pool file ``path``.

    The file depends on the source and ``checks`` alone, byte for byte: not on who worked. Memory
    holds a few blocks, whatever the count. Whatever ends the job early, what was traced is kept
    in ``unfinished(path)``, from which the next job with the same source goes on. ``progress`` gets
    the number of inputs done.
    """
    from mldsa_lab.inputs.poolfile import PoolWriter  # of an extra

    rest = unfinished(path)
    tally = Tally(source.set, source.spec is not None and source.spec.per_key == 1)
    with PoolWriter(path, source.set, checks, source.spec, key=source.key, keep=rest) as writer:
        for part in _read_unfinished(rest, source, checks):
            writer.write(part)
            tally.add(part.table)
        progress(tally.signatures)
        pools = _trace_blocks(source.blocks(BLOCK, tally.signatures), force, checks, progress)
        while group := list(islice(pools, ROWS // BLOCK)):
            part = join_pools(group)
            writer.write(part)
            tally.add(part.table)
    with suppress(OSError):
        rest.unlink(missing_ok=True)
    return tally


def unfinished(path: Path) -> Path:
    """Where the traces of a job that was ended early are kept."""
    return path.with_name(f"{path.name}.unfinished")


def _read_unfinished(rest: Path, source: Source, checks: Checks) -> Iterator[Pool]:
    """The whole row groups of an earlier job of the same inputs, if there is one."""
    from mldsa_lab.inputs.poolfile import read_parts

    if not rest.exists():
        return
    most = source.count
    start = 0
    for part in read_parts(rest):
        same = (part.spec, part.checks, part.set) == (source.spec, checks, source.set)
        same = same and (most is None or start + len(part) <= most)
        if not same or (part.listed is not None and not _is_same_list(source, start, part)):
            raise LabError(
                f"{rest}: is of a job with other inputs; delete it, or choose another output"
            )
        if len(part) % BLOCK:
            return
        start += len(part)
        yield part


def _is_same_list(source: Source, start: int, part: Pool) -> bool:
    """Compare the inputs of ``part`` with those of ``source`` from ``start`` on."""
    block = next(source.blocks(len(part), start), None)
    return block is not None and block.listed == part.listed


def trace_block(block: Block, checks: Checks) -> TraceTable:
    """The traces of a block, by this process."""
    return load().trace(block.set, block.inputs(), checks)


def _trace_blocks(
    blocks: Iterable[Block], force: Workforce, checks: Checks, progress: Callable[[int], None]
) -> Iterator[Pool]:
    """The traces of each block, in order."""
    started, traced = tee(blocks)
    items = (
        WorkItem(f"tracing inputs {b.start} to {b.start + b.count - 1}", trace_block, (b, checks))
        for b in started
    )
    for block, table in zip(traced, workforce.in_order(items, force), strict=True):
        progress(block.start + block.count)
        yield Pool(table, block.index(), checks, block.spec, block.listed)
