"""Figures of a chain's forms of transaction: throughput, storage, verification."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.theory.arrays import Array
from pqc_impact.base import is_assumed
from pqc_impact.chain import Chain, Template
from pqc_impact.compress import Compressed
from pqc_impact.expression import evaluate
from pqc_impact.figures import FormFigures, Impact, Kind, MessageFigures, kind_of
from pqc_impact.file import Scenario
from pqc_impact.protocol import Protocol
from pqc_impact.quantity import YEAR
from pqc_impact.scheme_figures import SchemeFigures
from pqc_impact.schemes import ImpactScheme, scheme_of
from pqc_impact.server_figures import server_figures
from pqc_impact.times import NOUNS, RecordRate, RecordTimes, assumed

STEADY = "archive of a year at today's throughput"
_SYNC = "first synchronisation"
_VERIFIED = {
    "verification of a block": "s",
    "verification of a block at today's throughput": "s",
    "share of the interval at today's throughput": "",
    f"{_SYNC}, verification": "s",
}
"""Times of verification, and their units."""


def impact(
    name: str, scenario: Scenario, times: RecordTimes, compressed: Mapping[str, Compressed]
) -> Impact:
    """Return every figure of a scenario. LabError for more cores than were measured."""
    found: list[Figure] = []
    for form, scheme in scenario.pairs():
        if isinstance(scenario, Protocol):
            found += MessageFigures(name, scenario, form, scheme, times).all()  # type: ignore[arg-type]
        else:
            made = ChainFigures(name, scenario, form, scheme, times)  # type: ignore[arg-type]
            found += made.all()
            found += made.compressed(compressed)
    for scheme in map(scheme_of, scenario.schemes):
        if isinstance(scenario, Chain):
            today = scheme_of(scenario.compare)
            found += SchemeFigures(name, scenario.node, scheme, today, times).all()
        if scenario.server is not None:
            found += server_figures(name, scenario.server, scheme, times)
    return Impact(name, scenario, found, times.records, times.remarks)


def on_cores(cores: int, batches: bool = False) -> str:
    """Return the words for a number of cores, and for verification by a batch interface."""
    return f"{'in batches ' if batches else ''}on {cores} core{'s' if cores > 1 else ''}"


class ChainFigures(FormFigures[Chain, Template]):
    """The figures of one form of transaction in one scheme."""

    def __init__(
        self, name: str, scenario: Chain, form: Template, scheme: ImpactScheme, times: RecordTimes
    ) -> None:
        super().__init__(name, scenario, form, scheme, times)
        self.is_load = bool(form.per_block)
        self.bytes = self.names["bytes"]
        self.used = {name: scenario.limit[name] for name in form.use}
        self.count, self.limit = scenario.fitting(form, self.names)
        self.today = scenario.fitting(scenario.today_of(form)[0], self.today_names)[0]
        self.steady = self.count if self.is_load else self.today
        self.interval = assumed("interval", scenario.seconds)
        self.per_year = YEAR / self.interval
        # The kinds of figures that rest on the number of transactions in a block, of this form, and
        # of the form of today.
        assumed_limit = any(limit.is_assumed for limit in self.used.values())
        self.kind = kind_of(self.is_load, form.assumption, assumed_limit)
        self.today_kind = kind_of(
            self.is_load, self.today_form.assumption,
            *(scenario.limit[name].is_assumed for name in self.today_form.use),
        )  # fmt: skip

    def all(self) -> Iterator[Figure]:
        yield from super().all()
        yield from self.uses()
        yield from self.throughput()
        yield from self.storage()
        yield from self.traffic()
        yield from self.states()
        yield from self.verification()

    def uses(self) -> Iterator[Figure]:
        """Yield the use of each limit, and fees."""
        for name, limit in self.used.items():
            yield self.exact(f"{name} used", name, limit.unit, self.form.assumption)
            if limit.cost is not None:
                currency, price = limit.cost
                fee, text = price.times(self.names[name]), f"at {limit.price}"
                yield self.figure(f"fee for {name}", fee, currency, text, "assumed")
        for currency, text in self.form.fees.items():
            value = evaluate(text, self.names)
            kind = kind_of(self.form.assumption)
            yield self.figure("fee", value, currency, f"the template: {text}", kind)

    def throughput(self) -> Iterator[Figure]:
        """Yield transactions of a block and in a second; the limit that keeps today's."""
        scenario, kind = self.scenario, self.kind
        noun = "messages" if self.is_load else "transactions"
        by = "the load given" if self.is_load else f"limited by {self.limit}"
        seconds = scenario.seconds.value
        source = f"{by}; an interval of {scenario.interval} ({scenario.interval_source})"
        yield self.figure(f"{noun} per block", self.count, "", by, kind)
        by_time = kind_of(
            kind == "assumed", is_assumed(scenario.interval, scenario.interval_source)
        )
        yield self.figure(f"{noun} per second", self.count / seconds, "1/s", source, by_time)
        if self.is_load:
            rate = self.count * self.bytes / seconds
            yield self.figure("bytes per second", rate, "B/s", source, kind)
            for name, limit in self.used.items():
                share, figure = self.count * self.names[name] / limit.room, f"share of the {name}"
                yield self.figure(f"{figure} of a block", share, "", limit.source, kind)
            return
        ratio = self.count / self.today
        today = self.today_kind
        yield self.figure("transactions per block today", self.today, "", self.compared, today)
        either = kind_of("assumed" in (kind, today))
        yield self.figure("transactions over today's", ratio, "×", self.compared, either)
        for name, limit in self.used.items():
            needed = self.today * self.names[name] + limit.set_aside
            text = f"{self.today:,.0f} a block, as {self.compared} today"
            figure = f"{name} of a block for today's throughput"
            needs = kind_of(today == "assumed", self.form.assumption, is_assumed(limit.reserved))
            yield self.figure(figure, needed, limit.unit, text, needs)
            for given, room in limit.others.items():
                count, _ = scenario.fitting(self.form, self.names, **{name: room})
                figure, text = f"transactions per second at {given}", "the limit is given"
                yield self.figure(figure, count / seconds, "1/s", text, "assumed")
                yield from self.at_limit(count, given)

    def at_limit(self, count: float, given: str) -> Iterator[Figure]:
        """Yield what follows of blocks with so many transactions, which another limit lets in."""
        at, text = f" at {given}", "the limit is given"
        block = count * self.bytes + self.scenario.overhead
        ratio = count / self.today
        yield self.figure(f"transactions per block{at}", count, "", text, "assumed")
        yield self.figure(f"transactions over today's{at}", ratio, "×", text, "assumed")
        yield self.figure(f"bytes of a block{at}", block, "B", text, "assumed")
        yield from self.line(count, at)
        year = block * self.per_year
        for years, when in ((1, "a year"), (10, "ten years")):
            yield self.figure(f"archive of {when}{at}", years * year, "B", text, "assumed")
        yield from self.kept(10 * year, f"ten years{at}", text)

    def storage(self) -> Iterator[Figure]:
        """Yield the archive and the mempool."""
        block = self.count * self.bytes + self.scenario.overhead
        full = "the load given" if self.is_load else "full blocks"
        yield self.figure("bytes of a block", block, "B", full, self.kind)
        for years, when in ((1, "a year"), (10, "ten years")):
            size = block * self.per_year * years
            yield self.figure(f"archive of {when}", size, "B", full, "assumed")
            yield from self.kept(size, when, full)
        archive = self.steady * self.per_year * self.bytes
        if not self.is_load:
            text = f"as many transactions as {self.compared} has in full blocks"
            yield self.figure(STEADY, archive, "B", text, "assumed")
            yield from self.kept(10 * archive, "ten years at today's throughput", text)
        yield from self.disks()
        kept = sum(self.names[part.identifier] for part in self.form.parts if not part.holds)
        pruned, text = archive * (kept / self.bytes), "no signatures and keys"
        yield self.figure(f"pruned {STEADY}", pruned, "B", text, "assumed")
        node = self.scenario.node
        if node.mempool and not self.is_load:
            text = f"{node.mempool}, of which a transaction takes: {node.mempool_each}"
            each = evaluate(node.mempool_each, self.names)
            figure = "10,000 transactions in the mempool"
            yield self.figure(figure, 10_000 * each, "B", node.mempool_each, "assumed")
            figure = "share of the mempool that 10,000 transactions take"
            yield self.figure(figure, 10_000 * each / node.pool.value, "", text, "assumed")
            holds = math.floor(node.pool.value / each)
            yield self.figure("transactions that the mempool holds", holds, "", text, "assumed")
            blocks = holds / max(self.count, 1)
            yield self.figure("blocks that the mempool holds", blocks, "", text, "assumed")

    def kept(self, more: float | Array, when: str, text: str) -> Iterator[Figure]:
        """Yield today's archive with so many bytes ``more``, and the price of a disk for it."""
        storage = self.scenario.storage
        if storage is None:
            return
        whole, (currency, price) = more + assumed("chain today", storage.size), storage.cost
        source = f"{storage.today} today and {text}; {storage.source}"
        yield self.figure(f"chain in {when}", whole, "B", source, "assumed")
        spent = whole / assumed("download", self.scenario.node.rate)
        text = f"at {self.scenario.node.download}; {source}"
        yield self.figure(f"download of the chain in {when}", spent, "s", text, "assumed")
        spent, source = whole * assumed("disk", price), f"at {storage.price}; {source}"
        yield self.figure(f"disk for the chain in {when}", spent, currency, source, "assumed")

    def disks(self) -> Iterator[Figure]:
        """Yield the time to download the chain as it is, and the prices of disks."""
        storage, node = self.scenario.storage, self.scenario.node
        if storage is None:
            return
        spent = assumed("chain today", storage.size) / assumed("download", node.rate)
        source = f"{storage.today} at {node.download}; {storage.source}"
        yield self.figure("download of the chain today", spent, "s", source, "assumed")
        for name, (currency, cost) in storage.disk_prices.items():
            text = f"{storage.disks[name]}; {storage.source}"
            yield self.figure(f"price of a disk, {name}", cost, currency, text, "assumed")

    def traffic(self) -> Iterator[Figure]:
        """Yield what a node's line carries on average, of full blocks and at today's
        throughput."""
        yield from self.line(self.count, "")
        if not self.is_load:
            yield from self.line(self.steady, " at today's throughput")

    def line(self, count: float, when: str) -> Iterator[Figure]:
        """Yield what a node's line carries of blocks with so many transactions."""
        node, each = self.scenario.node, evaluate(self.scenario.node.traffic_each, self.names)
        text = f"of a transaction: {node.traffic_each}; {node.source}"
        rate = (count * each + self.scenario.overhead) / self.interval
        yield self.figure(f"bandwidth of a node{when}", rate, "B/s", text, "assumed")
        share, text = rate / assumed("download", node.rate), f"of {node.download}; {text}"
        yield self.figure(f"share of the line{when}", share, "", text, "assumed")

    def states(self) -> Iterator[Figure]:
        """Yield what every node keeps, with hashes of keys and with keys, and the time to download
        it as a snapshot."""
        node = self.scenario.node
        for state in self.scenario.state:
            for title, text in (("the hash of a key", state.hash), ("keys", state.key)):
                held = state.count.times(evaluate(text, self.names))
                name = f"{state.name}, {title} stored"
                yield self.figure(name, held, "B", state.source, "assumed")
                spent = assumed(name, held) / assumed("download", node.rate)
                text = f"at {node.download}; {state.source}"
                yield self.figure(f"download of {name}", spent, "s", text, "assumed")

    def compressed(self, measured: Mapping[str, Compressed]) -> Iterator[Figure]:
        """Yield the archive with signatures and keys compressed as they were measured to be, and
        what that saves."""
        figure = f"compressed {STEADY}"
        if own := next((p.name for p in self.form.parts if p.holds == "other"), None):
            why = f"the compressibility of the part {own!r} was not measured"
            yield self.figure(figure, None, "B", why)
            return
        before, after = defaultdict[str, float](float), defaultdict[str, float](float)
        sources: dict[str, None] = {}
        for encoded in self.scheme.forms:
            lacking = Compressed({}, f"the compressibility of {encoded} was not measured")
            one = measured.get(encoded, lacking)
            if not one.ratios:
                yield self.figure(figure, None, "B", one.source)
                return
            alone = scheme_of(encoded)
            sizes = {"signatures": alone.signature_bytes[0], "keys": alone.public_key_bytes}
            for holds, ratio in one.ratios.items():
                before[holds] += sizes.get(holds, 1.0)
                after[holds] += sizes.get(holds, 1.0) * ratio
            sources[one.source] = None
        size = sum(
            self.names[part.identifier]
            * (after[part.holds] / before[part.holds] if part.holds in before else 1.0)
            for part in self.form.parts
        )
        source = "; ".join(sources)
        yield self.figure(figure, self.steady * self.per_year * size, "B", source)
        saved = 1 - size / self.bytes
        yield self.figure("share saved in the compressed archive", saved, "", source)

    def verification(self) -> Iterator[Figure]:
        """Yield the time to verify a block's signatures, and the first synchronisation."""
        node, signatures = self.scenario.node, self.form.signatures
        history = self.steady * node.years * self.per_year
        load = "the load given" if self.is_load else "as many transactions as today"
        text = f"{node.years:g} years of {load}; {node.source}"
        download = history * self.bytes / assumed("download", node.rate)
        yield self.figure(f"{_SYNC}, download", download, "s", text, "assumed")
        for cores, batches in product(node.cores, (False, True)):
            rate, on = self.rate("verify", cores, batches), on_cores(cores, batches)
            if isinstance(rate, str):
                for name, unit in {**_VERIFIED, _SYNC: "s"}.items() if not batches else ():
                    yield self.figure(f"{name} {on}", None, unit, rate)
                continue
            each = signatures / rate.draws
            spent, verify = self.steady * each, history * each
            values = (self.count * each, spent, spent / self.interval, verify)
            for (name, unit), value in zip(_VERIFIED.items(), values, strict=True):
                yield self.figure(f"{name} {on}", value, unit, rate.source, rates=[rate])
            for count in node.verified:
                name = f"verification of {count:,} transactions {on}"
                yield self.figure(name, count * each, "s", rate.source, rates=[rate])
            yield from self.capacity(cores, batches)
            is_longer = bool(verify[0] > download[0])
            slower = "verification" if is_longer else "the download"
            kind: Kind = "measured" if is_longer else "assumed"
            said = f"{slower} is the longer of the two; {rate.source}"
            longer = np.maximum(verify, download)
            yield self.figure(f"{_SYNC} {on}", longer, "s", said, kind, rates=[rate])

    def capacity(self, cores: int, batches: bool) -> Iterator[Figure]:
        """Yield how many times today's throughput a node can sign and verify."""
        load = self.steady * self.form.signatures / self.interval
        for operation in ("sign", "verify"):
            rate = self.rate(operation, cores, batches)
            if not isinstance(rate, str):
                on = on_cores(cores, batches)
                name = f"{NOUNS[operation]} capacity over today's throughput {on}"
                kind: Kind = "assumed" if rate.modelled else "measured"
                ratio, source = rate.draws / load, rate.source
                yield self.figure(name, ratio, "×", source, kind, rates=[rate])

    def rate(self, operation: str, cores: int, batches: bool) -> RecordRate | str:
        """Return operations per second on so many cores of a node."""
        node = self.scenario.node
        return self.times.rate(
            self.scheme, cores, node.implementations, operation=operation,
            stretch=node.extrapolate, batches=batches,
        )  # fmt: skip
