"""Figures of a scheme on a node, independent of transactions.

They are operations per second, scaling over threads, the life cycle of a key, and the speed-up by
each optimisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property, partial

import numpy as np

from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.figure import Figure, Figures
from mldsa_lab.kinds.memory import memory_figures
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.trace import Array
from pqc_impact.chain import Node
from pqc_impact.figures import Kind, figure_keys, make_figure
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import NOUNS, RecordRate, RecordTimes, assumed

PORTABLE = "portable"
HARDWARE = "records/2026-11-23-rtl/cores.jsonl.xz"
LIBRARY = "mldsa-lanes"
"""The implementation whose backends and batches show the gain of an optimisation."""
TRAFFIC = "records/2026-11-28-xeon-amx/traffic.jsonl.xz"
_AGGREGATION = (
    "FIPS 204 defines none: each signature answers a challenge of its own, so z and the hint of "
    "several cannot be added, and n signatures take n times the bytes; aggregate signatures over "
    "lattices are other schemes, none of them standardised"
)
_NEON = f"done, not measured: the NEON backend of {LIBRARY} was only tested under emulation"


@cache
def hardware() -> RecordTimes:
    """Return the cycles of the hardware core that ships."""
    return RecordTimes([find_root() / HARDWARE], PARAMETER_SETS)


@cache
def traffic() -> Figures:
    """Return the bytes that single operations read and write."""
    record = read_record(find_root() / TRAFFIC)
    about = {v.id: worker.about(v) for v, worker in record.variants.values()}
    return Figures(memory_figures(record), {"variant": about})


class SchemeFigures:
    """The figures of one scheme on a node."""

    def __init__(
        self, name: str, node: Node, scheme: ImpactScheme, today: ImpactScheme, times: RecordTimes
    ) -> None:
        self.node, self.scheme, self.today, self.times = node, scheme, today, times
        self.figure = partial(make_figure, figure_keys(name, scheme))

    def rate(self, operation: str, threads: int = 1) -> RecordRate | str:
        """Return operations per second on so many threads of the node."""
        return self.times.rate(
            self.scheme, threads, self.node.implementations, operation=operation, stretch=True
        )

    @cached_property
    def single(self) -> dict[str, RecordRate]:
        """The operations per second on one thread that are known."""
        rates = {operation: self.rate(operation) for operation in NOUNS}
        return {name: rate for name, rate in rates.items() if not isinstance(rate, str)}

    def all(self) -> Iterator[Figure]:
        """Yield every figure."""
        for noun, bytes_, before in (
            ("public key", self.scheme.public_key_bytes, self.today.public_key_bytes),
            ("private key", self.scheme.private_key_bytes, self.today.private_key_bytes),
            ("signature", self.scheme.signature_bytes[0], self.today.signature_bytes[0]),
        ):
            source, ratio = self.scheme.source, bytes_ / before
            yield self.figure("bytes", bytes_, "B", source, "exact", object=noun)
            yield self.figure(
                "over_today", ratio, "×", self.today.name, "exact", of="bytes", object=noun
            )
        yield from self.rates()
        yield from self.life_cycle()
        if self.scheme.name in PARAMETER_SETS:
            yield from self.optimisations()
        yield from self.moved()

    def rates(self) -> Iterator[Figure]:
        """Yield operations per second by threads, and the efficiency of the threads."""
        is_hybrid = len(self.scheme.parts) > 1
        for operation in NOUNS:
            one: Array | None = None
            for threads in self.node.threads:
                rate = self.rate(operation, threads)
                figure = partial(self.figure, operation=operation, threads=threads)
                if isinstance(rate, str):
                    yield figure("per_second", None, "1/s", rate)
                    continue
                kind: Kind = "assumed" if rate.modelled else "measured"
                source = f"{'modelled' if rate.modelled else 'measured'}: {rate.source}"
                figure = partial(figure, source=source, kind=kind, rates=[rate])
                yield figure("per_second", rate.draws, "1/s")
                if threads == 1:
                    yield from self.over_today(operation, rate)
                one = rate.draws if threads == 1 else one
                # Of one record: those of a hybrid's parts may differ.
                scaling = rate.scaling
                if scaling is None and one is not None and (threads == 1 or not is_hybrid):
                    scaling = rate.draws / one
                if scaling is not None:
                    yield figure("scaling", scaling, "×")
                    yield figure("efficiency", scaling / threads, "")

    def over_today(self, operation: str, rate: RecordRate) -> Iterator[Figure]:
        """Yield the time of an operation over that in the scheme of today."""
        before = self.times.rate(self.today, 1, self.node.implementations, operation=operation)
        if not isinstance(before, str) and self.today != self.scheme:
            ratio, source = before.draws / rate.draws, f"{rate.source}; {before.source}"
            yield self.figure(
                "over_today", ratio, "×", source, rates=[rate], of="time", operation=operation
            )

    def life_cycle(self) -> Iterator[Figure]:
        """Yield the time of key generation, signing and verification together, and the share of
        each."""
        if len(self.single) < len(NOUNS):
            return
        spent = {name: 1 / rate.draws for name, rate in self.single.items()}
        source = "; ".join(dict.fromkeys(rate.source for rate in self.single.values()))
        whole = np.sum(list(spent.values()), axis=0)
        rates = list(self.single.values())
        figure = partial(self.figure, source=source, rates=rates, of="life cycle")
        yield figure("time", whole, "s")
        for operation, part in spent.items():
            yield figure("time", part, "s", operation=operation)
            yield figure("share", part / whole, "", operation=operation)

    def optimisations(self) -> Iterator[Figure]:
        """Yield by how much each backend speeds up the portable one, and batches single calls."""
        for operation in NOUNS:
            figure = partial(self.figure, operation=operation)
            for by, ratio, source in self.times.speed_ups(
                self.scheme.name, operation, LIBRARY, PORTABLE
            ):
                yield figure("speed_up", ratio, "×", source, by=by)
                if by.startswith("batches"):
                    yield figure("share", 1 - 1 / ratio, "", source, of="saved", by=by)
            cycles = hardware().rate(self.scheme, 1, {}, operation=operation, unit="cycles")
            if operation in self.single and not isinstance(cycles, str):
                rate = self.single[operation]
                source = f"simulated cycles of {cycles.source}; {rate.source}"
                equal = rate.draws / cycles.draws
                yield figure("clock", equal, "Hz", source, against="hardware core")
                if self.node.hardware:
                    gain = assumed("hardware", self.node.clock) / equal
                    source = f"at {self.node.hardware}; {self.node.source}; {source}"
                    by = "a hardware core"
                    yield figure("speed_up", gain, "×", source, "assumed", by=by)
        yield self.figure("speed_up", None, "×", _NEON, by="NEON")
        yield self.figure("speed_up", 1.0, "×", _AGGREGATION, "exact", by="aggregation")

    def moved(self) -> Iterator[Figure]:
        """Yield the bytes that 10,000 signatures and as many verifications read and write.

        Signatures follow the exact distribution of their iterations. Also the bytes in a second of
        their time, and the share of accesses that simulated caches serve. All are of the
        implementation that the node names, if its traffic was counted.
        """
        requested = self.node.implementations.get(self.scheme.name)
        keys = {"set": self.scheme.name, "implementation": requested, "key": "compact"}

        def moved(name: str, **further: str) -> float:
            figures = traffic().select(name, **keys, **further) if requested else ()
            return sum(f.value or 0.0 for f in figures if f.keys["operation"] != "keygen")

        result = {name: moved(name) for name in ("read", "written", "accesses")}
        rates = [self.single[name] for name in ("sign", "verify") if name in self.single]
        if not result["accesses"] or len(rates) < 2:
            return
        source = f"{requested}, {TRAFFIC}"
        for name in ("read", "written"):
            yield self.figure(name, 10_000 * result[name], "B", source, operations=10_000)
        spent = np.sum([1 / rate.draws for rate in rates], axis=0)
        speed = (result["read"] + result["written"]) / spent
        timed = "; ".join([source, *(rate.source for rate in rates)])
        yield self.figure("bytes_per_second", speed, "B/s", timed, of="memory")
        for level, size in (("first", "32 KiB"), ("last", "1 MiB")):
            share = 1 - moved("misses", level=level) / result["accesses"]
            text = f"simulated; {source}"
            yield self.figure("share", share, "", text, of="accesses", cache=size)
