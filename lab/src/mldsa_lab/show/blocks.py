"""What validating a block takes, as tables, rows and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mldsa_lab.estimate.blocks import BlockTime, BlockTimes, VerifierTimes
from mldsa_lab.estimate.interval import FEWEST_ROUNDS, Interval
from mldsa_lab.show.format import UNKNOWN, Shown, choose_unit, estimate
from mldsa_lab.show.grid import Column, Grid, markdown

CACHES = {False: "warm", True: "cold"}


def calls(verifier: VerifierTimes) -> str:
    """How it is called, in words."""
    return f"batch ≤ {verifier.batch:,}" if verifier.batch else "single"


def who(verifier: VerifierTimes) -> str:
    """Implementation and, where it is not bytes, the form of key."""
    v = verifier.variant
    return f"{v.implementation}{' expanded' if v.key == 'expanded' else ''}"


def about(found: BlockTimes) -> str:
    """What the block is, in one sentence."""
    row = found.row
    keys = row.verifications // row.uses
    of = "a key each" if row.uses == 1 else f"{keys:,} keys, {row.uses:,} uses of each"
    return f"{row.verifications:,} verifications of each set, {of}"


def share(found: BlockTimes, time: BlockTime, slot: str) -> Interval:
    """The percentage of a slot that a block takes."""
    return time.block_ns.times(100 / (found.row.slot_seconds[slot] * 1e9))


def grids(found: BlockTimes) -> list[Grid]:
    """A table for each state of the caches; and one over threads, where there are more than two."""
    made = [_grid(found, cold) for cold in found.caches]
    if len(found.threads) > 2:
        made += [_over_threads(found, cold) for cold in found.caches]
    return made


def _grid(found: BlockTimes, cold: bool) -> Grid:
    first, most = found.threads[0], found.threads[-1]
    rows = found.verifiers
    at = {n: [v.at(n, cold=cold) for v in rows] for n in (first, most)}
    unit = choose_unit([t.block_ns.value for t in at[most] if t], "ns")
    each = choose_unit([t.block_ns.value / found.row.verifications for t in at[first] if t], "ns")
    one = [_each(t, found) for t in at[first]]
    columns = [*_names(found)]
    for n in dict.fromkeys((first, most)):
        cells = [estimate(t.block_ns if t else None, unit) for t in at[n]]
        spare = 0 if n == most else 1
        title = f"{_threads(n)}, {unit.name}"
        columns.append(Column(title, cells, number=True, spare_interval=spare))

    def add(title: str, cells: list[Shown], spare: int = 0) -> None:
        columns.append(Column(title, cells, number=True, spare=spare, spare_interval=1))

    if most > first:
        add("scaling", [estimate(t.scaling if t else None) for t in at[most]], spare=3)
    add(f"a signature on {_threads(first)}, {each.name}", [estimate(t, each) for t in one], spare=2)
    if cold and len(found.caches) > 1:
        add("× warm", [estimate(t.cold_ratio if t else None) for t in at[most]], spare=4)
    for slot in found.row.slot_seconds:
        add(f"{slot}, %",
            [estimate(share(found, t, slot)) if t else UNKNOWN for t in at[most]])  # fmt: skip
    slots = ", ".join(f"{name} {seconds:g} s" for name, seconds in found.row.slot_seconds.items())
    shares = f"; shares with {_threads(most)} of {slots}" if slots else ""
    note = f"{about(found)}{shares}; a signature on {_threads(first)}"
    return Grid(f"A block, {CACHES[cold]} caches", note, tuple(columns), found.confidence,
                sortable=False)  # fmt: skip


def brief(found: BlockTimes) -> Grid:
    """What a document has room for: warm caches on the fewest and the most threads, and on the most
    what cold ones add and the share of the shortest slot."""
    rows = [v for v in found.verifiers if v.times]
    most = found.threads[-1]
    columns = [
        Column("set", [v.set for v in rows]),
        Column("by", [who(v) for v in rows]),
        Column("calls", [calls(v) for v in rows]),
    ]
    times = {n: [v.at(n, cold=False) for v in rows] for n in (found.threads[0], most)}
    unit = choose_unit([t.block_ns.value for t in times[most] if t], "ns")
    for n, at in times.items():
        cells = [estimate(t.block_ns if t else None, unit) for t in at]
        columns.append(Column(f"{_threads(n)}, {unit.name}", cells, number=True))
    cold = [v.at(most, cold=True) for v in rows]
    cells = [estimate(t.cold_ratio if t else None) for t in cold]
    columns.append(Column("cold over warm", cells, number=True))
    slots = found.row.slot_seconds
    if slots:
        slot = min(slots, key=lambda name: slots[name])
        cells = [estimate(share(found, t, slot)) if t else UNKNOWN for t in times[most]]
        columns.append(Column(f"of {slots[slot]:g} s, %", cells, number=True))
    return Grid("", "", tuple(columns), found.confidence, sortable=False)


def _over_threads(found: BlockTimes, cold: bool) -> Grid:
    columns = [*_names(found)]
    times = [t.block_ns.value for v in found.verifiers for t in v.times]
    unit = choose_unit(times, "ns")
    for n in found.threads:
        at = [v.at(n, cold=cold) for v in found.verifiers]
        cells = [estimate(t.block_ns if t else None, unit) for t in at]
        columns.append(Column(f"{_threads(n)}, {unit.name}", cells, number=True, spare_interval=1))
    title = f"A block over threads, {CACHES[cold]} caches"
    return Grid(title, about(found), tuple(columns), found.confidence, sortable=False)


def _names(found: BlockTimes) -> Iterator[Column]:
    rows = found.verifiers
    sets = [v.set if not i or rows[i - 1].set != v.set else "" for i, v in enumerate(rows)]
    yield Column("set", sets)
    yield Column("by", [who(v) for v in rows], head=True)
    yield Column("backend", [v.variant.backend for v in rows], spare=1)
    yield Column("calls", ["no batches" if v.lacking else calls(v) for v in rows])


def _each(time: BlockTime | None, found: BlockTimes) -> Interval | None:
    """A signature's part of a block on this many threads."""
    return None if time is None else time.block_ns.times(1 / found.row.verifications)


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def as_rows(found: BlockTimes) -> list[dict[str, Any]]:
    """A row for each verifier, number of threads and state of the caches; of a verifier that was
    not measured one row with the reason in `lacking`. Times are in ns."""
    made = []
    for v in found.verifiers:
        made += [_row(found, v, t) for t in v.times] or [_row(found, v, None)]
    return made


def _row(found: BlockTimes, v: VerifierTimes, t: BlockTime | None) -> dict[str, Any]:
    row = found.row
    slots = {
        name: None if t is None else _limits(share(found, t, name).times(0.01))
        for name in row.slot_seconds
    }
    return {
        "block": row.block, "set": v.set, "variant": v.variant.id,
        "implementation": v.variant.implementation, "version": v.variant.version,
        "language": v.language, "backend": v.variant.backend, "key": v.variant.key,
        "batch": v.batch, "lacking": v.lacking,
        "threads": t.threads if t else None, "caches": CACHES[t.cold] if t else None,
        "verifications": row.verifications, "uses": row.uses,
        "message_bytes": row.message_bytes, "cold_bytes": row.cold_bytes,
        "rounds": t.rounds if t else None,
        "block_ns": _limits(t.block_ns) if t else None,
        "signature_ns": _limits(_each(t, found)),
        "scaling": _limits(t.scaling) if t else None,
        "cold_ratio": _limits(t.cold_ratio) if t else None,
        "share_of_slot": slots,
        "started": found.record.run.started, "cpu": found.record.run.machine.get("cpu"),
    }  # fmt: skip


def _limits(interval: Interval | None) -> list[float | None] | None:
    """Value, lower and upper limit."""
    return None if interval is None else list(interval)


def remarks(found: BlockTimes) -> list[str]:
    """What a reader of the figures must know."""
    row = found.row
    made = []
    if True in found.caches:
        made.append(
            f"Cold: before each pass every thread reads {row.cold_bytes or 0:,} bytes of other "
            f"memory twice; the largest cache has {row.cache_bytes or 0:,}. So each key, signature "
            "and table comes from memory when it is first used."
        )
    if any(t.rounds < FEWEST_ROUNDS for v in found.verifiers for t in v.times):
        made.append(f"No interval below {FEWEST_ROUNDS} rounds.")
    made += dict.fromkeys(f"{v.lacking}." for v in found.verifiers if v.lacking)
    made += dict.fromkeys(
        f"{who(v)}: {v.variant.note}." for v in found.verifiers if v.variant.note and v.times
    )
    made += [f"Left out: {f.variant} {f.set or ''}: {f.reason}." for f in found.record.faults]
    return made


def as_markdown(found: BlockTimes) -> str:
    """The tables and remarks as Markdown."""
    parts = [f"### {g.title}\n\n{g.note}.\n\n{markdown(g)}" for g in grids(found)]
    return "\n".join([*parts, "".join(f"- {text}\n" for text in remarks(found))])
