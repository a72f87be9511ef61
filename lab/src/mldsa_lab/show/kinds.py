"""The kinds of record that are shown as figures: their figures, tables and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.blocks import block_figures
from mldsa_lab.estimate.cold import cold_figures
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.estimate.interval import FEWEST_ROUNDS
from mldsa_lab.estimate.memory import memory_figures
from mldsa_lab.records import FRESH, Record
from mldsa_lab.show.figure_tables import FIRST, LAST, Bars, SpreadColumns, TableLayout
from mldsa_lab.show.format import Unit, plain
from mldsa_lab.sizes import OBJECTS, raw_bytes

_COMMON = ("implementation", "backend", "build", "key")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record. ``name``: as the page's title has it."""

    name: str
    headline: Callable[[Record, Sequence[Figure]], str]
    figures: Callable[[Record, float], list[Figure]]
    layouts: Callable[[Record], tuple[TableLayout, ...]]
    method: str
    about: Callable[[Record], str] = lambda record: ""
    notes: Callable[[Record], list[str]] = lambda record: []


def _block_layouts(record: Record) -> tuple[TableLayout, ...]:
    row = record.blocks[0]
    threads = {v.threads for v in record.validations}
    slots = [SpreadColumns(f"share of {s}", s, "threads", LAST) for s in row.slot_seconds]
    over = SpreadColumns("block", "{value} threads", "threads")
    columns = (
        SpreadColumns("block", "{value} threads", "threads", FIRST, spare=1),
        *([SpreadColumns("block", "{value} threads", "threads", LAST)] if len(threads) > 1 else []),
        SpreadColumns("scaling", "scaling", "threads", LAST, spare=3),
        SpreadColumns("signature", "a signature, {value} threads", "threads", FIRST, spare=2),
        SpreadColumns("cold_ratio", "× warm", "threads", LAST, spare=4),
        *slots,
    )
    rows = ("set", *_COMMON, "batch")
    title = "A block, {caches} caches"
    made = [TableLayout(title, ("caches",), rows, columns, over, series=("set", "key"))]
    if len(threads) > 2:
        made.append(
            TableLayout("A block over threads, {caches} caches", ("caches",), rows, (over,))
        )
    return tuple(made)


def _block_headline(record: Record, figures: Sequence[Figure]) -> str:
    """The fastest verification of the first set, on all threads."""
    blocks = [f for f in figures if f.name == "block" and f.keys.get("caches") == "warm"]
    blocks = [f for f in blocks if f.keys["set"] == blocks[0].keys["set"]]
    best = min(blocks, key=lambda f: f.value or 0.0, default=None)
    if best is None or best.value is None:
        return record.blocks[0].block
    threads = best.keys["threads"]
    text = f"{best.keys['set']}: {record.blocks[0].verifications:,} verifications take "
    text += f"{plain(best.value, Unit(1e6, 'ms'))} ms on {threads} threads"
    slots = record.blocks[0].slot_seconds
    if slots:
        name = min(slots, key=lambda slot: slots[slot])
        text += f", {100 * best.value / (slots[name] * 1e9):.2g} % of {name}"
    return text


def _block_about(record: Record) -> str:
    row = record.blocks[0]
    keys = row.verifications // row.uses
    of = "a key each" if row.uses == 1 else f"{keys:,} keys, {row.uses:,} uses of each"
    slots = ", ".join(f"{name} {seconds:g} s" for name, seconds in row.slot_seconds.items())
    return f"{row.verifications:,} verifications of each set, {of}" + (
        f"; shares of slots: {slots}" if slots else ""
    )


def _block_notes(record: Record) -> list[str]:
    row, made = record.blocks[0], []
    if any(v.cold for v in record.validations):
        made.append(
            f"Cold: before each pass every thread reads {row.cold_bytes or 0:,} bytes of other "
            f"memory twice; the largest cache has {row.cache_bytes or 0:,}. So each key, signature "
            "and table comes from memory at its first use."
        )
    if len({v.round for v in record.validations}) < FEWEST_ROUNDS:
        made.append(f"No interval below {FEWEST_ROUNDS} rounds.")
    measured = {v.variant for v in record.validations}
    every = [v for w in record.workers for v in w.variants if v.id in measured and v.note]
    return made + list(dict.fromkeys(f"{v.implementation} {v.key}: {v.note}." for v in every))


def brief_block(figures: Sequence[Figure]) -> tuple[list[Figure], TableLayout]:
    """Return what a document has room for: warm caches on the fewest and the most threads, and on
    the most the ratio of cold caches and the share of the shortest slot."""
    shares = {f.name: f.value or 0.0 for f in figures if f.name.startswith("share of ")}
    slot = max(shares, key=lambda name: shares[name], default="")
    chosen = [f for f in figures if (f.keys.get("caches") == "warm") != (f.name == "cold_ratio")]
    columns = (
        SpreadColumns("block", "{value} threads", "threads", FIRST),
        SpreadColumns("block", "{value} threads", "threads", LAST),
        SpreadColumns("cold_ratio", "cold over warm", "threads", LAST),
        SpreadColumns(slot, slot.removeprefix("share of "), "threads", LAST),
    )
    chosen = [f for f in chosen if f.value is not None]
    return chosen, TableLayout("", (), ("set", "implementation", "key", "batch"), columns)


def _memory_layouts(record: Record) -> tuple[TableLayout, ...]:
    columns = tuple(
        SpreadColumns(name, title, spare=spare)
        for name, title, spare in (
            ("stack", "stack", 0), ("heap", "heap", 0), ("heap_each", "heap of one", 0),
            ("allocations", "allocations", 2), ("kept", "key", 0), ("attempts", "attempts", 1),
            ("read", "read", 0), ("written", "written", 0),
            ("first_misses", "misses of 32 KiB", 3), ("last_misses", "of 1 MiB", 3),
        )
    )  # fmt: skip
    bars = (
        Bars("Stack, heap and key", ("stack", "heap", "kept"), ("stack", "heap", "key made ready")),
        Bars("Read and written", ("read", "written"), ("read", "written")),
    )
    rows = ("operation", *_COMMON, "batch_size", "threads")
    return (TableLayout("Memory, {set}", ("set",), rows, columns, bars=bars, of_bars="operation"),)


def _memory_notes(record: Record) -> list[str]:
    made = []
    for name in dict.fromkeys(row.set for row in record.memories):
        sizes = ", ".join(f"{o} {size:,}" for o in OBJECTS if (size := raw_bytes(name, o)))
        made += [f"{name}, bytes: {sizes}."] if sizes else []
    return made


def _cold_layouts(record: Record) -> tuple[TableLayout, ...]:
    over = SpreadColumns("cost", "{value}", "call")
    rows = ("language", *_COMMON)
    title = "{set} {operation}: cost of the n-th call of a process"
    return (
        TableLayout(title, ("set", "operation"), rows, (over,), over, series=("implementation",)),
    )


def _cold_headline(record: Record, figures: Sequence[Figure]) -> str:
    """The range over implementations of what the first call costs, in multiples of the last."""
    first = [f for f in figures if f.name == "over_last" and f.keys["call"] == 1]
    named = [f for f in first if f.keys["operation"] == first[0].keys["operation"]]
    named = [f for f in named if f.keys["set"] == first[0].keys["set"]]
    values = sorted(f.value for f in named if f.value is not None)
    if not values:
        return "Cost of the first operations of a process"
    of = f"{named[0].keys['set']} {named[0].keys['operation']}"
    span = f"{values[0]:.3g}" + (f" to {values[-1]:.3g}" if len(values) > 1 else "")
    return f"{of}: the first call of a process costs {span} times as much as a late one"


BLOCK = Kind(
    "block",
    _block_headline,
    block_figures,
    _block_layouts,
    "Threads share a block in equal parts, in an order in which neighbours lie far apart. Its "
    "time is from the common start to the end of the last thread, by single calls or by calls "
    "of a batch interface. Keys are read, and expanded for the key form expanded, before the "
    "clock starts; signatures are read while it runs. Each round has fresh processes and counts "
    "once; intervals are Student's over rounds. Before anything was timed every verifier "
    "accepted the whole block, and rejected exactly an altered signature, message and key in "
    "another one. The verdicts of every timed pass are compared again.",
    _block_about,
    _block_notes,
)
MEMORY = Kind(
    "memory",
    lambda record, figures: "Memory of each operation",
    lambda record, confidence: memory_figures(record),
    _memory_layouts,
    "Stack and heap are the maximum of each over the inputs, not necessarily at the same moment. A "
    "key made ready is kept while it is used. Reads and writes are all of a core's, those that its "
    "first cache serves too; caches are simulated, warm, and the same on every machine.",
    notes=_memory_notes,
)
COLD = Kind(
    "cold start",
    _cold_headline,
    cold_figures,
    _cold_layouts,
    "Each round starts a process for each row, prepares one input, and times 1,000 operations "
    "on it one by one, by the wall clock, without a warm-up. From the fifth on a column is the "
    "median of the calls within 10 %. Intervals are Student's over processes.",
)


def kind_of(record: Record) -> Kind | None:
    """Return the kind of a record that is shown as figures; None for one of operations."""
    if record.blocks:
        return BLOCK
    if record.memories:
        return MEMORY
    return COLD if any(s.shape == FRESH for s in record.samples) else None
