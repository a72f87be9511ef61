"""Figures of a chain's forms of transaction: throughput, storage, verification."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.theory.trace import Array
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
from pqc_impact.times import RecordRate, RecordTimes, assumed


def impact(
    name: str, scenario: Scenario, times: RecordTimes, compressed: Mapping[str, Compressed]
) -> Impact:
    """Return every figure of a scenario. LabError for more cores than were measured."""
    rows: list[Figure] = []
    for form, scheme in scenario.pairs():
        if isinstance(scenario, Protocol):
            rows += MessageFigures(name, scenario, form, scheme, times).all()  # type: ignore[arg-type]
        else:
            built = ChainFigures(name, scenario, form, scheme, times)  # type: ignore[arg-type]
            rows += built.all()
            rows += built.compressed(compressed)
    for scheme in map(scheme_of, scenario.schemes):
        if isinstance(scenario, Chain):
            today = scheme_of(scenario.compare)
            rows += SchemeFigures(name, scenario.node, scheme, today, times).all()
        if scenario.server is not None:
            rows += server_figures(name, scenario.server, scheme, times)
    return Impact(name, scenario, rows, times.records, times.remarks)


STEADY: Mapping[str, Any] = {"years": 1, "load": "today"}
"""The keys of a year's archive at today's throughput."""


def on_cores(cores: int, batches: bool = False) -> dict[str, Any]:
    """Return the keys of a number of cores, and of verification by a batch interface."""
    return {"threads": cores, **({"mode": "batch"} if batches else {})}


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
            assumes = self.form.assumption
            yield self.exact("used", name, limit.unit, assumes, resource=name)
            if limit.cost is not None:
                currency, price = limit.cost
                fee, text = price.times(self.names[name]), f"at {limit.price}"
                yield self.figure("fee", fee, currency, text, "assumed", resource=name)
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
        yield self.figure("count", self.count, "", by, kind, of=noun, object="block")
        by_time = kind_of(
            kind == "assumed", is_assumed(scenario.interval, scenario.interval_source)
        )
        yield self.figure("per_second", self.count / seconds, "1/s", source, by_time, of=noun)
        if self.is_load:
            rate = self.count * self.bytes / seconds
            yield self.figure("bytes_per_second", rate, "B/s", source, kind, of="blocks")
            for name, limit in self.used.items():
                share, text = self.count * self.names[name] / limit.room, limit.source
                yield self.figure("share", share, "", text, kind, of="limit", resource=name)
            return
        ratio = self.count / self.today
        today = self.today_kind
        fits = partial(self.figure, "count", of="transactions", object="block")
        yield fits(value=self.today, unit="", source=self.compared, kind=today, load="today")
        either = kind_of("assumed" in (kind, today))
        yield self.figure("over_today", ratio, "×", self.compared, either, of="transactions")
        for name, limit in self.used.items():
            needed = self.today * self.names[name] + limit.set_aside
            text = f"{self.today:,.0f} a block, as {self.compared} today"
            needs = kind_of(today == "assumed", self.form.assumption, is_assumed(limit.reserved))
            yield self.figure(
                "needed", needed, limit.unit, text, needs, resource=name, load="today"
            )
            for chosen, room in limit.others.items():
                count, _ = scenario.fitting(self.form, self.names, **{name: room})
                yield from self.at_limit(count, chosen)

    def at_limit(self, count: float, chosen: str) -> Iterator[Figure]:
        """Yield figures of blocks with so many transactions, which another limit allows."""
        block = count * self.bytes + self.scenario.overhead
        ratio, rate = count / self.today, count / self.scenario.seconds.value
        text, at = "the limit is given", {"limit": chosen}
        figure = partial(self.figure, source=text, kind="assumed", **at)
        yield figure("per_second", rate, "1/s", of="transactions")
        yield figure("count", count, "", of="transactions", object="block")
        yield figure("over_today", ratio, "×", of="transactions")
        yield figure("bytes", block, "B", object="block")
        yield from self.line(count, at)
        year = block * self.per_year
        for years in (1, 10):
            yield figure("bytes", years * year, "B", object="archive", years=years)
        yield from self.kept(10 * year, 10, at, text)

    def storage(self) -> Iterator[Figure]:
        """Yield the archive and the mempool."""
        block = self.count * self.bytes + self.scenario.overhead
        full = "the load given" if self.is_load else "full blocks"
        yield self.figure("bytes", block, "B", full, self.kind, object="block")
        stored = partial(self.figure, "bytes", unit="B", kind="assumed")
        for years in (1, 10):
            size = block * self.per_year * years
            yield stored(value=size, source=full, object="archive", years=years)
            yield from self.kept(size, years, {}, full)
        archive = self.steady * self.per_year * self.bytes
        if not self.is_load:
            text = f"as many transactions as {self.compared} has in full blocks"
            yield stored(value=archive, source=text, object="archive", **STEADY)
            yield from self.kept(10 * archive, 10, {"load": "today"}, text)
        yield from self.disks()
        kept = sum(self.names[part.identifier] for part in self.form.parts if not part.holds)
        pruned, text = archive * (kept / self.bytes), "no signatures and keys"
        yield stored(value=pruned, source=text, object="pruned archive", **STEADY)
        node = self.scenario.node
        if node.mempool and not self.is_load:
            text = f"{node.mempool}, of which a transaction takes: {node.mempool_each}"
            each = evaluate(node.mempool_each, self.names)
            taken = 10_000 * each
            share = taken / node.pool.value
            holds = math.floor(node.pool.value / each)
            blocks = holds / max(self.count, 1)
            yield stored(value=taken, source=node.mempool_each, object="mempool", operations=10_000)
            figure = partial(self.figure, unit="", source=text, kind="assumed")
            yield figure("share", share, of="mempool", operations=10_000)
            yield figure("capacity", holds, of="transactions", object="mempool")
            yield figure("capacity", blocks, of="blocks", object="mempool")

    def kept(
        self, more: float | Array, years: int, at: Mapping[str, Any], text: str
    ) -> Iterator[Figure]:
        """Yield today's archive with so many bytes ``more``, its download time, and the price of a
        disk for it. ``at``: the keys of the load."""
        storage = self.scenario.storage
        if storage is None:
            return
        whole, (currency, price) = more + assumed("chain today", storage.size), storage.cost
        source = f"{storage.today} today and {text}; {storage.source}"
        figure = partial(self.figure, kind="assumed", object="chain", years=years, **at)
        yield figure("bytes", whole, "B", source)
        spent = whole / assumed("download", self.scenario.node.rate)
        text = f"at {self.scenario.node.download}; {source}"
        yield figure("time", spent, "s", text, of="download")
        spent, source = whole * assumed("disk", price), f"at {storage.price}; {source}"
        yield figure("price", spent, currency, source)

    def disks(self) -> Iterator[Figure]:
        """Yield the time to download the chain as it is, and the prices of disks."""
        storage, node = self.scenario.storage, self.scenario.node
        if storage is None:
            return
        spent = assumed("chain today", storage.size) / assumed("download", node.rate)
        source = f"{storage.today} at {node.download}; {storage.source}"
        figure = partial(self.figure, kind="assumed")
        yield figure("time", spent, "s", source, of="download", object="chain", years=0)
        for name, (currency, cost) in storage.disk_prices.items():
            text = f"{storage.disks[name]}; {storage.source}"
            yield figure("price", cost, currency, text, disk=name)

    def traffic(self) -> Iterator[Figure]:
        """Yield the traffic of a node's line on average, of full blocks and at today's
        throughput."""
        yield from self.line(self.count, {})
        if not self.is_load:
            yield from self.line(self.steady, {"load": "today"})

    def line(self, count: float, at: Mapping[str, Any]) -> Iterator[Figure]:
        """Yield the traffic of a node's line for blocks with so many transactions; ``at``: the keys
        of the load."""
        node, each = self.scenario.node, evaluate(self.scenario.node.traffic_each, self.names)
        text = f"of a transaction: {node.traffic_each}; {node.source}"
        rate = (count * each + self.scenario.overhead) / self.interval
        yield self.figure("bytes_per_second", rate, "B/s", text, "assumed", of="node", **at)
        share, text = rate / assumed("download", node.rate), f"of {node.download}; {text}"
        yield self.figure("share", share, "", text, "assumed", of="line", **at)

    def states(self) -> Iterator[Figure]:
        """Yield the storage of every node, with hashes of keys and with keys, and the time to
        download it as a snapshot."""
        node = self.scenario.node
        for state in self.scenario.state:
            for stored, text in (("hash of a key", state.hash), ("keys", state.key)):
                held = state.count.times(evaluate(text, self.names))
                state_of = partial(self.figure, kind="assumed", object=state.name, stored=stored)
                yield state_of("bytes", held, "B", state.source)
                drawn = assumed(f"{state.name}, {stored} stored", held)
                spent, text = (
                    drawn / assumed("download", node.rate),
                    f"at {node.download}; {state.source}",
                )
                yield state_of("time", spent, "s", text, of="download")

    def compressed(self, measured: Mapping[str, Compressed]) -> Iterator[Figure]:
        """Yield the archive with signatures and keys compressed as measured, and the saving."""
        figure = partial(self.figure, "bytes", unit="B", object="compressed archive", **STEADY)
        if own := next((p.name for p in self.form.parts if p.holds == "other"), None):
            why = f"the compressibility of the part {own!r} was not measured"
            yield figure(value=None, source=why)
            return
        before, after = defaultdict[str, float](float), defaultdict[str, float](float)
        sources: dict[str, None] = {}
        for encoded in self.scheme.forms:
            lacking = Compressed({}, f"the compressibility of {encoded} was not measured")
            one = measured.get(encoded, lacking)
            if not one.ratios:
                yield figure(value=None, source=one.source)
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
        yield figure(value=self.steady * self.per_year * size, source=source)
        saved = 1 - size / self.bytes
        yield self.figure("share", saved, "", source, of="saved", object="compressed archive")

    def verification(self) -> Iterator[Figure]:
        """Yield the time to verify a block's signatures, and the first synchronisation."""
        node, signatures = self.scenario.node, self.form.signatures
        history = self.steady * node.years * self.per_year
        load = "the load given" if self.is_load else "as many transactions as today"
        text = f"{node.years:g} years of {load}; {node.source}"
        download = history * self.bytes / assumed("download", node.rate)
        sync = partial(self.figure, "time", unit="s", of="first sync")
        yield sync(value=download, source=text, kind="assumed", part="download")
        for cores, batches in product(node.cores, (False, True)):
            rate, on = self.rate("verify", cores, batches), on_cores(cores, batches)
            if isinstance(rate, str):
                if not batches:
                    yield from self.verified(None, partial(self.figure, source=rate, **on))
                    yield sync(value=None, source=rate, part="verification", **on)
                    yield sync(value=None, source=rate, **on)
                continue
            each = signatures / rate.draws
            verify = history * each
            figure = partial(self.figure, source=rate.source, rates=[rate], **on)
            yield from self.verified(each, figure)
            yield sync(value=verify, source=rate.source, rates=[rate], part="verification", **on)
            for count in node.verified:
                timed = partial(figure, of="transactions", operations=count, operation="verify")
                yield timed("time", count * each, "s")
            yield from self.capacity(cores, batches)
            is_longer = bool(verify[0] > download[0])
            slower = "verification" if is_longer else "the download"
            kind: Kind = "measured" if is_longer else "assumed"
            reason = f"{slower} is the longer of the two; {rate.source}"
            longer = np.maximum(verify, download)
            yield sync(value=longer, source=reason, kind=kind, rates=[rate], **on)

    def verified(self, each: Array | None, figure: Callable[..., Figure]) -> Iterator[Figure]:
        """Yield the time to verify a block, and as many transactions as today; ``each``: the time
        of one, None where it is not known."""
        full, steady = (None if each is None else n * each for n in (self.count, self.steady))
        share = None if steady is None else steady / self.interval
        figure = partial(figure, operation="verify")
        yield figure("time", full, "s", of="block")
        yield figure("time", steady, "s", of="block", load="today")
        yield figure("share", share, "", of="interval", load="today")

    def capacity(self, cores: int, batches: bool) -> Iterator[Figure]:
        """Yield how many times today's throughput a node can sign and verify."""
        load = self.steady * self.form.signatures / self.interval
        for operation in ("sign", "verify"):
            rate = self.rate(operation, cores, batches)
            if not isinstance(rate, str):
                on = {"operation": operation, **on_cores(cores, batches)}
                kind: Kind = "assumed" if rate.modelled else "measured"
                ratio, source = rate.draws / load, rate.source
                yield self.figure(
                    "over_today", ratio, "×", source, kind, rates=[rate], of="capacity", **on
                )

    def rate(self, operation: str, cores: int, batches: bool) -> RecordRate | str:
        """Return operations per second on so many cores of a node."""
        node = self.scenario.node
        return self.times.rate(
            self.scheme, cores, node.implementations, operation=operation,
            stretch=node.extrapolate, batches=batches,
        )  # fmt: skip
