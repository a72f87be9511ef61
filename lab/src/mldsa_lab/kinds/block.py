"""Records of a validated block."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mldsa_lab.bench.workloads.block import BlockPlan
from mldsa_lab.estimate.blocks import block_figures, block_of
from mldsa_lab.estimate.figure import Figures
from mldsa_lab.estimate.interval import FEWEST_ROUNDS
from mldsa_lab.kinds.kind import ROW_KEYS, TableKind
from mldsa_lab.records import Record
from mldsa_lab.show.figure_tables import FIRST, LAST, Lines, SpreadColumns, TableLayout
from mldsa_lab.show.format import Unit, plain


def _block_layouts(record: Record) -> tuple[TableLayout, ...]:
    row = block_of(record)
    threads = {s.shape["threads"] for s in record.samples}
    time = SpreadColumns("time", "{value} threads", "threads", keys={"of": "block"})
    of_one = replace(time, title="a signature, {value} threads", keys={"of": "signature"})
    last = partial(replace, time, which=LAST)
    slots = [
        last(name="share", title=slot, keys={"of": "block", "slot": slot})
        for slot in row.slot_seconds
    ]
    columns = (
        replace(time, which=FIRST, spare=1),
        *([last()] if len(threads) > 1 else []),
        last(name="scaling", title="scaling", keys={}, spare=3),
        replace(of_one, which=FIRST, spare=2),
        last(name="ratio", title="× warm", keys={"against": "warm"}, spare=4),
        *slots,
    )
    rows = ("set", *ROW_KEYS, "batch")
    title = "A block, {caches} caches"
    lines = Lines("time", "threads", ("set", "key"), keys={"of": "block"})
    made = [TableLayout(title, ("operation", "caches"), rows, columns, (lines,))]
    if len(threads) > 2:
        made.append(
            TableLayout(
                "A block over threads, {caches} caches", ("operation", "caches"), rows, (time,)
            )
        )
    return tuple(made)


def _block_headline(record: Record, figures: Figures) -> str:
    """The fastest verification of the first set, on all threads."""
    blocks = list(figures.select("time", of="block", caches="warm"))
    blocks = [f for f in blocks if f.keys["set"] == blocks[0].keys["set"]]
    best = min(blocks, key=lambda f: f.value or 0.0, default=None)
    if best is None or best.value is None:
        return record.definitions[0].name
    threads = best.keys["threads"]
    text = f"{best.keys['set']}: {block_of(record).verifications:,} verifications take "
    text += f"{plain(best.value, Unit(1e6, 'ms'))} ms on {threads} threads"
    slots = block_of(record).slot_seconds
    if slots:
        name = min(slots, key=lambda slot: slots[slot])
        text += f", {100 * best.value / (slots[name] * 1e9):.2g} % of {name}"
    return text


def _block_about(record: Record) -> str:
    row = block_of(record)
    keys = row.verifications // row.uses
    of = "a key each" if row.uses == 1 else f"{keys:,} keys, {row.uses:,} uses of each"
    slots = ", ".join(f"{name} {seconds:g} s" for name, seconds in row.slot_seconds.items())
    return f"{row.verifications:,} verifications of each set, {of}" + (
        f"; shares of slots: {slots}" if slots else ""
    )


def _block_notes(record: Record) -> list[str]:
    row, made = block_of(record), []
    if any(s.shape["caches"] == "cold" for s in record.samples):
        made.append(
            f"Cold: before each pass every thread reads {row.cold_bytes or 0:,} bytes of other "
            f"memory twice; the largest cache has {row.cache_bytes or 0:,}. So each key, signature "
            "and table comes from memory at its first use."
        )
    if len({s.round for s in record.samples}) < FEWEST_ROUNDS:
        made.append(f"No interval below {FEWEST_ROUNDS} rounds.")
    measured = {s.variant for s in record.samples}
    every = [v for v, _ in record.variants.values() if v.id in measured and v.note]
    return made + list(dict.fromkeys(f"{v.implementation} {v.key}: {v.note}." for v in every))


def brief_block(figures: Figures) -> tuple[Figures, TableLayout]:
    """Return what a document has room for: warm caches on the fewest and the most threads, and on
    the most the ratio of cold caches and the share of the shortest slot."""
    warm = figures.only(lambda f: f.value is not None and f.keys.get("caches") == "warm")
    ratios = figures.only(lambda f: f.name == "ratio")
    shares = list(warm.select("share"))
    slot = max(shares, key=lambda f: f.value or 0.0).keys["slot"] if shares else ""
    warm_keys = {"of": "block", "caches": "warm"}
    time = SpreadColumns("time", "{value} threads", "threads", FIRST, keys=warm_keys)
    last = partial(replace, time, which=LAST)
    columns = (
        time,
        last(),
        last(name="ratio", title="cold over warm", keys={"against": "warm", "caches": "cold"}),
        last(name="share", title=str(slot), keys={**warm_keys, "slot": slot}),
    )
    rows = ("set", "implementation", "key", "batch")
    return figures.of([*warm, *ratios]), TableLayout("", ("operation",), rows, columns)


_METHOD = (
    "Threads share a block in equal parts, in an order in which neighbours lie far apart. Its "
    "time is from the common start to the end of the last thread, by single calls or by calls "
    "of a batch interface. Keys are read, and expanded for the key form expanded, before the "
    "clock starts; signatures are read while it runs. Each round has fresh processes and counts "
    "once; intervals are Student's over rounds. Before anything was timed every verifier "
    "accepted the whole block, and rejected exactly an altered signature, message and key in "
    "another one. The verdicts of every timed pass are compared again."
)
KIND = TableKind(
    "block",
    BlockPlan,
    _METHOD,
    _block_headline,
    block_figures,
    _block_layouts,
    _block_about,
    _block_notes,
)
